//! Targets that live behind walls: other users, other namespaces, file
//! systems that cannot be written. They need privileges to be set up; where
//! these are missing that is said, and fails where `CI=true`.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{eventually, headway_with_agent, jdk, permitted, refuses, said, unwrapped, Guarded};

const NOBODY: &str = "65534";

/// `setpriv`, as user and group nobody, without any privileges.
fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    command
}

/// `unshare`, with mount and pid namespaces of its own and a script that sets
/// up the file systems before it becomes the JVM.
fn behind_walls(set_up: &str, java: &Command) -> Command {
    let line = std::iter::once(java.get_program()).chain(java.get_args());
    let line: Vec<String> = line.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let script = format!("mount -t proc proc /proc && {set_up} && exec {}", line.join(" "));
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn may_unshare() -> bool {
    permitted(
        "unshare with pid and mount namespaces",
        Command::new("unshare").args(["--mount", "--pid", "--fork", "true"]),
    )
}

fn may_change_user() -> bool {
    permitted("setpriv to another user", as_nobody().arg("true"))
}

/// The JVM below `unshare`, whose own process is only its parent.
fn jvm_below(parent: u32) -> u32 {
    let mut found = None;
    eventually("the JVM runs", || {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        let child = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        found =
            child.filter(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.trim() == "java"));
        found.is_some()
    });
    let pid = found.expect("found");
    jdk::wait_until_running(pid);
    pid
}

