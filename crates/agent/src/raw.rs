//! Events as application threads write them: a few machine words, copied into
//! the thread's buffer, turned into [`Event`]s by the draining thread.
//!
//! Word 0 is the header: bits 0-15 are the buffer's (the record's length),
//! bits 16-23 the kind, bits 24-31 flags, bits 32-47 a small argument.

use headway_model::event::{
    ExitCause, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited,
    Park, ParkBegin, ParkLimit, ParkOutcome, ShortParks, Spent, SpentOn, StopTheWorld, ThreadPoint, TransactionPoint,
    Unpark, VirtualMount, VirtualPinned, WaitOutcome,
};
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::sync::Arc;

const LIMIT_KIND_SHIFT: u32 = 62;
const LIMIT_VALUE: u64 = (1 << LIMIT_KIND_SHIFT) - 1;

/// Words of the longest record.
pub const MAX_WORDS: usize = 12;

/// A record ready to be appended.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    words: [u64; MAX_WORDS],
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum RawKind {
    Enter = 1,
    Entered,
    Exit,
    Wait,
    Notify,
    Waited,
    Reentered,
    ThreadStart,
    ThreadEnd,
    StopTheWorld,
    ParkBegin,
    Park,
    Unpark,
    ShortParks,
    Transaction,
    Spent,
    VirtualMount,
    VirtualPinned,
}

