//! Attaching to real JVMs, and refusing what cannot or must not be attached to.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{eventually, headway, headway_with_agent, jdk, refuses, said, unwrapped, Guarded};

/// The directory that the agent was loaded from.
fn loaded_from(pid: u32) -> std::path::PathBuf {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
    let line = maps.lines().find(|line| line.contains("/libheadway.so")).expect("the agent is loaded");
    let path = &line[line.find('/').expect("a path")..];
    Path::new(path).parent().expect("a directory").to_owned()
}

/// The report of a recording, which must be sound.
fn report(file: &Path) -> serde_json::Value {
    let said = said(headway(["report", "--json", "--by", "owner-method"]).arg(file));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

fn top_owner(report: &serde_json::Value) -> &str {
    report["rows"][0]["value"].as_str().unwrap_or_default()
}

#[test]
fn record_start_dump_status_and_stop_on_every_jdk() {
    for (version, home) in jdk::homes() {
        let Some(mut java) = jdk::running(&home, &[]) else { return };
        let pid = java.pid().to_string();
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str| directory.path().join(name);
        let run = |arguments: &[&str]| {
            let said = said(headway_with_agent(arguments).current_dir(directory.path()));
            assert_eq!(said.code, Some(0), "JDK {version}, {arguments:?}: {}{}", said.stdout, said.stderr);
            said
        };

        let recorded = run(&["record", "-d", "1500ms", "-o", "one-%p.jfr.zst", &pid]);
        assert!(
            recorded.stderr.contains(&format!("Recording process {pid} (Contended, Java {version}")),
            "{}",
            recorded.stderr
        );
        assert!(recorded.stderr.contains("this is changed or open in the process:"), "{}", recorded.stderr);
        let exit = ["ObjectMonitor::ExitEpilog(", "ObjectMonitor::exit_epilog("][usize::from(version > 21)];
        assert!(recorded.stderr.contains(exit), "JDK {version}: {}", recorded.stderr);
        let safely = run(&["record", "-d", "300ms", "--safe", "-q", "-o", "safe.jfr", &pid]).stderr;
        assert!(
            safely.contains("No function, method or class of the process is changed.") && !safely.contains("  - "),
            "{safely}"
        );
        let waits = run(&["record", "-d", "300ms", "-e", "park", "-q", "-o", "parks.jfr", &pid]).stderr;
        assert!(waits.contains("Unsafe.park") && !waits.contains("ObjectMonitor"), "{waits}");
        assert!(waits.contains("file descriptors of perf_event") && !waits.contains("SIGPROF"), "{waits}");
        let timed =
            run(&["record", "-d", "300ms", "-e", "cpu", "--engine", "signal", "-q", "-o", "cpu.jfr", &pid]).stderr;
        assert!(timed.contains("timers and a handler of SIGPROF") && !timed.contains("perf_event"), "{timed}");
        assert!(recorded.stderr.contains("of CPU time"), "{}", recorded.stderr);
        assert!(
            unwrapped(&recorded.stdout).contains("`Contended.rebuild` owned it"),
            "JDK {version}\n{}",
            recorded.stdout
        );
        assert_eq!(top_owner(&report(&file(&format!("one-{pid}.jfr.zst")))), "Contended.rebuild");

        run(&["start", "-o", "long.jfr", &pid]);
        let listed: serde_json::Value = serde_json::from_str(&run(&["list", "--json"]).stdout).expect("JSON");
        let own = listed["jvms"]
            .as_array()
            .and_then(|jvms| jvms.iter().find(|jvm| jvm["pid"] == java.pid()))
            .expect("listed");
        assert_eq!((own["headway_loaded"].as_bool(), own["main"].as_str()), (Some(true), Some("Contended")));
        let status = run(&["status", &pid]).stdout;
        assert!(status.contains("Recording into") && status.contains("Mechanisms"), "{status}");
        refuses(headway_with_agent(["start", "-o", "again.jfr", &pid]).current_dir(directory.path()), 1, "already");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let status = unwrapped(&run(&["status", &pid]).stdout);
        assert!(status.contains("Found so far") && status.contains("`Contended.rebuild` owned it"), "{status}");
        run(&["dump", "-o", "dumped.jfr", &pid]);
        assert_eq!(top_owner(&report(&file("dumped.jfr"))), "Contended.rebuild");
        let stopped = run(&["stop", &pid]).stdout;
        assert!(stopped.starts_with("The recording of ") && stopped.contains("long.jfr"), "{stopped}");
        assert_eq!(top_owner(&report(&file("long.jfr"))), "Contended.rebuild");
        refuses(&mut headway_with_agent(["stop", &pid]), 1, "");

        assert!(java.lives(), "JDK {version}: the target is unharmed");
        assert!(!loaded_from(java.pid()).exists(), "nothing of ours is left");
    }
}

#[test]
fn a_library_that_nobody_may_write_is_shared_by_all_jvms() {
    let Some(home) = jdk::any_home() else { return };
    let installed = tempfile::tempdir().expect("a directory");
    let library = installed.path().join("libheadway.so");
    std::fs::copy(support::agent_library(), &library).expect("copied");
    let recorded_from = |mode: u32| {
        std::fs::set_permissions(&library, std::fs::Permissions::from_mode(mode)).expect("permitted");
        let java = jdk::running(&home, &[]).expect("a JVM");
        let mut record = headway(["record", "-d", "1s", "-o", "a-%p.jfr", &java.pid().to_string()]);
        let said = said(record.env("HEADWAY_AGENT", &library).current_dir(installed.path()));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        loaded_from(java.pid())
    };
    let place = installed.path().canonicalize().expect("a path");
    assert_eq!((recorded_from(0o555), recorded_from(0o555)), (place.clone(), place.clone()));
    assert!(library.exists(), "it is not ours to remove");
    // One that can be written may change while it is mapped.
    assert_ne!(recorded_from(0o755), place);
}

#[test]
fn ctrl_c_stops_early_and_keeps_the_recording() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = headway_with_agent(["record", "-d", "10m", "-o", "a.jfr", &java.pid().to_string()]);
    let recording = command.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let recording = recording.expect("headway runs");
    wait_for_events(directory.path());
    let interrupt = Command::new("kill").args(["-INT", &recording.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    let said: support::Said = recording.wait_with_output().expect("headway ends").into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("FINDINGS"), "{}", said.stdout);
}

/// Waits until the recording `a.jfr` has some.
fn wait_for_events(directory: &Path) {
    eventually("the recording begins", || {
        std::fs::metadata(directory.join("a.jfr")).is_ok_and(|file| file.len() > 20_000)
    });
}

#[test]
fn a_target_that_ends_leaves_what_was_recorded() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = headway_with_agent(["record", "-d", "10m", "-o", "a.jfr", &java.pid().to_string()]);
    let recording = command.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let recording = recording.expect("headway runs");
    wait_for_events(directory.path());
    // Only a zombie is left of a child that nobody waits for.
    let ended = Command::new("kill").arg(java.pid().to_string()).status();
    assert!(ended.expect("kill runs").success());
    let said: support::Said = recording.wait_with_output().expect("headway ends").into();
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let last = said.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("ended while it was being recorded; what was recorded until then is in"), "{last}");
    assert!(said.stdout.contains("FINDINGS"), "{}", said.stdout);
}

