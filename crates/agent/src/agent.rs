//! The one value that everything hangs on. Built and checked once, when the
//! VM is ready; it lives as long as the process.

mod observer;
mod owners;

use crate::causal::Causal;
use crate::chain::{Chains, FullDebugInfo};
use crate::clock;
use crate::definitions::Definitions;
use crate::ending::Gate;
use crate::hooks::Hooks;
use crate::java::JavaFacts;
use crate::jvmti::Jvmti;
use crate::locks::Locks;
use crate::park::Parks;
use crate::pressure::Requests;
use crate::raw::Record;
use crate::removal::Removal;
use crate::reply::Reply;
use crate::sample::Samples;
use crate::session::{Session, Unfinished};
use crate::steal::Steal;
use crate::threads::{Slot, Threads};
use crate::virtuals::Virtuals;
use crate::vm::HotSpot;
use headway_model::event::ThreadDef;
use headway_model::{Dictionary, Loss, ThreadId, TimeNs};
use headway_signal::Pool;
pub use observer::{Observer, OfThread, Sampled};
use regex_lite::Regex;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The observer of this agent: experiments.
pub type Observing = Causal;

/// Default bound on event buffers.
pub const DEFAULT_MEMORY_BYTES: u64 = 16 << 20;

/// See the module.
pub struct Agent {
    /// The agent's JVMTI environment.
    pub jvmti: Jvmti,
    /// Facts about this Java.
    pub java: JavaFacts,
    /// Where the VM keeps things, as far as it checks out.
    pub hotspot: HotSpot,
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
    /// Debug information of compiled code.
    pub debug_info: Arc<FullDebugInfo>,
    /// Event buffers.
    pub pool: Pool,
    pool_bytes: u64,
    /// Definitions on their way to the draining thread.
    pub definitions: Definitions,
    /// Samples on their way to the draining thread.
    pub samples: Samples,
    /// Threads that ended, transactions.
    pub steal: Steal,
    /// Who follows what threads do.
    pub observer: Observing,
    /// Losses by cause.
    pub losses: Losses,
    /// Parked threads.
    pub parks: Parks,
    /// Whether the park statistics are to be printed.
    pub parks_asked: AtomicBool,
    /// Patched code.
    pub hooks: Hooks,
    /// What could not be taken out.
    pub removal: Removal,
    /// When the pause in progress began, 0 if none.
    pub gc_start: AtomicU64,
    /// When the last pause ended, 0 if there was none.
    pub gc_end: AtomicU64,
    /// Stop-the-world collections so far.
    pub collections: AtomicU64,
    /// The recording under way. Held while the VM is called: never take it in
    /// a callback or hook.
    pub session: Mutex<Option<Session>>,
    /// Held while a recording begins or ends.
    pub changing: Mutex<()>,
    /// Where the recording goes that is ending just now.
    pub ending: Mutex<Option<PathBuf>>,
    /// A recording whose file is still being written after its end.
    pub unfinished: Mutex<Option<Unfinished>>,
    /// What a recording that ended by itself would have answered to `stop`.
    pub ended_by_itself: Mutex<Option<Reply>>,
    /// Closed when the VM dies.
    pub vm_memory: Gate,
    /// What earlier recordings defined: ids of methods, chains and locks go on.
    dictionary: Mutex<Dictionary>,
    recording: AtomicBool,
    recording_ended: AtomicU64,
    redact: AtomicBool,
    thread_filter: RwLock<Option<Regex>>,
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

/// What an [`Agent`] is built from.
pub struct Parts {
    /// The agent's JVMTI environment.
    pub jvmti: Jvmti,
    /// Facts about this Java.
    pub java: JavaFacts,
    /// Where the VM keeps things.
    pub hotspot: HotSpot,
    /// Debug information of compiled code.
    pub debug_info: Arc<FullDebugInfo>,
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
        jvmti: parts.jvmti,
        java: parts.java,
        hotspot: parts.hotspot,
        threads: Threads::default(),
        virtuals: Virtuals::default(),
        locks: parts.locks,
        chains: parts.chains,
        pressure: Requests::default(),
        debug_info: parts.debug_info,
        pool: parts.pool,
        pool_bytes: parts.pool_bytes,
        definitions: Definitions::default(),
        samples: Samples::default(),
        steal: Steal::default(),
        observer: Observing::default(),
        losses: Losses::default(),
        parks: Parks::default(),
        parks_asked: AtomicBool::new(false),
        hooks: Hooks::default(),
        removal: Removal::default(),
        gc_start: AtomicU64::new(0),
        gc_end: AtomicU64::new(0),
        collections: AtomicU64::new(0),
        session: Mutex::new(None),
        changing: Mutex::new(()),
        ending: Mutex::new(None),
        unfinished: Mutex::new(None),
        ended_by_itself: Mutex::new(None),
        vm_memory: Gate::default(),
        dictionary: Mutex::default(),
        recording: AtomicBool::new(false),
        recording_ended: AtomicU64::new(u64::MAX),
        redact: AtomicBool::new(false),
        thread_filter: RwLock::new(None),
    };
    AGENT.get_or_init(|| Box::new(build()))
}

