//! Trees of files that stand for machines, and what is read of them.
#![allow(clippy::unwrap_used)] // a test may end like that

use headway_host::control_group::{self, Quota};
use headway_host::machine::CpuTime;
use headway_host::task::Schedule;
use headway_host::{accounting, task, ControlGroup, Evidence, HostError, Machine, Root};
use headway_model::event::StealAccounting;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

const TICK: u64 = 10_000_000;

/// A machine made of files.
struct Tree {
    directory: TempDir,
    root: Root,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let directory = TempDir::new().unwrap();
        let root = Root::at(directory.path());
        let tree = Tree { directory, root };
        files.iter().for_each(|(path, text)| tree.put(path, text));
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn machine(&self) -> Machine {
        Machine::read(&self.root).unwrap()
    }
}

fn ticks(busy: u64, stolen: u64, idle: u64) -> CpuTime {
    CpuTime { busy_ns: busy * TICK, stolen_ns: stolen * TICK, idle_ns: idle * TICK }
}

/// `/proc/PID/task/TID/stat` of a thread with a nasty name.
fn thread_stat(thread: u32, user: u64, system: u64) -> String {
    format!("{thread} (a) b (c) S 1 1 1 0 -1 4194368 10 0 0 0 {user} {system} 0 0 20 0 3 0 100 1 1\n")
}

/// Files that stay open say what the files say now, however long they are.
#[test]
fn kept_files_are_read_anew() {
    let cpus: String = (0..200).map(|cpu| format!("cpu{cpu} {cpu} 0 0 1 0 0 0 2 0 0\n")).collect();
    let text = |busy: u64| format!("cpu  {busy} 0 0 7 0 0 0 9 0 0\n{cpus}intr 1 {}\n", "0 ".repeat(100_000));
    let tree = Tree::new(&[("proc/stat", &text(5)), ("proc/self/task/7/schedstat", "1 2 3\n")]);
    let (mut machine, mut schedule) = (Machine::file(&tree.root), task::schedule_file(&tree.root, 7));
    for (busy, wait) in [(5, 2), (50, 20)] {
        tree.put("proc/stat", &text(busy));
        tree.put("proc/self/task/7/schedstat", &format!("1 {wait} 3\n"));
        let read = Machine::read_from(&mut machine, tree.root.tick_ns).unwrap();
        assert_eq!(read, tree.machine());
        assert_eq!((read.all, read.cpus.len()), (ticks(busy, 9, 7), 200));
        assert_eq!(task::schedule_from(&mut schedule).unwrap().wait_ns, wait);
    }
    tree.put("proc/self/task/7/schedstat", "1 2");
    let cut = task::schedule_from(&mut schedule).unwrap_err().to_string();
    assert!(cut.ends_with("/7/schedstat has no three numbers in a line of its own"), "{cut}");
    let none = task::schedule_from(&mut task::schedule_file(&tree.root, 8)).unwrap_err();
    assert!(matches!(none, HostError::Missing(_)), "{none}");
    assert_eq!(task::count(&tree.root).unwrap(), 1);
}

/// The published example: three threads on three CPUs, two of which are
/// suspended for five ticks each between two samples.
#[test]
fn the_published_example_gives_its_differences() {
    let tree = Tree::new(&[
        ("proc/stat", "cpu  20 0 4 12 0 0 0 0 0 0\ncpu0 9 0 3 0 0 0 0 0 0 0\ncpu1 11 0 1 0 0 0 0 0 0 0\ncpu2 0 0 0 12 0 0 0 0 0 0\nctxt 1\n"),
        ("proc/self/task/1/stat", &thread_stat(1, 9, 3)),
        ("proc/self/task/2/stat", &thread_stat(2, 11, 1)),
        ("proc/self/task/3/stat", &thread_stat(3, 0, 0)),
    ]);
    let before = tree.machine();
    let cpu_before = [1, 2, 3].map(|id| task::cpu_ns(&tree.root, id).unwrap());
    // The machine's own times leave out the ten stolen ticks, the threads' do not.
    tree.put("proc/stat", "cpu  29 0 5 22 0 0 0 10 0 0\ncpu0 14 0 3 0 0 0 0 5 0 0\ncpu1 15 0 2 0 0 0 0 5 0 0\ncpu2 0 0 0 22 0 0 0 0 0 0\nctxt 2\n");
    tree.put("proc/self/task/1/stat", &thread_stat(1, 19, 3));
    tree.put("proc/self/task/2/stat", &thread_stat(2, 19, 2));
    tree.put("proc/self/task/3/stat", &thread_stat(3, 1, 0));

    let machine = tree.machine().since(&before);
    assert_eq!(machine.all, ticks(10, 10, 10));
    assert_eq!(machine.cpus, [(0, ticks(5, 5, 0)), (1, ticks(5, 5, 0)), (2, ticks(0, 0, 10))]);
    let cpu = [1, 2, 3].map(|id| task::cpu_ns(&tree.root, id).unwrap());
    let ran: Vec<u64> = cpu.iter().zip(cpu_before).map(|(now, then)| (now - then) / TICK).collect();
    assert_eq!(ran, [10, 9, 1]);
    let mut threads = task::ids(&tree.root).unwrap();
    threads.sort_unstable();
    assert_eq!(threads, [1, 2, 3]);
}

