//! Brings the events of one lock, or all parks, into their own order.
//!
//! Events of different threads arrive in any order. Numbers without gaps say
//! when the next event is there; a number that is still missing after the
//! stream's watermark has passed its neighbours by [`GAP_PATIENCE`] is dropped.

use headway_model::event::MonitorReentered;
use headway_model::{ChainId, DurationNs, ThreadId, TimeNs};
use std::collections::{BTreeMap, VecDeque};

/// How long after the watermark passed its successor a number counts as dropped.
/// A thread takes its number first and reads the clock afterwards, and may be
/// scheduled out in between.
const GAP_PATIENCE: DurationNs = DurationNs(100_000_000);

/// What happened to a lock, in one shape for all kinds of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockEvent {
    pub seq: u64,
    pub time: TimeNs,
    /// Begin of the contention, for ends of contentions; 0 if unknown.
    pub start: TimeNs,
    pub thread: ThreadId,
    /// Owner seen, previous owner or waiter chosen.
    pub other: ThreadId,
    pub chain: ChainId,
    pub owner_frame: u16,
    /// The exit's owner frame is approximate; the re-entry's end is a bound.
    pub flag: bool,
    /// The thread was last blocked on another lock: maybe while it held this one.
    pub nested: bool,
    pub kind: LockEventKind,
}

/// Kinds of [`LockEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockEventKind {
    Enter,
    Entered,
    Exit,
    Wait,
    Notify,
    Waited,
    Reentered,
    /// The begin of a re-entry that has a number of its own.
    ReenterBegin,
}

impl LockEvent {
    /// The numbered begin of a re-entry.
    pub fn begin_of(reentered: &MonitorReentered) -> LockEvent {
        LockEvent {
            seq: reentered.start_seq.0,
            time: reentered.start,
            start: reentered.start,
            thread: reentered.thread,
            other: ThreadId::NONE,
            chain: reentered.chain,
            owner_frame: 0,
            flag: false,
            nested: false,
            kind: LockEventKind::ReenterBegin,
        }
    }
}

/// Something that has a place in an order without gaps.
pub(crate) trait Numbered: Copy {
    /// Its place: 1, 2, 3, ...
    fn seq(&self) -> u64;
    /// When it happened.
    fn time(&self) -> TimeNs;
}

impl Numbered for LockEvent {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn time(&self) -> TimeNs {
        self.time
    }
}

/// What comes next in an order.
#[derive(Debug)]
pub(crate) enum Next<E> {
    /// This event.
    Event(E),
    /// So many dropped events, the last of which has this number.
    Gap { count: u64, last: u64 },
}

/// The events of one order that wait for an earlier one.
#[derive(Debug)]
pub(crate) struct Order<E> {
    /// Number that comes next; 0 before the first is known.
    next: u64,
    /// Slot `i` is for number `next + i`.
    window: VecDeque<Option<E>>,
    /// Events that came before the first number was known.
    early: Vec<E>,
    /// Full slots of the window.
    held: usize,
    /// Numbers known to be the begins of re-entries.
    begins: BTreeMap<u64, E>,
    /// Numbers given up as dropped, oldest first, for late comers.
    lost: VecDeque<(u64, u64)>,
}

/// How an event was taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It has its place.
    Placed,
    /// The same number is taken already, or was given up as dropped.
    Late,
    /// It is too far ahead of the next number: older ones must be given up.
    TooFar,
}

impl<E> Default for Order<E> {
    fn default() -> Order<E> {
        Order {
            next: 0,
            window: VecDeque::new(),
            early: Vec::new(),
            held: 0,
            begins: BTreeMap::new(),
            lost: VecDeque::new(),
        }
    }
}

impl<E: Numbered> Order<E> {
    /// Events that wait for an earlier one.
    pub fn waiting(&self) -> usize {
        self.held + self.early.len()
    }

