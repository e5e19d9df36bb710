//! The recorder of fragments: stops a thread at any of its instructions, decodes
//! its stack while it stands there, and compares with what the program wrote
//! down (`tests/java/Truth.java`).
//!
//! # Protocol
//! The recorder asks and sends a signal; the handler, on the thread, copies
//! registers, stack and what is written down, says so, and waits; the recorder
//! decodes and lets it go on. While the thread waits in the handler, in the
//! middle of Java code, there can be no safepoint: code, methods and classes
//! stay as they were when it was stopped.

use crate::{Probe, PROBE};
use headway_hotspot::fragment::Reg;
use headway_hotspot::{thread, CodeCache, LiveMemory, Memory};
use headway_replay::{blocks, decoded, Block, Decoded, Noting, Recorded, Recording, Stopped, Truth, Unwound, Watched};
use headway_sample::interrupted;
use headway_sample::native::Unwinder;
use headway_sample::task;
use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Fragments taken of one JVM, unless `HEADWAY_FRAGMENTS` says otherwise.
const FRAGMENTS: usize = 300;
/// Fragments kept of one shape of stacks, of each sort of code on top.
const KEPT_OF_A_SHAPE: usize = 3;
/// A recursion of this depth is a shape of its own.
const DEEP: usize = 30;
/// Bytes of stack copied.
const STACK_BYTES: usize = 64 << 10;
/// Bytes at the area's start: how many methods are written down, and which.
const WRITTEN_BYTES: usize = 1024;
/// Where in the area the recorder says that it has enough.
const DONE: u64 = 4;
/// Where in the area the names are.
const TEXT: u64 = 4096;
/// How long a stop may take.
const PATIENCE: Duration = Duration::from_secs(20);

const IDLE: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(IDLE);
static AREA: AtomicU64 = AtomicU64::new(0);
static STACK_END: AtomicU64 = AtomicU64::new(0);
static COPY: CopySlot = CopySlot(UnsafeCell::new(Copy {
    pc: 0,
    registers: [0; 16],
    length: 0,
    stack: [0; STACK_BYTES],
    written: [0; WRITTEN_BYTES],
}));

struct Copy {
    pc: u64,
    registers: [u64; 16],
    length: usize,
    stack: [u8; STACK_BYTES],
    written: [u8; WRITTEN_BYTES],
}

struct CopySlot(UnsafeCell<Copy>);

// SAFETY: the handler writes between `ASKED` and `TAKEN`, the recorder reads
// while it is `TAKEN`.
unsafe impl Sync for CopySlot {}

extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if STATE.load(Ordering::Acquire) != ASKED {
        return;
    }
    // SAFETY: the kernel passes a complete context for SA_SIGINFO.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    // SAFETY: see `CopySlot`.
    let copy = unsafe { &mut *COPY.0.get() };
    (copy.pc, copy.registers) = interrupted(context);
    let start = copy.registers[usize::from(Reg::SP.0)];
    copy.length = (STACK_END.load(Ordering::Relaxed).saturating_sub(start) as usize).min(STACK_BYTES);
    // SAFETY: the stack is mapped from its pointer to its end, the area as a
    // whole; both places are as large.
    unsafe {
        std::ptr::copy_nonoverlapping(start as *const u8, copy.stack.as_mut_ptr(), copy.length);
        let area = AREA.load(Ordering::Relaxed) as *const u8;
        std::ptr::copy_nonoverlapping(area, copy.written.as_mut_ptr(), WRITTEN_BYTES);
    }
    STATE.store(TAKEN, Ordering::Release);
    while STATE.load(Ordering::Acquire) == TAKEN {
        // SAFETY: takes nothing; safe in handlers.
        unsafe { libc::sched_yield() };
    }
}

