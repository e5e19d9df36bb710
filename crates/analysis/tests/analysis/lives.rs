//! Random lives of threads, with the truth about where their time went.
//!
//! What a thread does follows one after another; whatever it does while the recording ends
//! stays open. Who owns what meanwhile is random: the ledger must add up whoever that is.

use crate::queued::Naming;
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// The recording's start.
pub const START: u64 = 1_000_000;
const US: u64 = 1_000;
/// Monitors have ids from 1 on, blockers from here on.
const BLOCKERS: u64 = 100;
/// A thread that does what nobody else is free to do.
pub const HELPER: ThreadId = ThreadId(50);
const MONITORS: u8 = 3;
/// Chains of those who are blocked on monitors, of those who leave and of those who wait.
const ENTERS: u64 = 1;
const EXITS: u64 = 2;
const WAITS: u64 = 3;
const UNPARKS: u64 = 4;
/// Chains of parks have ids from here on.
const PARKS: u64 = 10;

/// What kind of time a park is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Blocked,
    Waited,
    Slept,
    Io,
}

/// Class of the blocker, frames of the park, and what its time is.
const PLACES: [(&str, &str, Time); 9] = [
    (
        "java.util.concurrent.locks.ReentrantLock$NonfairSync",
        "AQS.acquire j.locks.ReentrantLock.lock a.Shop.sell",
        Time::Blocked,
    ),
    (
        "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync",
        "AQS.acquire AQS.acquireShared j.locks.ReentrantReadWriteLock$ReadLock.lock a.Shop.look",
        Time::Blocked,
    ),
    (
        "java.util.concurrent.Semaphore$NonfairSync",
        "AQS.acquire AQS.acquireSharedInterruptibly j.Semaphore.acquire a.Shop.enter",
        Time::Waited,
    ),
    (
        "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
        "AQS$ConditionObject.await a.Shop.restock",
        Time::Waited,
    ),
    (
        "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
        "AQS$ConditionObject.await j.LinkedBlockingQueue.take a.Worker.loop a.Worker.run java.lang.Thread.run",
        Time::Waited,
    ),
    ("java.util.concurrent.FutureTask", "j.FutureTask.awaitDone j.FutureTask.get a.Shop.ask", Time::Waited),
    ("", "java.lang.VirtualThread.sleepNanos java.lang.Thread.sleep a.Shop.pause", Time::Slept),
    ("", "sun.nio.ch.NioSocketImpl.park java.net.Socket.read a.Shop.call", Time::Io),
    ("a.Shop$Own", "a.Shop.poll", Time::Waited),
];

/// Who a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Platform,
    Virtual,
    Service,
    Carrier,
    Native,
}

/// How a wait or a park ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    ByOther,
    TimedOut,
    Interrupted,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Blocked on a monitor.
    Enters {
        monitor: u8,
    },
    /// In `Object.wait`, then acquiring the monitor again for `again` us.
    Waits {
        monitor: u8,
        ends: Ends,
        again: u16,
    },
    Parks {
        place: u8,
        ends: Ends,
    },
    /// So long on a monitor, or parked, in contentions that were recorded as a sum.
    Sum {
        parks: Option<u8>,
    },
}

/// Something that a thread does, after `before` us, for `lasts` us; `other` takes part.
#[derive(Clone, Copy, Debug)]
struct Doing {
    before: u16,
    lasts: u16,
    other: u8,
    what: What,
}

#[derive(Clone, Debug)]
struct Life {
    role: Role,
    /// When it starts, in us, if that is recorded.
    starts: Option<u16>,
    /// It ends so many us after the last thing that it did.
    ends: Option<u16>,
    doings: Vec<Doing>,
}

/// Threads and what happens to them.
#[derive(Clone, Debug)]
pub struct World {
    lives: Vec<Life>,
    /// When the recording ends, in us.
    length: u16,
    /// Exits of monitors: when, by whom, of which.
    exits: Vec<(u16, u8, u8)>,
    /// Pauses: when, and how long.
    pauses: Vec<(u16, u16)>,
    /// CPU time and run-queue wait of each thread in percent of each interval, if measured.
    measured: Option<Vec<(u8, u8)>>,
    throttled: bool,
}

