//! Hooks that count.

use crate::jvm;
use headway_hook::flag::BoolFlag;
use headway_hook::got::GotHook;
use headway_hook::sys::linux::Linux;
use headway_hook::usdt::{Hit, ProbeHook};
use headway_hook::{Detour, HookError, Image, Known};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// What can be installed, by the numbers that `HookProbe.java` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Detour of one of the VM's functions: 0 to 3, as in [`Known::MONITORS`].
    Detour(usize),
    /// 4: probe of the contended exit.
    Probe,
    /// 5: the VM's import of `pthread_cond_signal`.
    Signal,
}

impl Mechanism {
    /// The mechanism of this number.
    pub fn of(number: i32) -> Result<Mechanism, String> {
        match number {
            0..=3 => Ok(Mechanism::Detour(number as usize)),
            4 => Ok(Mechanism::Probe),
            5 => Ok(Mechanism::Signal),
            _ => Err(format!("no mechanism {number}")),
        }
    }

    fn index(self) -> usize {
        match self {
            Mechanism::Detour(index) => index,
            Mechanism::Probe => 4,
            Mechanism::Signal => 5,
        }
    }
}

static COUNTS: [AtomicU64; 6] = [const { AtomicU64::new(0) }; 6];
static ORIGINALS: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];
static WRONG: AtomicU64 = AtomicU64::new(0);

/// Calls so far.
pub fn count(mechanism: Mechanism) -> u64 {
    COUNTS[mechanism.index()].load(Ordering::SeqCst)
}

/// Calls with implausible arguments.
pub fn wrong() -> u64 {
    WRONG.load(Ordering::SeqCst)
}

fn counted(index: usize) -> usize {
    COUNTS[index].fetch_add(1, Ordering::SeqCst);
    ORIGINALS[index].load(Ordering::Relaxed)
}

/// Monitor and thread are aligned pointers; the stack pointer at entry is that
/// of a call, and the caller's frame lies above it unless the caller uses the frame pointer
/// for something else.
fn check(monitor: usize, thread: usize, stack: usize) {
    let here = &raw const monitor as usize;
    let on_stack = stack > here && stack - here < 4096 && stack % 16 == 8;
    if monitor == 0 || monitor % 8 != 0 || thread == 0 || thread % 8 != 0 || !on_stack {
        WRONG.fetch_add(1, Ordering::SeqCst);
    }
}

type Original3 = extern "C" fn(usize, usize, usize) -> usize;
type Original4 = extern "C" fn(usize, usize, usize, usize) -> usize;

fn call3(index: usize, monitor: usize, thread: usize, node: usize, stack: usize) -> usize {
    check(monitor, thread, stack);
    let original = counted(index);
    // SAFETY: `prepare` stored the callable original of a function with up to
    // three integer arguments before the hook could run.
    let original: Original3 = unsafe { std::mem::transmute(original) };
    original(monitor, thread, node)
}

extern "C" fn on_exit(m: usize, t: usize, node: usize, _frame: usize, stack: usize) -> usize {
    call3(0, m, t, node, stack)
}

extern "C" fn on_notify(m: usize, t: usize, rest: usize, _frame: usize, stack: usize) -> usize {
    call3(1, m, t, rest, stack)
}

extern "C" fn on_reenter(m: usize, t: usize, node: usize, _frame: usize, stack: usize) -> usize {
    call3(2, m, t, node, stack)
}

extern "C" fn on_resume(m: usize, t: usize, node: usize, continuation: usize, _frame: usize, stack: usize) -> usize {
    check(m, t, stack);
    let original = counted(3);
    // SAFETY: as in `call3`, with four arguments.
    let original: Original4 = unsafe { std::mem::transmute(original) };
    original(m, t, node, continuation)
}

extern "C" fn on_probe(hit: &Hit<'_>) {
    COUNTS[4].fetch_add(1, Ordering::SeqCst);
    let monitor = hit.argument(1).unwrap_or(0);
    let name_length = hit.argument(3).unwrap_or(0) as i64;
    if monitor == 0 || monitor % 8 != 0 || !(0..0x1_0000).contains(&name_length) {
        WRONG.fetch_add(1, Ordering::SeqCst);
    }
}