#[test]
fn names_find_their_jvm_and_two_of_a_name_are_ambiguous() {
    let Some(home) = jdk::any_home() else { return };
    // A main class of our own, so that other tests' JVMs do not match.
    let Some(classes) = jdk::classes() else { return };
    let start = |marker: &str| {
        let mut java = Command::new(home.join("bin/java"));
        java.arg("-cp").arg(classes).args(["Contended", "600"]).current_dir(marker).stdout(Stdio::null());
        Guarded::spawn(&mut java)
    };
    let (first, second) = (start("/"), start("/"));
    jdk::wait_until_running(first.pid());
    jdk::wait_until_running(second.pid());
    let said = said(&mut headway(["status", "Contended"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("\"Contended\" matches ") && said.stderr.contains(": give the pid"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains(&format!("{} Contended", first.pid())), "{}", said.stderr);
    refuses(&mut headway(["status", "Contendad"]), 2, "did you mean \"Contended\"?");
}

#[test]
fn a_jvm_without_headway_stays_as_it_is() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    let status = said(&mut headway_with_agent(["status", &pid]));
    assert!(status.stdout.contains("Headway is not loaded."), "{}", status.stdout);
    for command in ["stop", "dump"] {
        let sentence = format!("Headway is not loaded in process {pid}, so there is nothing to {command}");
        refuses(&mut headway_with_agent([command, &pid]), 1, &sentence);
    }
    assert!(!Path::new(&format!("/tmp/.java_pid{pid}")).exists(), "not even the attach mechanism was started");
}

#[test]
fn targets_that_are_no_jvm_are_left_alone() {
    let mut sleeper = Guarded::spawn(Command::new("sleep").arg("600"));
    let pid = sleeper.pid().to_string();
    refuses(&mut headway_with_agent(["record", &pid]), 3, &format!("process {pid} (sleep) is not a JVM"));
    assert!(sleeper.lives());
    let mut ended = Command::new("true").spawn().expect("true runs");
    let pid = ended.id().to_string();
    // A zombie, and then nothing at all.
    eventually("it ends", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z"))
    });
    refuses(&mut headway_with_agent(["record", &pid]), 3, &format!("there is no process {pid}"));
    ended.wait().expect("it ended");
    refuses(&mut headway_with_agent(["record", &pid]), 3, &format!("there is no process {pid}"));
}

/// A process that looks like a JVM from outside: it maps a `libjvm.so` whose
/// JDK says that it is of this version.
fn impostor(directory: &Path, version: &str, more: &[&str]) -> Guarded {
    let lib = directory.join("lib/server");
    std::fs::create_dir_all(&lib).expect("a directory");
    std::fs::write(directory.join("release"), format!("JAVA_VERSION=\"{version}\"\n")).expect("written");
    let library = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let libc =
        library.lines().find_map(|line| line.find('/').map(|at| &line[at..]).filter(|p| p.contains("/libgcc_s")));
    let preloads = ["libjvm.so"].iter().chain(more).map(|name| {
        let path = lib.join(name);
        std::fs::copy(libc.expect("a library to copy"), &path).expect("copied");
        path.display().to_string()
    });
    let preloads = preloads.collect::<Vec<_>>().join(":");
    let sleeper = Guarded::spawn(Command::new("sleep").arg("600").env("LD_PRELOAD", preloads));
    eventually("it is loaded", || {
        std::fs::read_to_string(format!("/proc/{}/maps", sleeper.pid())).is_ok_and(|maps| maps.contains("libjvm.so"))
    });
    sleeper
}

#[test]
fn what_would_die_of_a_sigquit_gets_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut impostor = impostor(directory.path(), "17.0.1", &[]);
    let pid = impostor.pid().to_string();
    refuses(&mut headway_with_agent(["record", &pid]), 3, &format!("process {pid} does not handle SIGQUIT"));
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(impostor.lives());
    assert!(!Path::new(&format!(".attach_pid{pid}")).exists());
}

