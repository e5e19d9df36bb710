//! The Java side: Maven.

use crate::process::{program, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The workloads, as Maven packs them.
pub fn workloads_jar() -> PathBuf {
    root().join("java/workloads/target/headway-workloads.jar")
}

/// `mvn` over the whole Java side, with this JDK. Whatever the user's umask: an archive keeps the modes
/// of what is packed.
pub fn maven(home: Option<&PathBuf>, goals: &[&str]) -> Command {
    let mut maven = program("sh");
    maven.args(["-c", "umask 022; exec mvn \"$@\"", "mvn"]).args(["-q", "-B", "-f", "java"]).args(goals);
    if let Some(home) = home {
        maven.env("JAVA_HOME", home);
    }
    maven
}

/// True if the workloads are packed and nothing of theirs changed since.
pub fn is_packed() -> bool {
    let Ok(packed) = fs::metadata(workloads_jar()).and_then(|jar| jar.modified()) else {
        return false;
    };
    let java = root().join("java");
    newest(&java.join("workloads/src"))
        .into_iter()
        .chain(newest(&java.join("pom.xml")))
        .chain(newest(&java.join("workloads/pom.xml")))
        .all(|changed| changed <= packed)
}

/// When anything below a path changed last.
fn newest(path: &Path) -> Option<SystemTime> {
    let own = fs::metadata(path).ok()?.modified().ok()?;
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    below.filter_map(|entry| newest(&entry.path())).chain([own]).max()
}

/// Reports that Surefire left behind, one per test class.
pub fn surefire_reports() -> Vec<PathBuf> {
    let modules = fs::read_dir(root().join("java")).into_iter().flatten().flatten();
    modules
        .map(|module| module.path().join("target/surefire-reports"))
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|files| files.flatten().map(|file| file.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "xml"))
        .collect()
}
