//! What each thread is doing, known from its own events and by who notifies it.
//!
//! The events of one thread come in its own order; those of different threads
//! in any. Only a notify is an event of another thread: it is kept until the
//! waiter's own events have caught up. A virtual thread that blocked on a monitor
//! may have gone on with another carrier, whose events can come first: an end
//! without a begin is kept until that comes.

use crate::by_id::ById;
use headway_model::event::ExitCause;
use headway_model::event::{
    MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited, Park,
    ParkBegin, ShortParks, Spent as Sum, SpentOn,
};
use headway_model::{ChainId, DurationNs, Event, LockId, ThreadId, TimeNs};

/// Notifies kept for a waiter whose own events have not arrived.
const KEPT_NOTIFIES: usize = 256;

/// How a thread counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Role {
    /// A platform thread of the application: it runs while it lives.
    #[default]
    Application,
    /// A virtual thread: when it was mounted is not recorded.
    Virtual,
    /// A carrier: what it does not wait is the time virtual threads are mounted.
    Carrier,
    /// A service thread, or one that a filter leaves out.
    LeftOut,
}

/// Takes in how threads spent their time, each moment of a thread once.
pub(super) trait Spent {
    /// A contention begins.
    fn fails(&mut self, lock: LockId) {
        self.fail(lock, 1);
    }
    /// So many contentions, of which there is only the number.
    fn fail(&mut self, lock: LockId, count: u64);
    /// A thread spent a span acquiring a lock.
    fn acquired(&mut self, role: Role, lock: LockId, chain: ChainId, span: (TimeNs, TimeNs), in_monitor: bool);
    /// A thread spent a span waiting for a condition.
    fn waited(&mut self, role: Role, span: (TimeNs, TimeNs), in_monitor: bool);
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Doing {
    /// Anything else.
    #[default]
    Running,
    /// Acquiring a lock.
    Acquiring { lock: LockId, chain: ChainId, since: TimeNs, in_monitor: bool },
    /// In `Object.wait`.
    Waiting { lock: LockId, chain: ChainId, since: TimeNs },
    /// Back from `Object.wait` at `end`; a re-acquisition, which began no later
    /// than then, may be going on.
    Waited { lock: LockId, chain: ChainId, since: TimeNs, end: TimeNs },
    /// Parked, waiting for a condition.
    Parked { since: TimeNs },
    /// In `Object.wait` or parked since before anything was recorded.
    Found { since: TimeNs, in_monitor: bool },
}

/// One thread.
#[derive(Clone, Debug, Default)]
struct Activity {
    role: Role,
    started: Option<TimeNs>,
    ended: Option<TimeNs>,
    doing: Doing,
    /// Its latest own event.
    latest: TimeNs,
    /// Notifies that chose it.
    notifies: Vec<(TimeNs, LockId)>,
    /// An acquisition whose end came without its begin.
    early: Option<Early>,
}

/// When a thread had acquired a lock. The time that this took is added up if the end said when it began.
#[derive(Clone, Copy, Debug)]
struct Early {
    lock: LockId,
    end: TimeNs,
    is_added: bool,
}

/// All threads.
#[derive(Debug)]
pub(super) struct Activities {
    threads: ById<ThreadId, Activity>,
    bound: usize,
    /// Threads that wait as they did when the recording began.
    waiting_since_before: usize,
    pub folded: u64,
}

/// How many threads are doing what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub running: u64,
    pub blocked: u64,
    pub parked: u64,
    pub waiting: u64,
}

impl Activities {
    pub fn new(bound: usize) -> Activities {
        Activities { threads: ById::default(), bound, waiting_since_before: 0, folded: 0 }
    }

    fn thread(&mut self, id: ThreadId) -> Option<&mut Activity> {
        let new = || Activity { role: role_of_unknown(id), ..Activity::default() };
        let thread = self.threads.get_or_add(id, self.bound, new);
        self.folded += u64::from(thread.is_none());
        thread
    }

