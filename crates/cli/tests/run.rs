//! `headway run`: each JVM gets a recording, and nobody notices anything else.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{eventually, headway_with_agent, jdk, refuses, said, unwrapped};
use tempfile::TempDir;

/// `headway run ARGUMENTS`, in a directory of its own.
fn run_in(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = headway_with_agent(["run"]);
    command.args(arguments).current_dir(directory.path());
    command
}

fn recordings(directory: &TempDir) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory.path()).expect("listed").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains(".jfr")).collect();
    paths.sort();
    paths
}

fn script(directory: &TempDir, lines: &str) -> String {
    let path = directory.path().join("script.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    path.display().to_string()
}

/// The command line of a JVM that contends for so many seconds.
fn java_line(home: &Path, seconds: &str, rest: &str) -> Option<String> {
    let classes = jdk::classes()?;
    Some(format!("{}/bin/java -cp {} Contended {seconds} {rest}", home.display(), classes.display()))
}

#[test]
fn a_script_that_starts_two_jvms_gets_two_recordings_and_keeps_its_exit_code() {
    for (version, home) in jdk::homes() {
        let directory = tempfile::tempdir().expect("a directory");
        let Some(java) = java_line(&home, "1.5", "") else { return };
        let lines =
            format!("echo before\n{java}\n{}/bin/java -version 2>/dev/null\necho after\nexit 7", home.display());
        let said = said(&mut run_in(&directory, &["--", &script(&directory, &lines)]));
        assert_eq!(said.code, Some(7), "JDK {version}: {}", said.stderr);
        assert_eq!(said.stdout, "before\nafter\n", "standard output is the script's alone");
        assert_eq!(recordings(&directory).len(), 2, "JDK {version}: {}", said.stderr);
        assert_eq!(said.stderr.matches("THREAD TIME").count(), 1, "one report: {}", said.stderr);
        assert!(unwrapped(&said.stderr).contains("`Contended.rebuild` owned it"), "{}", said.stderr);
        // The JVM that only said its version gets one line, after the report.
        let last = said.stderr.lines().last().unwrap_or_default();
        assert!(last.contains(": nothing blocked in "), "{}", said.stderr);
    }
}

#[test]
fn standard_streams_pass_through_untouched() {
    let Some(home) = jdk::any_home() else { return };
    let Some(classes) = jdk::classes() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = run_in(&directory, &["-q", "--"]);
    command.arg(home.join("bin/java")).arg("-cp").arg(classes).args(["Contended", "0", "3", "echo"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    child.stdin.take().expect("a pipe").write_all(&bytes).expect("written");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, bytes);
}

#[test]
fn exit_codes_and_signals_of_the_command_are_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    for code in [0, 1, 42, 255] {
        let said = said(&mut run_in(&directory, &["-q", "--", "sh", "-c", &format!("exit {code}")]));
        assert_eq!(said.code, Some(code));
    }
    let killed = said(&mut run_in(&directory, &["-q", "--", "sh", "-c", "kill -TERM $$"]));
    assert_eq!(killed.code, Some(128 + 15));
    let killed = said(&mut run_in(&directory, &["-q", "--", "sh", "-c", "kill -KILL $$"]));
    assert_eq!(killed.code, Some(128 + 9));
}

#[test]
fn signals_sent_to_headway_reach_the_command() {
    let directory = tempfile::tempdir().expect("a directory");
    for (signal, code) in [("INT", 21), ("TERM", 22), ("USR1", 23), ("HUP", 24), ("QUIT", 25)] {
        let lines = format!("trap 'exit {code}' {signal}; touch ready; for i in $(seq 6000); do sleep 0.05; done");
        let mut command = run_in(&directory, &["-q", "--", "sh", "-c", &lines]);
        let mut child = command.stderr(Stdio::null()).spawn().expect("runs");
        let ready = directory.path().join("ready");
        eventually("the script is ready", || ready.exists());
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("ends").code(), Some(code), "SIG{signal}");
        std::fs::remove_file(ready).expect("removed");
    }
}

/// Runs a script under `headway run` on a terminal of its own, presses Ctrl-C
/// when the script is ready, and gives the exit code. `None` without terminals.
fn after_ctrl_c(lines: &str) -> Option<i32> {
    if !support::permitted("a pseudo-terminal by script(1)", Command::new("script").args(["-qec", "true", "/dev/null"]))
    {
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    // `exec`: a shell that stayed between would die of the key itself, as dash does.
    let line = format!("exec {} run -q -- {}", support::program().display(), script(&directory, lines));
    let mut terminal = Command::new("script");
    terminal
        .args(["-qec", &line, "/dev/null"])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mut terminal = terminal.env("HEADWAY_AGENT", support::agent_library()).spawn().expect("runs");
    eventually("the script is ready", || directory.path().join("ready").exists());
    let mut keyboard = terminal.stdin.take().expect("a keyboard");
    keyboard.write_all(b"\x03").expect("typed");
    let code = terminal.wait().expect("ends").code();
    drop(keyboard);
    code
}

/// The script waits for the key however long it takes on a busy machine, and
/// then a while for a second delivery, which must not come.
#[test]
fn ctrl_c_on_a_terminal_reaches_the_command_once() {
    let lines = "n=0; trap 'n=$((n+1))' INT; touch ready; until [ $n -gt 0 ]; do sleep 0.1; done\n\
                 for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; exit $((40+n))";
    let Some(code) = after_ctrl_c(lines) else { return };
    assert_eq!(code, 41, "not twice, and headway itself stayed");
}

/// A command that ends at once may have ended before headway gets to read what
/// signal came: the code is the command's all the same.
#[test]
fn ctrl_c_that_ends_the_command_does_not_end_headway() {
    for _ in 0..30 {
        let Some(code) = after_ctrl_c("trap 'exit 41' INT; touch ready; while :; do sleep 0.05; done") else { return };
        assert_eq!(code, 41);
    }
}

/// The VM takes an ending thread's own monitor when it has reported its end. That
/// is no Java code's doing: no chain is missing, and no thread comes back.
#[test]
fn threads_that_contend_when_they_end_are_no_loss() {
    let Some(classes) = jdk::classes() else { return };
    for (version, home) in jdk::homes() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = run_in(&directory, &["-q", "-o", "a.jfr", "--"]);
        let ran = said(command.arg(home.join("bin/java")).arg("-cp").arg(classes).arg("Ending"));
        assert_eq!(ran.code, Some(0), "JDK {version}: {}", ran.stderr);
        let report = said(headway_with_agent(["report", "--json"]).arg(directory.path().join("a.jfr")));
        let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
        assert_eq!(report["losses"], serde_json::json!({}), "JDK {version}");
        assert_eq!(report["degraded"], serde_json::json!([]), "JDK {version}");
    }
}

