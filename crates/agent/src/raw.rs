//! Events as application threads write them: a few machine words, copied into
//! the thread's buffer, turned into [`Event`]s by the draining thread.
//!
//! Word 0 is the header: bits 0-15 are the buffer's (the record's length),
//! bits 16-23 the kind, those above belong to small fields. What else an event
//! says is a word each.

use headway_model::event::{ExitCause, ParkLimit, ParkOutcome, SpentOn, WaitOutcome};
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};

const KIND_SHIFT: u32 = 16;
const SMALL_SHIFT: u32 = 24;
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

/// The records, one entry each: the function that makes one, the event and the type of its data, the fields that
/// are a word each, in their order, and those that are some bits of the header. Other fields have their default.
macro_rules! records {
    ($($make:ident: $kind:ident($data:ident) [$($word:ident),*] $(, header [$($small:ident),*])?;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        enum RawKind {
            /// What zeroed memory would be; no record.
            None,
            $($kind,)*
        }

        impl RawKind {
            const ALL: &'static [RawKind] = &[RawKind::None, $(RawKind::$kind),*];
        }

        impl Record {
            $(
                #[doc = concat!("See [`Event::", stringify!($kind), "`].")]
                #[inline]
                pub fn $make(e: &headway_model::event::$data) -> Record {
                    let small = packed([$($((Small::to_bits(e.$small), Small::width(&e.$small))),*)?]);
                    Record::new(RawKind::$kind, small, [$(Word::to_word(e.$word)),*])
                }
            )*
        }

        /// The event that a record stands for; `None` if the words are no record.
        #[allow(clippy::needless_update)] // some records have all fields
        pub fn decode(words: &[u64]) -> Option<Event> {
            let (header, body) = words.split_first()?;
            let (mut small, mut body) = (header >> SMALL_SHIFT, body.iter());
            match RawKind::of(*header)? {
                RawKind::None => None,
                $(RawKind::$kind => Some(Event::$kind(headway_model::event::$data {
                    $($word: Word::of_word(*body.next()?),)*
                    $($($small: unpacked(&mut small)?,)*)?
                    ..Default::default()
                })),)*
            }
        }
    };
}

records! {
    enter: MonitorEnter(MonitorEnter) [time, thread, lock, seq, chain, owner];
    entered: MonitorEntered(MonitorEntered) [time, thread, lock, seq, chain, start, previous_owner];
    exit: MonitorExit(MonitorExit) [time, thread, lock, seq, chain], header [owner_frame, owner_approximate, cause];
    wait: MonitorWait(MonitorWait) [time, thread, lock, seq, chain, timeout];
    notify: MonitorNotify(MonitorNotify) [time, thread, lock, seq, waiter];
    waited: MonitorWaited(MonitorWaited) [time, thread, lock, seq, chain, start, timeout, notifier], header [outcome];
    reentered: MonitorReentered(MonitorReentered) [time, thread, lock, seq, chain, start, start_seq], header [bound];
    thread_start: ThreadStart(ThreadPoint) [time, thread];
    thread_end: ThreadEnd(ThreadPoint) [time, thread];
    stop_the_world: StopTheWorld(StopTheWorld) [start, duration];
    park_begin: ParkBegin(ParkBegin) [time, thread, blocker, seq, chain, owner, limit];
    park: Park(Park) [time, thread, blocker, seq, chain, owner, limit, start, start_seq, unpark, waker], header [outcome];
    unpark: Unpark(Unpark) [time, thread, target, seq, chain];
    short_parks: ShortParks(ShortParks) [time, thread, blocker, count, chain, total];
    virtual_mount: VirtualMount(VirtualMount) [time, thread, blocker, unparked, carrier, ready];
    virtual_pinned: VirtualPinned(VirtualPinned) [time, thread, start, carrier, chain, monitor_frame];
    spent: Spent(Spent) [time, thread, lock, count, total], header [on];
    transaction: TransactionPoint(TransactionPoint) [time, thread, id, kind, cpu], header [is_end];
}

impl RawKind {
    fn of(header: u64) -> Option<RawKind> {
        let number = (header >> KIND_SHIFT) as u8;
        RawKind::ALL.get(usize::from(number)).copied()
    }
}

impl Record {
    /// The words to append.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.get(..self.len).unwrap_or_default()
    }

    #[inline]
    fn new<const N: usize>(kind: RawKind, small: u64, body: [u64; N]) -> Record {
        const { assert!(N < MAX_WORDS) };
        let mut words = [0; MAX_WORDS];
        words[0] = (N as u64 + 1) | (kind as u64) << KIND_SHIFT | small << SMALL_SHIFT;
        for (place, word) in words.iter_mut().skip(1).zip(body) {
            *place = word;
        }
        Record { words, len: N + 1 }
    }
}

/// Small values and their widths in bits as one number, the first one lowest.
#[inline]
fn packed<const N: usize>(values: [(u64, u32); N]) -> u64 {
    values.into_iter().rev().fold(0, |packed, (bits, width)| packed << width | bits)
}

/// Takes the lowest value out of `bits`.
fn unpacked<T: Small>(bits: &mut u64) -> Option<T> {
    let value = *bits & ((1 << T::WIDTH) - 1);
    *bits >>= T::WIDTH;
    T::of_bits(value)
}

/// A field that is a word of a record.
trait Word {
    fn to_word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

macro_rules! words {
    ($($number:ident)*) => {
        $(impl Word for $number {
            #[inline]
            fn to_word(self) -> u64 {
                self.0
            }

            #[inline]
            fn of_word(word: u64) -> $number {
                $number(word)
            }
        })*
    };
}

words! { TimeNs DurationNs ThreadId LockId ChainId Seq }

impl Word for u64 {
    #[inline]
    fn to_word(self) -> u64 {
        self
    }