    /// The thread exists and counts as `role`.
    pub fn known(&mut self, id: ThreadId, role: Role) {
        if let Some(thread) = self.thread(id) {
            thread.role = role;
        }
    }

    /// The thread has been waiting since before `since`, when the recording began;
    /// false if it has done something meanwhile.
    pub fn found(&mut self, id: ThreadId, since: TimeNs, in_monitor: bool) -> bool {
        let Some(thread) = self.thread(id) else { return false };
        let is_fresh = thread.doing == Doing::Running && thread.latest <= since && thread.started.is_none();
        if is_fresh {
            thread.doing = Doing::Found { since, in_monitor };
            self.waiting_since_before += 1;
        }
        is_fresh
    }

    /// True if the thread still waits as it did when the recording began.
    pub fn is_found(&self, id: ThreadId) -> bool {
        self.threads.get(id).is_some_and(|thread| matches!(thread.doing, Doing::Found { .. }))
    }

    /// A thread that was found waiting does something: at `time`, or since.
    pub fn leaves_found(&mut self, event: &Event, spent: &mut impl Spent) {
        if self.waiting_since_before == 0 {
            return;
        }
        let (id, time) = match event {
            Event::MonitorEnter(e) => (e.thread, e.time),
            Event::MonitorEntered(e) => (e.thread, told_since(e.start, e.time)),
            Event::MonitorWait(e) => (e.thread, e.time),
            Event::MonitorWaited(e) => (e.thread, told_since(e.start, e.time)),
            Event::MonitorReentered(e) => (e.thread, told_since(e.start, e.time)),
            Event::MonitorNotify(e) => (e.thread, e.time),
            Event::ParkBegin(e) => (e.thread, e.time),
            Event::Park(e) => (e.thread, told_since(e.start, e.time)),
            Event::ShortParks(e) => (e.thread, e.time - e.total),
            Event::Spent(e) => (e.thread, e.time - e.total),
            Event::Unpark(e) => (e.thread, e.time),
            Event::ThreadEnd(e) => (e.thread, e.time),
            _ => return,
        };
        self.resumes(id, time, spent);
    }

    /// A thread that was found waiting does so no more.
    pub fn resumes(&mut self, id: ThreadId, time: TimeNs, spent: &mut impl Spent) {
        let Some(thread) = self.threads.get_mut(id) else { return };
        if let Doing::Found { since, in_monitor } = thread.doing {
            spent.waited(thread.role, (since, time.max(since)), in_monitor);
            thread.doing = Doing::Running;
            self.waiting_since_before -= 1;
        }
    }

    pub fn starts(&mut self, id: ThreadId, time: TimeNs) {
        if let Some(thread) = self.thread(id) {
            thread.started = Some(time);
            thread.latest = thread.latest.max(time);
        }
    }

    pub fn ends(&mut self, id: ThreadId, time: TimeNs, spent: &mut impl Spent) {
        self.acts(id, time, spent);
        if let Some(thread) = self.thread(id) {
            thread.ended = Some(time);
        }
    }

    /// The thread did something that it can do only while it runs.
    pub fn acts(&mut self, id: ThreadId, time: TimeNs, spent: &mut impl Spent) {
        if let Some(thread) = self.thread(id) {
            thread.acts(time, spent);
        }
    }

    pub fn enters(&mut self, e: &MonitorEnter, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        match thread.early {
            Some(Early { lock, end, is_added }) if lock == e.lock && e.time < end => {
                thread.early = None;
                if !is_added {
                    spent.fails(lock);
                    spent.acquired(thread.role, lock, e.chain, (e.time, end), true);
                }
            }
            _ if thread.is_over(e.time) => {}
            _ => {
                thread.commit(spent);
                thread.runs(e.time);
                thread.doing = Doing::Acquiring { lock: e.lock, chain: e.chain, since: e.time, in_monitor: true };
            }
        }
    }

