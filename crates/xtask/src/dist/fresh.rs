//! A system with nothing but a Java runtime, no network and no privileges: how long does it take
//! from the archive to the first finding?
//!
//! The system is a directory made of packages: a runtime of Java without compiler (`jdks`), and the
//! C library that it is linked to here. `dist/first-finding.sh` does the rest in namespaces.

use super::{place, Release};
use crate::process::{build_directory, output_of, program, root, run_and_read};
use crate::{jdks, Problem};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the start of unpacking to the report.
const LONGEST_SECONDS: u64 = 120;

/// How long is recorded.
const RECORDED: &str = "20s";

/// The release of the runtime in the new system.
const JAVA: u32 = 21;

/// A program whose threads wait for a lock that `rebuild` holds.
const PROGRAM: &str = "crates/cli/tests/java/Contended.java";

/// What is wrong, if anything is. The transcript is printed.
pub fn complaint(release: &Release) -> Result<Option<String>, Problem> {
    let system = system()?;
    let archive = place().join(format!("{}.tar.gz", release.name()));
    let mut script = program("unshare");
    script.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "dist/first-finding.sh"]);
    let (transcript, is_content) = run_and_read(script.arg(&system).arg(archive).arg(RECORDED))?;
    Ok(judged(&transcript, is_content))
}

fn judged(transcript: &str, is_content: bool) -> Option<String> {
    let seconds = transcript
        .lines()
        .find_map(|line| line.strip_prefix("from unpacking to the report: ")?.strip_suffix(" s")?.parse::<u64>().ok());
    let finding = transcript.split("FINDINGS").nth(1).is_some_and(|findings| findings.contains("`Contended.rebuild`"));
    let left = transcript.lines().find_map(|line| line.strip_prefix("left in /tmp:"));
    match seconds {
        _ if !is_content => Some("on a new system the first recording fails".to_owned()),
        None => Some("on a new system nothing is reported".to_owned()),
        Some(_) if !finding => Some("on a new system the contended lock is not found".to_owned()),
        Some(seconds) if seconds > LONGEST_SECONDS => {
            Some(format!("on a new system the first finding took {seconds} s, at most {LONGEST_SECONDS} are allowed"))
        }
        Some(_) => left.filter(|left| !left.trim().is_empty()).map(|left| format!("on a new system is left:{left}")),
    }
}

/// The directory of the new system.
fn system() -> Result<PathBuf, Problem> {
    let system = build_directory().join("dist-fresh");
    let _ = fs::remove_dir_all(&system); // it may not be there
    for folder in ["proc", "tmp", "dev", "app", "opt", "lib64"] {
        fs::create_dir_all(system.join(folder)).map_err(|e| format!("cannot make {}: {e}", system.display()))?;
    }
    let runtime = jdks::fetched_or_fetch(JAVA).ok_or(format!("no runtime of Java {JAVA} for a new system"))?;
    crate::process::run(program("cp").args(["-rL"]).arg(&runtime).arg(system.join("jre")))?;
    for library in libraries(&runtime)? {
        let to = system.join(library.strip_prefix("/")?);
        fs::create_dir_all(to.parent().unwrap_or(&system))?;
        fs::copy(&library, &to).map_err(|e| format!("cannot copy {}: {e}", library.display()))?;
    }
    let mut javac = program("javac");
    javac.args(["--release", "17", "-d"]).arg(system.join("app")).arg(root().join(PROGRAM));
    crate::process::run(&mut javac)?;
    Ok(system)
}

/// The parts of the C library that the runtime's main parts are linked to.
fn libraries(runtime: &Path) -> Result<BTreeSet<PathBuf>, Problem> {
    let mut libraries = BTreeSet::new();
    for part in ["bin/java", "lib/server/libjvm.so", "lib/libjava.so", "lib/libnio.so", "lib/libzip.so"] {
        libraries.extend(linked(&output_of(program("ldd").arg(runtime.join(part)))?, runtime));
    }
    Ok(libraries)
}

/// Absolute paths in what `ldd` prints, without those in the runtime itself.
fn linked(text: &str, runtime: &Path) -> Vec<PathBuf> {
    let paths = text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let runtime = runtime.canonicalize().unwrap_or_else(|_| runtime.to_owned());
    paths.filter(|path| !path.canonicalize().unwrap_or_default().starts_with(&runtime)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_in_time_is_asked_for() {
        let said = |text: &str| judged(text, true).unwrap_or_default();
        let finding = "left in /tmp: \nFINDINGS\n 1. ... `Contended.rebuild` owned it\n";
        assert_eq!(said(&format!("{finding}from unpacking to the report: 31 s\n")), "");
        let littered = finding.replace("/tmp: ", "/tmp: /r/tmp/a ");
        assert!(said(&format!("{littered}from unpacking to the report: 31 s\n")).contains("is left: /r/tmp/a"));
        assert!(said(&format!("{finding}from unpacking to the report: 121 s\n")).contains("took 121 s"));
        assert!(said("FINDINGS\nnone\nfrom unpacking to the report: 31 s\n").contains("is not found"));
        assert!(said(finding).contains("nothing is reported"));
        assert!(judged(finding, false).unwrap_or_default().contains("fails"));
    }

    #[test]
    fn what_the_runtime_brings_is_no_library_of_the_system() {
        let text =
            "\tlinux-vdso.so.1 (0x1)\n\tlibjli.so => /r/lib/libjli.so (0x2)\n\tlibc.so.6 => /nowhere/libc.so.6 (0x3)\n";
        assert_eq!(linked(text, Path::new("/r")).last(), Some(&PathBuf::from("/nowhere/libc.so.6")));
    }
}
