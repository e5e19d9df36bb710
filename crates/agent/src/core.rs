//! What every part of the agent needs and that needs none of them: the VM's
//! interfaces, buffers, definitions on their way to the draining thread, losses, the
//! clock of collections, and whether something is recorded.

use crate::clock;
use crate::definitions::Definitions;
use crate::ending::Gate;
use crate::heap::Heap;
use crate::java::JavaFacts;
use crate::jvmti::Jvmti;
use crate::own_cost::OwnCost;
use crate::state::Sampling;
use crate::vm::HotSpot;
use headway_model::event::ThreadDef;
use headway_model::{Dictionary, Loss, TimeNs};
use headway_signal::Pool;
use regex_lite::Regex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// Default bound on event buffers.
pub const DEFAULT_MEMORY_BYTES: u64 = 16 << 20;

/// See the module.
pub struct Core {
    /// The agent's JVMTI environment.
    pub jvmti: Jvmti,
    /// Facts about this Java.
    pub java: JavaFacts,
    /// Where the VM keeps things, where it checks out.
    pub hotspot: HotSpot,
    /// Event buffers.
    pub pool: Pool,
    pool_bytes: u64,
    /// Definitions on their way to the draining thread.
    pub definitions: Definitions,
    /// Losses by cause.
    pub losses: Losses,
    /// What the agent's threads and the beginning of the recording have cost.
    pub own_cost: OwnCost,
    /// When the pause in progress began, 0 if none.
    pub gc_start: AtomicU64,
    /// When the last pause ended, 0 if there was none.
    pub gc_end: AtomicU64,
    /// Stop-the-world collections so far.
    pub collections: AtomicU64,
    /// Objects in the Java heap, and when they move.
    pub heap: Heap,
    /// Which contentions and parks are recorded one by one.
    pub sampling: Sampling,
    /// Closed when the VM dies.
    pub vm_memory: Gate,
    /// What earlier recordings defined: ids of methods, chains and locks go on.
    dictionary: Mutex<Dictionary>,
    recording: AtomicBool,
    recording_ended: AtomicU64,
    redact: AtomicBool,
    thread_filter: RwLock<Option<Regex>>,
}

impl Core {
    /// Nothing is recorded yet. `buffers` are the event buffers and their size in bytes.
    pub fn new(jvmti: Jvmti, java: JavaFacts, hotspot: HotSpot, buffers: (Pool, u64)) -> Core {
        let (pool, pool_bytes) = buffers;
        Core {
            jvmti,
            java,
            hotspot,
            pool,
            pool_bytes,
            definitions: Definitions::default(),
            losses: Losses::default(),
            own_cost: OwnCost::default(),
            gc_start: AtomicU64::new(0),
            gc_end: AtomicU64::new(0),
            collections: AtomicU64::new(0),
            heap: Heap::default(),
            sampling: Sampling::default(),
            vm_memory: Gate::default(),
            dictionary: Mutex::default(),
            recording: AtomicBool::new(false),
            recording_ended: AtomicU64::new(u64::MAX),
            redact: AtomicBool::new(false),
            thread_filter: RwLock::new(None),
        }
    }

    /// True while a recording is under way.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    /// Switches capture on or off.
    pub fn set_recording(&self, on: bool) {
        let ended = if on { u64::MAX } else { clock::now().0 };
        if !on {
            self.definitions.ends(TimeNs(ended));
        }
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

    /// Defines a thread; without its name if the recording is redacted.
    pub fn define_thread(&self, mut definition: ThreadDef) {
        if self.redact.load(Ordering::Relaxed) && !definition.is_service {
            definition.name = format!("thread-{}", definition.id.0).into();
            definition.group = "".into();
        }
        self.definitions.thread(definition);
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