impl RawKind {
    const ALL: &'static [RawKind] = &[
        RawKind::Enter,
        RawKind::Entered,
        RawKind::Exit,
        RawKind::Wait,
        RawKind::Notify,
        RawKind::Waited,
        RawKind::Reentered,
        RawKind::ThreadStart,
        RawKind::ThreadEnd,
        RawKind::StopTheWorld,
        RawKind::ParkBegin,
        RawKind::Park,
        RawKind::Unpark,
        RawKind::ShortParks,
        RawKind::Transaction,
        RawKind::Spent,
        RawKind::VirtualMount,
        RawKind::VirtualPinned,
    ];

    fn of(header: u64) -> Option<RawKind> {
        let number = (header >> 16) as u8;
        RawKind::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

const FLAG_WAIT: u64 = 1;
const FLAG_APPROXIMATE: u64 = 2;
const FLAG_TIMED_OUT: u64 = 1;
const FLAG_INTERRUPTED: u64 = 2;
const FLAG_BOUND: u64 = 1;
const FLAG_END: u64 = 1;
const FLAG_NO_CPU: u64 = 2;

impl Record {
    /// The words to append.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.get(..self.len).unwrap_or_default()
    }

    #[inline]
    fn new<const N: usize>(kind: RawKind, flags: u64, argument: u16, body: [u64; N]) -> Record {
        let mut words = [0; MAX_WORDS];
        words[0] = (N as u64 + 1) | (kind as u64) << 16 | flags << 24 | u64::from(argument) << 32;
        for (place, word) in words.iter_mut().skip(1).zip(body) {
            *place = word;
        }
        Record { words, len: N + 1 }
    }

    /// See [`Event::MonitorEnter`].
    #[inline]
    pub fn enter(e: &MonitorEnter) -> Record {
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0, e.owner.0];
        Record::new(RawKind::Enter, 0, 0, body)
    }

    /// See [`Event::MonitorEntered`].
    #[inline]
    pub fn entered(e: &MonitorEntered) -> Record {
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0, e.start.0, e.previous_owner.0];
        Record::new(RawKind::Entered, 0, 0, body)
    }

    /// See [`Event::MonitorExit`].
    #[inline]
    pub fn exit(e: &MonitorExit) -> Record {
        let wait = if e.cause == ExitCause::Wait { FLAG_WAIT } else { 0 };
        let approximate = if e.holder_approximate { FLAG_APPROXIMATE } else { 0 };
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0];
        Record::new(RawKind::Exit, wait | approximate, e.holder_frame, body)
    }

    /// See [`Event::MonitorWait`].
    #[inline]
    pub fn wait(e: &MonitorWait) -> Record {
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0, e.timeout.0];
        Record::new(RawKind::Wait, 0, 0, body)
    }

    /// See [`Event::MonitorNotify`].
    #[inline]
    pub fn notify(e: &MonitorNotify) -> Record {
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.waiter.0];
        Record::new(RawKind::Notify, 0, 0, body)
    }

    /// See [`Event::MonitorWaited`].
    #[inline]
    pub fn waited(e: &MonitorWaited) -> Record {
        let flags = match e.outcome {
            WaitOutcome::Notified => 0,
            WaitOutcome::TimedOut => FLAG_TIMED_OUT,
            WaitOutcome::Interrupted => FLAG_INTERRUPTED,
        };
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0, e.start.0, e.timeout.0, e.notifier.0];
        Record::new(RawKind::Waited, flags, 0, body)
    }

    /// See [`Event::MonitorReentered`].
    #[inline]
    pub fn reentered(e: &MonitorReentered) -> Record {
        let flags = if e.bound { FLAG_BOUND } else { 0 };
        let body = [e.time.0, e.thread.0, e.lock.0, e.seq.0, e.chain.0, e.start.0, e.start_seq.0];
        Record::new(RawKind::Reentered, flags, 0, body)
    }

    /// See [`Event::ThreadStart`].
    pub fn thread_start(e: &ThreadPoint) -> Record {
        Record::new(RawKind::ThreadStart, 0, 0, [e.time.0, e.thread.0])
    }

    /// See [`Event::ThreadEnd`].
    pub fn thread_end(e: &ThreadPoint) -> Record {
        Record::new(RawKind::ThreadEnd, 0, 0, [e.time.0, e.thread.0])
    }

    /// See [`Event::ParkBegin`].
    #[inline]
    pub fn park_begin(e: &ParkBegin) -> Record {
        let body = [e.time.0, e.thread.0, e.blocker.0, e.seq.0, e.chain.0, e.owner.0, limit_to_word(e.limit)];
        Record::new(RawKind::ParkBegin, 0, 0, body)
    }

    /// See [`Event::Park`].
    #[inline]
    pub fn park(e: &Park) -> Record {
        let body = [
            e.time.0,
            e.thread.0,
            e.blocker.0,
            e.seq.0,
            e.chain.0,
            e.owner.0,
            limit_to_word(e.limit),
            e.start.0,
            e.start_seq.0,
            e.unpark.0,
            e.waker.0,
        ];
        Record::new(RawKind::Park, e.outcome as u64, 0, body)
    }

    /// See [`Event::Unpark`].
    #[inline]
    pub fn unpark(e: &Unpark) -> Record {
        Record::new(RawKind::Unpark, 0, 0, [e.time.0, e.thread.0, e.target.0, e.seq.0, e.chain.0])
    }

    /// See [`Event::ShortParks`].
    pub fn short_parks(e: &ShortParks) -> Record {
        let body = [e.time.0, e.thread.0, e.blocker.0, e.count, e.chain.0, e.total.0];
        Record::new(RawKind::ShortParks, 0, 0, body)
    }

    /// See [`Event::VirtualMount`].
    #[inline]
    pub fn virtual_mount(e: &VirtualMount) -> Record {
        let body = [e.time.0, e.thread.0, e.blocker.0, e.unparked.0, e.carrier.0, e.ready.0];
        Record::new(RawKind::VirtualMount, 0, 0, body)
    }

    /// See [`Event::VirtualPinned`].
    pub fn virtual_pinned(e: &VirtualPinned) -> Record {
        let monitor = e.monitor_frame.map_or(0, |frame| u64::from(frame) + 1);
        let body = [e.time.0, e.thread.0, e.start.0, e.carrier.0, e.chain.0, monitor];
        Record::new(RawKind::VirtualPinned, 0, 0, body)
    }

    /// See [`Event::Spent`].
    #[inline]
    pub fn spent(e: &Spent) -> Record {
        Record::new(RawKind::Spent, e.on as u64, 0, [e.time.0, e.thread.0, e.lock.0, e.count, e.total.0])
    }

    /// See [`Event::TransactionPoint`].
    #[inline]
    pub fn transaction(e: &TransactionPoint) -> Record {
        let end = if e.is_end { FLAG_END } else { 0 };
        let no_cpu = if e.cpu.is_none() { FLAG_NO_CPU } else { 0 };
        let body = [e.time.0, e.thread.0, e.id, u64::from(e.kind), e.cpu.map_or(0, |cpu| cpu.0)];
        Record::new(RawKind::Transaction, end | no_cpu, 0, body)
    }

    /// See [`Event::StopTheWorld`].
    pub fn stop_the_world(e: &StopTheWorld) -> Record {
        Record::new(RawKind::StopTheWorld, 0, 0, [e.start.0, e.duration.0])
    }
}

