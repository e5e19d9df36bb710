//! From events to a [`Recording`] that answers queries.

use crate::contract::{Facts, How, Kind};
use crate::held_off::HeldOff;
use crate::measured::{Interval, Measured};
use crate::names::Names;
use crate::recording::Recording;
use crate::table::{Row, RowSum, Table, AFTER_WAIT, APPROXIMATE, UNFINISHED};
use crate::{estimates, facts, links, whole};
use headway_analysis::monitor::{self, Basis, Contention, ContentionSink, OwnerId, OwnerSample, OwnersById, Slice};
use headway_analysis::park::statistics::{ParkTally, TallyOptions};
use headway_analysis::park::{ParkWait, Synchronizer};
use headway_analysis::steal::ThreadInterval;
use headway_analysis::{Analysis, Bounds, Options};
use headway_model::event::{MonitorReentered, MonitorWait, MonitorWaited, ParkOutcome, Sample, SampleState, ThreadDef};
use headway_model::event::{StopTheWorld, Transaction, WaitOutcome};
use headway_model::{DurationNs, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// Intervals of pressure; a chart has no more pixels.
const MOST_WINDOWS: usize = 2048;
/// Measured intervals of all threads together.
const MOST_INTERVALS: usize = 100_000;
/// Sums of time in which owners of locks had no CPU.
const MOST_HELD_OFF: usize = 50_000;

/// Takes in a recording's events.
#[derive(Debug)]
pub struct Gather {
    analysis: Analysis,
    parks: ParkTally,
    rows: Rows,
    lives: FxHashMap<ThreadId, Life>,
    /// Threads that are in `Object.wait`, or whose wait may still be cut.
    waits: FxHashMap<ThreadId, Wait>,
    end: TimeNs,
    weighted: bool,
}

/// What rows are made of.
#[derive(Debug)]
struct Rows {
    names: Names,
    table: Table,
    measured: Measured,
    held_off: HeldOff,
    start: Option<TimeNs>,
    /// By `OwnerId::index`.
    owners: Vec<Option<OwnerIds>>,
}

/// An owner, in the table's ids.
#[derive(Clone, Copy, Debug)]
struct OwnerIds {
    owner: u32,
    owner_chain: u32,
    flags: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Life {
    started: Option<TimeNs>,
    ended: Option<TimeNs>,
    /// When it was last seen to do something.
    active: TimeNs,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    event: MonitorWaited,
    over: bool,
}

impl Gather {
    /// Nothing yet. About `rows` rows are kept; beyond them short contentions are
    /// added up.
    pub fn new(rows: usize) -> Gather {
        Gather::with_names(rows, Names::default())
    }

    /// The same with names that have their ids already: of an earlier reading of the same file.
    pub fn with_names(rows: usize, names: Names) -> Gather {
        let bounds = Bounds { pressure_windows: MOST_WINDOWS, ..Bounds::offline() };
        let by = estimates::BY.to_vec();
        Gather {
            analysis: Analysis::new(Options { by, only_estimates: true, bounds, ..Options::default() }),
            parks: ParkTally::new(TallyOptions::offline()),
            rows: Rows::new(rows, names),
            lives: FxHashMap::default(),
            waits: FxHashMap::default(),
            end: TimeNs(0),
            weighted: false,
        }
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::Recording(info) if info.start > TimeNs(0) => {
                self.rows.start.get_or_insert(info.start);
                self.end = self.end.max(info.start);
            }
            Event::Thread(_) | Event::Method(..) | Event::Chain(_) | Event::Lock(_) => self.rows.names.feed(event),
            _ => {}
        }
        if let Some(time) = event.time() {
            self.rows.start.get_or_insert(time);
            self.end = self.end.max(time);
        }
        self.analysis.feed_to(event, &mut self.rows);
        self.parks.feed(event);
        self.take(event);
        self.rows.make_room();
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Thread(def) => {
                self.lives.entry(def.id).or_default();
            }
            Event::ThreadStart(e) => self.lives.entry(e.thread).or_default().started = Some(e.time),
            Event::ThreadEnd(e) => self.lives.entry(e.thread).or_default().ended = Some(e.time),
            Event::MonitorEnter(e) => self.acts(e.thread, e.time),
            Event::MonitorEntered(e) => self.acts(e.thread, e.time),
            Event::MonitorExit(e) => self.acts(e.thread, e.time),
            Event::MonitorWait(e) => self.wait(e),
            Event::MonitorWaited(e) => self.waited(e),
            Event::MonitorReentered(e) => self.reentered(e),
            Event::Park(e) => self.acts(e.thread, e.start),
            Event::Sample(e) => self.sample(e),
            Event::StopTheWorld(e) => self.pause(e),
            Event::Transaction(e) if !e.forgotten => self.rows.transaction(e),
            _ => {}
        }
    }

    fn acts(&mut self, thread: ThreadId, time: TimeNs) {
        let life = self.lives.entry(thread).or_default();
        life.active = life.active.max(time);
    }

    fn wait(&mut self, e: &MonitorWait) {
        self.acts(e.thread, e.time);
        let begun =
            MonitorWaited { start: e.time, thread: e.thread, lock: e.lock, chain: e.chain, ..Default::default() };
        self.replace(Wait { event: begun, over: false });
    }

    fn waited(&mut self, e: &MonitorWaited) {
        let mut event = *e;
        if let Some(begun) = self.waits.get(&e.thread).filter(|wait| !wait.over && wait.event.lock == e.lock) {
            event.start = begun.event.start;
            event.chain = if event.chain.is_some() { event.chain } else { begun.event.chain };
            self.waits.remove(&e.thread);
        }
        if event.start > TimeNs(0) && event.start <= event.time {
            self.replace(Wait { event, over: true });
        }
    }

    /// The waiter's re-acquisition began: no later than then its wait was over.
    fn reentered(&mut self, e: &MonitorReentered) {
        self.acts(e.thread, e.time);
        let Some(mut wait) = self.waits.remove(&e.thread).filter(|wait| wait.over) else { return };
        if wait.event.lock == e.lock && e.start >= wait.event.start {
            wait.event.time = wait.event.time.min(e.start);
        }
        self.rows.wait(&wait.event, false);
    }

    fn replace(&mut self, wait: Wait) {
        if let Some(former) = self.waits.insert(wait.event.thread, wait).filter(|former| former.over) {
            self.rows.wait(&former.event, false);
        }
    }

    fn sample(&mut self, e: &Sample) {
        let (kind, how) = match e.state {
            SampleState::Java => (Kind::Cpu, How::Java),
            SampleState::Native => (Kind::Cpu, How::Native),
            SampleState::Waiting => (Kind::Wall, How::Waiting),
            _ => (Kind::Wall, How::Java),
        };
        self.weighted |= e.weight.0 > 0;
        let chain = self.rows.names.chain(e.chain, 0);
        self.rows.sample(kind, e.thread, (e.time, e.weight), Row { chain, how: how as u8, ..Row::default() });
    }

    fn pause(&mut self, e: &StopTheWorld) {
        self.rows.add(Kind::Paused, ThreadId::NONE, e.start, e.start + e.duration, Row::default());
    }

    /// The recording is over. `facts` already says what is known of the file.
    pub fn finish(mut self, facts: Facts) -> Recording {
        let end = self.end;
        let report = self.analysis.finish_to(&mut self.rows);
        let mut waits: Vec<Wait> = std::mem::take(&mut self.waits).into_values().collect();
        waits.sort_by_key(|wait| (wait.event.start, wait.event.thread));
        for mut wait in waits {
            let life = self.lives.get(&wait.event.thread).copied().unwrap_or_default();
            if wait.over {
                self.rows.wait(&wait.event, false);
            } else if life.active <= wait.event.start && life.ended.is_none() {
                wait.event.time = end;
                self.rows.wait(&wait.event, true);
            }
        }
        self.rows.lives(&self.lives, end);
        self.rows.measured.rows(&mut self.rows.table);
        self.rows.make_room();
        self.rows.table.settle(end.since(self.rows.start.unwrap_or(end)).0);
        self.rows.names.count_stand_ins(self.rows.table.folded());
        self.rows.measured.mark(&mut self.rows.table);
        let start = self.rows.start.unwrap_or(end);
        self.parks.settle(TimeNs(u64::MAX));
        let pressure = report.pressure.as_ref();
        let steal = report.steal.as_ref().map(|steal| (steal, &self.rows.held_off));
        let mut whole = whole::of(pressure, steal, &self.parks, (start, end), &mut self.rows.names);
        whole.estimates = Box::new(estimates::of(&report.rows, &self.rows.names));
        let mut facts = facts::of(facts, &report);
        facts.duration_ns = facts.duration_ns.max(end.since(start).0);
        facts.samples_weighted = self.weighted;
        facts.summed = self.rows.table.summed();
        (facts.base_ns, facts.stacks_ns) = self.rows.table.intervals();
        facts.stacks_by_group = self.rows.table.by_group();
        facts.folded_threads = self.rows.table.folded().count() as u64;
        facts.folded_locks = self.rows.table.folded_locks() as u64;
        let is_known = |def: &&ThreadDef| def.is_virtual && !def.is_service && def.id != ThreadId::SOME_VIRTUAL;
        facts.known_virtual_threads = self.rows.names.definitions().filter(is_known).count() as u64;
        facts.entries = self.rows.table.count_by_kind();
        facts.links = links::of(&facts, &self.rows.names, self.rows.table.rows());
        Recording::new(facts, start, self.rows.names, self.rows.table, whole)
    }
}