/// Has the current thread recorded.
pub fn begin(probe: &'static Probe, java_thread: u64, area: u64) {
    let stack = thread::stack_range(&probe.layout, &probe.memory(java_thread), java_thread).expect("a stack");
    STACK_END.store(stack.end, Ordering::Relaxed);
    AREA.store(area, Ordering::Relaxed);
    // SAFETY: plain data; the handler has the signature of SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut()), 0);
    }
    let tid = task::current();
    std::thread::spawn(move || record(tid, area));
}

fn record(tid: u32, area: u64) {
    let probe = PROBE.get().expect("agent started");
    // SAFETY: `safe_fetch` is the VM's function; committed code stays readable.
    let memory = unsafe { LiveMemory::guarded(probe.safe_fetch).with_code_cache() };
    let mut recorder = Recorder::new(probe, memory, &text(area));
    let count = std::env::var("HEADWAY_FRAGMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(FRAGMENTS);
    let mut random = u64::from(tid) | 1;
    for _ in 0..count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(100 + (random >> 33) % 8_000));
        if !stop(tid) {
            probe.seen.lock().unwrap().difference("fragments_missing", || "the thread did not stop".to_owned());
            break;
        }
        recorder.take();
        STATE.store(IDLE, Ordering::Release);
    }
    recorder.finish();
    // SAFETY: the area lives as long as the process; the program reads the word.
    unsafe { AtomicI32::from_ptr((area + DONE) as *mut i32) }.store(1, Ordering::Release);
}

