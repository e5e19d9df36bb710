//! Adds parks up, by blocker, within a bound.
//!
//! Events of different threads come in any order until a watermark says that
//! nothing earlier follows. Until then they wait, as a few words each; then
//! they are counted in the order in which they happened. So the peak and the
//! real time, which depend on that order, are exact.

use super::record::{BlockerParks, FoldedParks};
use headway_model::event::{Park, ParkBegin, ParkStatistics, ShortParks};
use headway_model::{ChainId, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// What is collected and shown, and how much memory it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyOptions {
    /// Parks on a blocker after which its times are measured; 0 and 1 measure
    /// from the first one.
    pub collection_threshold: u64,
    /// Blockers with fewer parks are not shown.
    pub printing_threshold: u64,
    /// Forget collected blockers once they were shown.
    pub free_on_print: bool,
    /// Blockers kept apart. Beyond it those with the fewest parks are folded.
    pub blockers: usize,
    /// Events that wait for a watermark.
    pub pending: usize,
}

impl TallyOptions {
    /// For a recording: some 100 MB at most.
    pub const fn offline() -> TallyOptions {
        TallyOptions {
            collection_threshold: 0,
            printing_threshold: 0,
            free_on_print: false,
            blockers: 1 << 19,
            pending: 1 << 21,
        }
    }

    /// For the agent: some 2 MB at most where its threads count, as they do, and
    /// 3 more where events are fed.
    pub const fn online() -> TallyOptions {
        TallyOptions { blockers: 1 << 14, pending: 1 << 16, ..TallyOptions::offline() }
    }
}

/// A park or a return from one that waits to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    time: TimeNs,
    seq: u64,
    /// A return comes before a park of the same time, where numbers do not say.
    parks: bool,
    blocker: LockId,
    thread: ThreadId,
    chain: ChainId,
}

/// Parks added up by blocker.
#[derive(Debug)]
pub struct ParkTally {
    options: TallyOptions,
    records: FxHashMap<LockId, BlockerParks>,
    /// Threads that are parked, and on what.
    parked: FxHashMap<ThreadId, LockId>,
    pending: Vec<Pending>,
    /// What was counted already.
    counted: TimeNs,
    /// Statistics that the recording itself holds.
    recorded: FxHashMap<LockId, BlockerParks>,
    recorded_at: TimeNs,
    folded: FoldedParks,
    events: u64,
    bounded: u64,
    /// True where parks are reported at their end only: then no watermark says
    /// which begins are still to come.
    told_at_end: bool,
}

impl ParkTally {
    /// Nothing counted yet.
    pub fn new(options: TallyOptions) -> ParkTally {
        ParkTally {
            options,
            records: FxHashMap::default(),
            parked: FxHashMap::default(),
            pending: Vec::new(),
            counted: TimeNs(0),
            recorded: FxHashMap::default(),
            recorded_at: TimeNs(0),
            folded: FoldedParks::default(),
            events: 0,
            bounded: 0,
            told_at_end: false,
        }
    }