    /// Gives back memory while nothing waits.
    pub fn rest(&mut self) {
        if self.window.is_empty() {
            self.window = VecDeque::new();
        }
    }

    /// True if the order of this lock has not begun yet.
    fn not_begun(&self) -> bool {
        self.next == 0
    }

    /// True if the event is the next one: it is taken in, and need not be kept.
    #[inline]
    pub fn pass(&mut self, event: &E) -> bool {
        if self.not_begun() && event.seq() == 1 && self.early.is_empty() {
            // The first event of an order needs no place in the window.
            self.next = 1;
        }
        if self.not_begun() || event.seq() != self.next || matches!(self.window.front(), Some(Some(_))) {
            return false;
        }
        self.window.pop_front();
        self.next += 1;
        self.forget_begins();
        true
    }

    /// Takes in an event, as far as `bound` slots ahead.
    pub fn insert(&mut self, event: E, bound: usize) -> Arrival {
        if self.not_begun() {
            if event.seq() != 1 {
                self.early.push(event);
                return if self.early.len() > bound { Arrival::TooFar } else { Arrival::Placed };
            }
            self.begin_at(1, bound);
        }
        self.place(event, bound)
    }

    fn place(&mut self, event: E, bound: usize) -> Arrival {
        let Some(ahead) = event.seq().checked_sub(self.next) else {
            return Arrival::Late;
        };
        if ahead >= bound as u64 {
            return Arrival::TooFar;
        }
        let slot = ahead as usize;
        if slot >= self.window.len() {
            self.window.resize(slot + 1, None);
        }
        match &mut self.window[slot] {
            Some(_) => Arrival::Late,
            empty => {
                *empty = Some(event);
                self.held += 1;
                Arrival::Placed
            }
        }
    }

    /// Notes that a number belongs to the begin of a re-entry, for the case
    /// that it has no event of its own. True if it had been given up as dropped.
    pub fn note_begin(&mut self, begin: E) -> bool {
        const REMEMBERED: usize = 1024;
        if begin.seq() == 0 {
            return false;
        }
        if begin.seq() < self.next {
            return self.unlose(begin.seq());
        }
        if self.begins.len() < REMEMBERED {
            self.begins.insert(begin.seq(), begin);
        }
        false
    }

    /// True once for a number that had been given up as dropped.
    pub fn unlose(&mut self, seq: u64) -> bool {
        // Where there are losses every event may come late.
        let at = self.lost.partition_point(|(_, to)| *to < seq);
        let Some(&(from, to)) = self.lost.get(at).filter(|(from, _)| *from <= seq) else {
            return false;
        };
        match (from == seq, to == seq) {
            (true, true) => drop(self.lost.remove(at)),
            (true, false) => self.lost[at].0 += 1,
            (false, true) => self.lost[at].1 -= 1,
            (false, false) => {
                self.lost[at].1 = seq - 1;
                self.lost.insert(at + 1, (seq + 1, to));
                self.bound_lost();
            }
        }
        true
    }

    /// The oldest ones are forgotten.
    fn bound_lost(&mut self) {
        const REMEMBERED: usize = 64;
        while self.lost.len() > REMEMBERED {
            self.lost.pop_front();
        }
    }

    /// The next event if it is there.
    pub fn next_ready(&mut self) -> Option<E> {
        self.window.front()?.as_ref()?;
        let event = self.window.pop_front()??;
        self.held -= 1;
        self.next += 1;
        self.forget_begins();
        Some(event)
    }

    /// What comes next, a gap if need be, given that all that happened before
    /// `watermark` has arrived. Looks far: not for every event.
    pub fn next(&mut self, watermark: TimeNs, bound: usize) -> Option<Next<E>> {
        if self.not_begun() {
            let first = self.early.iter().min_by_key(|event| event.seq())?;
            if first.time() + GAP_PATIENCE > watermark {
                return None;
            }
            let seq = first.seq();
            self.begin_at(seq, bound);
        }
        match self.next_ready() {
            Some(event) => Some(Next::Event(event)),
            None => self.skip_gap(watermark),
        }
    }

