//! Samples taken by signals, where the kernel refuses perf_event: a timer on
//! each thread's CPU clock sends it a signal, whose handler copies registers
//! and stack into a place prepared before. Or it asks the VM's
//! `AsyncGetCallTrace`, to compare with.
//!
//! # Protocol of a place
//! A place is free, being written, or full. A handler takes a free one by an
//! exchange and publishes it full (release); the reader takes full ones
//! (acquire) and publishes them free. A handler looks at [`PROBES`] places and
//! counts the sample as dropped if none of them is free: it never waits.
//!
//! Places and the handler stay until the process ends, so that a signal that
//! was on its way when sampling stopped finds what it expects.

use crate::interrupted;
use crate::perf::Sample;
use crate::task;
use headway_hotspot::fragment::{Captured, Reg};
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The signal. The VM does not use it.
const SIGNAL: libc::c_int = libc::SIGPROF;
/// Samples that wait to be read.
const PLACES: usize = 96;
/// Places a handler looks at.
const PROBES: usize = 16;
/// Bytes of stack copied at most.
const STACK_BYTES: usize = 32 << 10;
/// Marks our timers' values: the rest is the argument of [`Timer::start`].
const MARK: u64 = 0x4857 << 48;

const FREE: u32 = 0;
const WRITING: u32 = 1;
const FULL: u32 = 2;

struct TimerSlot {
    state: AtomicU32,
    copy: UnsafeCell<Copy>,
}

/// What a handler leaves behind.
#[repr(C)]
struct Copy {
    time_ns: u64,
    tid: u32,
    cpu: u32,
    ticks: u64,
    pc: u64,
    registers: [u64; 16],
    length: usize,
    /// Frames of a call trace, [`NO_TRACE`] for a stack.
    calls: i64,
    stack: [MaybeUninit<u8>; STACK_BYTES],
}

/// See [`Copy::calls`].
const NO_TRACE: i64 = i64::MAX;

/// What `AsyncGetCallTrace` fills.
#[repr(C)]
pub struct CallTrace {
    /// The thread's JNI environment.
    env: u64,
    /// How many frames, or why there are none.
    count: libc::c_int,
    frames: *mut CallFrame,
}

/// One of its frames.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFrame {
    /// Bytecode index, -3 in native methods.
    pub bci: i32,
    /// `jmethodID`.
    pub method: u64,
}

impl CallFrame {
    /// Bytes that one takes.
    const BYTES: usize = std::mem::size_of::<CallFrame>();

    /// The frames in a sample's bytes.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = CallFrame> + '_ {
        bytes.chunks_exact(Self::BYTES).filter_map(|frame| {
            let bci = i32::from_le_bytes(frame.get(..4)?.try_into().ok()?);
            let method = u64::from_le_bytes(frame.get(8..16)?.try_into().ok()?);
            Some(CallFrame { bci, method })
        })
    }
}

/// `AsyncGetCallTrace` of libjvm.
pub type AsyncGetCallTrace =
    unsafe extern "C" fn(trace: *mut CallTrace, depth: libc::c_int, context: *mut libc::c_void);

/// What a handler takes of the thread it interrupts.
#[derive(Clone, Copy, Debug)]
pub enum Take {
    /// Registers and stack; timers' arguments are the ends of stacks.
    Stack,
    /// What the VM's function says; timers' arguments are JNI environments.
    CallTrace(AsyncGetCallTrace),
}

// SAFETY: `copy` is written by the handler that moved `state` from free to
// writing, and read by the one reader between full and free.
unsafe impl Sync for TimerSlot {}

struct Shared {
    places: Box<[TimerSlot]>,
    next: AtomicU32,
    lost: AtomicU64,
    on: AtomicBool,
    /// `AsyncGetCallTrace`, 0 to copy stacks.
    trace: AtomicUsize,
}

static SHARED: OnceLock<Shared> = OnceLock::new();
/// The handler that was there before ours, until it is given back.
static BEFORE: Mutex<Option<libc::sigaction>> = Mutex::new(None);

