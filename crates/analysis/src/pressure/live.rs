//! A picture of now, for `headway top`: plain data, the same on both sides of
//! the channel between the agent and the command line.

use super::counters::Counters;
use super::online::{Followed, OnlinePressure};
use crate::names::{is_machinery, method};
use headway_model::{ChainId, Dictionary, LockId};
use serde::{Deserialize, Serialize};

/// Locks in a picture at most.
const MOST_LOCKS: usize = 100;
/// Frames of a chain in a picture at most.
const MOST_FRAMES: usize = 30;

/// A picture of now. Pressures are fractions, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Picture {
    /// When, on the recording's clock.
    pub time_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Intervals measured so far.
    pub intervals: u64,
    /// Pressure from which on an interval belongs to a phase.
    pub threshold: f64,
    /// Pressure of all locks together in the last interval.
    pub csp: f64,
    /// The same in the last intervals, newest last.
    pub history: Vec<f32>,
    /// What the threads are doing.
    pub threads: ThreadCounts,
    /// Locks, highest pressure now first.
    pub locks: Vec<LiveLock>,
    /// Blockers that threads park on, most parked time first.
    pub parks: Vec<LivePark>,
    /// Events dropped so far, whatever the cause.
    pub dropped: u64,
    /// Sums since the recording began.
    pub counters: Counters,
}

/// What the application's threads are doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThreadCounts {
    /// Running, ready to run, or in native code (which may be I/O).
    pub running: u64,
    /// Acquiring a lock.
    pub blocked: u64,
    /// Parked, waiting for something.
    pub parked: u64,
    /// In `Object.wait`.
    pub waiting: u64,
    /// In `Thread.sleep`, or waiting for the VM itself.
    pub sleeping: u64,
}

/// A lock now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LiveLock {
    /// Its number in this recording.
    pub id: u64,
    /// What a developer calls it; class and hash where unknown.
    pub name: String,
    /// Class of the lock object.
    pub class: String,
    /// Pressure in the last interval.
    pub csp: f64,
    /// Highest pressure of an interval so far.
    pub csp_peak: f64,
    /// Pressure in the last intervals, newest last.
    pub history: Vec<f32>,
    /// Time that threads spent acquiring it so far.
    pub acquiring_ns: u64,
    /// How long the current phase has lasted; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_ns: Option<u64>,
    /// The method that acquires it; empty if unknown.
    pub waiter_method: String,
    /// The method that owns it; empty if unknown.
    pub owner_method: String,
    /// The call stack that acquires it, leaf first.
    pub waiter_stack: Vec<String>,
    /// The call stack that owns it, leaf first.
    pub owner_stack: Vec<String>,
}

/// Parks on one blocker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LivePark {
    /// What a developer calls the blocker; class and hash where unknown.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Parks so far.
    pub times_parked: u64,
    /// Threads parked on it now.
    pub parked_now: u64,
    /// Most threads parked on it at once.
    pub peak_parked: u64,
    /// Parked time of all threads.
    pub thread_time_ns: u64,
}

impl OnlinePressure {
    /// A picture of now. `dictionary` says what things are called. Which of
    /// the threads counted as running sleep, the events do not say.
    pub fn picture(&self, dictionary: &Dictionary) -> Picture {
        let options = self.options();
        let census = self.census();
        let mut locks: Vec<(&LockId, &Followed)> = self.followed.iter().collect();
        locks
            .sort_by(|(a, x), (b, y)| y.now.total_cmp(&x.now).then(y.acquiring_ns.cmp(&x.acquiring_ns)).then(a.cmp(b)));
        let locks = locks.into_iter().take(MOST_LOCKS);
        Picture {
            time_ns: self.closed_until().0,
            interval_ns: options.interval.0,
            intervals: self.intervals,
            threshold: options.threshold,
            csp: self.now,
            history: self.history.iter().copied().collect(),
            threads: ThreadCounts {
                running: census.running,
                blocked: census.blocked,
                parked: census.parked,
                waiting: census.waiting,
                sleeping: 0,
            },
            locks: locks.map(|(lock, followed)| live_lock(*lock, followed, dictionary)).collect(),
            parks: self.parks.pictures(dictionary),
            dropped: 0,
            counters: self.counting.now(),
        }
    }
}

fn live_lock(lock: LockId, followed: &Followed, dictionary: &Dictionary) -> LiveLock {
    let (waiter_method, waiter_stack) = chain(followed.acquiring_chain, 0, dictionary);
    let (owner_chain_id, frame) = followed.owner_chain;
    let (owner_method, owner_stack) = chain(owner_chain_id, frame, dictionary);
    let (name, class) = lock_names(lock, dictionary);
    LiveLock {
        id: lock.0,
        name,
        class,
        csp: followed.now,
        csp_peak: followed.max,
        history: followed.history.iter().copied().collect(),
        acquiring_ns: followed.acquiring_ns,
        phase_ns: followed.phase.as_ref().map(|phase| phase.end.since(phase.start).0),
        waiter_method,
        owner_method,
        waiter_stack,
        owner_stack,
    }
}

/// What a lock is called, and its class.
pub fn lock_names(lock: LockId, dictionary: &Dictionary) -> (String, String) {
    let Some(def) = dictionary.lock(lock) else {
        return (format!("lock #{}", lock.0), String::new());
    };
    let class = method::readable_class(&def.class);
    let name = match (&*def.name, def.identity_hash) {
        ("", 0) => format!("{}#{}", method::without_package(&class), lock.0),
        ("", hash) => format!("{}@{hash:x}", method::without_package(&class)),
        (name, _) => name.to_owned(),
    };
    (name, class)
}

/// The method that a chain is about and its frames from `from` on, leaf first;
/// empty if it is not known.
pub fn chain(id: ChainId, from: u16, dictionary: &Dictionary) -> (String, Vec<String>) {
    let Some(def) = dictionary.chain(id) else { return Default::default() };
    let name = |frame: &headway_model::Frame| {
        dictionary.method(frame.method).map_or_else(String::new, |def| method::readable(def).full)
    };
    let frames = def.chain.frames.iter().skip(usize::from(from)).take(MOST_FRAMES);
    let names: Vec<(String, u32)> = frames.map(|frame| (name(frame), frame.line)).collect();
    let acting = names.iter().find(|(name, _)| !is_machinery(name)).or(names.first());
    let acting = acting.map_or_else(String::new, |(name, _)| name.clone());
    let texts = names.into_iter().map(|(name, line)| if line == 0 { name } else { format!("{name}:{line}") });
    (acting, texts.collect())
}
