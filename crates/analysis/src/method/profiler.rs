//! Profiles for export and comparison: one measure of a recording as a tree of
//! calling contexts, and on request moment by moment.

use super::call_tree::CallTree;
use super::context::{ContextTree, Step};
use super::samples::{group, lane, lanes, SampleCounts, Samples};
use super::weight::{Grouping, Measure, Weight};
use crate::aggregate::{clip, Range};
use crate::monitor::{Contention, ContentionSink, Kind, Owner, OwnersById, Slice, Sum};
use crate::names::Names;
use crate::options::{Bound, Bounds, ThreadFilter};
use headway_model::event::{RecordingInfo, Sample};
use headway_model::{ChainId, DurationNs, Event, FrameKind, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a profile is to show.
#[derive(Clone, Debug)]
pub struct ProfileOptions {
    /// What is weighed.
    pub measure: Measure,
    /// What stands above the methods.
    pub grouping: Grouping,
    /// True to distinguish calls from different lines.
    pub lines: bool,
    /// True to take locks of one name and class for one, as those of two recordings are.
    pub locks_by_name: bool,
    /// Where the range begins.
    pub from: Option<Bound>,
    /// Where it ends.
    pub to: Option<Bound>,
    /// Which threads count: the sampled ones, or the blocked ones.
    pub threads: Option<ThreadFilter>,
    /// Moments kept for [`Profile::moments`] at most; 0 for none.
    pub moments: usize,
    /// How much memory may be used.
    pub bounds: Bounds,
}

impl Default for ProfileOptions {
    /// CPU time of all threads together.
    fn default() -> ProfileOptions {
        ProfileOptions {
            measure: Measure::Cpu,
            grouping: Grouping::Together,
            lines: false,
            locks_by_name: false,
            from: None,
            to: None,
            threads: None,
            moments: 0,
            bounds: Bounds::offline(),
        }
    }
}

/// A sample, or the begin of a blocked contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub time: TimeNs,
    /// Whose: index into [`Profile::threads`].
    pub thread: u32,
    /// What it did: a context of the profile's tree.
    pub context: u32,
    /// What it stands for.
    pub weight: Weight,
    /// True for a thread that waits.
    pub waiting: bool,
}

/// A thread of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileThread {
    /// Its id.
    pub id: ThreadId,
    /// Kernel thread id; 0 if unknown.
    pub os_id: u32,
    /// Its name, or what can be said instead.
    pub name: String,
}

/// One measure of a recording.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What was weighed.
    pub measure: Measure,
    /// The calling contexts.
    pub tree: CallTree,
    /// Moment by moment, in time order of each thread; empty unless asked for.
    pub moments: Vec<Moment>,
    /// The threads that moments refer to.
    pub threads: Vec<ProfileThread>,
    /// Facts about the recording.
    pub recording: Arc<RecordingInfo>,
    /// First moment of the range.
    pub start: TimeNs,
    /// Its length.
    pub duration: DurationNs,
    /// What was counted.
    pub counts: SampleCounts,
    /// Contentions with time in the range, each once however many owners it had; 0 if samples were weighed.
    pub contentions: u64,
    /// Details that a memory bound left out: folded contexts, moments.
    pub folded: u64,
}

impl Profile {
    /// How many samples, or contentions, all weights together are of.
    pub fn observations(&self) -> u64 {
        match self.measure.is_blocked_time() {
            true => self.contentions,
            false => self.tree.total().count,
        }
    }
}

/// Takes in a recording's events, and for blocked time the contentions that an
/// analysis hands on, and makes a [`Profile`].
#[derive(Debug)]
pub struct Profiler {
    options: ProfileOptions,
    names: Names,
    samples: Samples,
    blocked: ContextTree<1>,
    threads: FxHashMap<ThreadId, (u32, bool)>,
    thread_ids: Vec<ThreadId>,
    moments: Vec<(Moment, u8)>,
    moments_left_out: u64,
    contentions: u64,
    recording: Option<Arc<RecordingInfo>>,
    range: Range,
    range_known: bool,
    latest: TimeNs,
}

