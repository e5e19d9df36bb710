//! The one value that everything hangs on. Built and checked once, when the
//! VM is ready; it lives as long as the process.

mod observer;
mod owners;

use crate::chain::Chains;
use crate::core::Core;
use crate::java::JavaFacts;
use crate::jvmti::Jvmti;
use crate::locks::Locks;
use crate::raw::Record;
use crate::state::{AllFoundBlocked, Requests, Samples, Steal};
use crate::threads::{Slot, Threads};
use crate::virtuals::Virtuals;
use crate::vm::HotSpot;
use headway_model::{Loss, ThreadId};
use headway_signal::Pool;
pub use observer::{Observer, Sampled};
use std::ops::Deref;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::AtomicBool;
use std::sync::OnceLock;

/// See the module.
pub struct Agent {
    core: Core,
    /// Tracked threads.
    pub threads: Threads,
    /// Virtual threads in the middle of something.
    pub virtuals: Virtuals,
    /// Tracked locks.
    pub locks: Locks,
    /// Call chains.
    pub chains: Chains,
    /// Which locks' chains are worth taking.
    pub pressure: Requests,
    /// Samples on their way to the draining thread.
    pub samples: Samples,
    /// Threads that ended, transactions.
    pub steal: Steal,
    /// Whether the park statistics are to be printed.
    pub parks_asked: AtomicBool,
    /// Threads that were blocked when the recording began.
    pub found_blocked: AllFoundBlocked,
}

/// Not in place: 75 KB that are not all zero would be in the library's file.
static AGENT: OnceLock<Box<Agent>> = OnceLock::new();

/// The agent, once the VM is ready.
#[inline]
pub fn get() -> Option<&'static Agent> {
    AGENT.get().map(Box::as_ref)
}

/// Runs `body` with the agent; a panic ends here and is counted.
#[inline]
pub fn guarded(body: impl FnOnce(&'static Agent)) {
    guarded_or((), body);
}

/// The same for a function that the VM wants something of: `otherwise`, without
/// an agent or after a panic.
pub fn guarded_or<T>(otherwise: T, body: impl FnOnce(&'static Agent) -> T) -> T {
    let Some(agent) = get() else { return otherwise };
    catch_unwind(AssertUnwindSafe(|| body(agent))).unwrap_or_else(|_| {
        agent.losses.add(Loss::Panic, 1);
        otherwise
    })
}

/// What everything needs is reached as if it were the agent's own.
impl Deref for Agent {
    type Target = Core;
    #[inline]
    fn deref(&self) -> &Core {
        &self.core
    }
}

/// What an [`Agent`] is built from.
pub struct Parts {
    /// The agent's JVMTI environment.
    pub jvmti: Jvmti,
    /// Facts about this Java.
    pub java: JavaFacts,
    /// Where the VM keeps things.
    pub hotspot: HotSpot,
    /// Event buffers.
    pub pool: Pool,
    /// Their size in bytes.
    pub pool_bytes: u64,
    /// Tracked locks.
    pub locks: Locks,
    /// Call chains.
    pub chains: Chains,
}

/// Makes the agent known. The first one stays.
pub fn install(parts: Parts) -> &'static Agent {
    let build = || Agent {
        core: Core::new(parts.jvmti, parts.java, parts.hotspot, (parts.pool, parts.pool_bytes)),
        threads: Threads::default(),
        virtuals: Virtuals::default(),
        locks: parts.locks,
        chains: parts.chains,
        pressure: Requests::default(),
        samples: Samples::default(),
        steal: Steal::default(),
        parks_asked: AtomicBool::new(false),
        found_blocked: AllFoundBlocked::default(),
    };
    AGENT.get_or_init(|| Box::new(build()))
}

impl Agent {
    /// Memory of buffers, chains and locks in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let used = self.pool.chunks().saturating_sub(self.pool.free_chunks());
        self.chunk_bytes() * u64::from(used) + self.chains.memory_bytes() + self.locks.memory_bytes()
    }

    /// Appends a record to the thread's buffer; a refusal is counted there.
    #[inline]
    pub fn append(&self, slot: &Slot, record: &Record) {
        slot.acts();
        // Refusals are counted in the buffer and collected from there.
        let _ = slot.buffer.append(&self.pool, record.words());
    }

    /// Hands a thread's buffer over: the thread ends.
    pub fn release(&self, slot: &Slot) {
        slot.buffer.release(&self.pool);
        self.collect_refusals(slot);
    }

    /// Adds what a buffer refused to the losses.
    pub fn collect_refusals(&self, slot: &Slot) {
        let refused = slot.buffer.take_refusals().total();
        if refused > 0 {
            self.losses.add(Loss::BufferFull, refused);
        }
    }

    /// The Java thread that owns a monitor, `NONE` if nobody or not readable.
    #[inline]
    pub fn owner_of(&self, monitor: u64) -> ThreadId {
        self.hotspot.owner_of(monitor, &self.threads)
    }
}
