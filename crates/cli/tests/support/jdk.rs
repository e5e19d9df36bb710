//! The JDKs under test, and a program to run on them.

use super::{eventually, Guarded};
use headway_jdk::Jdk;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// All JDKs that are there, by release.
pub fn homes() -> Vec<(u32, PathBuf)> {
    Jdk::all().into_iter().map(|jdk| (jdk.release, jdk.home)).collect()
}

/// Any JDK that is there.
pub fn any_home() -> Option<PathBuf> {
    homes().into_iter().next().map(|(_, home)| home)
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