impl Agent {
    /// True while a recording is under way.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    /// Switches capture on or off.
    pub fn set_recording(&self, on: bool) {
        let ended = if on { u64::MAX } else { clock::now().0 };
        self.recording_ended.store(ended, Ordering::SeqCst);
        self.recording.store(on, Ordering::SeqCst);
    }

    /// When capture was switched off; the end of time while it is on. Nothing
    /// is known of what happens later.
    pub fn recording_ended(&self) -> TimeNs {
        TimeNs(self.recording_ended.load(Ordering::SeqCst))
    }

    /// Sets what a recording leaves out: thread names, and threads whose name
    /// does not match.
    pub fn set_filters(&self, redact: bool, threads: Option<Regex>) {
        self.redact.store(redact, Ordering::Relaxed);
        if let Ok(mut filter) = self.thread_filter.write() {
            *filter = threads;
        }
    }

    /// True if the events of threads with this name are recorded.
    pub fn wants_thread(&self, name: &str) -> bool {
        match self.thread_filter.read() {
            Ok(filter) => filter.as_ref().is_none_or(|regex| regex.is_match(name)),
            Err(_) => true,
        }
    }

    /// The definitions of earlier recordings, for the draining thread.
    pub fn take_dictionary(&self) -> Dictionary {
        std::mem::take(&mut self.dictionary.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the definitions for the next recording.
    pub fn keep_dictionary(&self, dictionary: Dictionary) {
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = dictionary;
    }

    /// Memory of buffers, chains and locks in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let used = self.pool.chunks().saturating_sub(self.pool.free_chunks());
        self.chunk_bytes() * u64::from(used) + self.chains.memory_bytes() + self.locks.memory_bytes()
    }

    /// Memory of one chunk of the buffers, in bytes.
    pub fn chunk_bytes(&self) -> u64 {
        self.pool_bytes / u64::from(self.pool.all_chunks()).max(1)
    }

    /// Bounds the memory of event buffers for the next recording.
    ///
    /// # Errors
    /// The buffers were made smaller when the agent was loaded, and cannot grow.
    pub fn bound_memory(&self, wanted: Option<u64>) -> Result<(), String> {
        let bytes = wanted.unwrap_or(DEFAULT_MEMORY_BYTES.min(self.pool_bytes));
        if bytes > self.pool_bytes {
            return Err(format!(
                "--memory {bytes} is more than the {} bytes of event buffers that this JVM got when Headway was \
                 loaded, which cannot grow: ask for less, leave --memory out, or restart the JVM",
                self.pool_bytes
            ));
        }
        let all = u64::from(self.pool.all_chunks());
        let chunks = (all * bytes / self.pool_bytes.max(1)).clamp(1, all.max(1));
        self.pool.allow(chunks as u32);
        Ok(())
    }

    /// Memory of buffers that no thread has and nothing waits in, in bytes.
    pub fn free_bytes(&self) -> u64 {
        self.chunk_bytes() * u64::from(self.pool.free_chunks())
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

    /// Defines a thread; without its name if the recording is redacted.
    pub fn define_thread(&self, mut definition: ThreadDef) {
        if self.redact.load(Ordering::Relaxed) && !definition.is_service {
            definition.name = format!("thread-{}", definition.id.0).into();
            definition.group = "".into();
        }
        self.definitions.thread(definition);
    }

    /// The Java thread that owns a monitor, `NONE` if nobody or not readable.
    #[inline]
    pub fn owner_of(&self, monitor: u64) -> ThreadId {
        self.hotspot.owner_of(monitor, &self.threads)
    }
}

/// Losses counted inside the agent, by cause.
#[derive(Default)]
pub struct Losses {
    counts: [AtomicU64; Loss::ALL.len()],
}

impl Losses {
    /// Adds to a cause.
    pub fn add(&self, loss: Loss, count: u64) {
        if let Some(counter) = self.counts.get(Self::index(loss)) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// What a cause has counted so far.
    pub fn get(&self, loss: Loss) -> u64 {
        self.counts.get(Self::index(loss)).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Everything that was counted so far, by cause.
    pub fn all(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL.into_iter().map(|loss| (loss, self.get(loss))).filter(|(_, count)| *count > 0)
    }

    /// Begins again at zero.
    pub fn reset(&self) {
        for counter in &self.counts {
            counter.store(0, Ordering::Relaxed);
        }
    }

    fn index(loss: Loss) -> usize {
        Loss::ALL.iter().position(|l| *l == loss).unwrap_or(0)
    }
}