extern "C" fn on_signal(condition: usize) -> usize {
    let original = counted(5);
    // SAFETY: stored before installation; takes the condition alone.
    let original: extern "C" fn(usize) -> usize = unsafe { std::mem::transmute(original) };
    original(condition)
}

struct Hooks {
    detours: [Option<Detour>; 4],
    probe: Option<ProbeHook>,
    signal: Option<GotHook>,
}

fn hooks() -> Result<&'static Hooks, String> {
    static HOOKS: OnceLock<Result<Hooks, String>> = OnceLock::new();
    HOOKS.get_or_init(|| prepare().map_err(|error| error.to_string())).as_ref().map_err(Clone::clone)
}

fn prepare() -> Result<Hooks, HookError> {
    let begin = std::time::Instant::now();
    let image = Image::of_loaded("libjvm.so", &Linux)?;
    let opened = begin.elapsed();
    let hooks = [on_exit as *const (), on_notify as *const (), on_reenter as *const (), on_resume as *const ()];
    let mut detours = [const { None }; 4];
    for (index, known) in Known::MONITORS.into_iter().enumerate() {
        detours[index] = prepare_detour(&image, known, hooks[index])?;
        if let Some(detour) = &detours[index] {
            ORIGINALS[index].store(detour.original() as usize, Ordering::SeqCst);
        }
    }
    let flag = BoolFlag::find(&image, BoolFlag::DTRACE_MONITOR_PROBES)?;
    let name = "monitor__contended__exit";
    let probe = ProbeHook::prepare(&image, "hotspot", name, Some(flag), on_probe, &Linux)?;
    // SAFETY: same signature, never unloaded, does not unwind.
    let signal = unsafe { GotHook::prepare(&image, "pthread_cond_signal", on_signal as *const (), &Linux)? };
    ORIGINALS[5].store(signal.original() as usize, Ordering::SeqCst);
    eprintln!("hook-probe: image {opened:?}, everything found {:?}", begin.elapsed());
    Ok(Hooks { detours, probe: Some(probe), signal: Some(signal) })
}

/// A detour, or none where this JDK lacks the function by design.
fn prepare_detour(image: &Image, known: Known, hook: *const ()) -> Result<Option<Detour>, HookError> {
    let function = match known.resolve(image) {
        Ok(function) => function,
        Err(HookError::Image(_)) if known == Known::ResumeOperation => return Ok(None),
        Err(error) => return Err(error),
    };
    // SAFETY: the hooks above have the functions' arguments; this library is
    // never unloaded and nothing in a hook unwinds.
    unsafe { Detour::prepare(&function, hook, known.context(), &Linux) }.map(Some)
}

fn absent() -> String {
    "this JDK does not have it".to_owned()
}

/// Installs.
pub fn install(mechanism: Mechanism) -> Result<(), String> {
    let hooks = hooks()?;
    let result = match mechanism {
        Mechanism::Detour(index) => {
            let detour = hooks.detours[index].as_ref().ok_or_else(absent)?;
            // SAFETY: the functions run in states that hold off a safepoint.
            unsafe { detour.install(&mut jvm::safepoint) }
        }
        Mechanism::Probe => hooks.probe.as_ref().ok_or_else(absent)?.install(),
        Mechanism::Signal => hooks.signal.as_ref().ok_or_else(absent)?.install(),
    };
    result.map_err(|error| error.to_string())
}

/// Removes.
pub fn remove(mechanism: Mechanism) -> Result<(), String> {
    let hooks = hooks()?;
    let result = match mechanism {
        Mechanism::Detour(index) => hooks.detours[index].as_ref().ok_or_else(absent)?.remove(),
        Mechanism::Probe => hooks.probe.as_ref().ok_or_else(absent)?.remove(),
        Mechanism::Signal => hooks.signal.as_ref().ok_or_else(absent)?.remove(),
    };
    result.map_err(|error| error.to_string())
}