    pub fn entered(&mut self, e: &MonitorEntered, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        let begun = match thread.doing {
            Doing::Acquiring { lock, chain, since, .. } if lock == e.lock => Some((since, chain)),
            _ => None,
        };
        let start = if e.start > TimeNs(0) { Some(e.start) } else { begun.map(|(since, _)| since) };
        let chain = if e.chain.is_some() { e.chain } else { begun.map_or(e.chain, |(_, chain)| chain) };
        if let Some(start) = start {
            spent.fails(e.lock);
            spent.acquired(thread.role, e.lock, chain, (start, e.time), true);
        }
        if begun.is_none() {
            thread.early = Some(Early { lock: e.lock, end: e.time, is_added: start.is_some() });
        }
        thread.runs(e.time);
    }

    pub fn exits(&mut self, e: &MonitorExit, spent: &mut impl Spent) {
        // A wait begins before the exit that it causes.
        if e.cause == ExitCause::Exit {
            self.acts(e.thread, e.time, spent);
        }
    }

    pub fn waits(&mut self, e: &MonitorWait, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread).filter(|thread| !thread.is_over(e.time)) else { return };
        thread.commit(spent);
        thread.latest = e.time;
        thread.notifies.retain(|(time, _)| *time >= e.time);
        thread.doing = Doing::Waiting { lock: e.lock, chain: e.chain, since: e.time };
    }

    pub fn notifies(&mut self, e: &MonitorNotify, spent: &mut impl Spent) {
        self.acts(e.thread, e.time, spent);
        let Some(waiter) = Some(e.waiter).filter(|waiter| waiter.is_some()) else { return };
        if let Some(waiter) = self.thread(waiter) {
            // What it has done since says that it was notified already.
            let stale = e.time < waiter.latest && !matches!(waiter.doing, Doing::Waited { .. });
            if !stale && waiter.notifies.len() < KEPT_NOTIFIES {
                waiter.notifies.push((e.time, e.lock));
            }
        }
    }

    pub fn waited(&mut self, e: &MonitorWaited, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        let (since, chain) = match thread.doing {
            Doing::Waiting { lock, chain, since } if lock == e.lock => (since, chain),
            _ if e.start > TimeNs(0) => {
                thread.commit(spent);
                (e.start, e.chain)
            }
            _ => return thread.acts(e.time, spent),
        };
        thread.latest = e.time;
        thread.doing = Doing::Waited { lock: e.lock, chain, since, end: e.time };
    }

    pub fn reentered(&mut self, e: &MonitorReentered, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        let start = if e.start > TimeNs(0) { Some(e.start) } else { thread.notified() };
        let mut chain = e.chain;
        match thread.doing {
            Doing::Waiting { since, chain: of_wait, .. } => {
                spent.waited(thread.role, (since, start.unwrap_or(e.time)), true);
                chain = if chain.is_some() { chain } else { of_wait };
            }
            Doing::Waited { since, end, chain: of_wait, .. } => {
                spent.waited(thread.role, (since, start.unwrap_or(end).min(end)), true);
                chain = if chain.is_some() { chain } else { of_wait };
            }
            _ => {}
        }
        if let Some(start) = start {
            spent.fails(e.lock);
            spent.acquired(thread.role, e.lock, chain, (start, e.time), true);
        }
        thread.runs(e.time);
    }

    pub fn parks(&mut self, e: &ParkBegin, acquires: bool, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread).filter(|thread| !thread.is_over(e.time)) else { return };
        thread.acts(e.time, spent);
        thread.doing = match acquires {
            true => Doing::Acquiring { lock: e.blocker, chain: e.chain, since: e.time, in_monitor: false },
            false => Doing::Parked { since: e.time },
        };
    }

    pub fn parked(&mut self, e: &Park, acquires: bool, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        let span = (e.start, e.time);
        if acquires {
            spent.fails(e.blocker);
            spent.acquired(thread.role, e.blocker, e.chain, span, false);
        } else {
            spent.waited(thread.role, span, false);
        }
        thread.runs(e.time);
    }

    /// Parks too short to be recorded one by one. When each was is not recorded:
    /// they count as if they had been one, ending when the last of them ended.
    pub fn parked_shortly(&mut self, e: &ShortParks, acquires: bool, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        if e.thread == ThreadId::SOME_VIRTUAL {
            return parked_together(e, thread.role, acquires, spent);
        }
        let span = (e.time - e.total, e.time);
        match acquires {
            true => spent.acquired(thread.role, e.blocker, e.chain, span, false),
            false => spent.waited(thread.role, span, false),
        }
    }

    /// Contentions that the thread has added up. Whether it is in another one now
    /// was recorded, if it is.
    pub fn adds(&mut self, e: &Sum, acquires: bool, spent: &mut impl Spent) {
        let Some(thread) = self.thread(e.thread) else { return };
        let span = (e.time - e.total, e.time);
        match acquires {
            true => {
                spent.fail(e.lock, e.count);
                spent.acquired(thread.role, e.lock, e.chain, span, e.on == SpentOn::Monitor);
            }
            false => spent.waited(thread.role, span, e.on == SpentOn::Wait),
        }
        thread.latest = thread.latest.max(e.time);
    }

    /// Hands over what is in flight, up to `until`. What is handed over later
    /// of the same spans is cut there by who adds up.
    pub fn settle(&self, until: TimeNs, spent: &mut impl Spent) {
        for thread in self.threads.values() {
            thread.settle(until, spent);
        }
    }

    /// Forgets what ended before `until` and virtual threads of which nothing
    /// is going on: they need no life.
    pub fn forget_before(&mut self, until: TimeNs) {
        self.threads.retain(|_, thread| match (thread.ended, thread.role) {
            (Some(ended), _) => ended > until,
            (None, Role::Virtual) => {
                thread.doing != Doing::Running || thread.latest > until || !thread.notifies.is_empty()
            }
            (None, _) => true,
        });
    }

    /// Lives of the threads that run while they live; one not seen to start was
    /// there before, one not seen to end lives on.
    pub fn lives(&self) -> impl Iterator<Item = (TimeNs, TimeNs)> + '_ {
        let living = self.threads.values().filter(|thread| matches!(thread.role, Role::Application | Role::Carrier));
        living.map(|thread| (thread.started.unwrap_or(TimeNs(0)), thread.ended.unwrap_or(TimeNs(u64::MAX))))
    }

    /// What the application's threads were doing at last.
    pub fn census(&self) -> Census {
        let mut census = Census::default();
        for thread in self.threads.values() {
            let counts = matches!(thread.role, Role::Application | Role::Virtual);
            if !counts || thread.ended.is_some() {
                continue;
            }
            match thread.doing {
                // A virtual thread that does nothing known may have ended.
                Doing::Running if thread.role == Role::Virtual => {}
                Doing::Running | Doing::Waited { .. } => census.running += 1,
                Doing::Acquiring { .. } => census.blocked += 1,
                Doing::Waiting { lock, .. } if thread.notifies.iter().any(|(_, of)| *of == lock) => census.blocked += 1,
                Doing::Waiting { .. } => census.waiting += 1,
                Doing::Found { in_monitor: true, .. } => census.waiting += 1,
                Doing::Parked { .. } | Doing::Found { .. } => census.parked += 1,
            }
        }
        census
    }

    /// True if the thread's acquiring time counts.
    pub fn counts(&self, id: ThreadId) -> bool {
        self.threads.get(id).is_some_and(|thread| matches!(thread.role, Role::Application | Role::Virtual))
    }

    /// True for a platform thread of the application whose events say nothing
    /// of what it is doing.
    pub fn is_running(&self, id: ThreadId) -> bool {
        let thread = self.threads.get(id).filter(|thread| thread.role == Role::Application && thread.ended.is_none());
        thread.is_some_and(|thread| matches!(thread.doing, Doing::Running | Doing::Waited { .. }))
    }
}

