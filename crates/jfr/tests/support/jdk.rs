//! Finding JDKs and running their tools.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A JDK (or a run-time image that has `bin/jfr`).
#[derive(Debug)]
pub struct Jdk {
    pub version: u32,
    pub home: PathBuf,
}

/// The JDKs 17, 21 and 25 as far as they are there. One that is missing is
/// named, and with `CI=true` it is a failure.
pub fn jdks() -> Vec<Jdk> {
    [17, 21, 25].into_iter().filter_map(find).collect()
}

fn find(version: u32) -> Option<Jdk> {
    let named = std::env::var_os(format!("HEADWAY_JDK{version}")).map(PathBuf::from);
    let usual = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().chain(installed());
    let home = named.into_iter().chain(usual).find(|home| version_of(home) == Some(version));
    match home {
        Some(home) => Some(Jdk { version, home }),
        None => {
            eprintln!(
                "JDK {version} is missing: set HEADWAY_JDK{version} to its home; its part of this test did not run"
            );
            assert!(std::env::var("CI").as_deref() != Ok("true"), "JDK {version} is missing");
            None
        }
    }
}

fn installed() -> Vec<PathBuf> {
    let on_path = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|directory| directory.join("java"))
        .filter_map(|java| Some(java.canonicalize().ok()?.parent()?.parent()?.to_path_buf()))
        .collect::<Vec<PathBuf>>();
    let usual = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    on_path.into_iter().chain(usual).filter(|home| home.join("bin/jfr").exists()).collect()
}

fn version_of(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let line = release.lines().find(|line| line.starts_with("JAVA_VERSION="))?;
    line.trim_start_matches("JAVA_VERSION=").trim_matches('"').split('.').next()?.parse().ok()
}

impl Jdk {
    pub fn tool(&self, name: &str) -> Command {
        Command::new(self.home.join("bin").join(name))
    }

    /// Output of `jfr ARGUMENTS FILE`, which must succeed.
    pub fn jfr(&self, arguments: &[&str], file: &Path) -> String {
        let output = self.tool("jfr").args(arguments).arg(file).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "jfr {arguments:?} of JDK {}: {}{}",
            self.version,
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }
}
