//! Draws threads and locks as text.
//!
//! One line is one thread, one column one millisecond:
//!
//! ```text
//! T1: [a........]
//! T2:    a~~~~~~[a..]
//! ```
//!
//! T1 holds `a` from column 0 to 10, T2 blocks on it from column 3 and holds
//! it from 10 on. What the agent would record follows from the picture:
//!
//! * `a~~~[a` is a contended enter and entered, with the owner that the picture
//!   shows at that column; `a?~~[a` one whose owner could not be read. A `~`
//!   that is followed by nothing has not ended.
//! * `]` leaves the innermost lock; an exit is recorded if somebody is blocked
//!   on it. `)` leaves it without a recorded exit.
//! * `w___` waits on the innermost lock; an exit is recorded if somebody is
//!   blocked on it (`v___`: not even then). The wait ends by a notify, `n` in the
//!   thread that holds the lock, where the waiter's line goes on with `~`; by
//!   itself without anyone telling, `u`, also followed by `~`; or by its
//!   timeout, `t`, followed by a contended enter or `[`.
//! * `VM: ##` stops the world.
//! * `T2+3:` has a clock that is three columns ahead; the order stays right.
//!
//! Each thread's name has two characters. The chain recorded at an event has
//! the event's column as id, so that slices can name it: `T1 exit@10`.

use headway_analysis::monitor::{Basis, Contention, ContentionSink};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};

/// One column.
pub const MS: u64 = 1_000_000;
/// Time of column 0, so that no time is 0.
pub const ZERO: u64 = 1_000 * MS;

/// Where in the order of events of the same column an event stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Notify,
    Wait,
    Exit,
    Waited,
    Enter,
    Acquired,
}

/// An event of the picture, with its place.
#[derive(Clone)]
struct Drawn {
    column: usize,
    rank: Rank,
    lock: LockId,
    skew: i64,
    event: Event,
}

/// What a thread does with a lock during a span of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Blocked,
    Holds,
    Waits,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    thread: usize,
    lock: u8,
    what: What,
    from: usize,
    to: usize,
}

struct Line<'a> {
    name: &'a str,
    skew: i64,
    columns: &'a [u8],
}

pub fn thread_id(index: usize) -> ThreadId {
    ThreadId(index as u64 + 1)
}

pub fn lock_id(name: u8) -> LockId {
    LockId(u64::from(name))
}

pub fn at(column: usize) -> TimeNs {
    TimeNs(ZERO + column as u64 * MS)
}

/// The events of a picture in the order in which they happened, the threads'
/// names, and the column where it ends.
pub struct Picture {
    pub events: Vec<Event>,
    pub names: Vec<String>,
    pub end: TimeNs,
}

/// Reads a picture.
pub fn draw(picture: &str) -> Picture {
    let lines = lines(picture);
    let width = lines.iter().map(|line| line.columns.len()).max().unwrap_or(0);
    let spans: Vec<Span> = lines.iter().enumerate().flat_map(|(thread, line)| spans(thread, line)).collect();
    let mut drawn = Vec::new();
    let mut events = Vec::new();
    for (thread, line) in lines.iter().enumerate() {
        if line.name == "VM" {
            events.extend(pauses(line));
        } else {
            draw_thread(thread, line, &spans, &mut drawn);
        }
    }
    number(&mut drawn);
    events.extend(drawn.into_iter().map(|drawn| shift(drawn.event, drawn.skew)));
    Picture { events, names: lines.iter().map(|line| line.name.to_owned()).collect(), end: at(width) }
}

fn lines(picture: &str) -> Vec<Line<'_>> {
    picture
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (head, columns) = line.split_once(':').expect("a line is `T1: ...`");
            let (name, skew) = match head.find(['+', '-']) {
                Some(at) => (&head[..at], head[at..].parse().expect("a clock's shift")),
                None => (head, 0),
            };
            let columns = columns.strip_prefix(' ').expect("a blank after the colon");
            Line { name, skew, columns: columns.as_bytes() }
        })
        .collect()
}