impl Activity {
    /// True if what began at this time is over: the thread did something later, and does nothing while it is blocked or
    /// waits. A virtual thread may go on with another carrier, whose events can come first.
    fn is_over(&self, began: TimeNs) -> bool {
        self.role == Role::Virtual && began < self.latest
    }

    /// The first notify that ends the wait it is in.
    fn notified(&self) -> Option<TimeNs> {
        let (lock, since) = match self.doing {
            Doing::Waiting { lock, since, .. } | Doing::Waited { lock, since, .. } => (lock, since),
            _ => return None,
        };
        let fitting = self.notifies.iter().filter(|(time, of)| *of == lock && *time >= since);
        fitting.map(|(time, _)| *time).min()
    }

    /// The wait that is over began no re-acquisition that blocked.
    fn commit(&mut self, spent: &mut impl Spent) {
        if let Doing::Waited { since, end, .. } = self.doing {
            let end = self.notified().unwrap_or(end).min(end);
            spent.waited(self.role, (since, end), true);
        }
        self.doing = Doing::Running;
    }

    fn acts(&mut self, time: TimeNs, spent: &mut impl Spent) {
        self.commit(spent);
        self.runs(time);
    }

    fn runs(&mut self, time: TimeNs) {
        self.doing = Doing::Running;
        self.latest = self.latest.max(time);
        self.notifies.retain(|(notified, _)| *notified > time);
    }