/// Where the threads' time went, by the events of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub platform_life: u64,
    pub virtual_own: u64,
    pub blocked: u64,
    pub waited: u64,
    pub slept: u64,
    pub io: u64,
    /// The same in threads whose time is not the application's.
    pub others_blocked: u64,
}

pub fn worlds() -> impl Strategy<Value = World> {
    let lives = vec(life(), 1..7);
    let exits = vec((0..3_000u16, 0..7u8, 0..MONITORS), 0..6);
    let pauses = vec((0..3_000u16, 1..400u16), 0..4);
    let measured = proptest::option::of(vec((0..130u8, 0..60u8), 1..8));
    (lives, 500..3_000u16, exits, pauses, measured, any::<bool>()).prop_map(
        |(lives, length, exits, pauses, measured, throttled)| World {
            lives,
            length,
            exits,
            pauses,
            measured,
            throttled,
        },
    )
}

fn life() -> impl Strategy<Value = Life> {
    let role = prop_oneof![
        5 => Just(Role::Platform),
        3 => Just(Role::Virtual),
        1 => Just(Role::Service),
        1 => Just(Role::Carrier),
        1 => Just(Role::Native),
    ];
    let some = proptest::option::of(0..300u16);
    (role, some.clone(), some, vec(doing(), 0..10)).prop_map(|(role, starts, ends, doings)| {
        // What these do is measured, no more.
        let doings = if matches!(role, Role::Carrier | Role::Native) { Vec::new() } else { doings };
        Life { role, starts, ends, doings }
    })
}

fn doing() -> impl Strategy<Value = Doing> {
    let ends = || prop_oneof![Just(Ends::ByOther), Just(Ends::TimedOut), Just(Ends::Interrupted)];
    let what = prop_oneof![
        3 => (0..MONITORS).prop_map(|monitor| What::Enters { monitor }),
        3 => (0..MONITORS, ends(), prop_oneof![Just(0), 1..400u16])
            .prop_map(|(monitor, ends, again)| {
                // The notifier still has the monitor.
                let again = if ends == Ends::ByOther { again.max(1) } else { again };
                What::Waits { monitor, ends, again }
            }),
        4 => (0..PLACES.len() as u8, ends()).prop_map(|(place, ends)| What::Parks { place, ends }),
        1 => proptest::option::of(0..PLACES.len() as u8).prop_map(|parks| What::Sum { parks }),
    ];
    (0..300u16, 1..600u16, 0..7u8, what).prop_map(|(before, lasts, other, what)| Doing { before, lasts, other, what })
}

/// An event to be, before it has its place in the order.
struct Draft {
    time: u64,
    /// Of which thread and which of its doings: an end finds its begin's number so.
    key: (usize, usize),
    event: Event,
}

/// The events of a world.
struct Scribe<'a> {
    world: &'a World,
    end: u64,
    drafts: Vec<Draft>,
}

impl World {
    pub fn end(&self) -> TimeNs {
        TimeNs(START + u64::from(self.length) * US)
    }

