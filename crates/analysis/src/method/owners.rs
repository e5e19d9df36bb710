//! What the owner of a contended lock executed while others waited for it.
//!
//! Samples are kept per thread for a while. When a contention is complete,
//! the samples that its owners' threads have in the owners' slices are looked
//! up, and their stacks, cut at the frame that held the lock, are weighed. A
//! sample counts once for every thread that was blocked at that moment, so that
//! the sum is an unbiased estimate of the blocked time: a sample of 1 ms during
//! which three threads waited stands for 3 ms of blocked time. Dividing each
//! slice among the samples in it would not do: most slices are shorter than
//! the sampling interval and have none.
//!
//! An unmounted virtual thread has no stack to sample. What it did is the stack with which
//! it parked: its park counts as long as it lies in the slice, exactly, and as one sample.
//!
//! (The idea is in the outlook of Hofer et al., Efficient tracing and versatile
//! analysis of lock contention in Java applications on the virtual machine
//! level, ICPE 2016.)

use super::context::{ContextTree, Step, ROOT};
use super::rests::{Rest, Rests};
use super::sample_report::{OwnerActivity, OwnerPath, OwnerSpot};
use super::samples::{lane, lanes, LANES};
use super::weight::{Measure, Weight};
use crate::aggregate::{share, Range};
use crate::monitor::{Contention, ContentionSink, Kind, Owner, OwnerSample, Slice};
use crate::names::{NameId, Names};
use crate::report::UNKNOWN;
use headway_model::event::{Sample, SampleState};
use headway_model::{ChainId, DurationNs, Frame, FrameKind, LockId, ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// Lines and ways of each owner that a report names at most.
const MOST: usize = 100;

/// A sample, until it is known whether its thread held a contended lock.
#[derive(Clone, Debug)]
struct Seen {
    time: TimeNs,
    chain: ChainId,
    state: SampleState,
    weight: DurationNs,
    /// The sites that it counts for: once for each, however many threads were blocked.
    sites: SmallVec<[u32; 2]>,
}

impl Seen {
    fn of_owner(&self) -> OwnerSample {
        let Seen { time, weight, chain, state, .. } = *self;
        OwnerSample { time, weight, chain, within: None, state }
    }
}

/// A lock and the method that held it.
#[derive(Clone, Copy, Debug)]
struct Site {
    lock: LockId,
    method: Option<NameId>,
    /// Samples of the owner with the lock, each once.
    taken: u64,
    /// Samples of the owner's thread whose stack lacks the frame that held the lock.
    outside: u64,
    /// Of the time that samples stand for, what parks of virtual threads say.
    parked_ns: u64,
}

/// Where a sample's stack belongs.
#[derive(Clone, Copy, Debug)]
struct Place {
    context: u32,
    /// Frames that lie within the one that held the lock, if it is there.
    within: Option<u16>,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Owners {
    recent: FxHashMap<ThreadId, VecDeque<Seen>>,
    rests: Rests,
    /// How long virtual threads slept, or waited for input or output, with each lock while
    /// others were blocked on it.
    idle_ns: FxHashMap<LockId, u64>,
    kept: usize,
    bound: usize,
    /// Lock, method that held it, line in it, and so on to the leaf.
    tree: ContextTree<LANES>,
    sites: FxHashMap<u32, Site>,
    places: FxHashMap<(Owner, ChainId), Place>,
    has_runnable: bool,
    /// Samples given up before their thread's contentions were known.
    pub dropped: u64,
}

impl Owners {
    /// Keeps at most `samples` samples, and `contexts` contexts.
    pub fn new(samples: usize, contexts: usize) -> Owners {
        Owners {
            recent: FxHashMap::default(),
            rests: Rests::default(),
            idle_ns: FxHashMap::default(),
            kept: 0,
            bound: samples.max(2),
            tree: ContextTree::new(contexts, true),
            sites: FxHashMap::default(),
            places: FxHashMap::default(),
            has_runnable: false,
            dropped: 0,
        }
    }

    /// Weights that a memory bound put elsewhere.
    pub fn folded(&self) -> u64 {
        self.tree.folded
    }

    /// Keeps a park of a virtual thread for the contentions to come. Once more when it is over.
    pub fn rest(&mut self, thread: ThreadId, rest: Rest) {
        self.rests.add(thread, rest);
    }

    /// For how long virtual threads that had this lock slept, or waited for input or output,
    /// while others were blocked on it.
    pub fn idle_ns(&self, lock: LockId) -> u64 {
        self.idle_ns.get(&lock).copied().unwrap_or(0)
    }

    /// Keeps a sample for the contentions to come.
    pub fn sample(&mut self, sample: &Sample) {
        self.has_runnable |= sample.state == SampleState::Runnable;
        if self.kept >= self.bound {
            self.drop_older_half();
        }
        let (time, chain, weight) = (sample.time, sample.chain, sample.weight);
        let seen = Seen { time, chain, state: sample.state, weight, sites: SmallVec::new() };
        let of_thread = self.recent.entry(sample.thread).or_default();
        let at = of_thread.iter().rposition(|earlier| earlier.time <= seen.time).map_or(0, |at| at + 1);
        of_thread.insert(at, seen);
        self.kept += 1;
    }

    /// The stack with which the thread was sampled last, not before `since`.
    pub fn last_seen(&self, thread: ThreadId, since: TimeNs) -> Option<ChainId> {
        let last = self.recent.get(&thread)?.back()?;
        (last.time >= since && last.chain.is_some()).then_some(last.chain)
    }

    /// Gives up the older half of the time that is kept.
    fn drop_older_half(&mut self) {
        let times = |at: fn(&VecDeque<Seen>) -> Option<&Seen>| {
            self.recent.values().filter_map(at).map(|seen| seen.time).collect::<Vec<_>>()
        };
        let (first, last) = (times(VecDeque::front), times(VecDeque::back));
        let (Some(first), Some(last)) = (first.into_iter().min(), last.into_iter().max()) else { return };
        let middle = first + DurationNs(last.since(first).0 / 2);
        self.recent.retain(|_, samples| {
            let older = samples.partition_point(|seen| seen.time <= middle);
            samples.drain(..older);
            !samples.is_empty()
        });
        let kept = self.recent.values().map(VecDeque::len).sum();
        self.dropped += (self.kept - kept) as u64;
        self.kept = kept;
    }

    /// Looks up what the owners did during a contention, and shows it to `also`.
    pub fn contention(
        &mut self,
        contention: &Contention<'_>,
        range: Range,
        names: &mut Names,
        also: &mut dyn ContentionSink,
    ) {
        if (self.recent.is_empty() && self.rests.is_empty()) || contention.kind == Kind::Conditional {
            return;
        }
        for slice in contention.slices {
            let owner = contention.owners.get(slice.owner);
            if owner.thread.is_some() && !slice.owner.is_folded() {
                self.slice(slice, owner, range, names, &mut |sample| also.owner_sample(contention, slice, sample));
            }
        }
    }

    fn slice(
        &mut self,
        slice: &Slice,
        owner: Owner,
        range: Range,
        names: &mut Names,
        show: &mut dyn FnMut(&OwnerSample),
    ) {
        let Some((from, to)) = range.clip(slice.start, slice.start + slice.duration) else { return };
        let site = self.site(owner, names);
        if slice.is_drawn() {
            return; // others had the lock in it, too
        }
        let rests = self.rests.within(owner.thread, from, to);
        for rest in &rests {
            self.rested(site, (slice, owner), rest, names, show);
        }
        let thread = owner.thread;
        let Some(samples) = self.recent.get(&thread) else { return };
        let first = samples.partition_point(|seen| seen.time < from);
        let during: Vec<(usize, OwnerSample)> = samples
            .range(first..)
            .take_while(|seen| seen.time < to)
            .enumerate()
            .map(|(nth, seen)| (first + nth, seen.of_owner()))
            // A virtual thread that keeps its carrier may be sampled in a park.
            .filter(|(_, seen)| !rests.iter().any(|rest| rest.start <= seen.time && seen.time < rest.end))
            .collect();
        for (at, seen) in during {
            let place = self.place(site, owner, seen.chain, names);
            match place.within {
                Some(_) => {
                    self.tree.weigh(place.context, lane(seen.state), Weight::sample(seen.weight.0));
                    self.count_once(site, thread, at);
                }
                None => self.count_outside(site),
            }
            show(&OwnerSample { within: place.within, ..seen });
        }
    }

    /// The thread's sample at this place was taken in the critical section.
    fn count_once(&mut self, site: u32, thread: ThreadId, at: usize) {
        let seen = self.recent.get_mut(&thread).and_then(|samples| samples.get_mut(at));
        if let Some(seen) = seen.filter(|seen| !seen.sites.contains(&site)) {
            seen.sites.push(site);
            if let Some(site) = self.sites.get_mut(&site) {
                site.taken += 1;
            }
        }
    }

    /// The owner, a virtual thread, was parked in a part of the slice.
    fn rested(
        &mut self,
        site: u32,
        (slice, owner): (&Slice, Owner),
        rest: &Rest,
        names: &mut Names,
        show: &mut dyn FnMut(&OwnerSample),
    ) {
        let lasted = rest.end.since(rest.start);
        if rest.is_idle {
            // Pauses count as such, whatever the owner did.
            let runs = slice.duration.0.saturating_sub(slice.stop_the_world.0) as f64 / slice.duration.0.max(1) as f64;
            *self.idle_ns.entry(owner.lock).or_default() += (lasted.0 as f64 * runs) as u64;
        }
        let place = self.place(site, owner, rest.chain, names);
        match place.within {
            Some(_) => self.tree.weigh(place.context, lane(SampleState::Waiting), Weight::sample(lasted.0)),
            None => self.count_outside(site),
        }
        if let Some(site) = self.sites.get_mut(&site).filter(|_| place.within.is_some()) {
            site.parked_ns += lasted.0;
        }
        let (time, weight, chain, state) = (rest.end, lasted, rest.chain, SampleState::Waiting);
        show(&OwnerSample { time, weight, chain, within: place.within, state });
    }

    /// The sample was taken elsewhere: it says nothing about the critical section.
    fn count_outside(&mut self, site: u32) {
        if let Some(site) = self.sites.get_mut(&site) {
            site.outside += 1;
        }
    }

    /// The context of a lock and of the method that held it.
    fn site(&mut self, owner: Owner, names: &mut Names) -> u32 {
        let method = owner.method(names);
        let lock = self.tree.below(ROOT, Step::Lock(owner.lock), FrameKind::default());
        let step = method.map_or(Step::Unknown, |method| Step::Call(method, 0));
        let site = self.tree.below(lock, step, FrameKind::default());
        self.sites.entry(site).or_insert(Site { lock: owner.lock, method, taken: 0, outside: 0, parked_ns: 0 });
        site
    }

    /// The context of the part of a sample's stack that lies within the owner's frame.
    fn place(&mut self, site: u32, owner: Owner, chain: ChainId, names: &mut Names) -> Place {
        if let Some(place) = self.places.get(&(owner, chain)) {
            return *place;
        }
        let outside = Place { context: site, within: None };
        let place = names.chain(chain).map_or(outside, |def| {
            match within(owner, &def.chain.frames, def.chain.truncated, names) {
                Some(frames) => {
                    let context = self.tree.of_frames(site, frames, names);
                    Place { context, within: u16::try_from(frames.len()).ok() }
                }
                None => outside,
            }
        });
        if self.places.len() >= self.bound {
            // Only a shortcut; it fills again.
            self.places.clear();
        }
        self.places.insert((owner, chain), place);
        place
    }

    /// The locks whose owners were sampled.
    pub fn locks(&self) -> FxHashSet<LockId> {
        self.sites.values().map(|site| site.lock).collect()
    }

    /// What owners did, by lock and method that held it, most blocked time
    /// first. `blocked` is for how long each of these blocked others.
    pub fn report(&self, names: &Names, blocked: &FxHashMap<(LockId, Option<NameId>), u64>) -> Vec<OwnerActivity> {
        let lanes = lanes(if self.waiting_seen() { Measure::Wall } else { Measure::Cpu }, self.has_runnable);
        let (tree, places) = self.tree.to_call_tree(lanes, names);
        let (waiting, waiting_places) = self.tree.to_call_tree(&[lane(SampleState::Waiting)], names);
        let place_of = |places: &[u32], site: u32| places.get(site as usize).copied().filter(|at| *at != ROOT);
        let mut activities: Vec<OwnerActivity> = self
            .sites
            .iter()
            .filter_map(|(site, totals)| {
                let place = place_of(&places, *site)?;
                let waited = place_of(&waiting_places, *site).and_then(|at| waiting.context(at));
                let mut activity = describe(&tree, place);
                activity.lock = names.lock_text(totals.lock);
                activity.owner_method = totals
                    .method
                    .and_then(|method| names.method_name(method))
                    .map_or_else(|| UNKNOWN.to_owned(), |name| name.full.clone());
                activity.blocked_ns = blocked.get(&(totals.lock, totals.method)).copied().unwrap_or(0);
                activity.samples_taken = totals.taken;
                activity.outside_samples = totals.outside;
                activity.parked_ns = totals.parked_ns;
                activity.coverage = share(activity.sampled_ns, activity.blocked_ns).min(1.0);
                activity.waiting_ns = waited.map_or(0, |context| context.total.ns);
                Some(activity)
            })
            .collect();
        activities.sort_by(|a, b| {
            let key = |activity: &OwnerActivity| std::cmp::Reverse((activity.blocked_ns, activity.samples));
            key(a).cmp(&key(b)).then_with(|| (&a.lock, &a.owner_method).cmp(&(&b.lock, &b.owner_method)))
        });
        activities
    }

    fn waiting_seen(&self) -> bool {
        !self.tree.total(lane(SampleState::Waiting)).is_zero()
    }
}

/// The part of a stack that lies within the frame that held the lock, that
/// frame included; `None` if the frame is not on the stack.
fn within<'a>(owner: Owner, frames: &'a [Frame], truncated: bool, names: &mut Names) -> Option<&'a [Frame]> {
    let held = names.chain(owner.chain)?;
    let held_frames = &held.chain.frames;
    // Frames on top of the owner may be the waiting machinery itself.
    let path = names.path(owner.chain, owner.frame)?;
    let skipped = names.skip_machinery(&names.frames(path));
    let at = usize::from(owner.frame) + skipped;
    let method = names.method(held_frames.get(at)?.method);
    // While a frame is active it stays as far from the root as it is.
    let depth = held_frames.len() - at;
    let same =
        |index: usize, names: &mut Names| frames.get(index).is_some_and(|frame| names.method(frame.method) == method);
    if let Some(index) = frames.len().checked_sub(depth).filter(|_| !truncated && !held.chain.truncated) {
        if same(index, names) {
            return frames.get(..=index);
        }
    }
    let index = (0..frames.len()).find(|index| same(*index, names))?;
    frames.get(..=index)
}