    fn settle(&self, until: TimeNs, spent: &mut impl Spent) {
        let until = self.ended.unwrap_or(until).min(until);
        match self.doing {
            Doing::Running => {}
            Doing::Acquiring { lock, chain, since, in_monitor } => {
                spent.acquired(self.role, lock, chain, (since, until), in_monitor);
            }
            Doing::Parked { since } => spent.waited(self.role, (since, until), false),
            Doing::Found { since, in_monitor } => spent.waited(self.role, (since, until), in_monitor),
            Doing::Waiting { lock, chain, since } => {
                let notified = self.notified().unwrap_or(until).min(until);
                spent.waited(self.role, (since, notified), true);
                spent.acquired(self.role, lock, chain, (notified, until), true);
            }
            Doing::Waited { lock, chain, since, end } => {
                let notified = self.notified();
                spent.waited(self.role, (since, notified.unwrap_or(end).min(end).min(until)), true);
                // A virtual thread may have acquired it unseen.
                if let Some(notified) = notified.filter(|_| self.role != Role::Virtual) {
                    spent.acquired(self.role, lock, chain, (notified, until), true);
                }
            }
        }
    }
}

/// When something began that an event reports the end of.
fn told_since(start: TimeNs, end: TimeNs) -> TimeNs {
    match start {
        TimeNs(0) => end,
        _ => start.min(end),
    }
}

fn role_of_unknown(id: ThreadId) -> Role {
    match id.0 & ThreadId::NATIVE {
        0 => Role::Application,
        _ => Role::LeftOut,
    }
}

/// Parks of many virtual threads, added up since the last sum: all of them lie in the second before
/// the last one ended, some at the same time.
fn parked_together(e: &ShortParks, role: Role, acquires: bool, spent: &mut impl Spent) {
    const SUMMED_NS: u64 = 1_000_000_000;
    let mut left = e.total.0;
    while left > 0 {
        let part = left.min(SUMMED_NS);
        let span = (e.time - DurationNs(part), e.time);
        match acquires {
            true => spent.acquired(role, e.blocker, e.chain, span, false),
            false => spent.waited(role, span, false),
        }
        left -= part;
    }
}