impl Profiler {
    /// A profiler that has seen nothing yet.
    pub fn new(options: ProfileOptions) -> Profiler {
        let contexts = options.bounds.leaves;
        Profiler {
            samples: Samples::new(contexts, options.grouping, options.lines),
            blocked: ContextTree::new(contexts, options.lines),
            names: Names::new(options.locks_by_name),
            options,
            threads: FxHashMap::default(),
            thread_ids: Vec::new(),
            moments: Vec::new(),
            moments_left_out: 0,
            contentions: 0,
            recording: None,
            range: Range { from: TimeNs(0), to: TimeNs(u64::MAX) },
            range_known: false,
            latest: TimeNs(0),
        }
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event) {
        if let Some(time) = event.time() {
            self.latest = self.latest.max(time);
            if !self.range_known {
                self.set_range(time);
            }
        }
        match event {
            Event::Thread(_) | Event::Method(..) | Event::Chain(_) | Event::Lock(_) => self.names.feed(event),
            Event::Recording(info) => {
                if !self.range_known && info.start > TimeNs(0) {
                    self.set_range(info.start);
                }
                self.recording.get_or_insert_with(|| info.clone());
            }
            Event::Sample(sample) => self.sample(sample),
            _ => {}
        }
    }

    fn set_range(&mut self, start: TimeNs) {
        self.range_known = true;
        let from = self.options.from.map_or(start, |bound| bound.resolve(start));
        self.range.from = from.max(start);
        if let Some(to) = self.options.to {
            self.range.to = to.resolve(start).max(self.range.from);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let in_range = self.range.from <= sample.time && sample.time < self.range.to;
        let Some(thread) = self.thread(sample.thread).filter(|_| in_range) else { return };
        let context = self.samples.add(sample, &mut self.names);
        if !self.options.measure.is_blocked_time() {
            let weight = Weight::sample(sample.weight.0);
            let waiting = sample.state == headway_model::event::SampleState::Waiting;
            let moment = Moment { time: sample.time, thread, context, weight, waiting };
            self.moment(moment, lane(sample.state) as u8);
        }
    }

    /// The thread's index, if it counts.
    fn thread(&mut self, thread: ThreadId) -> Option<u32> {
        if let Some((index, counts)) = self.threads.get(&thread) {
            return counts.then_some(*index);
        }
        let filter = self.options.threads.as_ref();
        let counts = filter.is_none_or(|filter| filter.accepts(&self.names.thread_text(thread)));
        let index = self.thread_ids.len() as u32;
        self.thread_ids.push(thread);
        self.threads.insert(thread, (index, counts));
        counts.then_some(index)
    }

    fn moment(&mut self, moment: Moment, lane: u8) {
        if self.moments.len() < self.options.moments {
            self.moments.push((moment, lane));
        } else if self.options.moments > 0 {
            self.moments_left_out += 1;
        }
    }

    fn blocked(&mut self, from: TimeNs, to: TimeNs, thread: u32, context: u32) {
        let weight = Weight::sample(to.since(from).0);
        self.blocked.weigh(context, 0, weight);
        self.moment(Moment { time: from, thread, context, weight, waiting: true }, 0);
    }

    fn by_contender(&mut self, contention: &Contention<'_>, thread: u32) {
        let end = contention.start + contention.duration;
        let Some((from, to)) = self.range.clip(contention.start, end) else { return };
        let context = self.contender(contention.thread, contention.chain, contention.lock);
        self.blocked(from, to, thread, context);
    }

    fn contender(&mut self, thread: ThreadId, chain: ChainId, lock: LockId) -> u32 {
        let top = group(&mut self.blocked, self.options.grouping, thread, &mut self.names);
        let chain = self.blocked.of_chain(top, chain, &mut self.names);
        self.blocked.below(chain, Step::Lock(lock), FrameKind::default())
    }

    /// A slice belongs to the chain of the frame that held the lock; what that
    /// frame had called when it let go of it says nothing.
    fn by_owner(&mut self, slice: &Slice, contention: &Contention<'_>, thread: u32) {
        let Some((from, to)) = self.range.clip(slice.start, slice.start + slice.duration) else { return };
        let paused = clip(slice, self.range).map_or(DurationNs::ZERO, |part| DurationNs(part.paused));
        let resumed = from + paused;
        if paused > DurationNs::ZERO {
            let context = self.paused(contention.lock);
            self.blocked(from, resumed, thread, context);
        }
        if resumed < to {
            let context = self.owner(contention.owner(slice), contention.lock);
            self.blocked(resumed, to, thread, context);
        }
    }

    /// The time of a pause is no owner's, as in the breakdown by owner.
    fn paused(&mut self, lock: LockId) -> u32 {
        let top = group(&mut self.blocked, self.options.grouping, ThreadId::NONE, &mut self.names);
        let paused = self.blocked.below(top, Step::Paused, FrameKind::default());
        self.blocked.below(paused, Step::Lock(lock), FrameKind::default())
    }

    fn owner(&mut self, owner: Owner, lock: LockId) -> u32 {
        let top = group(&mut self.blocked, self.options.grouping, owner.thread, &mut self.names);
        let chain = match self.names.chain(owner.chain) {
            Some(def) => {
                let frames = def.chain.frames.get(usize::from(owner.frame)..).unwrap_or_default();
                let top = match def.chain.truncated {
                    true => self.blocked.below(top, Step::Unknown, FrameKind::default()),
                    false => top,
                };
                self.blocked.of_frames(top, frames, &mut self.names)
            }
            None if owner.thread.is_none() => self.blocked.below(top, Step::NoOwner, FrameKind::default()),
            None => self.blocked.below(top, Step::Unknown, FrameKind::default()),
        };
        self.blocked.below(chain, Step::Lock(lock), FrameKind::default())
    }

    /// The recording is over: the profile.
    pub fn finish(self) -> Profile {
        let measure = self.options.measure;
        let counts = self.samples.counts();
        let (tree, places) = match measure.is_blocked_time() {
            true => self.blocked.to_call_tree(&[0], &self.names),
            false => self.samples.to_call_tree(measure, &self.names),
        };
        let wanted = if measure.is_blocked_time() { &[0][..] } else { lanes(measure, counts.runnable > 0) };
        let mut moments: Vec<Moment> = self
            .moments
            .into_iter()
            .filter(|(_, lane)| wanted.contains(&usize::from(*lane)))
            .map(|(moment, _)| Moment {
                context: places.get(moment.context as usize).copied().unwrap_or(CallTree::ROOT),
                ..moment
            })
            .collect();
        moments.sort_by_key(|moment| (moment.thread, moment.time));
        let names = &self.names;
        let describe = |id: &ThreadId| ProfileThread {
            id: *id,
            os_id: names.thread(*id).map_or(0, |def| def.os_id),
            name: names.thread_text(*id),
        };
        let end = self.range.to.min(self.latest).max(self.range.from);
        Profile {
            measure,
            tree,
            moments,
            threads: self.thread_ids.iter().map(describe).collect(),
            recording: self.recording.unwrap_or_default(),
            start: self.range.from,
            duration: end.since(self.range.from),
            counts,
            contentions: self.contentions,
            folded: self.blocked.folded + self.samples.folded() + self.moments_left_out,
        }
    }
}

impl ContentionSink for Profiler {
    fn contention(&mut self, contention: &Contention<'_>) {
        if !self.options.measure.is_blocked_time() || contention.kind == Kind::Conditional {
            return;
        }
        let Some(thread) = self.thread(contention.thread) else { return };
        let is_in_range = self.range.clip(contention.start, contention.start + contention.duration).is_some();
        self.contentions += u64::from(is_in_range);
        if self.options.measure == Measure::Contender {
            return self.by_contender(contention, thread);
        }
        for slice in contention.slices {
            self.by_owner(slice, contention, thread);
        }
    }

    fn summed(&mut self, sum: &Sum, owners: &OwnersById) {
        if !self.options.measure.is_blocked_time() || sum.kind == Kind::Conditional {
            return;
        }
        let Some(sum) = sum.within(self.range).filter(|sum| self.thread(sum.thread).is_some()) else { return };
        self.contentions += sum.count;
        let context = match self.options.measure {
            Measure::Contender => self.contender(sum.thread, sum.chain, sum.lock),
            _ => self.owner(owners.get(sum.owner), sum.lock),
        };
        self.blocked.weigh(context, 0, Weight { ns: sum.total_ns, count: sum.count });
    }
}