fn shared() -> &'static Shared {
    SHARED.get_or_init(|| {
        let place = || TimerSlot {
            state: AtomicU32::new(FREE),
            copy: UnsafeCell::new(Copy {
                time_ns: 0,
                tid: 0,
                cpu: 0,
                ticks: 0,
                pc: 0,
                registers: [0; 16],
                length: 0,
                calls: NO_TRACE,
                stack: [MaybeUninit::new(0); STACK_BYTES],
            }),
        };
        let places = std::iter::repeat_with(place).take(PLACES).collect();
        let (next, lost) = (AtomicU32::new(0), AtomicU64::new(0));
        Shared { places, next, lost, on: AtomicBool::new(false), trace: AtomicUsize::new(0) }
    })
}

/// A thread's timer. The kernel is asked directly: a C library keeps these
/// functions in a library of their own (librt), which nothing else here needs.
pub struct Timer {
    id: libc::c_int,
}

impl Timer {
    /// Sends the thread a signal per `interval_ns` of its CPU time; the kernel's
    /// tick is the finest. What `argument` is says [`Take`].
    ///
    /// # Errors
    /// What the kernel says: no such thread, too many timers.
    pub fn start(tid: u32, argument: u64, interval_ns: u64) -> io::Result<Timer> {
        // SAFETY: plain data; zeroes are a valid value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = libc::pid_t::try_from(tid).unwrap_or(0);
        event.sigev_value.sival_ptr = (MARK | argument) as *mut _;
        let mut id: libc::c_int = 0;
        // SAFETY: both are places of this frame; the kernel's event is laid out as the library's.
        if unsafe { libc::syscall(libc::SYS_timer_create, task::cpu_clock(tid), &raw mut event, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Timer { id };
        timer.set_interval(interval_ns)?;
        Ok(timer)
    }

    /// Sends a signal per `interval_ns` from now on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_interval(&self, interval_ns: u64) -> io::Result<()> {
        let span = libc::timespec {
            tv_sec: (interval_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (interval_ns % 1_000_000_000) as libc::c_long,
        };
        let times = libc::itimerspec { it_interval: span, it_value: span };
        // SAFETY: the timer lives as long as the value; no old value is asked for.
        match unsafe { libc::syscall(libc::SYS_timer_settime, self.id, 0, &raw const times, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: created in `start`, deleted once.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.id) };
    }
}

/// The active handler, for as long as the value lives.
pub struct Handler(());

impl Handler {
    /// Activates it.
    ///
    /// # Errors
    /// The signal is in use by somebody else (another profiler), or is already
    /// handled by us.
    pub fn install(take: Take) -> io::Result<Handler> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_some() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        let old = current_action()?;
        if old.sa_sigaction != libc::SIG_DFL && old.sa_sigaction != libc::SIG_IGN {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "SIGPROF is in use by somebody else"));
        }
        let trace = match take {
            Take::Stack => 0,
            Take::CallTrace(function) => function as usize,
        };
        shared().trace.store(trace, Ordering::SeqCst);
        shared().on.store(true, Ordering::SeqCst);
        // SAFETY: plain data; zeroes are a valid value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        set_action(&action)?;
        *before = Some(old);
        Ok(Handler(()))
    }

    /// Hands over the samples that are there.
    pub fn drain(&self, sink: &mut dyn FnMut(Sample<'_>)) {
        for place in &shared().places {
            if place.state.load(Ordering::Acquire) != FULL {
                continue;
            }
            // SAFETY: full places are the reader's; there is one reader, the
            // owner of the one `Handler`.
            let copy = unsafe { &*place.copy.get() };
            let length = copy.length.min(STACK_BYTES);
            // SAFETY: the handler wrote this many bytes before it published.
            let stack = unsafe { std::slice::from_raw_parts(copy.stack.as_ptr().cast::<u8>(), length) };
            sink(Sample {
                time_ns: copy.time_ns,
                tid: copy.tid,
                cpu: copy.cpu,
                registers: Captured::all(copy.pc, copy.registers),
                stack,
                ticks: copy.ticks,
                kernel: &[],
                calls: i32::try_from(copy.calls).ok(),
            });
            place.state.store(FREE, Ordering::Release);
        }
    }

    /// Ticks that found no place since the last call.
    pub fn take_lost(&self) -> u64 {
        shared().lost.swap(0, Ordering::Relaxed)
    }

    /// Memory of the places.
    pub fn memory_bytes(&self) -> usize {
        PLACES * std::mem::size_of::<TimerSlot>()
    }
}