    /// Takes in an event; ones that say nothing about parks change nothing.
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::ParkBegin(e) => self.begin(e),
            Event::Park(e) => self.end(e),
            Event::ShortParks(e) => self.short(e),
            Event::ThreadEnd(e) => self.end_lost(e.thread, e.time),
            Event::Watermark(time) if !self.told_at_end => self.count_until(*time),
            Event::ParkStatistics(e) => self.record(e),
            _ => {}
        }
    }

    fn begin(&mut self, e: &ParkBegin) {
        if e.blocker.is_none() {
            return;
        }
        self.events += 1;
        self.end_lost(e.thread, e.time);
        if self.parked.len() < self.options.pending {
            self.parked.insert(e.thread, e.blocker);
        }
        self.wait(Pending {
            time: e.time,
            seq: e.seq.0,
            parks: true,
            blocker: e.blocker,
            thread: e.thread,
            chain: e.chain,
        });
    }

    fn end(&mut self, e: &Park) {
        if e.blocker.is_none() {
            return;
        }
        self.events += 1;
        self.told_at_end |= e.seq.is_none();
        let pending =
            Pending { time: e.time, seq: e.seq.0, parks: false, blocker: e.blocker, thread: e.thread, chain: e.chain };
        if self.parked.get(&e.thread) == Some(&e.blocker) {
            self.parked.remove(&e.thread);
        } else {
            if e.start == TimeNs(0) || e.start > e.time {
                return;
            }
            self.end_lost(e.thread, e.start);
            self.wait(Pending { time: e.start, seq: e.start_seq.0, parks: true, ..pending });
        }
        self.wait(pending);
    }

    /// Parks reported together: their number and thread time are known, when they
    /// were is not, so that the peak goes without them, and of several threads there is no real time.
    fn short(&mut self, e: &ShortParks) {
        if e.blocker.is_none() {
            return;
        }
        self.events += 1;
        if !self.records.contains_key(&e.blocker) {
            self.make_room(|_| ());
        }
        let threshold = self.options.collection_threshold;
        let blocker = e.blocker;
        let record = self.records.entry(blocker).or_insert(BlockerParks { blocker, ..BlockerParks::default() });
        record.short_parks(e, threshold);
    }

    /// The thread does something else: a park of its that seems to go on ended
    /// unseen.
    fn end_lost(&mut self, thread: ThreadId, time: TimeNs) {
        if let Some(blocker) = self.parked.remove(&thread) {
            let chain = ChainId::NONE;
            self.wait(Pending { time, seq: 0, parks: false, blocker, thread, chain });
        }
    }

    fn record(&mut self, e: &ParkStatistics) {
        self.recorded_at = self.recorded_at.max(e.time);
        if self.recorded.len() < self.options.blockers || self.recorded.contains_key(&e.blocker) {
            self.recorded.insert(e.blocker, BlockerParks::from(e));
        }
    }

    fn wait(&mut self, pending: Pending) {
        self.pending.push(pending);
        if self.pending.len() > self.options.pending {
            self.bounded += 1;
            // Threads hand over what they did in runs, and so it stays sorted for long.
            self.pending.sort();
            let half = self.pending.get(self.pending.len() / 2).map_or(pending.time, |pending| pending.time);
            self.count_until(half);
        }
    }

    /// Counts what happened up to `time`.
    fn count_until(&mut self, time: TimeNs) {
        let mut pending = std::mem::take(&mut self.pending);
        // Numbers say what came first where times are the same. What is left
        // stays sorted, and in its place: it may be megabytes.
        pending.sort();
        let ready = pending.partition_point(|pending| pending.time <= time);
        for event in pending.drain(..ready) {
            self.count(&event);
        }
        self.pending = pending;
        self.counted = self.counted.max(time);
    }

    fn count(&mut self, pending: &Pending) {
        if !self.records.contains_key(&pending.blocker) {
            if !pending.parks {
                return;
            }
            self.make_room(|_| ());
        }
        let threshold = self.options.collection_threshold;
        let blocker = pending.blocker;
        let record = self.records.entry(blocker).or_insert(BlockerParks { blocker, ..BlockerParks::default() });
        match (pending.parks, pending.time < self.counted) {
            (false, _) => record.unpark(pending.time),
            (true, true) => record.park_late(pending.time, pending.thread, pending.chain, threshold),
            (true, false) => record.park(pending.time, pending.thread, pending.chain, threshold),
        }
    }

    /// The parks on a blocker as somebody else has counted them, in place of what
    /// was known of it. `folded` gets the blockers that make room.
    pub fn put(&mut self, parks: BlockerParks, folded: impl FnMut(&BlockerParks)) {
        self.events += 1;
        self.counted = self.counted.max(parks.last_event);
        if !self.records.contains_key(&parks.blocker) {
            self.make_room(folded);
        }
        let record = self.records.entry(parks.blocker).or_default();
        *record = BlockerParks { collected: record.collected, ..parks };
    }

    /// Folds blockers on which nobody is parked: the collected ones first, then
    /// those with the fewest parks.
    fn make_room(&mut self, mut folded: impl FnMut(&BlockerParks)) {
        if self.records.len() < self.options.blockers.max(4) {
            return;
        }
        let mut idle: Vec<(bool, u64, TimeNs, LockId)> = self
            .records
            .values()
            .filter(|record| record.parked_now == 0)
            .map(|record| (record.collected.is_none(), record.times_parked, record.last_event, record.blocker))
            .collect();
        let count = (self.records.len() / 4).clamp(1, idle.len().max(1));
        if count < idle.len() {
            idle.select_nth_unstable(count);
        }
        for (.., blocker) in idle.into_iter().take(count) {
            if let Some(record) = self.records.remove(&blocker) {
                self.folded.blockers += 1;
                self.folded.times_parked += record.times_parked;
                self.folded.thread_time_ns += record.thread_time.0;
                folded(&record);
            }
        }
    }

    /// The blocker's object was found to be collected.
    pub fn collected(&mut self, blocker: LockId, time: TimeNs) {
        if let Some(record) = self.records.get_mut(&blocker) {
            record.collected = Some(time);
        }
    }

    /// Nothing earlier than `time` follows, whatever watermarks said.
    pub fn settle(&mut self, time: TimeNs) {
        self.count_until(time);
    }

    /// Every blocker with enough parks to be shown, at `time`, most parked
    /// thread time first.
    pub fn shown(&self, time: TimeNs) -> Vec<BlockerParks> {
        let shown =
            |record: &&BlockerParks| record.is_measured() && record.times_parked >= self.options.printing_threshold;
        let mut list: Vec<BlockerParks> = match self.events {
            0 => self.recorded.values().filter(shown).copied().collect(),
            _ => self.records.values().filter(shown).map(|record| record.at(time)).collect(),
        };
        list.sort_unstable_by(|a, b| b.thread_time.cmp(&a.thread_time).then_with(|| a.blocker.cmp(&b.blocker)));
        list
    }

    /// Changes what is shown, and whether collected blockers are forgotten then.
    pub fn set_printing(&mut self, printing_threshold: u64, free_on_print: bool) {
        self.options.printing_threshold = printing_threshold;
        self.options.free_on_print = free_on_print;
    }

    /// Every blocker that is measured, as it was when last counted, in no
    /// particular order.
    pub fn measured(&self) -> impl Iterator<Item = &BlockerParks> {
        self.records.values().filter(|record| record.is_measured())
    }

    /// To be called after what was shown has been printed: forgets collected
    /// blockers, if so asked. Gives how many.
    pub fn printed(&mut self) -> usize {
        let before = self.records.len();
        if self.options.free_on_print {
            self.records.retain(|_, record| record.collected.is_none() || record.parked_now > 0);
        }
        before - self.records.len()
    }

    /// Blockers known but not shown.
    pub fn not_shown(&self, shown: usize) -> u64 {
        let all = if self.events == 0 { self.recorded.len() } else { self.records.len() };
        all.saturating_sub(shown) as u64
    }

    /// What a bound folded together.
    pub fn folded(&self) -> FoldedParks {
        self.folded
    }

    /// How many blockers are kept.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.recorded.is_empty()
    }

    /// Times that the bound on waiting events was reached: then peak and real
    /// time may be a little off.
    pub fn bounded(&self) -> u64 {
        self.bounded
    }

    /// The options.
    pub fn options(&self) -> &TallyOptions {
        &self.options
    }
}
