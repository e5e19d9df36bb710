//! When threads lived, waited and parked: the base of "threads spent N %".
//!
//! Running time, after the definition of critical section pressure (David et
//! al., Continuously measuring critical section pressure with the Free-Lunch
//! profiler, OOPSLA 2014): a thread's life minus its conditional waiting. Time
//! blocked on locks, scheduled out, asleep or in I/O is running time; taking
//! the CPU time instead would make a blocked program look idle.

use crate::aggregate::Range;
use crate::by_id::Places;
use crate::names::Names;
use headway_model::{LockId, ThreadId, TimeNs};

/// What is known about one thread's life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadLife {
    started: Option<TimeNs>,
    ended: Option<TimeNs>,
    /// When it was last seen to do something that a blocked thread cannot.
    active: TimeNs,
    /// The monitor that it left last, when, and when it was active before.
    left: (LockId, TimeNs, TimeNs),
    /// Conditional waiting in the range.
    waited_ns: u64,
}

/// The lives of all threads.
#[derive(Debug)]
pub(crate) struct Threads {
    ids: Places<ThreadId>,
    lives: Vec<(ThreadId, ThreadLife)>,
    /// The thread asked for last: one thread's events come in runs.
    latest: u32,
    bound: usize,
    /// True once a thread was seen to start or end.
    has_starts: bool,
    pub folded: u64,
}

/// The application's platform threads, added up over a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Running {
    /// Application threads, virtual ones included.
    pub threads: u64,
    /// How long platform threads lived.
    pub life_ns: u64,
    /// Their life without conditional waiting.
    pub running_ns: u64,
}

impl Threads {
    pub fn new(bound: usize) -> Threads {
        Threads { ids: Places::default(), lives: Vec::new(), latest: 0, bound, has_starts: false, folded: 0 }
    }

    #[inline]
    fn life(&mut self, thread: ThreadId) -> Option<&mut ThreadLife> {
        let latest = self.lives.get(self.latest as usize);
        if latest.is_none_or(|(id, _)| *id != thread) {
            self.latest = self.index(thread)?;
        }
        self.lives.get_mut(self.latest as usize).map(|(_, life)| life)
    }

    #[inline(never)]
    fn index(&mut self, thread: ThreadId) -> Option<u32> {
        if let Some(index) = self.ids.get(thread) {
            return Some(index);
        }
        if self.lives.len() >= self.bound {
            self.folded += 1;
            return None;
        }
        let index = self.lives.len() as u32;
        self.lives.push((thread, ThreadLife::default()));
        self.ids.insert(thread, index);
        Some(index)
    }

    fn get(&self, thread: ThreadId) -> Option<&ThreadLife> {
        let index = self.ids.get(thread)?;
        self.lives.get(index as usize).map(|(_, life)| life)
    }

    /// The thread exists.
    pub fn known(&mut self, thread: ThreadId) {
        self.life(thread);
    }

    /// True once a thread was seen to start: then those that were not lived before.
    pub fn has_starts(&self) -> bool {
        self.has_starts
    }

    pub fn started(&mut self, thread: ThreadId, time: TimeNs) {
        self.has_starts = true;
        if let Some(life) = self.life(thread) {
            life.started = Some(time);
        }
    }

    pub fn ended(&mut self, thread: ThreadId, time: TimeNs) {
        if let Some(life) = self.life(thread) {
            life.ended = Some(time);
            life.active = life.active.max(time);
        }
    }

    /// The thread did something that a blocked thread cannot do.
    #[inline]
    pub fn acts(&mut self, thread: ThreadId, time: TimeNs) {
        if let Some(life) = self.life(thread) {
            life.active = life.active.max(time);
        }
    }

    /// The thread left a monitor on which others were blocked.
    #[inline]
    pub fn leaves(&mut self, thread: ThreadId, lock: LockId, time: TimeNs) {
        if let Some(life) = self.life(thread) {
            if time > life.active {
                life.left = (lock, time, life.active);
                life.active = time;
            }
        }
    }

    /// When the thread was last active, without that it left this monitor, if it did nothing since: the exit by which a
    /// wait releases its monitor is recorded a moment after the wait's begin.
    pub fn active_before_leaving(&self, thread: ThreadId, lock: LockId) -> TimeNs {
        let life = self.get(thread).copied().unwrap_or_default();
        let (left, time, before) = life.left;
        if left == lock && time == life.active {
            before
        } else {
            life.active
        }
    }

    /// When the thread was last seen to do something.
    pub fn active(&self, thread: ThreadId) -> TimeNs {
        self.get(thread).map_or(TimeNs(0), |life| life.active)
    }

    /// The thread waited for a condition so long (in the range).
    pub fn waited(&mut self, thread: ThreadId, ns: u64) {
        if let Some(life) = self.life(thread) {
            life.waited_ns += ns;
        }
    }

    /// How long the thread lived in the range. One not seen to start was there
    /// from the recording's start; one not seen to end lives on.
    pub fn life_ns(&self, thread: ThreadId, range: Range) -> u64 {
        self.span(thread, range).map_or(0, |(start, end)| end.since(start).0)
    }

    /// True if the thread started and ended in the range.
    pub fn is_of(&self, thread: ThreadId, range: Range) -> bool {
        let ends = self.get(thread).and_then(|life| life.started.zip(life.ended));
        ends.is_some_and(|(started, ended)| started >= range.from && ended <= range.to)
    }

    /// Every thread that is known.
    pub fn ids(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.lives.iter().map(|(thread, _)| *thread)
    }

    /// When the thread lived, as far as that lies in the range.
    pub fn span(&self, thread: ThreadId, range: Range) -> Option<(TimeNs, TimeNs)> {
        let life = self.get(thread).copied().unwrap_or_default();
        range.clip(life.started.unwrap_or(range.from), life.ended.unwrap_or(range.to))
    }

    /// Adds up the threads that `counts` lets through. The VM's and the JDK's
    /// own threads are left out, and of virtual threads only the number counts:
    /// how long they were mounted is not known.
    pub fn running(&self, range: Range, names: &Names, counts: impl Fn(ThreadId) -> bool) -> Running {
        let mut sum = Running::default();
        for (thread, life) in &self.lives {
            let def = names.thread(*thread);
            let is_no_thread = thread.0 & ThreadId::NATIVE != 0 || *thread == ThreadId::SOME_VIRTUAL;
            if def.is_some_and(|def| def.is_service) || is_no_thread {
                continue;
            }
            let life_ns = self.life_ns(*thread, range);
            if life_ns == 0 || !counts(*thread) {
                continue;
            }
            sum.threads += 1;
            if !def.is_some_and(|def| def.is_virtual) {
                sum.life_ns += life_ns;
                sum.running_ns += life_ns.saturating_sub(life.waited_ns);
            }
        }
        sum
    }
}
