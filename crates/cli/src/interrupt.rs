//! SIGINT, SIGTERM and SIGHUP while a command works with another process.
//!
//! They end the command within [`GRACE`], whatever the other process does: a
//! command first gives up what it holds there (a private directory, a trigger
//! file); one that hangs all the same ends by the signal itself. A second signal
//! ends it at once. A command that has begun something there ([`finish`]) ends
//! that first, for which it needs an answer; it does not wait for a process that
//! is stopped.

use crate::error::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

/// How long a command may take to give up what it holds.
const GRACE: Duration = Duration::from_millis(800);
/// How often waiting commands look whether they shall end.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_millis(20);

/// The first signal that came, or 0.
static CAME: AtomicI32 = AtomicI32::new(0);
/// True once something is to be ended before we end.
static FINISHING: AtomicBool = AtomicBool::new(false);

/// Begins to watch for signals. Where that cannot be done they do what they do
/// to every program.
pub fn watch() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
        let handle = signals.handle();
        if thread::Builder::new().name("headway-signals".to_owned()).spawn(move || obey(signals)).is_err() {
            handle.close();
        }
    });
}

fn obey(mut signals: Signals) {
    let Some(first) = signals.forever().next() else { return };
    CAME.store(first, Ordering::SeqCst);
    let until = Instant::now() + GRACE;
    loop {
        let second = signals.pending().next();
        let late = Instant::now() > until && !FINISHING.load(Ordering::SeqCst);
        if let Some(signal) = second.or(late.then_some(first)) {
            let _ = emulate_default_handler(signal);
        }
        thread::sleep(TICK);
    }
}

/// From here on a first signal hastens the end, but something is ended before.
pub fn finish() {
    FINISHING.store(true, Ordering::SeqCst);
}

/// True once a signal came.
pub fn came() -> bool {
    CAME.load(Ordering::SeqCst) != 0
}

/// Refuses to wait any longer for a process once a signal came.
///
/// # Errors
/// [`Failure::Interrupted`]; for what must be ended first, `stopped` if there is one.
pub fn check(stopped: impl FnOnce() -> Option<Failure>) -> Result<(), Failure> {
    match (CAME.load(Ordering::SeqCst), FINISHING.load(Ordering::SeqCst)) {
        (0, _) => Ok(()),
        (signal, false) => Err(Failure::Interrupted { signal }),
        (_, true) => stopped().map_or(Ok(()), Err),
    }
}