    fn skip_gap(&mut self, watermark: TimeNs) -> Option<Next<E>> {
        let missing = self.window.iter().position(Option::is_some)?;
        let after = self.window[missing].as_ref()?;
        if after.time() + GAP_PATIENCE > watermark {
            return None;
        }
        Some(self.pass_over(missing))
    }

    /// What stands for the next `missing` numbers, which have not arrived.
    fn pass_over(&mut self, missing: usize) -> Next<E> {
        if let Some(begin) = self.begins.remove(&self.next) {
            self.window.pop_front();
            self.next += 1;
            return Next::Event(begin);
        }
        let begin = self.begins.range(self.next..).next().map(|(seq, _)| seq - self.next);
        let count = begin.map_or(missing, |ahead| missing.min(ahead as usize));
        self.window.drain(..count);
        self.give_up(count as u64)
    }

    /// Begins whose number has had its own event are not needed any more.
    fn forget_begins(&mut self) {
        while let Some(first) = self.begins.first_entry() {
            if *first.key() >= self.next {
                return;
            }
            first.remove();
        }
    }

    /// Gives up everything between the last event held and `seq`, which
    /// becomes the next number. Call when nothing is left to take.
    pub fn jump_to(&mut self, seq: u64) -> Option<Next<E>> {
        if self.not_begun() || seq <= self.next {
            return None;
        }
        self.window.clear();
        self.held = 0;
        let count = seq - self.next;
        Some(self.give_up(count))
    }

    fn give_up(&mut self, count: u64) -> Next<E> {
        let last = self.next + count - 1;
        self.lost.push_back((self.next, last));
        self.bound_lost();
        self.next += count;
        Next::Gap { count, last }
    }

    /// The order begins with `seq`: what came before was before the recording.
    fn begin_at(&mut self, seq: u64, bound: usize) {
        self.next = seq;
        let mut early = std::mem::take(&mut self.early);
        early.sort_by_key(|event| event.seq());
        for event in early {
            self.place(event, bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    struct At(u64);

    impl Numbered for At {
        fn seq(&self) -> u64 {
            self.0
        }

        fn time(&self) -> TimeNs {
            TimeNs(self.0)
        }
    }

    #[test]
    fn events_that_come_in_order_are_never_kept() {
        let mut order = Order::default();
        assert!((1..=100).all(|seq| order.pass(&At(seq))));
        assert_eq!((order.window.capacity(), order.waiting()), (0, 0));
        assert!(!order.pass(&At(1)) && !order.pass(&At(102)) && order.pass(&At(101)));
        let mut begun_before = Order::default();
        assert_eq!(begun_before.insert(At(7), 8), Arrival::Placed);
        assert!(!begun_before.pass(&At(1)), "what came early waits for it");
    }

    #[test]
    fn late_comers_are_known_once_and_what_is_kept_of_lost_ones_is_bounded() {
        let mut order = Order::default();
        assert_eq!(order.insert(At(1), 8), Arrival::Placed);
        assert!(order.next_ready().is_some());
        assert!(matches!(order.jump_to(10_000), Some(Next::Gap { count: 9998, last: 9999 })));
        assert!(!order.unlose(1) && !order.unlose(10_000));
        assert!(order.unlose(2) && order.unlose(9999) && order.unlose(500));
        assert!(!order.unlose(2) && !order.unlose(9999) && !order.unlose(500));
        assert!(order.unlose(499) && order.unlose(501) && !order.unlose(500));
        // Each splits what is left in two.
        for seq in (600..9000).step_by(2) {
            assert!(order.unlose(seq), "{seq}");
            assert!(order.lost.len() <= 64);
        }
        assert!(order.unlose(8999) && !order.unlose(601), "the oldest ones are forgotten");
    }
}