/// The event that a record stands for; `None` if the words are no record.
pub fn decode(words: &[u64]) -> Option<Event> {
    let header = *words.first()?;
    let word = |index: usize| words.get(index).copied();
    let flags = (header >> 24) & 0xFF;
    let kind = RawKind::of(header)?;
    let time = TimeNs(word(1)?);
    if kind == RawKind::StopTheWorld {
        return Some(Event::StopTheWorld(StopTheWorld { start: time, duration: DurationNs(word(2)?) }));
    }
    let thread = ThreadId(word(2)?);
    if kind == RawKind::ThreadStart {
        return Some(Event::ThreadStart(ThreadPoint { time, thread }));
    }
    if kind == RawKind::ThreadEnd {
        return Some(Event::ThreadEnd(ThreadPoint { time, thread }));
    }
    if kind == RawKind::Transaction {
        let (id, kind, cpu) = (word(3)?, word(4)? as u32, DurationNs(word(5)?));
        let (cpu, is_end) = ((flags & FLAG_NO_CPU == 0).then_some(cpu), flags & FLAG_END != 0);
        return Some(Event::TransactionPoint(TransactionPoint { time, thread, id, kind, cpu, is_end }));
    }
    let (lock, seq) = (LockId(word(3)?), Seq(word(4)?));
    if kind == RawKind::Spent {
        let (on, count, total) = (spent_on(flags)?, seq.0, DurationNs(word(5)?));
        return Some(Event::Spent(Spent { time, thread, lock, chain: ChainId::NONE, on, count, total }));
    }
    if kind == RawKind::VirtualMount {
        let (unparked, carrier, ready) = (TimeNs(seq.0), ThreadId(word(5)?), TimeNs(word(6)?));
        return Some(Event::VirtualMount(VirtualMount { time, unparked, ready, thread, carrier, blocker: lock }));
    }
    if kind == RawKind::VirtualPinned {
        let (start, carrier, chain) = (TimeNs(lock.0), ThreadId(seq.0), ChainId(word(5)?));
        let monitor_frame = word(6)?.checked_sub(1).and_then(|frame| u16::try_from(frame).ok());
        return Some(Event::VirtualPinned(VirtualPinned { time, start, thread, carrier, chain, monitor_frame }));
    }
    if kind == RawKind::Notify {
        let waiter = ThreadId(word(5)?);
        return Some(Event::MonitorNotify(MonitorNotify { time, thread, waiter, lock, seq }));
    }
    let chain = ChainId(word(5)?);
    Some(match kind {
        RawKind::Enter => {
            let owner = ThreadId(word(6)?);
            Event::MonitorEnter(MonitorEnter { time, thread, lock, seq, chain, owner })
        }
        RawKind::Entered => Event::MonitorEntered(MonitorEntered {
            time,
            start: TimeNs(word(6)?),
            thread,
            lock,
            seq,
            chain,
            previous_owner: ThreadId(word(7)?),
        }),
        RawKind::Exit => Event::MonitorExit(MonitorExit {
            time,
            thread,
            lock,
            seq,
            chain,
            holder_frame: (header >> 32) as u16,
            holder_approximate: flags & FLAG_APPROXIMATE != 0,
            cause: if flags & FLAG_WAIT != 0 { ExitCause::Wait } else { ExitCause::Exit },
        }),
        RawKind::Wait => {
            let timeout = DurationNs(word(6)?);
            Event::MonitorWait(MonitorWait { time, thread, lock, seq, chain, timeout })
        }
        RawKind::Waited => Event::MonitorWaited(MonitorWaited {
            time,
            start: TimeNs(word(6)?),
            thread,
            lock,
            seq,
            chain,
            timeout: DurationNs(word(7)?),
            outcome: match flags {
                FLAG_TIMED_OUT => WaitOutcome::TimedOut,
                FLAG_INTERRUPTED => WaitOutcome::Interrupted,
                _ => WaitOutcome::Notified,
            },
            notifier: ThreadId(word(8)?),
        }),
        RawKind::Reentered => Event::MonitorReentered(MonitorReentered {
            time,
            start: TimeNs(word(6)?),
            thread,
            lock,
            start_seq: Seq(word(7)?),
            seq,
            chain,
            bound: flags & FLAG_BOUND != 0,
        }),
        _ => return decode_park(kind, flags, words),
    })
}