/// Spans of columns during which the thread is blocked on, holds or waits on a lock.
fn spans(thread: usize, line: &Line<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut held: Vec<(u8, usize)> = Vec::new();
    let mut open: Option<(u8, What, usize)> = None;
    let close = |open: &mut Option<(u8, What, usize)>, to: usize, spans: &mut Vec<Span>| {
        if let Some((lock, what, from)) = open.take() {
            spans.push(Span { thread, lock, what, from, to });
        }
    };
    let mut column = 0;
    while column < line.columns.len() {
        match line.columns[column] {
            b'[' => {
                close(&mut open, column, &mut spans);
                held.push((line.columns[column + 1], column));
                column += 1;
            }
            b']' | b')' => {
                let (lock, from) = held.pop().expect("a lock to leave");
                spans.push(Span { thread, lock, what: What::Holds, from, to: column });
            }
            b'w' | b'v' => {
                let (lock, from) = held.pop().expect("a lock to wait on");
                spans.push(Span { thread, lock, what: What::Holds, from, to: column });
                open = Some((lock, What::Waits, column));
            }
            b'~' => {
                if let Some((lock, What::Waits, _)) = open {
                    close(&mut open, column, &mut spans);
                    open = Some((lock, What::Blocked, column));
                }
            }
            lock @ b'a'..=b'd' => {
                close(&mut open, column, &mut spans);
                open = Some((lock, What::Blocked, column));
            }
            _ => {}
        }
        column += 1;
    }
    close(&mut open, usize::MAX, &mut spans);
    for (lock, from) in held {
        spans.push(Span { thread, lock, what: What::Holds, from, to: usize::MAX });
    }
    spans
}

fn at_column(spans: &[Span], lock: u8, what: What, column: usize) -> Option<&Span> {
    spans.iter().find(|span| span.lock == lock && span.what == what && span.from <= column && column < span.to)
}

fn draw_thread(index: usize, line: &Line<'_>, spans: &[Span], drawn: &mut Vec<Drawn>) {
    let thread = thread_id(index);
    let mut held: Vec<u8> = Vec::new();
    // The lock acquired, since which column, and whether after a notify.
    let mut blocked: Option<(u8, usize, Blocked)> = None;
    let mut waiting: Option<(u8, usize)> = None;
    let mut add = |column: usize, rank: Rank, lock: u8, event: Event| {
        drawn.push(Drawn { column, rank, lock: lock_id(lock), skew: line.skew, event });
    };
    let mut column = 0;
    while column < line.columns.len() {
        let time = at(column);
        let chain = ChainId(column as u64);
        match line.columns[column] {
            b'[' => {
                let lock = line.columns[column + 1];
                if let Some((contended, since, how)) = blocked.take() {
                    assert_eq!(contended, lock, "blocked on one lock, got another");
                    let start = at(since);
                    for (rank, event) in acquisition(thread, lock, start, time, since, how) {
                        add(column, rank, lock, event);
                    }
                }
                waiting = None;
                held.push(lock);
                column += 1;
            }
            end @ (b']' | b')') => {
                let lock = held.pop().expect("a lock to leave");
                let contended = at_column(spans, lock, What::Blocked, column);
                if end == b']' && contended.is_some() {
                    add(column, Rank::Exit, lock, exit(thread, lock, time, chain, ExitCause::Exit));
                }
            }
            how @ (b'w' | b'v') => {
                let lock = held.pop().expect("a lock to wait on");
                waiting = Some((lock, column));
                let wait = MonitorWait { time, thread, lock: lock_id(lock), chain, ..MonitorWait::default() };
                add(column, Rank::Wait, lock, Event::MonitorWait(wait));
                let contended = at_column(spans, lock, What::Blocked, column);
                if how == b'w' && contended.is_some() {
                    add(column, Rank::Exit, lock, exit(thread, lock, time, chain, ExitCause::Wait));
                }
            }
            b'n' => {
                let lock = *held.last().expect("a lock to notify on");
                let waiter = spans
                    .iter()
                    .find(|s| s.lock == lock && s.what == What::Waits && s.to == column)
                    .expect("a waiter that goes on with ~ in this column");
                let notify = MonitorNotify {
                    time,
                    thread,
                    waiter: thread_id(waiter.thread),
                    lock: lock_id(lock),
                    seq: Seq::NONE,
                };
                add(column, Rank::Notify, lock, Event::MonitorNotify(notify));
            }
            b'~' => {
                if let Some((lock, since)) = waiting.take() {
                    blocked = Some((lock, column, Blocked::Notified { since }));
                }
            }
            end @ (b't' | b'u') => {
                let (lock, since) = waiting.take().expect("a wait that ends");
                let outcome = if end == b't' { WaitOutcome::TimedOut } else { WaitOutcome::Notified };
                add(column, Rank::Waited, lock, waited(thread, lock, at(since), time, since, outcome));
                if end == b'u' {
                    blocked = Some((lock, column, Blocked::Woken { since }));
                }
            }
            lock @ b'a'..=b'd' => {
                blocked = Some((lock, column, Blocked::Entering));
                let unreadable = line.columns.get(column + 1) == Some(&b'?');
                let owner = at_column(spans, lock, What::Holds, column)
                    .filter(|_| !unreadable)
                    .map_or(ThreadId::NONE, |span| thread_id(span.thread));
                let enter = MonitorEnter { time, thread, lock: lock_id(lock), seq: Seq::NONE, chain, owner };
                add(column, Rank::Enter, lock, Event::MonitorEnter(enter));
            }
            _ => {}
        }
        column += 1;
    }
}