    pub fn roles(&self) -> impl Iterator<Item = (ThreadId, Role)> + '_ {
        let lives = self.lives.iter().enumerate().map(|(at, life)| (id(at, life.role), life.role));
        lives.chain([(HELPER, Role::Platform)])
    }

    /// What happens, in the order of time.
    pub fn events(&self) -> Vec<Event> {
        let mut scribe = Scribe { world: self, end: self.end().0, drafts: Vec::new() };
        (0..self.lives.len()).for_each(|at| scribe.live(at));
        for (time, by, monitor) in &self.exits {
            let time = START + u64::from(*time) * US;
            let thread = self.free(*by, time);
            let exit = MonitorExit {
                time: TimeNs(time),
                thread,
                lock: monitor_id(*monitor),
                chain: ChainId(EXITS),
                ..MonitorExit::default()
            };
            scribe.add(time, (usize::MAX, 0), Event::MonitorExit(exit));
        }
        let mut events = scribe.numbered();
        events.extend(self.environment());
        events.sort_by_key(Event::time);
        events
    }

    /// A thread that can do something for another one at that time: this one, or the next.
    fn free(&self, from: u8, time: u64) -> ThreadId {
        let all = self.lives.len();
        let is_free = |at: &usize| {
            let role = self.lives[*at].role;
            let (start, end) = self.alive(*at);
            let is_busy = self.walk(*at).any(|(_, begin, over)| begin <= time && time <= over);
            !matches!(role, Role::Carrier | Role::Native) && start < time && time < end && !is_busy
        };
        let found = (0..all).map(|step| (usize::from(from) + step) % all).find(is_free);
        found.map_or(HELPER, |at| id(at, self.lives[at].role))
    }

    /// What everything is called.
    pub fn definitions(&self) -> Vec<Event> {
        let settings = vec![("events".to_owned(), "monitor,park,steal".to_owned())];
        let (start, producer) = (TimeNs(START), "headway test".to_owned());
        let info = RecordingInfo { start, settings, producer, ..RecordingInfo::default() };
        let mut naming = Naming::new();
        naming.events.push(Event::Recording(Arc::new(info)));
        naming.events.push(crate::story::thread(HELPER.0, "helper"));
        for (at, life) in self.lives.iter().enumerate() {
            let group = if life.role == Role::Carrier { "CarrierThreads" } else { "" };
            naming.events.push(Event::Thread(ThreadDef {
                id: id(at, life.role),
                name: format!("worker-{at}").into(),
                group: group.into(),
                is_virtual: life.role == Role::Virtual,
                is_service: matches!(life.role, Role::Service | Role::Carrier),
                ..ThreadDef::default()
            }));
        }
        for monitor in 0..MONITORS {
            naming.events.push(crate::story::lock(monitor_id(monitor).0, "a.Stock", u32::from(monitor), "Stock.lock"));
        }
        naming.chain(ENTERS, "a.Shop.buy a.Server.serve java.lang.Thread.run", 1);
        naming.chain(EXITS, "a.Shop.count a.Server.serve java.lang.Thread.run", 2);
        naming.chain(WAITS, "java.lang.Object.wait a.Shop.stand a.Server.serve java.lang.Thread.run", 3);
        naming.chain(UNPARKS, "j.locks.LockSupport.unpark AQS.release j.locks.ReentrantLock.unlock a.Shop.sell", 4);
        for (at, (class, frames, _)) in (0..).zip(PLACES) {
            naming.events.push(crate::story::lock(BLOCKERS + at, class, 7, ""));
            naming.chain(PARKS + at, &format!("jdk.internal.misc.Unsafe.park j.locks.LockSupport.park {frames}"), 5);
        }
        naming.events
    }

    /// Pauses, and what was measured per interval.
    fn environment(&self) -> Vec<Event> {
        let at = |us: u16| TimeNs(START + u64::from(us) * US);
        let paused = |(start, lasts): &(u16, u16)| {
            Event::StopTheWorld(StopTheWorld { start: at(*start), duration: DurationNs(u64::from(*lasts) * US) })
        };
        let mut events: Vec<Event> = self.pauses.iter().map(paused).collect();
        let Some(measured) = &self.measured else { return events };
        let duration = DurationNs(u64::from(self.length) * US / measured.len() as u64);
        for (interval, (cpu, waits)) in (0..).zip(measured) {
            let start = TimeNs(START + interval * duration.0);
            let part = |percent: u8| DurationNs(duration.0 * u64::from(percent) / 100);
            for (thread, _) in self.roles() {
                let (cpu, run_queue) = (part(*cpu), (cpu % 5 != 0).then_some(part(*waits)));
                events.push(Event::ThreadTime(ThreadTime { start, duration, thread, cpu, run_queue }));
            }
            let (busy, stolen) = (duration, part(waits / 4));
            events.push(Event::MachineTime(MachineTime { start, duration, busy, stolen, ..MachineTime::default() }));
            if self.throttled {
                let throttled = part(*waits);
                events.push(Event::Throttling(Throttling { start, duration, throttled, ..Throttling::default() }));
            }
        }
        events
    }

    /// Where the time of threads went within the range, of those that `counts` accepts.
    pub fn truth(&self, from: u64, to: u64, counts: impl Fn(ThreadId) -> bool) -> Truth {
        let mut truth = Truth::default();
        let clip = |start: u64, end: u64| end.min(to).saturating_sub(start.max(from));
        for (at, life) in self.lives.iter().enumerate() {
            let (role, spans) = (life.role, self.spans(at));
            if !counts(id(at, role)) {
                continue;
            }
            if role == Role::Platform {
                let (start, end) = self.alive(at);
                truth.platform_life += clip(start, end);
            }
            for (start, end, time) in spans {
                let ns = clip(start, end);
                match (role, time) {
                    (Role::Service, Time::Blocked) => truth.others_blocked += ns,
                    (Role::Service, _) => {}
                    (_, Time::Blocked) => truth.blocked += ns,
                    (_, Time::Waited) => truth.waited += ns,
                    (_, Time::Slept) => truth.slept += ns,
                    (_, Time::Io) => truth.io += ns,
                }
                truth.virtual_own += if role == Role::Virtual { ns } else { 0 };
            }
        }
        truth.platform_life += if counts(HELPER) { clip(START, self.end().0) } else { 0 };
        truth
    }

    /// When a thread lived, within the recording.
    fn alive(&self, at: usize) -> (u64, u64) {
        let life = &self.lives[at];
        let end = self.end().0;
        let start = life.starts.map_or(START, |us| START + u64::from(us) * US).min(end);
        let last = self.walk(at).last().map_or(start, |(_, _, over)| over);
        let ended = life.ends.map_or(end, |us| last + u64::from(us) * US);
        (start, ended.min(end))
    }

    /// Each thing that a thread does: which, when it begins and when it is over.
    fn walk(&self, at: usize) -> impl Iterator<Item = (&Doing, u64, u64)> {
        let life = &self.lives[at];
        let start = START + u64::from(life.starts.unwrap_or(0)) * US;
        life.doings.iter().scan(start, |now, doing| {
            let begin = *now + u64::from(doing.before) * US;
            let again = match doing.what {
                What::Waits { again, .. } => u64::from(again),
                _ => 0,
            };
            *now = begin + (u64::from(doing.lasts) + again) * US;
            Some((doing, begin, *now))
        })
    }

    /// The times of a thread that its events say something about, up to the recording's end.
    fn spans(&self, at: usize) -> Vec<(u64, u64, Time)> {
        let end = self.end().0;
        let mut spans = Vec::new();
        for (doing, begin, over) in self.walk(at) {
            let middle = begin + u64::from(doing.lasts) * US;
            match doing.what {
                What::Enters { .. } => spans.push((begin, over, Time::Blocked)),
                // That its time ran out is recorded when it has the monitor again.
                What::Waits { ends, .. } if ends != Ends::ByOther && over > end => {
                    spans.push((begin, over, Time::Waited));
                }
                What::Waits { .. } => {
                    spans.push((begin, middle, Time::Waited));
                    spans.push((middle, over, Time::Blocked));
                }
                What::Parks { place, .. } => spans.push((begin, over, PLACES[usize::from(place)].2)),
                // It has no event before it is over, and one of waits says nothing of when.
                What::Sum { parks } => {
                    let time = parks.map_or(Time::Blocked, |place| PLACES[usize::from(place)].2);
                    if time == Time::Blocked && over <= end {
                        spans.push((begin, over, time));
                    }
                }
            }
        }
        spans.iter().map(|(start, over, time)| (*start, (*over).min(end), *time)).filter(|(s, e, _)| s < e).collect()
    }

    /// True if some contentions are recorded as sums, which do not say when each was.
    pub fn has_sums(&self) -> bool {
        self.lives.iter().flat_map(|life| &life.doings).any(|doing| matches!(doing.what, What::Sum { .. }))
    }
}