fn decode_park(kind: RawKind, flags: u64, words: &[u64]) -> Option<Event> {
    let word = |index: usize| words.get(index).copied();
    let (time, thread) = (TimeNs(word(1)?), ThreadId(word(2)?));
    let (blocker, seq, chain) = (LockId(word(3)?), Seq(word(4)?), ChainId(word(5)?));
    Some(match kind {
        RawKind::Unpark => Event::Unpark(Unpark { time, thread, seq, chain, target: ThreadId(blocker.0) }),
        RawKind::ShortParks => {
            let total = DurationNs(word(6)?);
            Event::ShortParks(ShortParks { time, thread, blocker, chain, count: seq.0, total })
        }
        RawKind::ParkBegin => {
            let (owner, limit) = (ThreadId(word(6)?), limit_of_word(word(7)?));
            Event::ParkBegin(ParkBegin { time, thread, seq, chain, blocker, owner, limit })
        }
        RawKind::Park => Event::Park(Park {
            time,
            start: TimeNs(word(8)?),
            thread,
            start_seq: Seq(word(9)?),
            seq,
            chain,
            blocker_class: Arc::default(),
            blocker,
            owner: ThreadId(word(6)?),
            limit: limit_of_word(word(7)?),
            outcome: outcome_of(flags)?,
            unpark: Seq(word(10)?),
            waker: ThreadId(word(11)?),
        }),
        _ => return None,
    })
}

fn spent_on(flags: u64) -> Option<SpentOn> {
    [SpentOn::Monitor, SpentOn::Park, SpentOn::OwnedPark].into_iter().find(|on| *on as u64 == flags)
}

fn outcome_of(flags: u64) -> Option<ParkOutcome> {
    const ALL: [ParkOutcome; 5] = [
        ParkOutcome::Unknown,
        ParkOutcome::Unparked,
        ParkOutcome::TimedOut,
        ParkOutcome::Interrupted,
        ParkOutcome::Spurious,
    ];
    ALL.into_iter().find(|outcome| *outcome as u64 == flags)
}

/// A limit as one word.
pub fn limit_to_word(limit: ParkLimit) -> u64 {
    match limit {
        ParkLimit::None => 0,
        ParkLimit::For(duration) => 1 << LIMIT_KIND_SHIFT | duration.0.min(LIMIT_VALUE),
        ParkLimit::UntilEpochMs(ms) => 2 << LIMIT_KIND_SHIFT | ms.min(LIMIT_VALUE),
    }
}