/// Stops the thread; false if it does not come.
fn stop(tid: u32) -> bool {
    STATE.store(ASKED, Ordering::Release);
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGPROF) };
    let asked = Instant::now();
    while STATE.load(Ordering::Acquire) != TAKEN {
        if asked.elapsed() > PATIENCE {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

fn text(area: u64) -> String {
    // SAFETY: the program wrote a terminated string there before it asked.
    let text = unsafe { std::ffi::CStr::from_ptr((area + TEXT) as *const _) };
    text.to_string_lossy().into_owned()
}

struct Recorder {
    probe: &'static Probe,
    memory: LiveMemory,
    unwinder: Unwinder,
    methods: Vec<String>,
    calls: Vec<String>,
    truth: Truth,
    kinds: HashSet<String>,
    shapes: HashMap<String, usize>,
    kept: Vec<(Recorded, BTreeMap<u64, u8>)>,
}

impl Recorder {
    fn new(probe: &'static Probe, memory: LiveMemory, text: &str) -> Recorder {
        let mut lines = text.lines();
        let methods = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let calls: Vec<String> = lines.map(str::to_owned).collect();
        let truth = Truth::of_calls(&calls);
        let (kinds, shapes) = (HashSet::new(), HashMap::new());
        Recorder { probe, memory, unwinder: Unwinder::new(), methods, calls, truth, kinds, shapes, kept: Vec::new() }
    }

    /// Decodes and judges what the handler copied.
    fn take(&mut self) {
        // SAFETY: see `CopySlot`.
        let copy = unsafe { &*COPY.0.get() };
        let word = |at: usize| copy.written.get(at..at + 4).map_or(0, |w| u32::from_le_bytes(w.try_into().unwrap()));
        let depth = (word(0) as usize).min(WRITTEN_BYTES / 4 - 2);
        let written: Vec<String> = (0..depth).map(|i| self.methods[word(8 + 4 * i) as usize].clone()).collect();
        let stopped = Stopped {
            pc: copy.pc,
            registers: copy.registers,
            stack: copy.stack[..copy.length].to_vec(),
            stack_end: STACK_END.load(Ordering::Relaxed),
        };
        let watched = Watched::new(&self.memory);
        let mut native = Noting { inner: &mut self.unwinder, noted: Unwound::default() };
        let found = decoded(&self.probe.layout, &watched, &stopped, &mut native);
        let (seen, native) = (watched.into_seen(), native.noted);
        let judged = self.truth.judge(&written, &found);
        let mut counts = self.probe.seen.lock().unwrap();
        counts.count("fragments");
        counts.count(&format!("fragments_{}", kind_of(&found)));
        if found.frames.iter().any(|frame| frame.deoptimized) {
            counts.count("fragments_with_deoptimized_frames");
        }
        if let Err(wrong) = judged {
            let code = self.code_around(stopped.pc);
            let is_cut = !found.end.is_complete() || found.missing > 0;
            let name = if is_cut { "fragments_incomplete" } else { "fragments_wrong" };
            return counts.difference(name, || format!("{wrong}, stopped {code}\n{found:#?}"));
        }
        drop(counts);
        let kind = format!("{:?} {}", written.last(), kind_of(&found));
        let shape = shape_of(&written, &found);
        let is_new = self.kinds.insert(kind);
        let of_the_shape = self.shapes.entry(shape).or_default();
        if is_new && *of_the_shape < KEPT_OF_A_SHAPE || *of_the_shape == 0 {
            *of_the_shape += 1;
            let recorded = Recorded { stopped, changed: Vec::new(), native, truth: written, frames: found.frames };
            self.kept.push((recorded, seen));
        }
    }

    /// Where a pc is, and the code there from a few instructions before.
    fn code_around(&self, pc: u64) -> String {
        let (layout, memory) = (&self.probe.layout, &self.memory);
        let code = CodeCache::new(layout);
        let place = match code.find(memory, pc).filter(|_| code.contains(pc)) {
            Some(blob) => format!("in {:?}", code.name(memory, blob.address).unwrap_or_default()),
            None => format!("in {:?}", self.unwinder.function(pc)),
        };
        let mut bytes = [0; 96];
        let read = code.contains(pc) && memory.read_into(pc - 48, &mut bytes);
        let bytes: String = bytes.iter().filter(|_| read).map(|byte| format!("{byte:02x}")).collect();
        format!("at {pc:#x} {place}, from {:#x} on: {bytes}", pc - 48)
    }

    /// Writes the fragments that were kept, if somebody wants them.
    fn finish(self) {
        let Some(path) = std::env::var_os("HEADWAY_FRAGMENTS_OUT") else { return };
        let mut first: BTreeMap<u64, u8> = BTreeMap::new();
        let mut fragments = Vec::new();
        for (mut recorded, seen) in self.kept {
            let changed = seen.iter().filter(|(at, byte)| first.get(at).is_some_and(|before| before != *byte));
            recorded.changed = blocks(&changed.map(|(at, byte)| (*at, *byte)).collect());
            for (at, byte) in seen {
                first.entry(at).or_insert(byte);
            }
            fragments.push(recorded);
        }
        let memory: Vec<Block> = blocks(&first);
        let what = std::env::var("HEADWAY_FRAGMENTS_WHAT").unwrap_or_default();
        let layout = self.probe.layout.clone();
        let recording = Recording { what, layout, memory, calls: self.calls, fragments };
        recording.write(Path::new(&path)).expect("fragments written");
    }
}

/// Which of the program's shapes a stack is of, and in what sort of code it ends.
fn shape_of(written: &[String], found: &Decoded) -> String {
    let is_deep = written.iter().filter(|method| *method == "descend").count() >= DEEP;
    let is_interpreted = found.frames.first().is_none_or(|leaf| leaf.kind == "interpreted");
    let is_deoptimized = found.frames.iter().any(|frame| frame.deoptimized);
    format!("{:?} {is_deep} {is_interpreted} {is_deoptimized}", written.get(1))
}

/// What kind of stack it is: where the thread stood, and in what code.
fn kind_of(found: &Decoded) -> String {
    let code = found.frames.first().map_or("none", |leaf| leaf.kind.as_str());
    let deoptimized = if found.frames.iter().any(|frame| frame.deoptimized) { "_deoptimized" } else { "" };
    format!("{}_{code}{deoptimized}", found.leaf.replace(' ', "_"))
}
