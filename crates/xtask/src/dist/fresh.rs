//! A system with nothing but a Java runtime, no network and no privileges: how long does it take
//! from the archive to the first finding?
//!
//! The system is a directory made of packages: a runtime of Java without compiler (`jdks`), and the
//! C library that it is linked to here. `dist/first-finding.sh` does the rest in namespaces.

use super::{place, transcript, Release};
use crate::process::{build_directory, output_of, program, root, run_and_read};
use crate::{jdks, Problem};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the start of unpacking to the report.
const LONGEST_SECONDS: u64 = 120;

/// The main parts of a runtime.
const PARTS: [&str; 5] = ["bin/java", "lib/server/libjvm.so", "lib/libjava.so", "lib/libnio.so", "lib/libzip.so"];

/// How long is recorded.
const RECORDED: &str = "20s";

/// The release of the runtime in the new system.
const JAVA: u32 = 21;

/// A program whose threads wait for a lock that `rebuild` holds.
const PROGRAM: &str = "crates/cli/tests/java/Contended.java";

/// What is wrong, if anything is. The transcript is printed, and kept in `docs/install.md` on request.
pub fn complaint(release: &Release, renew: bool) -> Result<Option<String>, Problem> {
    let system = system("dist-fresh", &[])?;
    let archive = place().join(format!("{}.tar.gz", release.name()));
    let mut script = program("unshare");
    script.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "dist/first-finding.sh"]);
    let (text, is_content) = run_and_read(script.arg(&system).arg(archive).arg(RECORDED))?;
    match judged(&text, is_content) {
        Some(complaint) => Ok(Some(complaint)),
        None if renew => transcript::renew(&text).map(|()| None),
        None => transcript::complaint(&text),
    }
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

/// The directory of a new system, with some programs of this one.
pub fn system(name: &str, programs: &[&str]) -> Result<PathBuf, Problem> {
    let system = build_directory().join(name);
    let _ = fs::remove_dir_all(&system); // it may not be there
    for folder in ["proc", "tmp", "dev", "app", "opt", "lib64", "bin"] {
        fs::create_dir_all(system.join(folder)).map_err(|e| format!("cannot make {}: {e}", system.display()))?;
    }
    let runtime = jdks::fetched_or_fetch(JAVA).ok_or(format!("no runtime of Java {JAVA} for a new system"))?;
    crate::process::run(program("cp").args(["-rL"]).arg(&runtime).arg(system.join("jre")))?;
    let mut parts: Vec<PathBuf> = PARTS.iter().map(|part| runtime.join(part)).collect();
    for name in programs {
        let from = found(name).ok_or_else(|| format!("{name} is not on the PATH"))?;
        let to = system.join("bin").join(name);
        fs::copy(&from, to).map_err(|e| format!("cannot copy {}: {e}", from.display()))?;
        parts.push(from);
    }
    for library in libraries(&parts, &runtime)? {
        let to = system.join(library.strip_prefix("/")?);
        fs::create_dir_all(to.parent().unwrap_or(&system))?;
        fs::copy(&library, &to).map_err(|e| format!("cannot copy {}: {e}", library.display()))?;
    }
    let mut javac = program("javac");
    javac.args(["--release", "17", "-d"]).arg(system.join("app")).arg(root().join(PROGRAM));
    crate::process::run(&mut javac)?;
    Ok(system)
}

/// A program of this system.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The libraries that programs, and the runtime's main parts, are linked to.
fn libraries(parts: &[PathBuf], runtime: &Path) -> Result<BTreeSet<PathBuf>, Problem> {
    let mut libraries = BTreeSet::new();
    for part in parts {
        libraries.extend(linked(&output_of(program("ldd").arg(part))?, runtime));
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
