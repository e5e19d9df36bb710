//! What `--version` says of this build: commit, profile and target.

use std::path::Path;
use std::process::Command;

fn main() {
    // A commit moves HEAD or the branch that it names, and both are in its log.
    for file in ["../../.git/logs/HEAD", "../../.git/HEAD"] {
        if Path::new(file).exists() {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=HEADWAY_BUILD={} build for {}", variable("PROFILE"), variable("TARGET"));
    println!("cargo:rustc-env=HEADWAY_COMMIT={}", commit().unwrap_or_else(|| "unknown commit".to_owned()));
}

/// `commit 1a2b3c4d5e6f`; `None` where there is no git or no repository of ours.
fn commit() -> Option<String> {
    if !Path::new("../../.git").exists() {
        return None;
    }
    let shown = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(shown.stdout).ok()?;
    (shown.status.success() && !commit.trim().is_empty()).then(|| format!("commit {}", commit.trim()))
}
