//! How the JVM is stopped while its functions are patched, as it logs it itself.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(240);

/// The patches rely on all threads being stopped; once is enough for all functions of monitors. How long that takes
/// must not depend on how many stacks there are to be walked.
#[test]
fn all_patches_share_one_safepoint_in_which_not_all_stacks_are_walked() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let (log, recording) = (path("safepoints.log"), path("recording.jfr"));
        let mut java = Command::new(jdk.tool("java"));
        java.arg(format!("-Xlog:safepoint:file={log}")).arg("-jar").arg(&tools.workloads);
        java.args(["predict", "chains", "--hold-us", "20", "--threads", "6", "--seconds", "900"]);
        java.args(["--truth", &path("truth.json")]);
        java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = Guarded(java.spawn().unwrap());
        let pid = program.pid();
        let deadline = Instant::now() + PATIENCE;
        while let Err(problem) =
            tools::run(&tools.headway, ["start", "-e", "monitor", "--force", "-o", &recording, &pid])
        {
            assert!(Instant::now() < deadline, "{problem}");
            thread::sleep(Duration::from_millis(300));
        }
        tools::run(&tools.headway, ["stop", "--detach", &pid]).unwrap();
        let log = fs::read_to_string(&log).unwrap();
        let named = |name: &str| log.matches(&format!("Safepoint \"{name}\"")).count();
        assert_eq!(named("GetThreadListStackTraces"), 1, "{jdk:?}: {log}");
        assert_eq!(named("GetAllStackTraces"), 0, "{jdk:?}: {log}");
    }
}
