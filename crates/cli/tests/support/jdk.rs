//! The JDKs under test, and a program to run on them.

use super::{eventually, Guarded};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The versions that tests run on.
pub const VERSIONS: [u32; 3] = [17, 21, 25];

/// Home of a JDK of this version: `HEADWAY_JDK17` and so on, else `JAVA_HOME`,
/// `java` on the `PATH`, `/usr/lib/jvm`. A missing one is named, and fails the
/// test where `CI=true`.
pub fn home(version: u32) -> Option<PathBuf> {
    let variable = format!("HEADWAY_JDK{version}");
    let found = match std::env::var_os(&variable) {
        Some(home) => Some(PathBuf::from(home)),
        None => candidates().into_iter().find(|home| has_version(home, version)),
    };
    if found.is_none() {
        let message = format!("JDK {version} not found: set {variable}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
        println!("SKIPPED: {message}");
    }
    found
}

/// All JDKs that are there.
pub fn homes() -> Vec<(u32, PathBuf)> {
    VERSIONS.into_iter().filter_map(|version| Some((version, home(version)?))).collect()
}

/// Any JDK that is there.
pub fn any_home() -> Option<PathBuf> {
    homes().into_iter().next().map(|(_, home)| home)
}

fn candidates() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").into_iter().map(PathBuf::from).collect();
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let java = directory.join("java").canonicalize().ok();
        homes.extend(java.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned));
    }
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    homes.extend(installed.map(|entry| entry.path()));
    homes
}

fn has_version(home: &Path, version: u32) -> bool {
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let wanted = format!("JAVA_VERSION=\"{version}");
    let fits = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    release.lines().any(|line| line.strip_prefix(&wanted).is_some_and(fits)) && home.join("bin/java").exists()
}

/// A directory with the test program's classes, compiled once.
pub fn classes() -> Option<&'static Path> {
    static CLASSES: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compiled = CLASSES.get_or_init(|| {
        let javac = homes().into_iter().map(|(_, home)| home.join("bin/javac")).find(|javac| javac.exists());
        let Some(javac) = javac else {
            let message = "no JDK with javac found";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
            println!("SKIPPED: {message}");
            return None;
        };
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("classes-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Contended.java");
        let mut compile = Command::new(javac);
        compile.args(["--release", "17", "-d"]).arg(&directory).arg(source);
        assert!(compile.status().expect("javac runs").success());
        Some(directory)
    });
    compiled.as_deref()
}

/// `java OPTIONS Contended`, which runs for ten minutes if it is not ended: longer than
/// what is waited for.
pub fn contended(home: &Path, options: &[&str]) -> Option<Command> {
    contended_for("600", home, options)
}

/// `java OPTIONS Contended SECONDS`.
pub fn contended_for(seconds: &str, home: &Path, options: &[&str]) -> Option<Command> {
    let mut java = Command::new(home.join("bin/java"));
    java.args(options).arg("-cp").arg(classes()?).args(["Contended", seconds]);
    java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(java)
}

/// Starts [`contended`] and waits until it runs.
pub fn running(home: &Path, options: &[&str]) -> Option<Guarded> {
    let java = Guarded::spawn(&mut contended(home, options)?);
    wait_until_running(java.pid());
    Some(java)
}

/// Waits until the JVM in this process runs the test program's threads.
pub fn wait_until_running(pid: u32) {
    eventually("the program's threads run", || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim() == "rebuilder").count() == 1
    });
}
