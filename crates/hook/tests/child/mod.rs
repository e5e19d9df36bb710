//! One process per dangerous test: the test runs itself again in a child and
//! says how the child died, if it did.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const IN_CHILD: &str = "HEADWAY_HOOK_TEST_CHILD";

/// Runs `body` in a child process. `test` is the name of the calling test.
#[allow(dead_code)]
pub fn in_child(test: &str, body: impl FnOnce()) {
    if let Some(status) = child_status(test, body) {
        assert!(status.success(), "the child of {test} ended with {status} (signal {:?})", status.signal());
    }
}

/// Runs `body` in a child process that must be killed by this signal.
#[allow(dead_code)]
pub fn killed_in_child(test: &str, signal: i32, body: impl FnOnce()) {
    if let Some(status) = child_status(test, body) {
        assert_eq!(status.signal(), Some(signal), "the child of {test}: {status}");
    }
}

fn child_status(test: &str, body: impl FnOnce()) -> Option<std::process::ExitStatus> {
    if std::env::var_os(IN_CHILD).is_some() {
        body();
        return None;
    }
    let exe = std::env::current_exe().expect("the test's own path");
    let output = Command::new(exe)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(IN_CHILD, "1")
        .output()
        .expect("starting the child");
    let stdout = String::from_utf8_lossy(&output.stdout);
    print!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let ran = stdout.contains("running 1 test");
    assert!(ran, "the child ran no test: is {test} its name?");
    Some(output.status)
}