impl Rows {
    fn new(rows: usize, names: Names) -> Rows {
        let measured = Measured::new(MOST_INTERVALS);
        let held_off = HeldOff::new(MOST_HELD_OFF);
        Rows { names, table: Table::new(rows), measured, held_off, start: None, owners: Vec::new() }
    }

    fn make_room(&mut self) {
        self.table.make_room(&mut self.names);
    }

    fn add(&mut self, kind: Kind, thread: ThreadId, start: TimeNs, end: TimeNs, rest: Row) {
        let origin = self.start.unwrap_or(start);
        let begin = start.max(origin);
        let row = Row {
            start: begin.since(origin).0,
            span: end.since(begin).0,
            thread: self.names.thread(thread),
            kind: kind as u8,
            ..rest
        };
        self.table.add(std::iter::once(row));
    }

    /// A sample stands for the time before it; one without weight is a point. The first ones of a
    /// recording may stand for more than has passed since its begin: that is their time all the same.
    fn sample(&mut self, kind: Kind, thread: ThreadId, (time, weight): (TimeNs, DurationNs), row: Row) {
        let origin = *self.start.get_or_insert(time);
        let length = weight.0.max(1);
        let passed = time.max(origin).since(origin).0;
        if length <= passed {
            return self.add(kind, thread, TimeNs(time.0 - length), time, row);
        }
        let (span, thread) = (passed.max(1), self.names.thread(thread));
        let row = Row { start: passed.saturating_sub(span), span, thread, kind: kind as u8, ..row };
        self.table.add_sum(row, RowSum::of(length, 1, length));
    }

