//! Contended enters that are too short to be recorded one by one (`min_duration`),
//! added up on their way into the recording: on the draining thread, where pairs
//! of enter and entered come together. Live analyses still see each of them.
//!
//! An enter waits here until its end comes or a flush does; what still goes on then
//! is recorded however short it turns out to be, so that a watermark keeps its promise.
//! A release says who held the lock. It is kept only where somebody was blocked for
//! long enough to be recorded, which is known at the flush after it.

use headway_model::event::{MonitorEnter, MonitorEntered, MonitorExit, MonitorReentered, Spent, SpentOn};
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Releases kept from one flush to the next; more are recorded.
const MOST_EXITS: usize = 1 << 17;
/// Locks known to be waited on, their releases all recorded; with more, those of every
/// lock are.
const MOST_WAITED_ON: usize = 1 << 16;

/// A contention that is recorded, in its lock's order.
#[derive(Clone, Copy, Debug)]
struct Told {
    from: Seq,
    to: Seq,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Shorts {
    minimum: DurationNs,
    /// Enters whose ends have not come.
    begun: HashMap<ThreadId, MonitorEnter>,
    /// Where contentions began that a flush reported before they ended.
    open: HashMap<ThreadId, (LockId, Seq)>,
    told: HashMap<LockId, Vec<Told>>,
    exits: Vec<MonitorExit>,
    /// Locks of `Object.wait`: what re-acquisitions need is recorded whole.
    waited_on: HashSet<LockId>,
    sums: BTreeMap<(ThreadId, LockId, ChainId), Spent>,
    /// To be recorded at the next flush.
    kept: Vec<Event>,
}

impl Shorts {
    /// Sums up what is shorter than `minimum`; nothing if that is zero.
    pub fn new(minimum: DurationNs) -> Shorts {
        Shorts { minimum, ..Shorts::default() }
    }

    /// True if the event is to be recorded now; others are recorded by
    /// [`Shorts::flush`], added up, or not needed.
    pub fn records(&mut self, event: &Event) -> bool {
        if self.minimum == DurationNs::ZERO {
            return true;
        }
        match event {
            Event::MonitorEnter(e) => self.enters(e),
            Event::MonitorEntered(e) => self.entered(e),
            Event::MonitorExit(e) => self.exits(e),
            Event::MonitorWait(e) => self.waits(e.lock),
            Event::MonitorNotify(e) => self.waits(e.lock),
            Event::MonitorWaited(e) => self.waits(e.lock),
            Event::MonitorReentered(e) => self.reentered(e),
            Event::Watermark(_) => {
                self.kept.push(event.clone());
                false
            }
            _ => true,
        }
    }

    fn enters(&mut self, e: &MonitorEnter) -> bool {
        let before = self.begun.insert(e.thread, *e);
        // Its end was dropped.
        self.kept.extend(before.map(Event::MonitorEnter));
        self.open.remove(&e.thread);
        false
    }

    fn entered(&mut self, e: &MonitorEntered) -> bool {
        if let Some((lock, from)) = self.open.remove(&e.thread).filter(|(lock, _)| *lock == e.lock) {
            self.tell(lock, from, e.seq);
            return true;
        }
        let Some(enter) = self.begun.remove(&e.thread) else {
            self.tell(e.lock, Seq::NONE, e.seq);
            return true;
        };
        let is_its_end = enter.lock == e.lock && e.start == enter.time;
        if is_its_end && e.time.since(e.start) < self.minimum {
            self.add(e);
            return false;
        }
        self.kept.push(Event::MonitorEnter(enter));
        self.tell(e.lock, if is_its_end { enter.seq } else { Seq::NONE }, e.seq);
        true
    }

    fn add(&mut self, e: &MonitorEntered) {
        let sum = self.sums.entry((e.thread, e.lock, e.chain)).or_default();
        (sum.thread, sum.lock, sum.chain, sum.on) = (e.thread, e.lock, e.chain, SpentOn::Monitor);
        sum.time = sum.time.max(e.time);
        sum.count += 1;
        sum.total += e.time.since(e.start);
    }

    fn exits(&mut self, e: &MonitorExit) -> bool {
        let is_needed = self.exits.len() >= MOST_EXITS || self.is_waited_on(e.lock);
        if !is_needed {
            self.exits.push(*e);
        }
        is_needed
    }

    fn waits(&mut self, lock: LockId) -> bool {
        if self.waited_on.len() < MOST_WAITED_ON {
            self.waited_on.insert(lock);
        }
        true
    }

    fn reentered(&mut self, e: &MonitorReentered) -> bool {
        self.tell(e.lock, e.start_seq, e.seq);
        self.waits(e.lock)
    }