#[derive(Clone, Copy)]
enum Blocked {
    Entering,
    Notified { since: usize },
    Woken { since: usize },
}

fn acquisition(
    thread: ThreadId,
    lock: u8,
    start: TimeNs,
    time: TimeNs,
    since: usize,
    how: Blocked,
) -> Vec<(Rank, Event)> {
    let reentered = |chain: usize| {
        Event::MonitorReentered(MonitorReentered {
            time,
            start,
            thread,
            lock: lock_id(lock),
            chain: ChainId(chain as u64),
            ..MonitorReentered::default()
        })
    };
    match how {
        Blocked::Entering => vec![(
            Rank::Acquired,
            Event::MonitorEntered(MonitorEntered {
                time,
                start,
                thread,
                lock: lock_id(lock),
                seq: Seq::NONE,
                chain: ChainId(since as u64),
                previous_owner: ThreadId::NONE,
            }),
        )],
        // A notified waiter says that its wait is over only when it runs again.
        Blocked::Notified { since: waits_since } => vec![
            (Rank::Waited, waited(thread, lock, at(waits_since), time, waits_since, WaitOutcome::Notified)),
            (Rank::Acquired, reentered(waits_since)),
        ],
        Blocked::Woken { since } => vec![(Rank::Acquired, reentered(since))],
    }
}

fn exit(thread: ThreadId, lock: u8, time: TimeNs, chain: ChainId, cause: ExitCause) -> Event {
    Event::MonitorExit(MonitorExit { time, thread, lock: lock_id(lock), chain, cause, ..MonitorExit::default() })
}

fn waited(thread: ThreadId, lock: u8, start: TimeNs, time: TimeNs, chain: usize, outcome: WaitOutcome) -> Event {
    Event::MonitorWaited(MonitorWaited {
        time,
        start,
        thread,
        lock: lock_id(lock),
        chain: ChainId(chain as u64),
        outcome,
        ..MonitorWaited::default()
    })
}

fn pauses(line: &Line<'_>) -> Vec<Event> {
    let mut pauses = Vec::new();
    let mut start = None;
    for (column, symbol) in line.columns.iter().chain([&b' ']).enumerate() {
        match (symbol, start) {
            (b'#', None) => start = Some(column),
            (b'#', Some(_)) | (_, None) => {}
            (_, Some(from)) => {
                start = None;
                pauses.push(Event::StopTheWorld(StopTheWorld {
                    start: at(from),
                    duration: DurationNs((column - from) as u64 * MS),
                }));
            }
        }
    }
    pauses
}