    fn wait(&mut self, e: &MonitorWaited, unfinished: bool) {
        let how = match e.outcome {
            _ if unfinished => How::Unfinished,
            WaitOutcome::Notified => How::Notified,
            WaitOutcome::TimedOut => How::TimedOut,
            WaitOutcome::Interrupted => How::Interrupted,
        };
        let lock = self.names.lock(e.lock);
        let chain = self.names.chain(e.chain, 0);
        let owner = self.names.thread(e.notifier);
        let flags = if unfinished { UNFINISHED } else { 0 };
        self.add(
            Kind::Wait,
            e.thread,
            e.start,
            e.time,
            Row { lock, chain, owner, how: how as u8, flags, ..Row::default() },
        );
    }

    /// Of several that were recorded together the threads are not known.
    fn transaction(&mut self, e: &Transaction) {
        let lock = self.names.named(&e.kind);
        if e.count == 1 {
            return self.add(Kind::Transaction, e.thread, e.start, e.time, Row { lock, ..Row::default() });
        }
        let origin = self.start.unwrap_or(e.start);
        let length = e.duration().0;
        let row = Row {
            start: e.start.max(origin).since(origin).0,
            span: length.max(1),
            thread: self.names.thread(e.thread),
            lock,
            kind: Kind::Transaction as u8,
            ..Row::default()
        };
        self.table.add_sum(row, RowSum::of(length.saturating_mul(e.count), e.count, length));
    }

    /// When the application's platform threads lived: the base of running time.
    fn lives(&mut self, lives: &FxHashMap<ThreadId, Life>, end: TimeNs) {
        let origin = self.start.unwrap_or(end);
        let mut sorted: Vec<(ThreadId, Life)> = lives.iter().map(|(id, life)| (*id, *life)).collect();
        sorted.sort_by_key(|(id, _)| *id);
        for (id, life) in sorted {
            let def = self.names.definition(id);
            let counts = def.is_none_or(|def| !def.is_service && !def.is_virtual) && id.0 & ThreadId::NATIVE == 0;
            if counts {
                let start = life.started.unwrap_or(origin);
                self.add(Kind::Alive, id, start, life.ended.unwrap_or(end).max(start), Row::default());
            }
        }
    }
}

/// What the page calls a contention or a park.
fn kind_of(kind: monitor::Kind) -> Kind {
    match kind {
        monitor::Kind::Monitor => Kind::Monitor,
        monitor::Kind::Juc => Kind::Juc,
        _ => Kind::Park,
    }
}

