//! A function whose threads are mostly caught between the instructions that a
//! detour overwrites, threads that call it all the time, and a hook that marks
//! its results.

use headway_hook::arch::ContextArguments;
use headway_hook::sys::Sys;
use headway_hook::{Detour, Function, HookError};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

// target(counter, a, b): counts, returns a + b.
std::arch::global_asm!(
    ".globl headway_hook_test_target",
    ".type headway_hook_test_target, @function",
    ".p2align 4",
    "headway_hook_test_target:",
    // These five bytes are overwritten. A pause takes long, so that a thread
    // that loses its processor mostly loses it here.
    "push rbp",
    "pause",
    "pause",
    "mov rbp, rsp",
    "push r13",
    "push r12",
    "mov r12, rsi",
    "mov r13, rdx",
    "lock inc qword ptr [rdi]",
    "lea rax, [r12 + r13]",
    "pop r12",
    "pop r13",
    "pop rbp",
    "ret",
    "headway_hook_test_target_end:",
    ".globl headway_hook_test_target_end",
);

extern "C" {
    fn headway_hook_test_target(counter: *const AtomicU64, a: u64, b: u64) -> u64;
    fn headway_hook_test_target_end();
}

/// Set in results that came through the hook.
pub const HOOK_MARK: u64 = 1 << 63;
/// Calls of the hook.
pub static HOOK_ENTERED: AtomicU64 = AtomicU64::new(0);
/// Calls whose extra arguments were not the caller's frame and stack.
pub static BAD_CONTEXT: AtomicU64 = AtomicU64::new(0);
static TARGET_CALLS: AtomicU64 = AtomicU64::new(0);
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

type Target = extern "C" fn(*const AtomicU64, u64, u64) -> u64;

extern "C" fn hook(counter: *const AtomicU64, a: u64, b: u64, frame: *const usize, stack: *const usize) -> u64 {
    HOOK_ENTERED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the stack pointer at entry points to the return address.
    let return_address = unsafe { *stack };
    if return_address == 0 || (!frame.is_null() && frame < stack) {
        BAD_CONTEXT.fetch_add(1, Ordering::SeqCst);
    }
    let original = ORIGINAL.load(Ordering::Relaxed);
    // SAFETY: stored before installation, never unmapped.
    let original: Target = unsafe { std::mem::transmute(original) };
    original(counter, a, b) | HOOK_MARK
}

/// How often the original's body ran.
pub fn target_calls() -> u64 {
    TARGET_CALLS.load(Ordering::SeqCst)
}

/// Calls the function once.
pub fn call(a: u64, b: u64) -> u64 {
    // SAFETY: the function above, with a live counter.
    unsafe { headway_hook_test_target(&TARGET_CALLS, a, b) }
}

/// The function.
pub fn function() -> Function {
    let start = headway_hook_test_target as *const ();
    let length = headway_hook_test_target_end as *const () as usize - start as usize;
    // SAFETY: code of this program.
    unsafe { Function::at("headway_hook_test_target", start, length) }
}

/// A detour of the function to the hook.
pub fn detour(sys: &'static dyn Sys) -> Detour {
    // SAFETY: hook and function have the same first three arguments.
    let detour =
        unsafe { Detour::prepare(&function(), hook as *const (), ContextArguments::FourthAndFifth, sys) }.unwrap();
    ORIGINAL.store(detour.original() as usize, Ordering::SeqCst);
    detour
}

const REMOVED: usize = 0;
const INSTALLED: usize = 1;
const CHANGING: usize = 2;

struct Shared {
    stop: AtomicBool,
    /// Somebody waits for all threads to be between two calls. Otherwise they
    /// never give up their processor of their own will.
    asked: AtomicUsize,
    /// Number of the change in the upper bits, one of the states in the lower.
    state: AtomicUsize,
    /// How often each thread was seen between two calls.
    between: Vec<AtomicU64>,
}