/// What lies below a context.
fn describe(tree: &super::CallTree, site: u32) -> OwnerActivity {
    let unit = tree.unit();
    let whole = tree.context(site).map_or(Weight::default(), |context| context.total);
    let part = |weight: Weight| weight.in_unit(unit) as f64 / whole.in_unit(unit).max(1) as f64;
    let mut spots: BTreeMap<String, Weight> = BTreeMap::new();
    let mut paths = Vec::new();
    let mut below: Vec<u32> = tree.children(site).to_vec();
    while let Some(at) = below.pop() {
        below.extend(tree.children(at));
        let Some(context) = tree.context(at).filter(|context| !context.own.is_zero()) else { continue };
        *spots.entry(tree.text(at)).or_default() += context.own;
        let chain = tree.path(at).into_iter().rev().take_while(|at| *at != site).map(|at| tree.text(at)).collect();
        paths.push(OwnerPath { share: part(context.own), stack: chain });
    }
    let mut spots: Vec<OwnerSpot> =
        spots.into_iter().map(|(frame, own)| OwnerSpot { frame, share: part(own) }).collect();
    spots.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.frame.cmp(&b.frame)));
    paths.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.stack.cmp(&b.stack)));
    spots.truncate(MOST);
    paths.truncate(MOST);
    OwnerActivity {
        samples: whole.count,
        sampled_ns: whole.ns,
        lines: spots,
        stacks: paths,
        ..OwnerActivity::default()
    }
}
