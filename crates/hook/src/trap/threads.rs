//! Whether the threads of this process can bear a trap.

use super::trap_bit;
use crate::error::HookError;
use crate::sys::{Sys, ThreadSignals};
use std::time::{Duration, Instant};

/// How long a thread may be in a passing state that blocks SIGTRAP.
const PATIENCE: Duration = Duration::from_millis(500);

/// Refuses where a trap could end the process: a thread that blocks SIGTRAP,
/// or a tracer that would take the trap for its own.
///
/// The C library blocks all signals in a thread that it is starting or ending,
/// so a thread counts only if it still blocks SIGTRAP after a while.
///
/// # Errors
/// Naming the thread or the tracer.
pub fn check_threads(sys: &dyn Sys) -> Result<(), HookError> {
    let mut suspects = blocking(sys)?;
    let begin = Instant::now();
    while !suspects.is_empty() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
        let now = blocking(sys)?;
        suspects.retain(|suspect| now.iter().any(|t| t.tid == suspect.tid));
    }
    match suspects.into_iter().next() {
        None => Ok(()),
        Some(thread) => Err(HookError::TrapBlocked { tid: thread.tid, name: thread.name }),
    }
}

fn blocking(sys: &dyn Sys) -> Result<Vec<ThreadSignals>, HookError> {
    let mut threads = sys.threads().map_err(HookError::ThreadsUnreadable)?;
    if let Some(traced) = threads.iter().find(|t| t.tracer != 0) {
        return Err(HookError::Traced { tracer: traced.tracer });
    }
    threads.retain(|t| t.blocked & trap_bit() != 0);
    Ok(threads)
}
