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

/// [`behind_walls`], as user nobody. The shell stays: it is the namespace's first process, with
/// which the kernel kills the JVM. A process that becomes another user is forgotten as one that
/// dies with its parent.
fn behind_walls_as_nobody(set_up: &str, java: &Command) -> Command {
    let mut as_nobody = as_nobody();
    as_nobody.arg(java.get_program()).args(java.get_args());
    let command = behind_walls(set_up, &as_nobody);
    let script = command.get_args().last().and_then(|script| script.to_str()).expect("a script");
    let script = format!("{}; exit 1", script.replacen(" && exec ", " && ", 1));
    let mut staying = Command::new("unshare");
    staying.args(command.get_args().take_while(|word| *word != "-c")).args(["-c", &script]);
    staying.stdin(Stdio::null()).stdout(Stdio::null());
    staying
}

/// The JVM below `unshare`, whose own process is only its parent, or its parent's.
fn jvm_below(parent: u32) -> u32 {
    let child_of = |parent: u32| -> Option<u32> {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    };
    let is_java = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.trim() == "java");
    let mut found = None;
    eventually("the JVM runs", || {
        let child = child_of(parent);
        found = child.into_iter().chain(child.and_then(child_of)).find(is_java);
        found.is_some()
    });
    let pid = found.expect("found");
    jdk::wait_until_running(pid);
    pid
}

/// A command that is killed if it has not ended after four minutes, so that a test fails instead of hanging.
fn bounded(command: &Command) -> Command {
    let mut bounded = Command::new("timeout");
    bounded.args(["-k", "5", "240"]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded
}

/// Records a process for a second, into a directory that only root can enter.
fn records(pid: u32) -> support::Said {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.jfr");
    let mut command = headway_with_agent(["record", "-d", "1500ms", "-o"]);
    let said = said(&mut bounded(command.arg(&file).arg(pid.to_string())));
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

/// Fills what is left of a file system, so that not even an empty file's first byte fits.
fn filled(directory: &str) -> String {
    format!("(dd if=/dev/zero of={directory}/filled bs=4k 2>/dev/null || true)")
}

#[test]
fn a_container_whose_tmp_is_full_gets_the_library_elsewhere() {
    if !may_unshare() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::contended(&home, &[]) else { return };
    let tmp = "mount -t tmpfs tmpfs /tmp && mount -o remount,size=1m /tmp";
    // Room for replies but not for the library, and no room at all.
    for fill in ["true", &filled("/tmp")] {
        let set_up = format!("{tmp} && {fill} && mount -t tmpfs tmpfs /var/tmp && mount -o remount,bind,ro /");
        let mut target = Guarded::spawn(&mut behind_walls(&covered(&set_up, &java), &java));
        let pid = jvm_below(target.pid());
        records(pid);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
        assert!(maps.contains("/var/tmp/.headway-"), "loaded from where there is room");
        assert_eq!((traces(pid, "/tmp"), traces(pid, "/var/tmp")), (vec![], vec![]), "no part is left either");
        let status = said(&mut bounded(&headway_with_agent(["status", &pid.to_string()])));
        assert!(status.stdout.contains("Nothing is being recorded"), "{}{}", status.stdout, status.stderr);
        assert!(target.lives());
    }
}

#[test]
fn a_container_whose_file_systems_are_all_full_is_refused_and_nothing_is_left() {
    if !may_unshare() {
        return;
    }
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::contended(&home, &[]) else { return };
    let tmp = "cd / && mount -t tmpfs tmpfs /tmp && mount -o remount,size=1m /tmp";
    let others = "for d in /var/tmp /dev/shm; do mount -t tmpfs -o size=64k tmpfs $d; done";
    for fill in ["true", &filled("/tmp")] {
        let set_up = format!("{tmp} && {fill} && {others} && mount -o remount,bind,ro /");
        let mut target = Guarded::spawn(&mut behind_walls(&covered(&set_up, &java), &java));
        let pid = jvm_below(target.pid());
        let command = headway_with_agent(["record", "-d", "1", "-o", "/refused.jfr", &pid.to_string()]);
        refuses(&mut bounded(&command), 3, "/tmp: full; /var/tmp: full; /dev/shm: full; /: read-only");
        for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
            assert_eq!(traces(pid, directory), Vec::<String>::new(), "{directory}");
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
        assert!(!maps.contains("libheadway"), "nothing is loaded");
        assert!(target.lives());
    }
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
    refuses(&mut bounded(&headway_with_agent(["record", "-d", "1", &pid.to_string()])), 3, &sentence);
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
            status.stdout.contains("Nothing is being recorded"),
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
    let said = said(&mut bounded(&headway_with_agent(["record", "-d", "1", "-o", "/refused.jfr", &pid.to_string()])));
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    for part in
        ["/tmp: mounted noexec", "/dev/shm: mounted noexec", "in memory: the process has a pid namespace of its own"]
    {
        assert!(said.stderr.contains(part), "{part} is missing in {}", said.stderr);
    }
    assert!(target.lives());
}

/// Removes the attach socket that an ended JVM of another user left under this pid. A JVM
/// removes it when it starts, if it may: a user's may not remove root's. Returns its path.
fn without_socket_of_another(target: &Guarded) -> String {
    let socket = format!("/tmp/.java_pid{}", target.pid());
    let _ = std::fs::remove_file(&socket);
    socket
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
        let socket = without_socket_of_another(&target);
        drop(UnixListener::bind(socket).expect("bound"));
        let said = records(target.pid());
        assert!(said.stderr.contains(&format!("Java {version}")), "{}", said.stderr);
    }
    assert!(recorded > 0, "no JDK can be run by another user");
}

#[test]
fn root_records_another_users_jvm_in_a_container() {
    if !may_unshare() || !may_change_user() {
        return;
    }
    let can_run = |home: &std::path::PathBuf| {
        let version = as_nobody().arg(home.join("bin/java")).arg("-version").stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let home = jdk::homes().into_iter().map(|(_, home)| home).find(can_run);
    let home = home.expect("a JDK that another user can run");
    let directory = open_to_all();
    let java = java_in(&home, directory.path());
    // The user may not write the recording's directory, nor enter it, and has no /tmp but the container's.
    let set_up = "mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp && mount -o remount,bind,ro /";
    let mut target = Guarded::spawn(&mut behind_walls_as_nobody(&covered(set_up, &java), &java));
    let pid = jvm_below(target.pid());
    records(pid);
    assert_eq!(traces(pid, "/tmp"), Vec::<String>::new());
    assert!(target.lives());
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
    without_socket_of_another(&target);
    let output = tempfile::Builder::new().prefix("headway-test-").tempdir_in("/tmp").expect("a directory");
    std::os::unix::fs::chown(output.path(), Some(65534), Some(65534)).expect("given away");
    let mut attempt = as_nobody();
    attempt.arg(&headway).args(["record", "-d", "1500ms", &target.pid().to_string()]).current_dir(output.path());
    let said = said(attempt.env_remove("HEADWAY_AGENT"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(unwrapped(&said.stdout).contains("`Contended.rebuild` owned it"), "{}", said.stdout);
}
