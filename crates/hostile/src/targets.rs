//! The parsers, by name.

use headway::causal::inject::{count, method_names, Counting};
use headway::options::Options;
use headway_causal::coz;
use headway_class_file::{redirect, Redirect, Via};
use headway_host::{accounting, task, ControlGroup, Machine, Root};
use headway_jfr::{repair, Reader, Summary};
use headway_replay::{Block, Recording};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A parser and what it is fed with at first.
pub struct Target {
    /// Names its directory below `corpus` and its program below `fuzz`.
    pub name: &'static str,
    /// Parses an input; what it makes of it does not matter.
    pub parse: fn(&[u8]),
    /// Sound inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Changed inputs that `cargo test` tries: a few seconds of them.
    pub rounds: u64,
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target { name: "jfr", parse: jfr, seeds: recordings, rounds: 1_500 },
    Target { name: "class-file", parse: class_file, seeds: none, rounds: 60_000 },
    Target { name: "agent-options", parse: agent_options, seeds: options, rounds: 60_000 },
    Target { name: "debug-info", parse: debug_info, seeds: edits, rounds: 150 },
    Target { name: "proc", parse: proc, seeds: proc_files, rounds: 2_000 },
    Target { name: "coz", parse: coz_profile, seeds: profiles, rounds: 20_000 },
];

/// The parser of this name.
///
/// # Panics
/// There is none.
pub fn parse(name: &str, bytes: &[u8]) {
    match TARGETS.iter().find(|target| target.name == name) {
        Some(target) => (target.parse)(bytes),
        None => panic!("there is no target {name}"),
    }
}

/// The inputs that are kept for a target, by name.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    files(&root().join("crates/hostile/corpus").join(name))
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

fn files(directory: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).filter_map(|path| fs::read(path).ok()).collect()
}

fn none() -> Vec<Vec<u8>> {
    Vec::new()
}

/// A directory in memory, where there is such, for parsers that read files.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    match made {
        Ok(directory) => directory,
        Err(error) => panic!("no directory for inputs: {error}"),
    }
}

thread_local! {
    static SCRATCH: TempDir = scratch();
}

fn jfr(bytes: &[u8]) {
    SCRATCH.with(|scratch| {
        let path = scratch.path().join("input.jfr");
        if fs::write(&path, bytes).is_err() {
            return;
        }
        if let Ok(reader) = Reader::open(&path) {
            // Packed inputs may hold more than their own bytes, but not this much more.
            let most = 4_000_000 + bytes.len() * 8;
            assert!(reader.take(most + 1).count() <= most, "more items than {} bytes can hold", bytes.len());
        }
        let _ = Summary::of(&path);
        let repaired = scratch.path().join("repaired.jfr");
        let _ = fs::remove_file(&repaired);
        let _ = repair(&path, &repaired);
    });
}