impl Drop for Handler {
    /// Call it when all timers are gone. Ignoring the signal for a moment makes
    /// the kernel forget those on their way, whose default would end the process.
    fn drop(&mut self) {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        shared().on.store(false, Ordering::SeqCst);
        let ours = current_action().is_ok_and(|now| now.sa_sigaction == on_signal as *const () as usize);
        if let Some(old) = before.take().filter(|_| ours) {
            // SAFETY: plain data; zeroes are a valid value.
            let mut ignore: libc::sigaction = unsafe { std::mem::zeroed() };
            ignore.sa_sigaction = libc::SIG_IGN;
            // Refused only for signals that cannot be handled.
            let _ = set_action(&ignore).and_then(|()| set_action(&old));
        }
        for place in &shared().places {
            let _ = place.state.compare_exchange(FULL, FREE, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

fn current_action() -> io::Result<libc::sigaction> {
    // SAFETY: plain data; zeroes are a valid value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only asks; `action` is a place to write to.
    match unsafe { libc::sigaction(SIGNAL, std::ptr::null(), &mut action) } {
        0 => Ok(action),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_action(action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: a complete action; its handler lives as long as the process.
    match unsafe { libc::sigaction(SIGNAL, action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs on the sampled thread, at any of its instructions: allocates nothing,
/// locks nothing, calls only what is safe in handlers, preserves errno.
extern "C" fn on_signal(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno's place is the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    if let Some(shared) = SHARED.get() {
        // SAFETY: the kernel passes both, complete, for SA_SIGINFO.
        unsafe { take(shared, &*info, &*context.cast::<libc::ucontext_t>()) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// `si_overrun` of a timer's signal lies behind its id.
fn overrun(info: &libc::siginfo_t) -> u64 {
    let words = std::ptr::from_ref(info).cast::<i32>();
    // SAFETY: a siginfo has 32 ints; for timers the fifth (after signo, errno,
    // code and padding comes the id) is followed by the overrun.
    let overrun = unsafe { words.add(5).read() };
    u64::try_from(overrun).unwrap_or(0)
}

/// # Safety
/// `context` is the interrupted thread's, on this thread.
unsafe fn take(shared: &Shared, info: &libc::siginfo_t, context: &libc::ucontext_t) {
    if info.si_code != libc::SI_TIMER || !shared.on.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: timers' signals carry a value.
    let value = unsafe { info.si_value() }.sival_ptr as u64;
    if value & (0xffff << 48) != MARK {
        return;
    }
    let ticks = 1 + overrun(info);
    let Some(place) = free_place(shared) else {
        shared.lost.fetch_add(ticks, Ordering::Relaxed);
        return;
    };
    // SAFETY: this handler moved the place from free to writing.
    let copy = unsafe { &mut *place.copy.get() };
    copy.ticks = ticks;
    copy.time_ns = task::monotonic_ns();
    copy.tid = task::current();
    // SAFETY: takes nothing; safe in handlers.
    copy.cpu = u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u32::MAX);
    (copy.pc, copy.registers) = interrupted(context);
    let argument = value & !(0xffff << 48);
    match shared.trace.load(Ordering::Relaxed) {
        // SAFETY: the argument is the end of this thread's stack.
        0 => unsafe { copy_stack(copy, argument) },
        // SAFETY: it was stored as such a function; the argument is this
        // thread's environment, the context is the handler's.
        function => unsafe { ask(copy, std::mem::transmute::<usize, AsyncGetCallTrace>(function), argument, context) },
    }
    place.state.store(FULL, Ordering::Release);
}

/// # Safety
/// `end` is the end of the interrupted thread's stack.
unsafe fn copy_stack(copy: &mut Copy, end: u64) {
    let start = copy.registers[usize::from(Reg::SP.0)];
    copy.calls = NO_TRACE;
    copy.length = usize::try_from(end.saturating_sub(start)).unwrap_or(0).min(STACK_BYTES);
    // SAFETY: from the stack pointer to the stack's end everything is mapped
    // while the thread stands here; the copy has room for as much.
    unsafe { std::ptr::copy_nonoverlapping(start as *const u8, copy.stack.as_mut_ptr().cast::<u8>(), copy.length) };
}

/// # Safety
/// `env` and `context` are the interrupted thread's, which is this one.
unsafe fn ask(copy: &mut Copy, function: AsyncGetCallTrace, env: u64, context: &libc::ucontext_t) {
    let frames = copy.stack.as_mut_ptr().cast::<CallFrame>();
    let mut trace = CallTrace { env, count: 0, frames };
    let room = STACK_BYTES / CallFrame::BYTES;
    // SAFETY: made to be called in a handler; there is room for as many frames,
    // which lie at a multiple of eight behind the copy's other words.
    unsafe { function(&mut trace, room as libc::c_int, std::ptr::from_ref(context).cast_mut().cast()) };
    copy.calls = i64::from(trace.count);
    copy.length = usize::try_from(trace.count).unwrap_or(0).min(room) * CallFrame::BYTES;
}

fn free_place(shared: &Shared) -> Option<&TimerSlot> {
    let first = shared.next.fetch_add(1, Ordering::Relaxed) as usize;
    (0..PROBES)
        .filter_map(|i| shared.places.get((first + i) % PLACES))
        .find(|place| place.state.compare_exchange(FREE, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_thread_is_sampled_and_nothing_is_left_behind() {
        let handler = Handler::install(Take::Stack).unwrap();
        assert!(Handler::install(Take::Stack).is_err(), "one at a time");
        let here = 0u64;
        let here = &raw const here as u64;
        let timer = Timer::start(task::current(), here + 64, 1_000_000).unwrap();
        let mut ticks = 0;
        let mut sum = 0u64;
        while ticks < 20 {
            for i in 0..1000u64 {
                sum = std::hint::black_box(sum.wrapping_add(i));
            }
            handler.drain(&mut |sample| {
                assert_eq!(sample.tid, task::current());
                assert!(sample.registers.sp().unwrap() <= here && sample.registers.pc != 0);
                assert!(sample.stack.len() <= STACK_BYTES);
                ticks += sample.ticks;
            });
        }
        drop(timer);
        drop(handler);
        assert_eq!(current_action().unwrap().sa_sigaction, libc::SIG_DFL);
        let handler = Handler::install(Take::CallTrace(two_frames)).unwrap();
        let timer = Timer::start(task::current(), 0x7007, 1_000_000).unwrap();
        let mut asked = 0;
        while asked < 3 {
            sum = std::hint::black_box(sum.wrapping_add(1));
            handler.drain(&mut |sample| {
                assert_eq!(sample.calls, Some(2));
                let frames: Vec<CallFrame> = CallFrame::all(sample.stack).collect();
                assert_eq!(frames, [CallFrame { bci: 5, method: 0x7007 }, CallFrame { bci: -3, method: 9 }]);
                asked += 1;
            });
        }
        drop(timer);
    }

    /// Stands in for the VM's function.
    unsafe extern "C" fn two_frames(trace: *mut CallTrace, depth: libc::c_int, _: *mut libc::c_void) {
        assert!(depth >= 2);
        // SAFETY: the handler passes a trace with room for more.
        unsafe {
            (*trace).count = 2;
            (*trace).frames.write(CallFrame { bci: 5, method: (*trace).env });
            (*trace).frames.add(1).write(CallFrame { bci: -3, method: 9 });
        }
    }
}