/// Gives the events of each lock their numbers, in the order of the picture.
fn number(drawn: &mut [Drawn]) {
    drawn.sort_by_key(|drawn| (drawn.column, drawn.rank));
    let mut last = std::collections::HashMap::new();
    let mut notified = std::collections::HashMap::new();
    for drawn in drawn.iter_mut() {
        let next: &mut u64 = last.entry(drawn.lock).or_default();
        *next += 1;
        let seq = Seq(*next);
        match &mut drawn.event {
            Event::MonitorEnter(e) => e.seq = seq,
            Event::MonitorEntered(e) => e.seq = seq,
            Event::MonitorExit(e) => e.seq = seq,
            Event::MonitorWait(e) => e.seq = seq,
            Event::MonitorNotify(e) => {
                e.seq = seq;
                notified.insert((e.lock, e.waiter), seq);
            }
            Event::MonitorWaited(e) => e.seq = seq,
            Event::MonitorReentered(e) => {
                e.seq = seq;
                e.start_seq = notified.remove(&(e.lock, e.thread)).unwrap_or(Seq::NONE);
            }
            other => panic!("{other:?} has no number"),
        }
    }
}

/// Shifts a thread's clock.
fn shift(mut event: Event, columns: i64) -> Event {
    let shifted = |time: TimeNs| TimeNs(time.0.wrapping_add_signed(columns * MS as i64));
    match &mut event {
        Event::MonitorEnter(e) => e.time = shifted(e.time),
        Event::MonitorEntered(e) => (e.start, e.time) = (shifted(e.start), shifted(e.time)),
        Event::MonitorExit(e) => e.time = shifted(e.time),
        Event::MonitorWait(e) => e.time = shifted(e.time),
        Event::MonitorNotify(e) => e.time = shifted(e.time),
        Event::MonitorWaited(e) => (e.start, e.time) = (shifted(e.start), shifted(e.time)),
        Event::MonitorReentered(e) => (e.start, e.time) = (shifted(e.start), shifted(e.time)),
        _ => {}
    }
    event
}

/// Writes contentions down, one line each.
pub struct Scribe<'a> {
    pub names: &'a [String],
    pub lines: Vec<(TimeNs, ThreadId, String)>,
}

impl<'a> Scribe<'a> {
    pub fn new(names: &'a [String]) -> Scribe<'a> {
        Scribe { names, lines: Vec::new() }
    }

    /// All lines, in the order in which the contentions began.
    pub fn text(mut self) -> String {
        self.lines.sort();
        let lines: Vec<String> = self.lines.into_iter().map(|(_, _, line)| line).collect();
        lines.join("\n")
    }

    fn thread(&self, id: ThreadId) -> &str {
        self.names.get(id.0 as usize - 1).map_or("??", String::as_str)
    }
}

fn column(time: TimeNs) -> u64 {
    time.since(TimeNs(ZERO)).0 / MS
}

impl ContentionSink for Scribe<'_> {
    fn contention(&mut self, contention: &Contention<'_>) {
        let lock = char::from(contention.lock.0 as u8);
        let mut line = format!("{} {lock}", self.thread(contention.thread));
        for (flag, text) in
            [(contention.after_wait, " again"), (contention.bound, " bound"), (contention.in_flight, " going on")]
        {
            line += if flag { text } else { "" };
        }
        let mut separator = ": ";
        for slice in contention.slices {
            let (from, to) = (column(slice.start), column(slice.start + slice.duration));
            let owner = contention.owners.get(slice.owner);
            let chain = owner.chain.0;
            let who = match slice.basis {
                Basis::LastReader => format!("{} last reader@{chain}", self.thread(owner.thread)),
                Basis::Exit => format!("{} exit@{chain}", self.thread(owner.thread)),
                Basis::Held => format!("{} held", self.thread(owner.thread)),
                Basis::SeenAtEnter => format!("{} seen", self.thread(owner.thread)),
                Basis::PreviousOwner => format!("{} previous", self.thread(owner.thread)),
                Basis::HandOver => "? hand-over".to_owned(),
                Basis::WakeUp => "? wake-up".to_owned(),
                Basis::ExitMissed => "? exit missed".to_owned(),
                Basis::Gap => "? gap".to_owned(),
                Basis::NoMark => "? no mark".to_owned(),
            };
            line += &format!("{separator}{from}-{to} {who}");
            if slice.stop_the_world > DurationNs::ZERO {
                line += &format!(" (stopped {})", slice.stop_the_world.0 / MS);
            }
            separator = ", ";
        }
        self.lines.push((contention.start, contention.thread, line));
    }
}