impl ContentionSink for Rows {
    fn contention(&mut self, contention: &Contention<'_>) {
        let kind = kind_of(contention.kind);
        let origin = *self.start.get_or_insert(contention.start);
        let base = Row {
            thread: self.names.thread(contention.thread),
            chain: self.names.chain(contention.chain, 0),
            lock: self.names.lock(contention.lock),
            kind: kind as u8,
            flags: if contention.after_wait { AFTER_WAIT } else { 0 }
                | if contention.in_flight { UNFINISHED } else { 0 },
            ..Row::default()
        };
        let (names, owners) = (&mut self.names, &mut self.owners);
        let slices = contention.slices.iter().map(|slice| {
            let OwnerIds { owner, owner_chain, flags } = owner_ids(slice.owner, contention.owners, owners, names);
            Row {
                start: slice.start.since(origin).0,
                span: slice.duration.0,
                stopped: slice.stop_the_world.0,
                owner,
                owner_chain,
                how: how(slice.basis) as u8,
                flags: base.flags | flags,
                ..base
            }
        });
        self.table.add(slices);
    }

    /// Of those that were shorter than the recording's minimum it is known when the last one
    /// ended, and how long they were together: they stand side by side before that moment.
    fn summed(&mut self, sum: &monitor::Sum, owners: &monitor::OwnersById) {
        let origin = *self.start.get_or_insert(sum.start);
        let begin = sum.start.max(origin);
        let how = if sum.kind == monitor::Kind::Conditional { How::None } else { how(sum.basis) };
        let OwnerIds { owner, owner_chain, flags } = owner_ids(sum.owner, owners, &mut self.owners, &mut self.names);
        let row = Row {
            owner,
            owner_chain,
            flags,
            start: begin.since(origin).0,
            span: sum.end().max(begin).since(begin).0.max(1),
            thread: self.names.thread(sum.thread),
            chain: self.names.chain(sum.chain, 0),
            lock: self.names.lock(sum.lock),
            kind: kind_of(sum.kind) as u8,
            how: how as u8,
            ..Row::default()
        };
        self.table.add_sum(row, RowSum::of(sum.total_ns, sum.count, sum.mean_ns));
    }

    /// Waits by `Object.wait` that no random instant lay in: side by side before the last of them ended.
    fn waited_sum(&mut self, wait: &ParkWait, sum: &monitor::Sum) {
        if wait.synchronizer != Synchronizer::Monitor {
            return;
        }
        let origin = *self.start.get_or_insert(sum.start);
        let begin = sum.start.max(origin);
        let how = match wait.outcome {
            Some(ParkOutcome::TimedOut) => How::TimedOut,
            Some(ParkOutcome::Interrupted) => How::Interrupted,
            _ => How::Notified,
        };
        let row = Row {
            start: begin.since(origin).0,
            span: sum.end().max(begin).since(begin).0.max(1),
            thread: self.names.thread(sum.thread),
            owner: self.names.thread(wait.waker.thread),
            chain: self.names.chain(wait.chain, 0),
            lock: self.names.lock(sum.lock),
            kind: Kind::Wait as u8,
            how: how as u8,
            ..Row::default()
        };
        self.table.add_sum(row, RowSum::of(sum.total_ns, sum.count, sum.mean_ns));
    }

    fn owner_sample(&mut self, contention: &Contention<'_>, slice: &Slice, sample: &OwnerSample) {
        let kind = match contention.kind {
            monitor::Kind::Monitor | monitor::Kind::Juc => Kind::Inside,
            _ => return,
        };
        let owner = contention.owners.get(slice.owner);
        let inside = match sample.within {
            Some(end) => self.names.chain_up_to(sample.chain, end),
            None => 0,
        };
        let how = match sample.state {
            SampleState::Java => How::Java,
            SampleState::Native => How::Native,
            SampleState::Waiting => How::Waiting,
            // The same time as that of CPU samples, seen by another clock.
            _ => return,
        };
        let row = Row {
            chain: self.names.chain(contention.chain, 0),
            lock: self.names.lock(contention.lock),
            owner: self.names.thread(owner.thread),
            owner_chain: self.names.owner_chain(owner.chain, owner.frame),
            inside,
            how: how as u8,
            ..Row::default()
        };
        // The time of the sample is what decides whether it lies in the slice.
        self.sample(kind, contention.thread, (sample.time, sample.weight), row);
    }

    fn thread_interval(&mut self, e: &ThreadInterval) {
        let origin = self.start.unwrap_or(e.start);
        let since = |time: TimeNs| time.max(origin).since(origin).0;
        let interval = Interval {
            start: since(e.start),
            end: since(e.end),
            ran: e.totals.corrected_ns,
            steal: e.totals.steal_ns,
            throttled: e.totals.throttled_ns,
            queued: e.totals.run_queue_ns,
        };
        let thread = self.names.thread(e.thread);
        self.measured.add(thread, interval);
    }