#[test]
fn other_virtual_machines_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let old = impostor(&directory.path().join("old"), "11.0.2", &[]);
    refuses(
        &mut headway_with_agent(["record", &old.pid().to_string()]),
        3,
        "runs Java 11.0.2, but Headway needs 17 or later",
    );
    let openj9 = impostor(&directory.path().join("openj9"), "17.0.2", &["libj9vm29.so"]);
    let listed = said(&mut headway(["list"])).stdout;
    assert!(listed.contains("17.0.2 (OpenJ9)"), "{listed}");
    refuses(&mut headway_with_agent(["record", &openj9.pid().to_string()]), 3, "runs on Eclipse OpenJ9");
}

#[test]
fn jvms_that_refuse_are_told_apart() {
    for (version, home) in jdk::homes() {
        let refusal = |options: &[&str], sentence: &str| {
            let Some(mut java) = jdk::running(&home, options) else { return };
            refuses(&mut headway_with_agent(["record", &java.pid().to_string()]), 3, sentence);
            assert!(java.lives(), "JDK {version} {options:?}");
        };
        refusal(&["-XX:+DisableAttachMechanism"], "refuses attaching (-XX:+DisableAttachMechanism)");
        refusal(
            &["-XX:+DisableAttachMechanism", "-XX:-UsePerfData"],
            "refuses attaching (-XX:+DisableAttachMechanism)",
        );
        refusal(&["-XX:-EnableDynamicAgentLoading"], "(-XX:-EnableDynamicAgentLoading)");
    }
}