#[test]
fn a_jvm_that_outlives_the_command_is_told_of() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = java_line(&home, "600", "") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let until_recorded = "for i in $(seq 1200); do [ -s headway-*.jfr ] && break; sleep 0.1; done 2>/dev/null";
    let lines = format!("{java} >/dev/null 2>&1 & echo $!; {until_recorded}");
    let said = said(&mut run_in(&directory, &["--", &script(&directory, &lines)]));
    let pid = said.stdout.trim();
    let told = said.stderr.contains(&format!("Process {pid} still runs and is recorded into "));
    let _ = Command::new("kill").arg(pid).status();
    assert!(told, "{}", said.stderr);
}

#[test]
fn a_jvm_that_ends_by_sigterm_has_its_recording_finished_and_shown() {
    let Some(home) = jdk::any_home() else { return };
    let Some(classes) = jdk::classes() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = run_in(&directory, &["-o", "a.jfr", "--"]);
    command.arg(home.join("bin/java")).arg("-cp").arg(classes).args(["Contended", "600"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs");
    let has_events = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() > 15_000);
    eventually("the recording has events", || recordings(&directory).iter().any(has_events));
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let said: support::Said = child.wait_with_output().expect("ends").into();
    assert_eq!(said.code, Some(128 + 15), "{}", said.stderr);
    assert!(unwrapped(&said.stderr).contains("`Contended.rebuild` owned it"), "{}", said.stderr);
    assert_eq!(recordings(&directory), [directory.path().join("a.jfr")], "a single recording gets the name asked for");
}

#[test]
fn a_name_without_pid_is_not_fought_over() {
    let Some(home) = jdk::any_home() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let version = format!("{}/bin/java -version", home.display());
    let lines = format!("{version} & {version} & wait");
    let said = said(&mut run_in(&directory, &["-o", "a.jfr.zst", "--", &script(&directory, &lines)]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let names: Vec<String> = recordings(&directory)
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 2, "{}", said.stderr);
    assert!(names.iter().all(|name| name.starts_with("a-") && name.ends_with(".jfr.zst")), "{names:?}");
}

#[test]
fn options_that_were_set_before_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = run_in(&directory, &["-q", "--", "sh", "-c", "echo \"$JAVA_TOOL_OPTIONS\""]);
    let said = said(command.env("JAVA_TOOL_OPTIONS", "-Xmx64m"));
    assert!(said.stdout.starts_with("-Xmx64m -agentpath:"), "{}", said.stdout);
    assert!(said.stdout.contains("=start,file="), "{}", said.stdout);
}

#[test]
fn a_directory_with_blanks_and_commas_works() {
    let Some(home) = jdk::any_home() else { return };
    let parent = tempfile::tempdir().expect("a directory");
    let directory = tempfile::Builder::new().prefix("a, b = 100% ").tempdir_in(parent.path()).expect("a directory");
    let library = directory.path().join("libheadway.so");
    std::fs::copy(support::agent_library(), parent.path().join("lib heady.so")).expect("copied");
    let java = home.join("bin/java").display().to_string();
    let mut command = run_in(&directory, &["-q", "--", &java, "-version"]);
    let said = said(command.env("HEADWAY_AGENT", parent.path().join("lib heady.so")));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(!library.exists());
    assert_eq!(recordings(&directory).len(), 1, "{}", said.stderr);
}

#[test]
fn what_cannot_be_run_is_told_as_env_does() {
    let directory = tempfile::tempdir().expect("a directory");
    refuses(
        &mut run_in(&directory, &["--", "no-such-command-at-all"]),
        127,
        "cannot run no-such-command-at-all: there is no such command",
    );
    let of_record = &mut run_in(&directory, &["-d", "30", "--", "true"]);
    refuses(of_record, 127, "cannot run -d: it is no option of run (headway help run)");
    let plain = directory.path().join("plain.txt");
    std::fs::write(&plain, "no program").expect("written");
    refuses(run_in(&directory, &["--"]).arg(&plain), 126, "permission denied");
    refuses(&mut run_in(&directory, &["-o", "no/a.jfr", "--", "true"]), 1, "its directory does not exist");
}

#[test]
fn a_command_without_a_jvm_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let said = said(&mut run_in(&directory, &["--", "true"]));
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("no recording was made: the command started no JVM"), "{}", said.stderr);
}
