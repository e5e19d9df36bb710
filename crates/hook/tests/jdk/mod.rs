//! Finding the JDKs under test.

use std::path::{Path, PathBuf};

/// The JDKs that tests run against.
#[allow(dead_code)] // not every test file goes through all
pub const VERSIONS: [u32; 3] = [17, 21, 25];

/// Home of the JDK of this version. A missing one is named, and is a failure
/// where `CI=true`.
pub fn home(version: u32) -> Option<PathBuf> {
    let found = from_environment(version).or_else(|| candidates().into_iter().find(|home| is_version(home, version)));
    if found.is_none() {
        let message = format!("JDK {version} not found: set HEADWAY_JDK{version}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
        println!("SKIPPED: {message}");
    }
    found
}

/// The VM's library in a JDK's home.
pub fn libjvm(home: &Path) -> PathBuf {
    home.join("lib/server/libjvm.so")
}

fn from_environment(version: u32) -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os(format!("HEADWAY_JDK{version}"))?);
    assert!(libjvm(&home).exists(), "HEADWAY_JDK{version}: no libjvm in {}", home.display());
    Some(home)
}

fn candidates() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").into_iter().map(Into::into).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join("java"));
    homes.extend(on_path.filter_map(|java| {
        let java = java.canonicalize().ok()?;
        Some(java.parent()?.parent()?.to_owned())
    }));
    if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
        homes.extend(entries.flatten().map(|entry| entry.path()));
    }
    homes
}

fn is_version(home: &Path, version: u32) -> bool {
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let wanted = format!("JAVA_VERSION=\"{version}");
    let matches = release
        .lines()
        .any(|line| line.strip_prefix(&wanted).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())));
    matches && libjvm(home).exists()
}