/// Records a process for a second, into a directory that only root can enter.
fn records(pid: u32) -> support::Said {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.jfr");
    let mut command = headway_with_agent(["record", "-d", "1500ms", "-o"]);
    let said = said(command.arg(&file).arg(pid.to_string()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(unwrapped(&said.stdout).contains("`Contended.rebuild` owned it"), "{}{}", said.stdout, said.stderr);
    assert!(file.exists());
    said
}

/// Names in a directory of the target that are ours.
fn traces(pid: u32, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/root{directory}")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(".headway-") || name.starts_with(".attach_pid")).collect()
}

/// A directory that everybody may use, with what the JVM needs in it: tests
/// may run where home directories are closed to others.
fn open_to_all() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::Builder::new().prefix("headway-test-").tempdir_in("/tmp").expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("opened");
    for entry in std::fs::read_dir(jdk::classes().expect("classes")).expect("listed").flatten() {
        std::fs::copy(entry.path(), directory.path().join(entry.file_name())).expect("copied");
    }
    directory
}

fn java_in(home: &Path, directory: &Path) -> Command {
    let mut java = Command::new(home.join("bin/java"));
    java.arg("-cp").arg(directory).args(["Contended", "600"]).stdin(Stdio::null()).stdout(Stdio::null());
    java
}

#[test]
fn a_jvm_in_a_container_is_recorded() {
    if !may_unshare() {
        return;
    }
    for (version, home) in jdk::homes() {
        let Some(java) = jdk::contended(&home, &[]) else { return };
        // A /tmp of its own, and everything else read-only.
        let set_up = "mount -t tmpfs tmpfs /tmp && mount -o remount,bind,ro /";
        let mut target = Guarded::spawn(&mut behind_walls(&covered(set_up, &java), &java));
        let pid = jvm_below(target.pid());
        let said = records(pid);
        assert!(said.stderr.contains(&format!("Java {version}")), "{}", said.stderr);
        assert_eq!(traces(pid, "/tmp"), Vec::<String>::new());
        assert!(target.lives());
    }
}

/// Keeps what the JVM needs from below `/tmp` where `/tmp` gets covered.
fn covered(set_up: &str, java: &Command) -> String {
    let words = std::iter::once(java.get_program()).chain(java.get_args());
    let below = words.filter_map(|word| Some(word.to_str()?.strip_prefix("/tmp/")?.split('/').next()?.to_owned()));
    let mut names: Vec<String> = below.collect();
    names.sort();
    names.dedup();
    let mut script = "mkdir -p /run/headway-test && mount --bind /tmp /run/headway-test".to_owned();
    script.push_str(" && mount -t tmpfs tmpfs /tmp");
    for name in &names {
        script.push_str(&format!(" && mkdir /tmp/{name} && mount --bind /run/headway-test/{name} /tmp/{name}"));
    }
    set_up.replace("mount -t tmpfs tmpfs /tmp", &script)
}

#[test]
fn a_container_whose_tmp_is_noexec_gets_the_library_elsewhere() {
    if !may_unshare() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::contended(&home, &[]) else { return };
    let set_up = "mount -t tmpfs tmpfs /tmp && mount -o remount,noexec /tmp && mount -t tmpfs tmpfs /var/tmp && mount -o remount,bind,ro /";
    let target = Guarded::spawn(&mut behind_walls(&covered(set_up, &java), &java));
    let pid = jvm_below(target.pid());
    records(pid);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
    assert!(maps.contains("/var/tmp/.headway-"), "loaded from where loading is allowed");
    assert_eq!((traces(pid, "/tmp"), traces(pid, "/var/tmp")), (vec![], vec![]));
}

#[test]
fn a_container_that_can_write_nowhere_is_refused() {
    if !may_unshare() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::contended(&home, &[]) else { return };
    let read_only = "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && mount -o remount,bind,ro /";
    let set_up = format!("cd / && {read_only} && for d in /var/tmp /dev/shm; do mount -t tmpfs -o ro tmpfs $d; done");
    let mut target = Guarded::spawn(&mut behind_walls(&set_up, &java));
    let pid = jvm_below(target.pid());
    let sentence =
        format!("cannot talk to process {pid} through its attach socket: no trigger file can be made for it");
    refuses(&mut headway_with_agent(["record", "-d", "1", &pid.to_string()]), 3, &sentence);
    assert!(target.lives());
}

/// Wherever the JVM can write, it cannot load a library from.
const NOWHERE_TO_EXECUTE: &str = "cd / && mount -t tmpfs tmpfs /tmp && mount -o remount,noexec /tmp && \
    for d in /var/tmp /dev/shm; do mount -t tmpfs -o noexec tmpfs $d; done && mount -o remount,bind,ro /";

#[test]
fn where_nothing_can_be_executed_the_library_comes_out_of_memory() {
    if !may_unshare() {
        return;
    }
    for (version, home) in jdk::homes() {
        let Some(java) = jdk::contended(&home, &[]) else { return };
        let line = behind_walls(&covered(NOWHERE_TO_EXECUTE, &java), &java);
        // Without a pid namespace of its own it can see our /proc directory.
        let mut command = Command::new("unshare");
        command.arg("--mount").args(line.get_args().skip_while(|word| *word != "sh")).stdout(Stdio::null());
        let target = Guarded::spawn(&mut command);
        jdk::wait_until_running(target.pid());
        records(target.pid());
        // A later command finds the library that is loaded.
        let pid = target.pid().to_string();
        let status = said(&mut headway_with_agent(["status", &pid]));
        assert!(
            status.stdout.contains("nothing is being recorded"),
            "JDK {version}: {}{}",
            status.stdout,
            status.stderr
        );
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
        let mut loaded: Vec<&str> =
            maps.lines().filter_map(|l| l.find("/memfd:libheadway").map(|at| &l[at..])).collect();
        loaded.dedup();
        assert_eq!(loaded.len(), 1, "loaded once");
    }
}

#[test]
fn a_container_where_nothing_can_be_executed_is_refused_with_the_reasons() {
    if !may_unshare() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::contended(&home, &[]) else { return };
    let set_up = covered(NOWHERE_TO_EXECUTE, &java);
    let mut target = Guarded::spawn(&mut behind_walls(&set_up, &java));
    let pid = jvm_below(target.pid());
    let said = said(&mut headway_with_agent(["record", "-d", "1", "-o", "/refused.jfr", &pid.to_string()]));
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    for part in
        ["/tmp: mounted noexec", "/dev/shm: mounted noexec", "in memory: the process has a pid namespace of its own"]
    {
        assert!(said.stderr.contains(part), "{part} is missing in {}", said.stderr);
    }
    assert!(target.lives());
}

#[test]
fn root_records_another_users_jvm_as_that_user() {
    if !may_change_user() {
        return;
    }
    let mut recorded = 0;
    for (version, home) in jdk::homes() {
        let directory = open_to_all();
        let java = java_in(&home, directory.path());
        let mut command = as_nobody();
        command.arg(java.get_program()).args(java.get_args()).stdin(Stdio::null()).stdout(Stdio::null());
        let version_of = as_nobody().arg(home.join("bin/java")).arg("-version").stderr(Stdio::null()).status();
        if !version_of.is_ok_and(|status| status.success()) {
            println!("SKIPPED: JDK {version} lies where another user cannot run it");
            continue;
        }
        recorded += 1;
        let target = Guarded::spawn(&mut command);
        jdk::wait_until_running(target.pid());
        // What a killed JVM of root's with the same pid leaves: nobody else can remove it.
        drop(UnixListener::bind(format!("/tmp/.java_pid{}", target.pid())).expect("bound"));
        let said = records(target.pid());
        assert!(said.stderr.contains(&format!("Java {version}")), "{}", said.stderr);
    }
    assert!(recorded > 0, "no JDK can be run by another user");
}

#[test]
fn without_privileges_another_users_jvm_is_refused_unharmed() {
    if !may_change_user() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(mut java) = jdk::running(&home, &[]) else { return };
    let directory = open_to_all();
    let headway = directory.path().join("headway");
    let library = directory.path().join("libheadway.so");
    std::fs::copy(support::program(), &headway).expect("copied");
    std::fs::copy(support::agent_library(), &library).expect("copied");
    let pid = java.pid().to_string();
    for command in ["record", "start", "stop", "status"] {
        let mut attempt = as_nobody();
        attempt.arg(&headway).args([command, &pid]).current_dir("/tmp");
        refuses(
            &mut attempt,
            3,
            &format!("process {pid} belongs to user root, and user nobody may not attach to it: run headway as root"),
        );
    }
    let listed = said(as_nobody().arg(&headway).args(["list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let entry =
        listed["jvms"].as_array().and_then(|jvms| jvms.iter().find(|jvm| jvm["pid"] == java.pid())).expect("listed");
    assert_eq!((entry["attachable"].as_bool(), entry["main"].as_str()), (Some(false), Some("Contended")));
    assert!(java.lives());
}

#[test]
fn without_privileges_ones_own_jvm_is_recorded() {
    if !may_change_user() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let directory = open_to_all();
    let (headway, library) = (directory.path().join("headway"), directory.path().join("libheadway.so"));
    std::fs::copy(support::program(), &headway).expect("copied");
    std::fs::copy(support::agent_library(), library).expect("copied");
    let java = java_in(&home, directory.path());
    let mut command = as_nobody();
    let target = Guarded::spawn(command.arg(java.get_program()).args(java.get_args()).stdout(Stdio::null()));
    jdk::wait_until_running(target.pid());
    let output = tempfile::Builder::new().prefix("headway-test-").tempdir_in("/tmp").expect("a directory");
    std::os::unix::fs::chown(output.path(), Some(65534), Some(65534)).expect("given away");
    let mut attempt = as_nobody();
    attempt.arg(&headway).args(["record", "-d", "1500ms", &target.pid().to_string()]).current_dir(output.path());
    let said = said(attempt.env_remove("HEADWAY_AGENT"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(unwrapped(&said.stdout).contains("`Contended.rebuild` owned it"), "{}", said.stdout);
}