#[test]
fn a_jvm_that_starts_its_listener_itself_needs_no_signal() {
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &["-Xrs"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = headway_with_agent(["record", "-d", "1", "-q", &java.pid().to_string()]);
    let said = said(command.current_dir(directory.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(java.lives());
}

fn signal(pid: &str, name: &str) {
    Command::new("kill").args([name, pid]).status().expect("kill runs");
}

fn stop(pid: &str) {
    signal(pid, "-STOP");
    eventually("it stops", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T"))
    });
}

#[test]
fn a_stopped_jvm_is_told() {
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    stop(&pid);
    refuses(&mut headway_with_agent(["record", &pid]), 3, &format!("process {pid} is stopped (state T)"));
    signal(&pid, "-CONT");
    assert!(java.lives());
}

/// It waits for it: whoever stopped it may continue it.
#[test]
fn a_jvm_that_is_stopped_while_it_is_recorded_is_reported_once() {
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let errors = directory.path().join("errors");
    let mut command = headway_with_agent(["record", "-d", "2", "-q", "-o", "a.jfr", &pid]);
    command.current_dir(directory.path()).stderr(std::fs::File::create(&errors).expect("created"));
    let mut client = command.spawn().expect("headway runs");
    let said = || std::fs::read_to_string(&errors).expect("read");
    // The JVM has answered then, and is asked nothing until the end.
    eventually("it records", || said().contains("Until the recording ends"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    stop(&pid);
    let sentence = format!("Still waiting: process {pid} is stopped (state T) and cannot answer");
    eventually("it says why it waits", || said().contains(&sentence));
    std::thread::sleep(std::time::Duration::from_millis(500));
    signal(&pid, "-CONT");
    assert_eq!(client.wait().expect("waited for").code(), Some(0), "{}", said());
    assert_eq!(said().matches(&sentence).count(), 1, "{}", said());
    assert!(java.lives());
}

#[test]
fn a_socket_left_behind_by_a_killed_jvm_does_not_stand_in_the_way() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let socket = format!("/tmp/.java_pid{}", java.pid());
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("bound"));
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = headway_with_agent(["record", "-d", "1", "-q", &java.pid().to_string()]);
    let said = said(command.current_dir(directory.path()));
    let _ = std::fs::remove_file(socket);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn somebody_elses_socket_is_not_talked_to() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let socket = format!("/tmp/.java_pid{}", java.pid());
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let said = said(&mut headway_with_agent(["record", "-d", "1", &java.pid().to_string()]));
    let _ = std::fs::remove_file(socket);
    drop(listener);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains(&format!("process {} listens there instead", std::process::id())), "{}", said.stderr);
}

#[test]
fn output_that_cannot_be_is_told_before_anything_is_touched() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let precious = directory.path().join("thesis.jfr");
    std::fs::write(&precious, "ten years of work").expect("written");
    for command in ["record", "start"] {
        let missing = directory.path().join("no/a.jfr");
        refuses(headway_with_agent([command, &pid, "-o"]).arg(missing), 1, "its directory does not exist");
        refuses(
            headway_with_agent([command, &pid, "-o"]).arg(&precious),
            1,
            "not a recording of Headway's is there already",
        );
    }
    assert!(!Path::new(&format!("/tmp/.java_pid{pid}")).exists());
}

#[test]
fn a_missing_library_is_told_with_where_it_was_looked_for() {
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &[]) else { return };
    let mut command = headway(["record", &java.pid().to_string()]);
    command.env("HEADWAY_AGENT", "/nowhere/libheadway.so");
    refuses(
        &mut command,
        1,
        "cannot find libheadway.so (looked at /nowhere/libheadway.so): set HEADWAY_AGENT to its path",
    );
    assert!(java.lives());
    assert!(!Path::new(&format!("/tmp/.java_pid{}", java.pid())).exists(), "nothing was touched");
}

#[test]
fn a_library_that_would_harm_a_jvm_is_refused_before_the_jvm_is_touched() {
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let library = directory.path().join("libheadway.so");
    let whole = std::fs::read(support::agent_library()).expect("read");
    let mark = headway_protocol::AGENT_MARK.as_bytes();
    let at = whole.windows(mark.len()).position(|bytes| bytes == mark).expect("it names its version");
    let mut other_version = whole.clone();
    other_version[at + mark.len() - 2] = b'x';
    let commands: [&[&str]; 6] = [
        &["record", &pid],
        &["start", &pid],
        &["metrics", "--listen", "127.0.0.1:0", &pid],
        &["top", "--json", &pid],
        &["causal", "record", "--progress", "Contended.rebuild", &pid],
        &["run", "--", "true"],
    ];
    for (content, problem) in [
        (&b"no library"[..], "it is not a library"),
        (&whole[..1_000_000], "its end is missing"),
        (&whole[..whole.len() - 1], "its end is missing"),
        (&other_version, "it is of another version"),
    ] {
        std::fs::write(&library, content).expect("written");
        let path = library.canonicalize().expect("a path");
        let sentence = format!(
            "headway: {} is not the complete agent library of headway {} ({problem}): unpack the archive again\n",
            path.display(),
            headway_protocol::VERSION
        );
        for command in commands {
            let said = said(headway(command).env("HEADWAY_AGENT", &library).current_dir(directory.path()));
            assert_eq!((said.code, said.stderr.as_str()), (Some(1), sentence.as_str()), "{command:?}");
        }
    }
    assert!(java.lives());
    assert!(!Path::new(&format!("/tmp/.java_pid{pid}")).exists(), "nothing was touched");
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    if !support::permitted("a pseudo-terminal by script(1)", Command::new("script").args(["-qec", "true", "/dev/null"]))
    {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let line = format!("{} record -d 3 -q {}", support::program().display(), java.pid());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("HEADWAY_AGENT", support::agent_library());
    let said = said(script.current_dir(directory.path()).stdin(Stdio::null()).process_group(0));
    assert!(said.stdout.contains("of 3 s") && said.stdout.contains("events"), "{}", said.stdout);
    assert!(said.stdout.contains("dropped   Ctrl-C stops early"), "{}", said.stdout);
}