fn recordings() -> Vec<Vec<u8>> {
    let tests = root().join("crates/jfr/tests");
    let mut seeds = files(&tests.join("golden"));
    seeds.retain(|seed| seed.starts_with(b"FLR") || seed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    seeds.retain(|seed| seed.len() < 100_000);
    seeds.extend(files(&tests.join("corpus")).into_iter().filter(|seed| seed.len() < 100_000));
    seeds
}

const REDIRECTS: [Redirect; 2] = [
    Redirect {
        via: Via::Interface,
        owner: "java/util/concurrent/locks/Lock",
        name: "lock",
        descriptor: "()V",
        to_class: "java/util/concurrent/HeadwayProgress",
        to_name: "lock",
        to_descriptor: "(Ljava/util/concurrent/locks/Lock;)V",
    },
    Redirect {
        via: Via::Class,
        owner: "java/lang/Object",
        name: "wait",
        descriptor: "()V",
        to_class: "java/util/concurrent/HeadwayProgress",
        to_name: "waits",
        to_descriptor: "(Ljava/lang/Object;)V",
    },
];

fn class_file(bytes: &[u8]) {
    let _ = redirect(bytes, &REDIRECTS);
    let lines = (1..60).map(|line| (Counting::Line(line), line));
    let methods = ["run", "<init>"].map(|name| (Counting::Method(name.to_owned()), 7));
    let wanted: Vec<(Counting, u16)> = lines.chain(methods).collect();
    let _ = count(bytes, &wanted);
    let _ = method_names(bytes);
}

fn agent_options(bytes: &[u8]) {
    let _ = Options::parse(&String::from_utf8_lossy(bytes));
}

fn options() -> Vec<Vec<u8>> {
    [
        "start,file=/tmp/a%20b-%25p.jfr.zst,events=monitor+cpu,interval=1000000,max_size=1048576,max_age=60000000000,safe",
        "start,events=park,threads=http.*,min_duration=1000,park_floor=10000,memory=64,redact,engine=signal,strict=false",
        "start,events=causal,progress=a.B.c;d,target=x.java:12,speedups=25+50,latency=begin>end;a>b,disable=usdt+perf",
        "start,pressure_interval=1000000000,phase_threshold=0.05,steal_interval=1000000000,lease=/tmp/.headway-1/lease",
        "parks,park_threshold=100,park_print_threshold=10,park_free_on_print,end",
        "live,file=/tmp/live.json",
        "dump,file=/x.jfr",
        "stop",
        "detach,reply=/tmp/.headway-0123456789abcdef/reply.json",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Recorded memory of virtual machines: of one, as reading all takes a while.
fn remembered() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(|| {
        let directory = root().join("crates/replay/tests/recorded");
        let read = |name: &str| Recording::read(&directory.join(name)).ok();
        ["c1-21.zst", "interpreted-17.zst", "not-inlined-17.zst"].into_iter().filter_map(read).collect()
    })
}

/// Two bytes choose a stack; then each five bytes are an edit of the memory from
/// which it is decoded (or, if the place is behind that, of the stack): a place
/// and the byte that is put there.
fn debug_info(bytes: &[u8]) {
    let (Some((which, edits)), recordings) = (bytes.split_at_checked(2), remembered()) else { return };
    let number = |index: usize| which.get(index).copied().map_or(0, usize::from);
    let Some(recording) = recordings.get(number(0) % recordings.len().max(1)) else { return };
    let fragments = &recording.fragments;
    let Some(mut recorded) = fragments.get(number(1) % fragments.len().max(1)).cloned() else { return };
    let total: u64 = recording.memory.iter().map(|block| block.bytes.len() as u64).sum();
    for edit in edits.chunks_exact(5) {
        let [a, b, c, d, value] = edit else { continue };
        let mut place = u64::from(u32::from_le_bytes([*a, *b, *c, *d])) % (total + recorded.stopped.stack.len() as u64);
        let block = recording.memory.iter().find(|block| {
            let inside = place < block.bytes.len() as u64;
            place -= if inside { 0 } else { block.bytes.len() as u64 };
            inside
        });
        match block {
            Some(block) => recorded.changed.push(Block { at: block.at + place, bytes: vec![*value] }),
            None => recorded.stopped.stack.iter_mut().skip(place as usize).take(1).for_each(|byte| *byte = *value),
        }
    }
    let _ = recording.replay(&recorded);
}

fn edits() -> Vec<Vec<u8>> {
    (0..12_u8)
        .map(|which| (0..82_u32).map(|n| (n * 2_654_435 + u32::from(which) * 97) as u8 ^ which).collect())
        .collect()
}

/// A machine whose kernel says what it likes in one of its files: the first byte
/// chooses it.
fn proc(bytes: &[u8]) {
    let Some((which, content)) = bytes.split_first() else { return };
    SCRATCH.with(|scratch| {
        let root = Root::at(scratch.path());
        let chosen = usize::from(*which) % MACHINE.len();
        for (index, (path, text)) in MACHINE.iter().enumerate() {
            let place = root.path(path);
            let made = place.parent().map(fs::create_dir_all);
            let content = if index == chosen { content } else { text.as_bytes() };
            if !matches!(made, Some(Ok(()))) || fs::write(&place, content).is_err() {
                return;
            }
        }
        let _ = Machine::read(&root).map(|machine| machine.since(&Machine::default()));
        let _ = task::ids(&root);
        let _ = task::count(&root);
        let _ = (task::name(&root, 7), task::schedule(&root, 7), task::cpu_ns(&root, 7));
        let _ = task::voluntary_switches(&root, 7);
        let _ = accounting::configured(&root);
        if let Ok(Some(group)) = ControlGroup::find(&root) {
            let _ = group.read();
        }
    });
}

/// Files of a machine, and what they say on a sound one.
const MACHINE: [(&str, &str); 12] = [
    ("/proc/stat", "cpu  100 0 50 1000 0 0 0 9 0 0\ncpu0 100 0 50 1000 0 0 0 9 0 0\nbtime 1700000000\n"),
    ("/proc/self/task/7/stat", "7 (a) b (c) S 1 1 1 0 -1 4194368 10 0 0 0 5 6 0 0 20 0 3 0 100 1 1\n"),
    ("/proc/self/task/7/schedstat", "100 200 3\n"),
    ("/proc/self/task/7/status", "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"),
    ("/proc/self/task/7/comm", "worker\n"),
    ("/proc/self/status", "Name:\tx\nThreads:\t9\n"),
    ("/proc/self/stat", "7 (a) S 1 1 1 0 -1 4194368 10 0 0 0 5 6 0 0 20 0 3 0 100 1 1\n"),
    ("/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n0::/a/b\n"),
    ("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"),
    ("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_periods 1\nnr_throttled 1\nthrottled_usec 7\n"),
    ("/sys/fs/cgroup/a/b/cpu.max", "20000 100000\n"),
    ("/proc/config.gz", "no gzip"),
];

fn proc_files() -> Vec<Vec<u8>> {
    let file = |(index, (_, text)): (usize, &(&str, &str))| [&[index as u8], text.as_bytes()].concat();
    MACHINE.iter().enumerate().map(file).collect()
}

fn coz_profile(bytes: &[u8]) {
    let _ = coz::read(&String::from_utf8_lossy(bytes));
}

fn profiles() -> Vec<Vec<u8>> {
    [
        "startup\ttime=1\nexperiment\tselected=Shop.java:12\tspeedup=0.00\tduration=500000000\tselected-samples=7\n\
         throughput-point\tname=orders\tdelta=10\n\
         experiment\tselected=Shop.java:12\tspeedup=0.25\tduration=500000000\tselected-samples=7\n\
         throughput-point\tname=orders\tdelta=12\nlatency-point\tname=order\tarrivals=9\tdifference=1.5\nruntime\ttime=9\n",
        "{\"type\":\"experiment\",\"selected\":\"Shop.java:12\",\"speedup\":0,\"duration\":500000000,\"selected_samples\":7}\n\
         {\"type\":\"experiment\",\"selected\":\"Shop.java:12\",\"speedup\":0.25,\"duration\":500000000,\"selected_samples\":7}\n\
         {\"type\":\"throughput_point\",\"name\":\"orders\",\"delta\":12}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