#[test]
fn counters_that_run_backwards_stand_still() {
    let tree = Tree::new(&[("proc/stat", "cpu  100 0 0 500 50 0 0 70 0 0\ncpu0 100 0 0 500 50 0 0 70 0 0\n")]);
    let before = tree.machine();
    tree.put("proc/stat", "cpu  90 0 0 510 20 0 0 3 0 0\ncpu0 110 0 0 490 50 0 0 80 0 0\n");
    let since = tree.machine().since(&before);
    assert_eq!((since.all, since.cpus), (ticks(0, 0, 0), vec![(0, ticks(10, 10, 0))]));
}

#[test]
fn cpus_come_and_go_by_their_number() {
    let tree =
        Tree::new(&[("proc/stat", "cpu  6 0 0 6 0 0 0 6 0 0\ncpu0 1 0 0 1 0 0 0 1 0 0\ncpu2 5 0 0 5 0 0 0 5 0 0\n")]);
    let before = tree.machine();
    tree.put("proc/stat", "cpu  90 0 0 9 0 0 0 9 0 0\ncpu1 70 0 0 1 0 0 0 1 0 0\ncpu2 7 0 0 6 0 0 0 8 0 0\nintr 1\n");
    let now = tree.machine();
    assert_eq!(now.since(&before).cpus, [(2, ticks(2, 3, 1))]);
    assert_eq!(now.cpus.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_kernel_without_stolen_time_has_none() {
    let tree = Tree::new(&[("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4 5\n")]);
    let machine = tree.machine();
    assert_eq!((machine.all, machine.cpus), (ticks(6, 0, 4), vec![(0, ticks(6, 0, 9))]));
}

#[test]
fn truncated_files_give_what_is_whole_or_an_error() {
    let whole = "cpu  11 0 0 11 0 0 0 11 0 0\ncpu0 11 0 0 11 0 0 0 11 0 0\n";
    for end in 0..whole.len() {
        let tree = Tree::new(&[("proc/stat", whole.get(..end).unwrap())]);
        match Machine::read(&tree.root) {
            // The first line is whole, the second is not.
            Ok(machine) => assert!(end >= 28 && machine.all == ticks(11, 11, 11) && machine.cpus.is_empty(), "{end}"),
            Err(error) => assert!(matches!(error, HostError::Garbled { .. }), "{end}: {error}"),
        }
    }
    let line = "1065028 1069414 3\n";
    let tree = Tree::new(&[("proc/self/task/7/schedstat", line)]);
    let expected = Schedule { run_ns: 1_065_028, wait_ns: 1_069_414, slices: 3 };
    assert_eq!(task::schedule(&tree.root, 7).unwrap(), expected);
    for end in 0..line.len() {
        tree.put("proc/self/task/7/schedstat", line.get(..end).unwrap());
        assert!(matches!(task::schedule(&tree.root, 7), Err(HostError::Garbled { .. })), "{end}");
    }
    let stat = thread_stat(7, 12, 345);
    let times = stat.find(" 345 ").unwrap() + " 345 ".len();
    for end in 0..stat.len() {
        tree.put("proc/self/task/7/stat", stat.get(..end).unwrap());
        match task::cpu_ns(&tree.root, 7) {
            Ok(cpu) => assert!(end > times && cpu == 357 * TICK, "{end}"),
            Err(error) => assert!(end <= times && matches!(error, HostError::Garbled { .. }), "{end}: {error}"),
        }
    }
}

#[test]
fn what_is_missing_or_denied_is_said_with_its_path() {
    let tree = Tree::new(&[("proc/self/task/7/status", "Name:\tx\n")]);
    let missing = Machine::read(&tree.root).unwrap_err();
    assert!(matches!(missing, HostError::Missing(_)) && missing.to_string().ends_with("/proc/stat"), "{missing}");
    assert!(matches!(task::schedule(&tree.root, 8), Err(HostError::Missing(_))));
    assert!(matches!(task::voluntary_switches(&tree.root, 7), Err(HostError::Garbled { .. })));
    assert!(matches!(ControlGroup::find(&tree.root), Err(HostError::Missing(_))));
    // Whoever is root may read everything: only where it can be denied.
    use std::os::unix::fs::PermissionsExt;
    tree.put("proc/stat", "cpu  1 1 1 1\n");
    let path = tree.directory.path().join("proc/stat");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&path).is_err() {
        assert!(matches!(Machine::read(&tree.root), Err(HostError::Denied(_))));
    }
}

#[test]
fn names_and_switches_of_threads() {
    let tree = Tree::new(&[
        ("proc/self/task/7/comm", "C2 CompilerThre\n"),
        ("proc/self/task/7/status", "Name:\tC2\nvoluntary_ctxt_switches:\t52\nnonvoluntary_ctxt_switches:\t7\n"),
    ]);
    assert_eq!(task::name(&tree.root, 7).unwrap(), "C2 CompilerThre");
    assert_eq!(task::voluntary_switches(&tree.root, 7).unwrap(), 52);
}

const V2_MOUNTS: &str = "24 1 0:22 / /proc rw,nosuid - proc proc rw\n31 23 0:28 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

fn v2(periods: u64, throttled: u64, throttled_us: u64, usage_us: u64) -> String {
    format!("usage_usec {usage_us}\nuser_usec 1\nsystem_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled_us}\nnr_bursts 0\n")
}

#[test]
fn the_quota_of_version_two() {
    let tree = Tree::new(&[
        ("proc/self/mountinfo", V2_MOUNTS),
        ("proc/self/cgroup", "0::/kube/pod7/app\n"),
        ("sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 1\nsystem_usec 1\n"),
        ("sys/fs/cgroup/kube/cpu.stat", &v2(0, 0, 0, 90)),
        ("sys/fs/cgroup/kube/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/kube/pod7/cpu.stat", &v2(10, 4, 7_000, 80)),
        ("sys/fs/cgroup/kube/pod7/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/kube/pod7/app/cpu.stat", &v2(10, 1, 500, 70)),
        ("sys/fs/cgroup/kube/pod7/app/cpu.max", "150000 100000\n"),
    ]);
    let group = ControlGroup::find(&tree.root).unwrap().unwrap();
    let before = group.read();
    assert_eq!(before.len(), 4);
    assert_eq!(before.first().unwrap().unwrap().quota_ns, 150_000_000);
    assert_eq!(control_group::since(&before, &before).unwrap().quota_ns, 150_000_000);

    tree.put("sys/fs/cgroup/kube/pod7/cpu.stat", &v2(20, 9, 27_000, 1_080));
    let expected = Quota {
        quota_ns: 50_000_000,
        period_ns: 100_000_000,
        periods: 10,
        throttled_periods: 5,
        throttled_ns: 20_000_000,
        used_ns: 1_000_000,
    };
    // The pod's quota is what held the threads back, not the container's.
    assert_eq!(control_group::since(&group.read(), &before), Some(expected));
    assert_eq!(control_group::since(&before, &group.read()).unwrap().throttled_ns, 0);

    tree.put("sys/fs/cgroup/kube/pod7/cpu.stat", "usage_us");
    let cut = group.read();
    assert_eq!(cut.get(1), Some(&None));
    assert_eq!(control_group::since(&cut, &before).unwrap().quota_ns, 150_000_000);
}

#[test]
fn a_container_that_sees_its_own_group_only() {
    for (mounts, path) in [
        (V2_MOUNTS.to_owned(), "0::/\n"),
        // Without a namespace: the mount shows a part of the tree.
        (V2_MOUNTS.replace("0:28 / /sys", "0:28 /docker/4f5e /sys"), "0::/docker/4f5e\n"),
        // A path from another namespace.
        (V2_MOUNTS.to_owned(), "0::/../../elsewhere\n"),
    ] {
        let tree = Tree::new(&[
            ("proc/self/mountinfo", &mounts),
            ("proc/self/cgroup", path),
            ("sys/fs/cgroup/cpu.stat", &v2(1, 1, 1, 1)),
            ("sys/fs/cgroup/cpu.max", "20000 100000\n"),
        ]);
        let quotas = ControlGroup::find(&tree.root).unwrap().unwrap().read();
        assert_eq!(quotas.iter().map(|quota| quota.unwrap().quota_ns).collect::<Vec<_>>(), [20_000_000], "{path}");
    }
}

#[test]
fn the_quota_of_version_one() {
    let tree = Tree::new(&[
        (
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
             33 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
             34 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        ),
        ("proc/self/cgroup", "5:memory:/\n3:cpu,cpuacct:/docker/4f5e\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/4f5e/cpu.stat", "nr_periods 11\nnr_throttled 8\nthrottled_time 262851524\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/4f5e/cpu.cfs_quota_us", "20000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/4f5e/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/4f5e/cpuacct.usage", "141093000\n"),
    ]);
    let group = ControlGroup::find(&tree.root).unwrap().unwrap();
    let expected = Quota {
        quota_ns: 20_000_000,
        period_ns: 100_000_000,
        periods: 11,
        throttled_periods: 8,
        throttled_ns: 262_851_524,
        used_ns: 141_093_000,
    };
    // `docker` itself has no files here: it is no level.
    assert_eq!(group.read(), [Some(expected), Some(Quota::default())]);
}

#[test]
fn no_controller_is_no_quota() {
    let tree =
        Tree::new(&[("proc/self/mountinfo", "24 1 0:22 / /proc rw - proc proc rw\n"), ("proc/self/cgroup", "0::/\n")]);
    assert!(ControlGroup::find(&tree.root).unwrap().is_none());
    let tree = Tree::new(&[("proc/self/mountinfo", V2_MOUNTS), ("proc/self/cgroup", "0::/\n")]);
    assert!(ControlGroup::find(&tree.root).unwrap().is_none());
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_kernels_configuration_says_what_thread_times_contain() {
    let left_out = "CONFIG_PARAVIRT=y\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
    let included = "CONFIG_PARAVIRT=y\n# CONFIG_PARAVIRT_TIME_ACCOUNTING is not set\n";
    let files = |text| Tree::new(&[("proc/sys/kernel/osrelease", "6.1.0-x\n"), ("boot/config-6.1.0-x", text)]);
    assert_eq!(accounting::configured(&files(left_out).root), StealAccounting::LeftOut);
    assert_eq!(accounting::configured(&files(included).root), StealAccounting::Included);
    assert_eq!(accounting::configured(&files("CONFIG_PARAVIRT=y\nCONFIG_PAR").root), StealAccounting::Unknown);
    assert_eq!(accounting::configured(&files("").root), StealAccounting::Unknown);
    assert_eq!(accounting::configured(&Tree::new(&[]).root), StealAccounting::Unknown);

    let tree = files(included);
    fs::write(tree.root.path("proc/config.gz"), packed(left_out)).unwrap();
    assert_eq!(accounting::configured(&tree.root), StealAccounting::LeftOut);
    tree.put("proc/cmdline", "quiet no-steal-acc panic=1\n");
    assert_eq!(accounting::configured(&tree.root), StealAccounting::Included);
    tree.put("proc/cmdline", "quiet\n");
    let cut = packed(left_out).into_iter().take(12).collect::<Vec<_>>();
    fs::write(tree.root.path("proc/config.gz"), cut).unwrap();
    assert_eq!(accounting::configured(&tree.root), StealAccounting::Unknown);
}

#[test]
fn threads_that_only_compute_show_what_their_times_contain() {
    const S: u64 = 1_000_000_000;
    let after = |intervals: u64, cpu_ns, expected_ns| {
        let mut evidence = Evidence::default();
        (0..intervals).for_each(|_| evidence.add(S, cpu_ns, S / 10, expected_ns));
        evidence.verdict()
    };
    // A tenth of the time stolen, a tenth spent in the run queue.
    assert_eq!(after(1, S * 9 / 10, S / 10), StealAccounting::Unknown);
    assert_eq!(after(2, S * 9 / 10, S / 10), StealAccounting::Included);
    assert_eq!(after(2, S * 8 / 10, S / 10), StealAccounting::LeftOut);
    assert_eq!(after(100, S * 9 / 10, 0), StealAccounting::Unknown);
}

/// Not a fixture: whatever machine this is, its files make sense.
#[test]
fn this_machine_can_be_read() {
    let root = Root::default();
    let machine = Machine::read(&root).unwrap();
    assert!(machine.all.busy_ns > 0 && !machine.cpus.is_empty());
    let threads = task::ids(&root).unwrap();
    assert!(threads.contains(&std::process::id()));
    assert!(task::cpu_ns(&root, std::process::id()).is_ok() && task::name(&root, std::process::id()).is_ok());
    ControlGroup::find(&root).unwrap();
}
