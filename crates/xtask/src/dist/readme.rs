//! The README's section about installing, taken literally: its files are those of the release, and
//! its commands are executed on a system that has nothing but a Java runtime and a shell with the
//! programs that the installation script calls (`dist/readme-install.sh`).

use super::{fresh, place, Release};
use crate::process::{build_directory, program, root, run_and_read};
use crate::Problem;
use std::fs;

/// What `dist/install.sh` calls.
const PROGRAMS: [&str; 20] = [
    "sh",
    "awk",
    "basename",
    "cp",
    "cut",
    "dirname",
    "find",
    "gzip",
    "head",
    "id",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "rmdir",
    "sed",
    "sha256sum",
    "sort",
    "tar",
    "uname",
];

/// The files that are to be copied, and the commands that follow.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    files: Vec<String>,
    commands: String,
}

/// What is wrong, if anything is.
pub fn complaint(release: &Release) -> Result<Option<String>, Problem> {
    let section = section(&fs::read_to_string(root().join("README.md"))?)?;
    let system = fresh::system("dist-readme", &PROGRAMS)?;
    let download = system.join("download");
    fs::create_dir_all(&download)?;
    for file in &section.files {
        if let Err(problem) = fs::copy(place().join(file), download.join(file)) {
            return Ok(Some(format!("README.md names {file}, which is no file of the release: {problem}")));
        }
    }
    let commands = build_directory().join("dist-readme.commands");
    fs::write(&commands, &section.commands)?;
    let mut script = program("unshare");
    script.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "dist/readme-install.sh"]);
    let (transcript, is_content) = run_and_read(script.arg(&system).arg(&commands))?;
    Ok(judged(&transcript, is_content, &release.described()))
}

/// Finds the sentence with the files and the block below it.
fn section(readme: &str) -> Result<Section, Problem> {
    let rest = readme.split_once("\n## Install\n").ok_or("README.md has no section \"Install\"")?.1;
    let (sentence, rest) = rest.split_once(":\n\n    ").ok_or("README.md: \"Install\" has no commands")?;
    let files = sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let lines = format!("    {rest}");
    let commands = lines.lines().map_while(|line| line.strip_prefix("    ")).map(|line| format!("{line}\n")).collect();
    Ok(Section { files, commands })
}

fn judged(transcript: &str, is_content: bool, described: &str) -> Option<String> {
    if !is_content {
        return Some("the commands in README.md's section \"Install\" fail".to_owned());
    }
    let users: Vec<&str> = transcript.split("\nuser ").collect();
    let is_right =
        |user: &&str| user.contains(&format!("headway {described} is installed in /")) && user.contains("Contended");
    if users.len() != 2 || !users.iter().all(is_right) {
        return Some("README.md's commands do not install the release, or do not list the running JVM".to_owned());
    }
    match transcript.lines().find_map(|line| line.strip_prefix("left:")).map(str::trim) {
        Some("") => None,
        left => Some(format!("after installing and removing is left: {}", left.unwrap_or("unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_are_those_of_the_readme() {
        let text = "\n## Install\n\nCopy `a.tar.gz` and\n`b` into one directory, then:\n\n    sh b # so\n    x\n\nThe `rest`.\n";
        let expected =
            Section { files: vec!["a.tar.gz".to_owned(), "b".to_owned()], commands: "sh b # so\nx\n".to_owned() };
        assert_eq!(section(text).unwrap(), expected);
        let section = section(&fs::read_to_string(root().join("README.md")).unwrap()).unwrap();
        assert_eq!(section.files.len(), 3, "{section:?}");
        assert!(section.commands.contains("install.sh") && section.commands.contains("headway list"), "{section:?}");
    }

    #[test]
    fn an_installation_that_does_nothing_or_leaves_something_is_found() {
        let of = |user: u32| format!("user {user}:\nheadway 1.0.0 is installed in /a.\n  7  Contended\n");
        let good = format!("{}{}left: \n", of(0), of(65534));
        assert_eq!(judged(&good, true, "1.0.0"), None);
        assert!(judged(&good, false, "1.0.0").is_some());
        assert!(judged(&good, true, "1.0.1").is_some());
        assert!(judged(&good.replacen("Contended", "", 1), true, "1.0.0").is_some());
        assert!(judged(&good.replace("left: ", "left: /a"), true, "1.0.0").unwrap_or_default().contains("is left: /a"));
        assert!(judged(&of(0), true, "1.0.0").is_some());
    }
}