    #[inline]
    fn of_word(word: u64) -> u64 {
        word
    }
}

impl Word for u32 {
    #[inline]
    fn to_word(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn of_word(word: u64) -> u32 {
        word as u32
    }
}

/// Counted from one, so that 0 means none.
impl Word for Option<u16> {
    #[inline]
    fn to_word(self) -> u64 {
        self.map_or(0, |value| u64::from(value) + 1)
    }

    #[inline]
    fn of_word(word: u64) -> Option<u16> {
        word.checked_sub(1).and_then(|value| u16::try_from(value).ok())
    }
}

/// Counted from one, so that 0 means none.
impl Word for Option<DurationNs> {
    #[inline]
    fn to_word(self) -> u64 {
        self.map_or(0, |duration| duration.0.saturating_add(1))
    }

    #[inline]
    fn of_word(word: u64) -> Option<DurationNs> {
        word.checked_sub(1).map(DurationNs)
    }
}

impl Word for ParkLimit {
    #[inline]
    fn to_word(self) -> u64 {
        limit_to_word(self)
    }

    #[inline]
    fn of_word(word: u64) -> ParkLimit {
        limit_of_word(word)
    }
}

/// A field that is some bits of a record's header.
trait Small: Sized + Copy {
    const WIDTH: u32;
    fn to_bits(self) -> u64;
    fn of_bits(bits: u64) -> Option<Self>;

    #[inline]
    fn width(&self) -> u32 {
        Self::WIDTH
    }
}

impl Small for bool {
    const WIDTH: u32 = 1;

    #[inline]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn of_bits(bits: u64) -> Option<bool> {
        Some(bits != 0)
    }
}

impl Small for u16 {
    const WIDTH: u32 = u16::BITS;

    #[inline]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn of_bits(bits: u64) -> Option<u16> {
        u16::try_from(bits).ok()
    }
}

macro_rules! small_choices {
    ($($choice:ident: $width:literal bits, $($value:ident)*;)*) => {
        $(impl Small for $choice {
            const WIDTH: u32 = $width;

            #[inline]
            fn to_bits(self) -> u64 {
                self as u64
            }

            #[inline]
            fn of_bits(bits: u64) -> Option<$choice> {
                [$($choice::$value),*].into_iter().find(|value| *value as u64 == bits)
            }
        })*
    };
}

small_choices! {
    ExitCause: 1 bits, Exit Wait;
    WaitOutcome: 2 bits, Notified TimedOut Interrupted;
    ParkOutcome: 3 bits, Unknown Unparked TimedOut Interrupted Spurious;
    SpentOn: 2 bits, Monitor Park OwnedPark Wait;
}

/// A limit as one word.
pub fn limit_to_word(limit: ParkLimit) -> u64 {
    match limit {
        ParkLimit::None => 0,
        ParkLimit::For(duration) => 1 << LIMIT_KIND_SHIFT | duration.0.min(LIMIT_VALUE),
        ParkLimit::UntilEpochMs(ms) => 2 << LIMIT_KIND_SHIFT | ms.min(LIMIT_VALUE),
        ParkLimit::Unknown => 3 << LIMIT_KIND_SHIFT,
    }
}

/// The limit that a word stands for.
pub fn limit_of_word(word: u64) -> ParkLimit {
    match word >> LIMIT_KIND_SHIFT {
        1 => ParkLimit::For(DurationNs(word & LIMIT_VALUE)),
        2 => ParkLimit::UntilEpochMs(word & LIMIT_VALUE),
        3 => ParkLimit::Unknown,
        _ => ParkLimit::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{
        MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited, Park,
        ParkBegin, ShortParks, Spent, StopTheWorld, ThreadPoint, TransactionPoint, Unpark, VirtualMount, VirtualPinned,
    };

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
        for (cause, owner_approximate) in [(ExitCause::Exit, true), (ExitCause::Wait, false)] {
            let owner_frame = 513;
            let e = MonitorExit { time, thread, lock, seq, chain, owner_frame, owner_approximate, cause };
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
        for on in [SpentOn::Monitor, SpentOn::Park, SpentOn::OwnedPark, SpentOn::Wait] {
            let e = Spent { time, thread, lock, chain: ChainId::NONE, on, count: 12, total: timeout };
            check(Record::spent(&e), Event::Spent(e));
        }
        let e = ThreadPoint { time, thread };
        check(Record::thread_start(&e), Event::ThreadStart(e));
        check(Record::thread_end(&e), Event::ThreadEnd(e));
        for (cpu, is_end) in [(None, true), (Some(DurationNs(0)), false), (Some(timeout), true)] {
            let e = TransactionPoint { time, thread, id: 1 << 40, kind: 3, cpu, is_end };
            check(Record::transaction(&e), Event::TransactionPoint(e));
        }
        let e = StopTheWorld { start, duration: timeout };
        check(Record::stop_the_world(&e), Event::StopTheWorld(e));
    }

    #[test]
    fn limits_survive_their_word() {
        let known = [ParkLimit::None, ParkLimit::For(DurationNs(0)), ParkLimit::UntilEpochMs(12)];
        for limit in known.into_iter().chain([ParkLimit::Unknown]) {
            assert_eq!(limit_of_word(limit_to_word(limit)), limit);
        }
        let longest = DurationNs(u64::MAX);
        assert_eq!(limit_of_word(limit_to_word(ParkLimit::For(longest))), ParkLimit::For(DurationNs(LIMIT_VALUE)));
    }
}