/// The limit that a word stands for.
pub fn limit_of_word(word: u64) -> ParkLimit {
    match word >> LIMIT_KIND_SHIFT {
        1 => ParkLimit::For(DurationNs(word & LIMIT_VALUE)),
        2 => ParkLimit::UntilEpochMs(word & LIMIT_VALUE),
        _ => ParkLimit::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: Record, event: Event) {
        assert_eq!(decode(record.words()), Some(event));
        for cut in 0..record.words().len() {
            assert_eq!(decode(&record.words()[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn every_event_survives_its_words() {
        let (time, start) = (TimeNs(1 << 50), TimeNs(99));
        let (thread, lock, chain) = (ThreadId(7), LockId(8), ChainId(9));
        let (seq, start_seq) = (Seq(3), Seq(2));
        let (owner, waiter, notifier) = (ThreadId(70), ThreadId(71), ThreadId(72));
        let timeout = DurationNs(5);

        let e = MonitorEnter { time, thread, lock, seq, chain, owner };
        check(Record::enter(&e), Event::MonitorEnter(e));
        let e = MonitorEntered { time, start, thread, lock, seq, chain, previous_owner: owner };
        check(Record::entered(&e), Event::MonitorEntered(e));
        for (cause, holder_approximate) in [(ExitCause::Exit, true), (ExitCause::Wait, false)] {
            let holder_frame = 513;
            let e = MonitorExit { time, thread, lock, seq, chain, holder_frame, holder_approximate, cause };
            check(Record::exit(&e), Event::MonitorExit(e));
        }
        let e = MonitorWait { time, thread, lock, seq, chain, timeout };
        check(Record::wait(&e), Event::MonitorWait(e));
        let e = MonitorNotify { time, thread, waiter, lock, seq };
        check(Record::notify(&e), Event::MonitorNotify(e));
        for outcome in [WaitOutcome::Notified, WaitOutcome::TimedOut, WaitOutcome::Interrupted] {
            let e = MonitorWaited { time, start, thread, lock, seq, chain, timeout, outcome, notifier };
            check(Record::waited(&e), Event::MonitorWaited(e));
        }
        for bound in [true, false] {
            let e = MonitorReentered { time, start, thread, lock, start_seq, seq, chain, bound };
            check(Record::reentered(&e), Event::MonitorReentered(e));
        }
        let limit = ParkLimit::For(timeout);
        let e = ParkBegin { time, thread, seq, chain, blocker: lock, owner, limit };
        check(Record::park_begin(&e), Event::ParkBegin(e));
        use ParkOutcome::{Interrupted, Spurious, TimedOut, Unknown, Unparked};
        for outcome in [Unknown, Unparked, TimedOut, Interrupted, Spurious] {
            let (blocker_class, unpark, waker) = ("".into(), Seq(99), notifier);
            let e = Park {
                time,
                start,
                thread,
                start_seq,
                seq,
                chain,
                blocker_class,
                blocker: lock,
                owner,
                limit,
                outcome,
                unpark,
                waker,
            };
            check(Record::park(&e), Event::Park(e));
        }
        let e = Unpark { time, thread, seq, chain, target: waiter };
        check(Record::unpark(&e), Event::Unpark(e));
        let (unparked, ready) = (TimeNs(time.0 - 3), TimeNs(time.0 - 2));
        let e = VirtualMount { time, unparked, ready, thread, carrier: owner, blocker: lock };
        check(Record::virtual_mount(&e), Event::VirtualMount(e));
        for monitor_frame in [None, Some(0), Some(7)] {
            let e = VirtualPinned { time, start: unparked, thread, carrier: owner, chain, monitor_frame };
            check(Record::virtual_pinned(&e), Event::VirtualPinned(e));
        }
        let e = ShortParks { time, thread, blocker: lock, chain, count: 12, total: timeout };
        check(Record::short_parks(&e), Event::ShortParks(e));
        for on in [SpentOn::Monitor, SpentOn::Park, SpentOn::OwnedPark] {
            let e = Spent { time, thread, lock, chain: ChainId::NONE, on, count: 12, total: timeout };
            check(Record::spent(&e), Event::Spent(e));
        }
        let e = ThreadPoint { time, thread };
        check(Record::thread_start(&e), Event::ThreadStart(e));
        check(Record::thread_end(&e), Event::ThreadEnd(e));
        let e = StopTheWorld { start, duration: timeout };
        check(Record::stop_the_world(&e), Event::StopTheWorld(e));
    }

    #[test]
    fn limits_survive_their_word() {
        for limit in [ParkLimit::None, ParkLimit::For(DurationNs(0)), ParkLimit::UntilEpochMs(12)] {
            assert_eq!(limit_of_word(limit_to_word(limit)), limit);
        }
        let longest = DurationNs(u64::MAX);
        assert_eq!(limit_of_word(limit_to_word(ParkLimit::For(longest))), ParkLimit::For(DurationNs(LIMIT_VALUE)));
    }
}