impl Scribe<'_> {
    fn add(&mut self, time: u64, key: (usize, usize), event: Event) {
        if time <= self.end {
            self.drafts.push(Draft { time, key, event });
        }
    }

    fn live(&mut self, at: usize) {
        let life = &self.world.lives[at];
        let thread = id(at, life.role);
        let (start, end) = self.world.alive(at);
        if life.starts.is_some() {
            self.add(start, (at, usize::MAX), Event::ThreadStart(ThreadPoint { time: TimeNs(start), thread }));
        }
        for (number, (doing, begin, over)) in self.world.walk(at).enumerate() {
            self.doing((at, number), thread, doing, (begin, over));
        }
        if life.ends.is_some() && end < self.end {
            self.add(end, (at, usize::MAX), Event::ThreadEnd(ThreadPoint { time: TimeNs(end), thread }));
        }
    }

    fn doing(&mut self, key: (usize, usize), thread: ThreadId, doing: &Doing, (begin, over): (u64, u64)) {
        match doing.what {
            What::Enters { monitor } => {
                self.enters(key, thread, (monitor_id(monitor), self.world.free(doing.other, begin)), (begin, over))
            }
            What::Waits { monitor, ends, .. } => {
                let middle = begin + u64::from(doing.lasts) * US;
                let other = self.world.free(doing.other, middle);
                self.waits(key, thread, (monitor_id(monitor), other), ends, (begin, middle, over));
            }
            What::Parks { place, ends } => {
                let other = self.world.free(doing.other, over);
                self.parks(key, thread, (place, other), ends, (begin, over));
            }
            What::Sum { parks } => self.sum(key, thread, parks, (begin, over)),
        }
    }

    fn enters(
        &mut self,
        key: (usize, usize),
        thread: ThreadId,
        (lock, owner): (LockId, ThreadId),
        (begin, over): (u64, u64),
    ) {
        let chain = ChainId(ENTERS);
        let enter = MonitorEnter { time: TimeNs(begin), thread, lock, chain, owner, seq: Seq::NONE };
        self.add(begin, key, Event::MonitorEnter(enter));
        let (time, start) = (TimeNs(over), TimeNs(begin));
        let entered = MonitorEntered { time, start, thread, lock, chain, ..MonitorEntered::default() };
        self.add(over, key, Event::MonitorEntered(entered));
    }

    fn waits(
        &mut self,
        key: (usize, usize),
        thread: ThreadId,
        (lock, other): (LockId, ThreadId),
        ends: Ends,
        (begin, middle, over): (u64, u64, u64),
    ) {
        let chain = ChainId(WAITS);
        let wait = MonitorWait { time: TimeNs(begin), thread, lock, chain, ..MonitorWait::default() };
        self.add(begin, key, Event::MonitorWait(wait));
        let is_notified = ends == Ends::ByOther && other != thread;
        if is_notified {
            let time = TimeNs(middle);
            let notify = MonitorNotify { time, thread: other, waiter: thread, lock, seq: Seq::NONE };
            self.add(middle, key, Event::MonitorNotify(notify));
        }
        let outcome = match ends {
            Ends::ByOther => WaitOutcome::Notified,
            Ends::TimedOut => WaitOutcome::TimedOut,
            Ends::Interrupted => WaitOutcome::Interrupted,
        };
        let notifier = if is_notified { other } else { ThreadId::NONE };
        let (time, start) = (TimeNs(over), TimeNs(begin));
        let waited = MonitorWaited { time, start, thread, lock, chain, outcome, notifier, ..MonitorWaited::default() };
        self.add(over, key, Event::MonitorWaited(waited));
        if over > middle {
            let start = TimeNs(middle);
            let reentered = MonitorReentered { time, start, thread, lock, chain, ..MonitorReentered::default() };
            self.add(over, key, Event::MonitorReentered(reentered));
        }
    }

    fn parks(
        &mut self,
        key: (usize, usize),
        thread: ThreadId,
        (place, other): (u8, ThreadId),
        ends: Ends,
        (begin, over): (u64, u64),
    ) {
        let (chain, blocker, time) = (ChainId(PARKS + u64::from(place)), blocker_id(place), TimeNs(begin));
        let parks = ParkBegin { time, thread, chain, blocker, ..ParkBegin::default() };
        self.add(begin, key, Event::ParkBegin(parks));
        let is_unparked = ends == Ends::ByOther && other != thread;
        if is_unparked {
            let (time, chain) = (TimeNs(over), ChainId(UNPARKS));
            let unpark = Unpark { time, thread: other, seq: Seq::NONE, chain, target: thread };
            self.add(over, key, Event::Unpark(unpark));
        }
        let outcome = match ends {
            Ends::ByOther if is_unparked => ParkOutcome::Unparked,
            Ends::ByOther => ParkOutcome::Spurious,
            Ends::TimedOut => ParkOutcome::TimedOut,
            Ends::Interrupted => ParkOutcome::Interrupted,
        };
        let (time, start) = (TimeNs(over), TimeNs(begin));
        let park = Park { time, start, thread, chain, blocker, outcome, ..Park::default() };
        self.add(over, key, Event::Park(park));
    }

    fn sum(&mut self, key: (usize, usize), thread: ThreadId, parks: Option<u8>, (begin, over): (u64, u64)) {
        let (time, count, total) = (TimeNs(over), 3, DurationNs(over - begin));
        let event = match parks {
            Some(place) => {
                let (blocker, chain) = (blocker_id(place), ChainId(PARKS + u64::from(place)));
                Event::ShortParks(ShortParks { time, thread, blocker, chain, count, total })
            }
            None => {
                let (lock, chain) = (monitor_id(0), ChainId(ENTERS));
                Event::Spent(Spent { time, thread, lock, chain, on: SpentOn::Monitor, count, total })
            }
        };
        self.add(over, key, event);
    }

    /// The events in the order of time, with their places in the order of their lock, or of all
    /// parks.
    fn numbered(mut self) -> Vec<Event> {
        self.drafts.sort_by_key(|draft| draft.time);
        let mut of_lock: HashMap<LockId, u64> = HashMap::new();
        let mut of_parks = 0;
        let mut begins: HashMap<(usize, usize), Seq> = HashMap::new();
        let number = |draft: Draft| {
            let mut event = draft.event;
            let mut next = |lock: LockId| {
                let seq = of_lock.entry(lock).or_default();
                *seq += 1;
                Seq(*seq)
            };
            let mut park = || {
                of_parks += 1;
                Seq(of_parks)
            };
            match &mut event {
                Event::MonitorEnter(e) => e.seq = next(e.lock),
                Event::MonitorEntered(e) => e.seq = next(e.lock),
                Event::MonitorExit(e) => e.seq = next(e.lock),
                Event::MonitorWait(e) => e.seq = next(e.lock),
                Event::MonitorNotify(e) => {
                    e.seq = next(e.lock);
                    begins.insert(draft.key, e.seq);
                }
                Event::MonitorWaited(e) => e.seq = next(e.lock),
                Event::MonitorReentered(e) => {
                    e.start_seq = begins.get(&draft.key).copied().unwrap_or(Seq::NONE);
                    e.seq = next(e.lock);
                }
                Event::ParkBegin(e) => {
                    e.seq = park();
                    begins.insert(draft.key, e.seq);
                }
                Event::Park(e) => {
                    e.start_seq = begins.get(&draft.key).copied().unwrap_or(Seq::NONE);
                    e.seq = park();
                }
                Event::Unpark(e) => e.seq = park(),
                _ => {}
            }
            event
        };
        self.drafts.into_iter().map(number).collect()
    }
}

fn id(at: usize, role: Role) -> ThreadId {
    let native = if role == Role::Native { ThreadId::NATIVE } else { 0 };
    ThreadId((at as u64 + 1) | native)
}

fn monitor_id(monitor: u8) -> LockId {
    LockId(u64::from(monitor) + 1)
}

fn blocker_id(place: u8) -> LockId {
    LockId(BLOCKERS + u64::from(place))
}