    fn owner_no_cpu(&mut self, lock: LockId, (from, to): (TimeNs, TimeNs), ns: f64) {
        let origin = self.start.unwrap_or(from);
        let since = |time: TimeNs| time.max(origin).since(origin).0;
        self.held_off.add(self.names.lock(lock), since(from), since(to), ns);
    }

    fn park_wait(&mut self, e: &ParkWait) {
        let how = match e.outcome {
            None => How::Unfinished,
            Some(ParkOutcome::Unknown) => How::None,
            Some(ParkOutcome::Unparked) => How::Notified,
            Some(ParkOutcome::TimedOut) => How::TimedOut,
            Some(ParkOutcome::Interrupted) => How::Interrupted,
            Some(ParkOutcome::Spurious) => How::Spurious,
        };
        let lock = match e.blocker {
            LockId::NONE => self.names.lock_of_class(e.synchronizer.words()),
            blocker => self.names.lock(blocker),
        };
        let chain = self.names.chain(e.chain, 0);
        let (owner, owner_chain) = (self.names.thread(e.waker.thread), self.names.chain(e.waker.chain, 0));
        let flags = if e.outcome.is_none() { UNFINISHED } else { 0 };
        let row = Row { lock, chain, owner, owner_chain, how: how as u8, flags, ..Row::default() };
        self.add(Kind::Park, e.thread, e.start, e.end, row);
    }
}

/// An owner in the table's ids, looked up once.
fn owner_ids(id: OwnerId, of: &OwnersById, known: &mut Vec<Option<OwnerIds>>, names: &mut Names) -> OwnerIds {
    if let Some(Some(ids)) = known.get(id.index()) {
        return *ids;
    }
    let owner = of.get(id);
    let approximate = owner.approximate || names.is_approximate(owner.chain, owner.frame);
    let ids = OwnerIds {
        owner: names.thread(owner.thread),
        owner_chain: names.owner_chain(owner.chain, owner.frame),
        flags: if approximate { APPROXIMATE } else { 0 },
    };
    if known.len() <= id.index() {
        known.resize(id.index() + 1, None);
    }
    known[id.index()] = Some(ids);
    ids
}

fn how(basis: Basis) -> How {
    match basis {
        Basis::Exit | Basis::LastReader => How::Exit,
        Basis::Held | Basis::SeenAtEnter => How::Seen,
        Basis::PreviousOwner => How::Previous,
        Basis::HandOver | Basis::WakeUp => How::HandOff,
        _ => How::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{ShortParks, Spent, SpentOn};

    /// The contentions of a kind: time, number, longest.
    fn of(recording: &Recording, kind: Kind) -> (u64, u64, u64) {
        let table = recording.table();
        let rows = table.rows().iter().enumerate().filter(|(_, row)| row.kind == kind as u8);
        let sums = rows.map(|(place, _)| table.sum(place));
        sums.fold((0, 0, 0), |(total, count, max), sum| (total + sum.total, count + sum.count, max.max(sum.max)))
    }

    #[test]
    fn sums_of_what_was_shorter_than_the_minimum_count_as_in_the_report() {
        let spent = |time, on, count, total| {
            let (lock, chain) = (LockId(1), headway_model::ChainId::default());
            Event::Spent(Spent {
                time: TimeNs(time),
                thread: ThreadId(7),
                lock,
                chain,
                on,
                count,
                total: DurationNs(total),
            })
        };
        let parks = ShortParks {
            time: TimeNs(9_000),
            thread: ThreadId(7),
            blocker: LockId(2),
            chain: headway_model::ChainId::default(),
            count: 5,
            total: DurationNs(400),
        };
        let events = [
            spent(5_000, SpentOn::Monitor, 3_000, 2_500),
            spent(8_000, SpentOn::Monitor, 10, 900),
            Event::ShortParks(parks),
            Event::Watermark(TimeNs(10_000)),
        ];
        let (mut gather, mut analysis) = (Gather::new(1_000), Analysis::new(Options::default()));
        for event in &events {
            gather.feed(event);
            analysis.feed(event);
        }
        let (recording, report) = (gather.finish(Facts::default()), analysis.finish());
        assert_eq!(of(&recording, Kind::Monitor), (3_400, 3_010, 90));
        assert_eq!((report.blocked_ns, report.contentions), (3_400, 3_010));
        assert_eq!(of(&recording, Kind::Park), (400, 5, 80));
    }
}