    fn is_waited_on(&self, lock: LockId) -> bool {
        self.waited_on.len() >= MOST_WAITED_ON || self.waited_on.contains(&lock)
    }

    fn tell(&mut self, lock: LockId, from: Seq, to: Seq) {
        self.told.entry(lock).or_default().push(Told { from, to });
    }

    /// Everything before `watermark` came by: what else is to be recorded, in an
    /// order in which nothing follows the watermark that was before it.
    pub fn flush(&mut self, watermark: TimeNs) -> Vec<Event> {
        if self.minimum == DurationNs::ZERO {
            return Vec::new();
        }
        let (marks, mut events): (Vec<Event>, Vec<Event>) =
            std::mem::take(&mut self.kept).into_iter().partition(|event| matches!(event, Event::Watermark(_)));
        for (thread, enter) in std::mem::take(&mut self.begun) {
            events.push(Event::MonitorEnter(enter));
            self.open.insert(thread, (enter.lock, enter.seq));
        }
        self.take_exits(watermark, &mut events);
        events.extend(std::mem::take(&mut self.sums).into_values().map(Event::Spent));
        events.extend(marks);
        events
    }

    /// Releases during contentions that are recorded. Of one after the watermark it is
    /// not known yet.
    fn take_exits(&mut self, watermark: TimeNs, events: &mut Vec<Event>) {
        let mut open: HashMap<LockId, Seq> = HashMap::new();
        for (lock, from) in self.open.values() {
            let first = open.entry(*lock).or_insert(*from);
            *first = (*first).min(*from);
        }
        let told = std::mem::take(&mut self.told).into_iter().map(|(lock, told)| (lock, joined(told)));
        let told: HashMap<LockId, Vec<Told>> = told.collect();
        let is_needed = |exit: &MonitorExit| {
            open.get(&exit.lock).is_some_and(|from| *from < exit.seq)
                || told.get(&exit.lock).is_some_and(|told| is_within(told, exit.seq))
        };
        for exit in std::mem::take(&mut self.exits) {
            if self.is_waited_on(exit.lock) || is_needed(&exit) {
                events.push(Event::MonitorExit(exit));
            } else if exit.time >= watermark {
                self.exits.push(exit);
            }
        }
    }
}

/// The same numbers in contentions that do not overlap, in their order: a hot lock has
/// thousands of each in a second.
fn joined(mut told: Vec<Told>) -> Vec<Told> {
    told.sort_unstable_by_key(|told| told.from);
    let mut joined: Vec<Told> = Vec::with_capacity(told.len());
    for next in told {
        match joined.last_mut() {
            Some(last) if next.from <= last.to => last.to = last.to.max(next.to),
            _ => joined.push(next),
        }
    }
    joined
}

fn is_within(joined: &[Told], seq: Seq) -> bool {
    let begun = joined.partition_point(|told| told.from < seq);
    joined[..begun].last().is_some_and(|told| seq < told.to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::MonitorWait;

    const MS: u64 = 1_000_000;

    fn enter(thread: u64, at: u64, seq: u64) -> Event {
        let (time, thread, lock, seq) = (TimeNs(at), ThreadId(thread), LockId(1), Seq(seq));
        Event::MonitorEnter(MonitorEnter { time, thread, lock, seq, chain: ChainId(4), ..MonitorEnter::default() })
    }

    fn entered(thread: u64, start: u64, at: u64, seq: u64) -> Event {
        let (time, start, thread, lock, seq) = (TimeNs(at), TimeNs(start), ThreadId(thread), LockId(1), Seq(seq));
        let chain = ChainId(4);
        Event::MonitorEntered(MonitorEntered { time, start, thread, lock, seq, chain, ..MonitorEntered::default() })
    }

    fn exit(thread: u64, at: u64, seq: u64) -> Event {
        let (time, thread, lock, seq) = (TimeNs(at), ThreadId(thread), LockId(1), Seq(seq));
        Event::MonitorExit(MonitorExit { time, thread, lock, seq, ..MonitorExit::default() })
    }

    /// What is recorded of the events of one flush.
    fn recorded(shorts: &mut Shorts, events: &[Event], watermark: u64) -> Vec<Event> {
        let mut told: Vec<Event> = events.iter().filter(|event| shorts.records(event)).cloned().collect();
        told.extend(shorts.flush(TimeNs(watermark)));
        told
    }

    fn sums(events: &[Event]) -> Vec<(u64, u64, u64)> {
        let sum = |event: &Event| match event {
            Event::Spent(e) => Some((e.thread.0, e.count, e.total.0)),
            _ => None,
        };
        events.iter().filter_map(sum).collect()
    }

    fn seqs(events: &[Event]) -> Vec<u64> {
        let seq = |event: &Event| match event {
            Event::MonitorEnter(e) => Some(e.seq.0),
            Event::MonitorEntered(e) => Some(e.seq.0),
            Event::MonitorExit(e) => Some(e.seq.0),
            _ => None,
        };
        let mut seqs: Vec<u64> = events.iter().filter_map(seq).collect();
        seqs.sort_unstable();
        seqs
    }

    #[test]
    fn short_contentions_are_added_up_and_their_releases_left_out() {
        let mut shorts = Shorts::new(DurationNs(MS));
        let mut events = Vec::new();
        for i in 0..10u64 {
            let (at, seq) = (i * 10_000, i * 3);
            events.extend([enter(7, at, seq + 1), exit(8, at + 3000, seq + 2), entered(7, at, at + 4000, seq + 3)]);
        }
        let told = recorded(&mut shorts, &events, MS);
        assert_eq!((seqs(&told), sums(&told)), (vec![], vec![(7, 10, 40_000)]));
        assert!(matches!(
            told[..],
            [Event::Spent(Spent { chain: ChainId(4), lock: LockId(1), time: TimeNs(94_000), .. })]
        ));
        assert_eq!(recorded(&mut shorts, &[], 2 * MS), []);
    }

    #[test]
    fn a_long_contention_is_told_with_the_releases_during_it() {
        let mut shorts = Shorts::new(DurationNs(MS));
        let events = [
            exit(9, 10, 1),
            enter(7, 100, 2),
            enter(8, 200, 3),
            exit(9, 300, 4),
            entered(8, 200, 400, 5),
            exit(8, 2 * MS, 6),
            entered(7, 100, 2 * MS + 100, 7),
            exit(7, 2 * MS + 200, 8),
        ];
        let told = recorded(&mut shorts, &events, 3 * MS);
        assert_eq!((seqs(&told), sums(&told)), (vec![2, 4, 6, 7], vec![(8, 1, 200)]));
    }

    #[test]
    fn releases_within_contentions_are_found_whatever_their_order() {
        let told = |from, to| Told { from: Seq(from), to: Seq(to) };
        let joined = joined(vec![told(20, 30), told(1, 4), told(3, 9), told(25, 27), told(40, 41)]);
        let within = (0..50).filter(|seq| is_within(&joined, Seq(*seq))).collect::<Vec<_>>();
        assert_eq!(within, (2..9).chain(21..30).collect::<Vec<_>>());
    }

    #[test]
    fn what_goes_on_at_a_flush_is_told_and_its_end_however_short() {
        let mut shorts = Shorts::new(DurationNs(MS));
        let mark = |at| Event::Watermark(TimeNs(at));
        let told = recorded(&mut shorts, &[enter(7, 100, 1), mark(150)], 150);
        assert_eq!(told, [enter(7, 100, 1), mark(150)], "nothing follows the watermark that was before it");
        let told = recorded(&mut shorts, &[exit(8, 200, 2), entered(7, 100, 300, 3), exit(7, 400, 4)], 500);
        assert_eq!((seqs(&told), sums(&told)), (vec![2, 3], vec![]));
    }

    #[test]
    fn a_release_whose_contender_has_not_come_by_waits_for_it() {
        let mut shorts = Shorts::new(DurationNs(MS));
        assert_eq!(recorded(&mut shorts, &[exit(8, 1000, 2)], 900), []);
        let told = recorded(&mut shorts, &[enter(7, 890, 1), entered(7, 890, 2 * MS, 3)], 3 * MS);
        assert_eq!(seqs(&told), [1, 2, 3]);
    }

    #[test]
    fn locks_of_object_wait_keep_their_releases() {
        let mut shorts = Shorts::new(DurationNs(MS));
        let wait = Event::MonitorWait(MonitorWait { lock: LockId(1), ..MonitorWait::default() });
        let told = recorded(&mut shorts, &[exit(8, 1, 1), wait, exit(8, 2, 2)], 10);
        assert_eq!(seqs(&told), [1, 2]);
    }

    #[test]
    fn without_a_minimum_everything_is_recorded_at_once() {
        let mut shorts = Shorts::new(DurationNs::ZERO);
        let events = [enter(7, 1, 1), exit(8, 2, 2), entered(7, 1, 3, 3), Event::Watermark(TimeNs(4))];
        assert!(events.iter().all(|event| shorts.records(event)));
        assert_eq!(shorts.flush(TimeNs(5)), []);
    }

    #[test]
    fn an_enter_whose_end_was_lost_is_told() {
        let mut shorts = Shorts::new(DurationNs(MS));
        let told = recorded(&mut shorts, &[enter(7, 1, 1), enter(7, 50, 4), entered(7, 50, 60, 6)], 100);
        assert_eq!((seqs(&told), sums(&told)), (vec![1], vec![(7, 1, 10)]));
    }
}