/// What the threads counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    /// Calls made.
    pub calls: u64,
    /// Results with the hook's mark.
    pub hooked: u64,
    /// Calls wholly within an installed time without the mark.
    pub missed: u64,
    /// Calls wholly within a removed time with the mark.
    pub strayed: u64,
    /// Calls wholly within an installed time.
    pub installed_calls: u64,
}

/// Threads that call the function until stopped.
pub struct Hammer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Counts>>,
}

impl Hammer {
    /// Starts the threads.
    pub fn start(threads: usize) -> Hammer {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            state: AtomicUsize::new(REMOVED),
            between: (0..threads).map(|_| AtomicU64::new(0)).collect(),
        });
        let threads = (0..threads)
            .map(|number| {
                let shared = shared.clone();
                std::thread::spawn(move || run(&shared, number))
            })
            .collect();
        Hammer { shared, threads }
    }

    /// Installs, with every thread seen outside of the function meanwhile.
    pub fn install(&self, detour: &Detour) -> Result<(), HookError> {
        let mut quiesce = || {
            self.wait_for_all();
            Ok(())
        };
        self.change(INSTALLED, || {
            // SAFETY: `wait_for_all` ends when each thread has left the
            // function once.
            unsafe { detour.install(&mut quiesce) }
        })
    }

    /// Removes.
    pub fn remove(&self, detour: &Detour) -> Result<(), HookError> {
        self.change(REMOVED, || detour.remove())
    }

    fn change(&self, to: usize, work: impl FnOnce() -> Result<(), HookError>) -> Result<(), HookError> {
        let number = (self.shared.state.load(Ordering::SeqCst) >> 2) + 1;
        self.shared.state.store(number << 2 | CHANGING, Ordering::SeqCst);
        let result = work();
        self.shared.state.store(number << 2 | to, Ordering::SeqCst);
        result
    }

    /// Ends when every thread was between two calls since it began.
    pub fn wait_for_all(&self) {
        self.shared.asked.fetch_add(1, Ordering::SeqCst);
        let seen: Vec<u64> = self.positions();
        while self.positions().iter().zip(&seen).any(|(now, then)| now == then) {
            std::thread::yield_now();
        }
        self.shared.asked.fetch_sub(1, Ordering::SeqCst);
    }

    fn positions(&self) -> Vec<u64> {
        self.shared.between.iter().map(|b| b.load(Ordering::SeqCst)).collect()
    }

    /// Ends the threads and adds up what they counted.
    pub fn stop(self) -> Counts {
        self.shared.stop.store(true, Ordering::SeqCst);
        let mut total = Counts::default();
        for thread in self.threads {
            let counts = thread.join().unwrap();
            total.calls += counts.calls;
            total.hooked += counts.hooked;
            total.missed += counts.missed;
            total.strayed += counts.strayed;
            total.installed_calls += counts.installed_calls;
        }
        total
    }
}

fn run(shared: &Shared, number: usize) -> Counts {
    let mut counts = Counts::default();
    let mut a = number as u64;
    while !shared.stop.load(Ordering::Relaxed) {
        for _ in 0..64 {
            a = a.wrapping_add(1) & 0xffff;
            one_call(shared, a, &mut counts);
        }
        shared.between[number].fetch_add(1, Ordering::SeqCst);
        if shared.asked.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }
    counts
}

fn one_call(shared: &Shared, a: u64, counts: &mut Counts) {
    let before = shared.state.load(Ordering::SeqCst);
    let result = call(a, 7);
    let after = shared.state.load(Ordering::SeqCst);
    assert_eq!(result & !HOOK_MARK, a + 7, "a wrong result");
    let hooked = result & HOOK_MARK != 0;
    counts.calls += 1;
    counts.hooked += u64::from(hooked);
    if before == after && before & 3 == INSTALLED {
        counts.installed_calls += 1;
        counts.missed += u64::from(!hooked);
    }
    if before == after && before & 3 == REMOVED {
        counts.strayed += u64::from(hooked);
    }
}
