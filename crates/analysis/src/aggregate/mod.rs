//! Adds up blocked time by contender and by owner.
//!
//! Totals are kept for each contender side (lock, thread, chain) and for each
//! owner; findings need no more. The product of both is kept only in the tree
//! that was asked for, and there only for the values that its aspects
//! distinguish: the sides with the same values of the contender's aspects share
//! a *tuple*, likewise the owners, and a pair of tuples has one path of nodes.

mod drawn;
mod ledger;
mod sums;
mod tree;

pub(crate) use tree::{share, Part};

use crate::aspect::Aspect;
use crate::by_id::Places;
use crate::lock_groups::LockGroups;
use crate::monitor::coverage::Fit;
use crate::monitor::{Basis, Contention, Kind, OwnerId, OwnersById, Shared, Slice};
use crate::names::Names;
use crate::numbering::Numbering;
use crate::options::Options;
use crate::report::{BlockedTime, Row};
use crate::sampled::Draws;
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};
use ledger::Ledger;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tree::{contender_value, owner_value, NodeValue, Tree, Whole};

/// The contender's side of a contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Side {
    pub kind: Kind,
    pub lock: LockId,
    pub thread: ThreadId,
    pub chain: ChainId,
    /// True if a memory bound folded several into this one.
    pub folded: bool,
}

/// Totals of a contender side.
#[derive(Clone, Copy, Debug)]
struct SideCell {
    side: Side,
    lock: u32,
    tuple: u32,
    total: u64,
    /// Whether its thread is a virtual one, and whether it is a service thread, once
    /// that is known.
    is_virtual: Option<bool>,
    is_service: Option<bool>,
}

/// Totals of an owner.
#[derive(Clone, Copy, Debug)]
struct OwnerCell {
    tuple: u32,
    approximate: bool,
    has_chain: bool,
    total: u64,
}

/// Totals of one lock, in ns and contentions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LockTotals {
    pub lock: LockId,
    pub total: u64,
    pub count: u64,
    pub max: u64,
    pub hand_over: u64,
    /// Of that, what blocked threads themselves took that were the next to have it.
    pub own_hand_over: u64,
    /// How often it was waited for while changing hands.
    pub hand_overs: u64,
    pub unknown: u64,
    /// Time in which the VM was paused: nobody's fault, whoever owned the lock.
    pub paused: u64,
    pub after_wait: u64,
    pub in_virtual: u64,
    /// Time with a known owner that was not recorded one by one: what its owners did then is not known.
    pub shared_owned: u64,
    /// True for a lock of `java.util.concurrent`.
    pub is_juc: bool,
}

impl LockTotals {
    /// Blocked time whose owner is known, without pauses.
    pub fn owned(&self) -> u64 {
        self.total - self.hand_over - self.unknown - self.paused
    }

    /// How many times longer that is than the part that was recorded one by one.
    pub fn recorded_scale(&self) -> f64 {
        match self.owned().saturating_sub(self.shared_owned) {
            0 => 1.0,
            recorded => self.owned() as f64 / recorded as f64,
        }
    }

    /// For which part of that its owner was not itself blocked, if owners were
    /// blocked so long (`through`).
    pub fn active(&self, through: &FxHashMap<LockId, u64>) -> f64 {
        let through = through.get(&self.lock).copied().unwrap_or(0).min(self.owned());
        1.0 - share(through, self.owned())
    }
}

/// The part of time that counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub from: TimeNs,
    pub to: TimeNs,
}

impl Range {
    /// The part of a span that lies in the range.
    pub fn clip(&self, start: TimeNs, end: TimeNs) -> Option<(TimeNs, TimeNs)> {
        let (start, end) = (start.max(self.from), end.min(self.to));
        (start < end).then_some((start, end))
    }
}

/// A pair of tuples, in an interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PathKey {
    contender: u32,
    owner: u32,
    interval: u32,
}

/// The values of some aspects, in the order of the breakdown: few mostly, which
/// need no memory besides the table's.
type Tuple = SmallVec<[NodeValue; 2]>;

/// So many shared slices are walked as quickly as they are looked up.
const FEW: usize = 8;
/// So many combinations of contender and owner are kept for who asks for estimates only, whose totals come from elsewhere.
const MOST_ESTIMATED: usize = 1 << 15;
/// Stands for an owner that has no cell yet.
const NO_TUPLE: u32 = u32::MAX;

/// Totals of all contentions.
#[derive(Debug)]
pub(crate) struct Aggregate {
    tree: Tree,
    /// Length of the intervals if the breakdown is by time.
    interval: Option<DurationNs>,
    only_estimates: bool,
    side_ids: Numbering,
    /// The side asked for last: one contention asks more than once.
    latest_side: Option<(Side, u32)>,
    sides: Vec<SideCell>,
    /// By `OwnerId::index`.
    owner_cells: Vec<OwnerCell>,
    tuple_ids: Numbering,
    tuples: Vec<Tuple>,
    path_ids: FxHashMap<PathKey, u32>,
    /// Nodes of the tree from root to leaf, path after path.
    paths: Vec<u32>,
    folded_path: Option<u32>,
    lock_ids: Places<LockId>,
    locks: Vec<LockTotals>,
    /// By place in `locks`.
    ledgers: Vec<Option<Box<Ledger>>>,
    /// Places of ledgers that have something to settle.
    unsettled: Vec<u32>,
    contentions: u64,
    /// Scratch: a contention's parts by owner's tuple, and the tuples that have any.
    by_owner: Vec<Part>,
    owners: Vec<u32>,
    /// Scratch: what owners' tuples have of shared slices.
    parts: Vec<(u32, Part)>,
    bound: usize,
    /// Of all locks, what service threads were blocked.
    service: LockTotals,
    /// What rests on random instants.
    draws: Draws,
    pub blocked_ns: u64,
    pub blocked: BlockedTime,
    pub folded: u64,
}

impl Aggregate {
    pub fn new(options: &Options) -> Aggregate {
        let by_time = options.by.contains(&Aspect::Time);
        Aggregate {
            tree: Tree::new(&options.by),
            interval: by_time.then_some(options.time_bucket.max(DurationNs(1))),
            only_estimates: options.only_estimates,
            side_ids: Numbering::default(),
            latest_side: None,
            sides: Vec::new(),
            owner_cells: Vec::new(),
            tuple_ids: Numbering::default(),
            tuples: Vec::new(),
            path_ids: FxHashMap::default(),
            paths: Vec::new(),
            folded_path: None,
            lock_ids: Places::default(),
            locks: Vec::new(),
            ledgers: Vec::new(),
            unsettled: Vec::new(),
            contentions: 0,
            by_owner: Vec::new(),
            owners: Vec::new(),
            parts: Vec::new(),
            bound: options.bounds.leaves.min(u32::MAX as usize / 2),
            service: LockTotals::default(),
            draws: Draws::new(options.bounds.leaves.saturating_mul(4)),
            blocked_ns: 0,
            blocked: BlockedTime::default(),
            folded: 0,
        }
    }

    /// Contentions with time in the range.
    pub fn contentions(&self) -> u64 {
        self.contentions
    }

    /// Counts contentions that are shorter than the minimum duration, and their time in the range.
    pub fn leave_out(&mut self, count: u64, ns: u64) {
        self.blocked.below_minimum += count;
        self.blocked.below_minimum_ns += ns;
    }

    /// Adds a contention, as far as it lies in the range. Gives the time that this is,
    /// and how much of it was a pause.
    pub fn add(&mut self, contention: &Contention<'_>, range: Range, names: &mut Names) -> (u64, u64) {
        if range.clip(contention.start, contention.start + contention.duration).is_none() {
            return (0, 0);
        }
        self.contentions += 1;
        let side = self.side(
            Side {
                kind: contention.kind,
                lock: contention.lock,
                thread: contention.thread,
                chain: contention.chain,
                folded: false,
            },
            names,
        );
        let lock = self.sides[side as usize].lock;
        let is_service = self.is_service(contention.thread, side, names);
        let before = self.locks[lock as usize];
        let (total, others) = match is_service {
            // What they were blocked by is added up apart, so slices are walked.
            true => (0, [contention.slices, &[][..]]),
            false => self.add_shared(contention, lock, range, names),
        };
        let mut total = total;
        for slice in others.into_iter().flatten() {
            let Some(part) = clip(slice, range) else { continue };
            total += part.duration;
            self.account(slice, lock, part, 1);
            if self.interval.is_some() {
                self.add_by_interval(contention, side, slice, range, names);
            } else {
                self.add_to_owner(contention.owners, slice.owner, part, names);
            }
        }
        self.add_owners(contention, side);
        self.add_to_lock(contention, side, total, names);
        let after = self.locks[lock as usize];
        if is_service {
            self.service.hand_over += after.hand_over - before.hand_over;
            self.service.paused += after.paused - before.paused;
        }
        (total, after.paused - before.paused)
    }

    fn is_service(&mut self, thread: ThreadId, side: u32, names: &Names) -> bool {
        let cell = &mut self.sides[side as usize];
        if cell.is_service.is_none() || cell.side.folded {
            cell.is_service = names.thread(thread).map(|def| def.is_service);
        }
        cell.is_service.unwrap_or(false)
    }

    /// Of all locks, what service threads were blocked: hand-offs and pauses.
    pub fn service(&self) -> &LockTotals {
        &self.service
    }

    /// Adds the slices that the contention shares with others, if they need not be
    /// looked at one by one. Gives their time, and the slices that are left.
    fn add_shared<'s>(
        &mut self,
        contention: &Contention<'s>,
        lock: u32,
        range: Range,
        names: &mut Names,
    ) -> (u64, [&'s [Slice]; 2]) {
        let whole = (0, [contention.slices, &[]]);
        let inside = range.from <= contention.start && contention.start + contention.duration <= range.to;
        let (Some((shared, slices)), others) = contention.split() else { return whole };
        if !inside || self.interval.is_some() || slices.len() < FEW {
            return whole;
        }
        let Some(mut ledger) = self.ledger_for(lock, &shared) else { return whole };
        if !ledger.is_worth(slices.len()) {
            self.put_back(lock, ledger);
            return whole;
        }
        if !ledger.is_waiting() {
            self.unsettled.push(lock);
        }
        let mut parts = std::mem::take(&mut self.parts);
        let owners = contention.owners;
        let owner_of = |slice: &Slice| {
            let cell = self.owner_cell(owners, slice.owner, names);
            (cell.tuple, cell.approximate)
        };
        ledger.add(&shared, slices, owner_of, |owner, part| parts.push((owner, part)));
        parts.drain(..).for_each(|(owner, part)| self.add_to_tuple(owner, part));
        self.parts = parts;
        self.put_back(lock, ledger);
        let end = slices.last().map_or(TimeNs(0), |last| last.start + last.duration);
        (slices.first().map_or(0, |first| end.since(first.start).0), others)
    }

    /// The lock's ledger, taken out, ready for these slices; `None` if they have to
    /// be walked.
    fn ledger_for(&mut self, lock: u32, shared: &Shared) -> Option<Box<Ledger>> {
        if self.ledgers.len() <= lock as usize {
            self.ledgers.resize_with(lock as usize + 1, || None);
        }
        let mut ledger = self.ledgers.get_mut(lock as usize)?.take().unwrap_or_default();
        match ledger.fit(shared) {
            Fit::Yes => Some(ledger),
            Fit::Anew => {
                ledger.settle(|slice, times| self.account(slice, lock, Part::running(slice.duration.0 * times), times));
                ledger.begin(shared);
                Some(ledger)
            }
            Fit::TooEarly => {
                self.put_back(lock, ledger);
                None
            }
        }
    }

    fn put_back(&mut self, lock: u32, ledger: Box<Ledger>) {
        if let Some(place) = self.ledgers.get_mut(lock as usize) {
            *place = Some(ledger);
        }
    }

    /// Accounts for the slices that contentions share: what they come to by right of
    /// owner is otherwise not known.
    pub fn settle(&mut self) {
        for lock in std::mem::take(&mut self.unsettled) {
            let Some(mut ledger) = self.ledgers.get_mut(lock as usize).and_then(Option::take) else { continue };
            ledger.settle(|slice, times| self.account(slice, lock, Part::running(slice.duration.0 * times), times));
            self.put_back(lock, ledger);
        }
    }

    /// Adds a part to its owner's tuple first: a contention has many slices, but
    /// few owners that the breakdown distinguishes.
    fn add_to_owner(&mut self, owners: &OwnersById, owner: OwnerId, part: Part, names: &mut Names) {
        let cell = self.owner_cell(owners, owner, names);
        let (running, paused) = part.split(cell.approximate);
        self.add_to_tuple(cell.tuple, running);
        if paused.duration > 0 {
            let tuple = self.paused_tuple();
            self.add_to_tuple(tuple, paused);
        }
    }

    fn add_to_tuple(&mut self, tuple: u32, part: Part) {
        if part.duration == 0 {
            return;
        }
        let at = tuple as usize;
        if self.by_owner.len() <= at {
            self.by_owner.resize(at + 1, Part::default());
        }
        let sum = &mut self.by_owner[at];
        if sum.duration == 0 {
            self.owners.push(tuple);
        }
        sum.add(part);
    }

    fn add_owners(&mut self, contention: &Contention<'_>, side: u32) {
        let mut owners = std::mem::take(&mut self.owners);
        for owner in owners.drain(..) {
            let part = std::mem::take(&mut self.by_owner[owner as usize]);
            let key = PathKey { contender: self.sides[side as usize].tuple, owner, interval: 0 };
            self.add_along(key, contention.kind, part);
        }
        self.owners = owners;
    }

    fn add_by_interval(
        &mut self,
        contention: &Contention<'_>,
        side: u32,
        slice: &Slice,
        range: Range,
        names: &mut Names,
    ) {
        let Some(length) = self.interval else { return };
        let Some((mut at, end)) = range.clip(slice.start, slice.start + slice.duration) else {
            return;
        };
        while at < end {
            let number = at.since(range.from).0 / length.0;
            let next = range.from + DurationNs((number + 1).saturating_mul(length.0));
            let piece = Range { from: at, to: next.min(end) };
            if let Some(part) = clip(slice, piece) {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                self.add_part(contention, side, slice.owner, number, part, names);
            }
            at = piece.to;
        }
    }

    /// Where a slice of a contention that was added is found in the breakdown, for
    /// [`Self::set_off_cpu`].
    pub fn path_of(&self, contention: &Contention<'_>, slice: &Slice, range: Range) -> Option<u32> {
        if self.tree.by().is_empty() {
            return None;
        }
        let Contention { kind, lock, thread, chain, .. } = *contention;
        let side = Side { kind, lock, thread, chain, folded: false };
        let latest = self.latest_side.filter(|(latest, _)| *latest == side).map(|(_, id)| id);
        let known = || self.find_side(&side).or_else(|| self.find_side(&folded_side(kind)));
        let side = latest.or_else(known)?;
        let (start, _) = range.clip(slice.start, slice.start + slice.duration)?;
        let number = |length: DurationNs| u32::try_from(start.since(range.from).0 / length.0).unwrap_or(u32::MAX);
        let key = PathKey {
            contender: self.sides.get(side as usize)?.tuple,
            owner: self.owner_cells.get(slice.owner.index())?.tuple,
            interval: self.interval.map_or(0, number),
        };
        self.path_ids.get(&key).copied().or(self.folded_path)
    }

    /// How long owners probably had no CPU, by path.
    pub fn set_off_cpu(&mut self, off_cpu: &FxHashMap<u32, f64>) {
        self.tree.clear_off_cpu();
        for (path, ns) in off_cpu {
            let nodes = self.paths.iter().skip(*path as usize).take(self.tree.by().len());
            nodes.for_each(|node| self.tree.add_off_cpu(*node, *ns));
        }
    }

    fn add_part(
        &mut self,
        contention: &Contention<'_>,
        side: u32,
        id: OwnerId,
        interval: u32,
        part: Part,
        names: &mut Names,
    ) {
        let cell = self.owner_cell(contention.owners, id, names);
        let (running, paused) = part.split(cell.approximate);
        let contender = self.sides[side as usize].tuple;
        for (owner, part) in [(cell.tuple, running), (self.paused_tuple(), paused)] {
            if part.duration > 0 {
                self.add_along(PathKey { contender, owner, interval }, contention.kind, part);
            }
        }
    }

    /// Stands for the owner while the VM was paused.
    fn paused_tuple(&mut self) -> u32 {
        let aspects = self.tree.by().iter().filter(|aspect| aspect.is_of_owner());
        let tuple = aspects.map(|_| NodeValue::Paused).collect();
        self.tuple(tuple)
    }

    fn add_along(&mut self, key: PathKey, kind: Kind, part: Part) {
        let path = self.path(key, kind) as usize;
        for node in &self.paths[path..path + self.tree.by().len()] {
            self.tree.add(*node, self.contentions, part);
        }
    }

    /// Notes by what right the slice has its owner, in so many contentions with so
    /// much time together.
    #[inline]
    fn account(&mut self, slice: &Slice, lock: u32, part: Part, times: u64) {
        let ns = part.duration - part.paused;
        let blocked = &mut self.blocked;
        blocked.pause_ns += part.paused;
        blocked.last_reader_ns += if slice.basis == Basis::LastReader { ns } else { 0 };
        let lock = &mut self.locks[lock as usize];
        lock.paused += part.paused;
        match slice.basis {
            // Distinguished by the owner's chain, in `accounted`.
            Basis::Exit | Basis::LastReader | Basis::Held | Basis::SeenAtEnter | Basis::PreviousOwner => {
                let at = slice.owner.index();
                if self.owner_cells.len() <= at {
                    self.owner_cells.resize(at + 1, OwnerCell::NEW);
                }
                self.owner_cells[at].total += ns;
            }
            Basis::HandOver | Basis::WakeUp => {
                blocked.hand_off_ns += ns;
                lock.hand_over += ns;
                lock.own_hand_over += if slice.basis == Basis::WakeUp { ns } else { 0 };
                lock.hand_overs += times * u64::from(slice.stands_for);
            }
            Basis::ExitMissed | Basis::Gap | Basis::NoMark => {
                blocked.unknown_ns += ns;
                lock.unknown += ns;
            }
        }
    }

    fn add_to_lock(&mut self, contention: &Contention<'_>, side: u32, total: u64, names: &Names) {
        let when = |condition: bool| if condition { total } else { 0 };
        let cell = &mut self.sides[side as usize];
        cell.total += total;
        let of_thread = || names.thread(contention.thread).map(|def| def.is_virtual);
        if cell.is_virtual.is_none() || cell.side.folded {
            cell.is_virtual = of_thread();
        }
        let is_virtual = cell.is_virtual.unwrap_or(false);
        let lock = &mut self.locks[cell.lock as usize];
        lock.total += total;
        lock.count += 1;
        lock.max = lock.max.max(total);
        lock.after_wait += when(contention.after_wait);
        lock.in_virtual += when(is_virtual);
        lock.is_juc |= contention.kind == Kind::Juc;
        let blocked = &mut self.blocked;
        self.blocked_ns += total;
        blocked.after_wait_ns += when(contention.after_wait);
        blocked.in_flight_ns += when(contention.in_flight);
        blocked.bounded_ns += when(contention.bound);
        blocked.virtual_ns += when(is_virtual);
        blocked.juc_ns += when(contention.kind == Kind::Juc);
        blocked.max_ns = blocked.max_ns.max(total);
    }

    fn side(&mut self, side: Side, names: &mut Names) -> u32 {
        let id = match self.find_side(&side) {
            Some(id) => id,
            None => self.new_side(side, names),
        };
        self.latest_side = Some((side, id));
        id
    }

    #[inline]
    fn find_side(&self, side: &Side) -> Option<u32> {
        self.side_ids.find(side, |id| self.sides.get(id as usize).is_some_and(|cell| cell.side == *side))
    }

    fn new_side(&mut self, side: Side, names: &mut Names) -> u32 {
        if self.sides.len() >= self.bound && !side.folded {
            self.folded += 1;
            return self.side(folded_side(side.kind), names);
        }
        let lock = self.lock(side.lock);
        let of_contender = |aspect: &Aspect| !aspect.is_of_owner() && *aspect != Aspect::Time;
        let aspects = self.tree.by().iter().copied().filter(of_contender);
        let is_full = self.only_estimates && self.tuples.len() >= MOST_ESTIMATED;
        let shown = if is_full { folded_side(side.kind) } else { side };
        let tuple = aspects.map(|aspect| contender_value(aspect, &shown, names)).collect();
        let tuple = self.tuple(tuple);
        let id = self.sides.len() as u32;
        self.sides.push(SideCell { side, lock, tuple, total: 0, is_virtual: None, is_service: None });
        self.side_ids.add(&side, id);
        id
    }

    fn tuple(&mut self, tuple: Tuple) -> u32 {
        let Aggregate { tuples, tuple_ids, .. } = self;
        if let Some(id) = tuple_ids.find(&tuple, |id| tuples.get(id as usize) == Some(&tuple)) {
            return id;
        }
        let id = tuples.len() as u32;
        tuples.push(tuple.clone());
        tuple_ids.add(&tuple, id);
        id
    }

    fn owner_cell(&mut self, owners: &OwnersById, id: OwnerId, names: &mut Names) -> OwnerCell {
        let at = id.index();
        if self.owner_cells.len() <= at {
            self.owner_cells.resize(at + 1, OwnerCell::NEW);
        }
        if self.owner_cells[at].tuple == NO_TUPLE {
            let owner = owners.get(id);
            let aspects = self.tree.by().iter().copied().filter(|aspect| aspect.is_of_owner());
            let tuple = aspects.map(|aspect| owner_value(aspect, id, &owner, names)).collect();
            let tuple = self.tuple(tuple);
            self.owner_cells[at] = OwnerCell {
                tuple,
                approximate: owner.approximate || names.is_approximate(owner.chain, owner.frame),
                has_chain: owner.chain.is_some(),
                total: self.owner_cells[at].total,
            };
        }
        self.owner_cells[at]
    }

    /// Where the nodes of a pair of tuples begin in `paths`.
    fn path(&mut self, key: PathKey, kind: Kind) -> u32 {
        if let Some(path) = self.path_ids.get(&key) {
            return *path;
        }
        if self.only_estimates && self.path_ids.len() >= MOST_ESTIMATED {
            return self.fold(kind);
        }
        if self.path_ids.len() >= self.bound {
            self.folded += 1;
            return self.fold(kind);
        }
        let mut contender = self.tuples[key.contender as usize].clone().into_iter();
        let mut owner = self.tuples[key.owner as usize].clone().into_iter();
        let path = self.add_path(|aspect| {
            let value = match aspect {
                Aspect::Time => Some(NodeValue::Time(key.interval)),
                _ if aspect.is_of_owner() => owner.next(),
                _ => contender.next(),
            };
            value.unwrap_or(NodeValue::Unknown)
        });
        self.path_ids.insert(key, path);
        path
    }

    fn fold(&mut self, kind: Kind) -> u32 {
        if let Some(path) = self.folded_path {
            return path;
        }
        let path = self.add_path(|aspect| match aspect {
            Aspect::Kind => NodeValue::Kind(kind),
            _ => NodeValue::Folded,
        });
        self.folded_path = Some(path);
        path
    }

    fn add_path(&mut self, mut value: impl FnMut(Aspect) -> NodeValue) -> u32 {
        let path = self.paths.len() as u32;
        let mut parent = None;
        for level in 0..self.tree.by().len() {
            let value = value(self.tree.by()[level]);
            let node = self.tree.node(parent, level, value);
            self.paths.push(node);
            parent = Some(node);
        }
        path
    }

    fn lock(&mut self, lock: LockId) -> u32 {
        self.lock_ids.get(lock).unwrap_or_else(|| {
            let place = self.locks.len() as u32;
            self.locks.push(LockTotals { lock, ..LockTotals::default() });
            self.lock_ids.insert(lock, place);
            place
        })
    }

    /// How the blocked time was accounted for.
    pub fn accounted(&self) -> BlockedTime {
        let mut blocked = self.blocked.clone();
        for cell in &self.owner_cells {
            match cell.has_chain {
                true => blocked.owner_stack_ns += cell.total,
                false => blocked.owner_thread_ns += cell.total,
            }
        }
        blocked
    }

    /// Time blocked on these locks by owners of which the thread is known, but no call stack.
    pub fn without_chain(&self, owners: &OwnersById, locks: &FxHashSet<LockId>) -> u64 {
        let of_these = owners.all().filter(|(_, owner)| !owner.chain.is_some() && locks.contains(&owner.lock));
        of_these.filter_map(|(id, _)| self.owner_cells.get(id.index())).map(|cell| cell.total).sum()
    }

    /// The breakdown that was asked for.
    pub fn rows(&self, names: &Names, groups: &LockGroups) -> Vec<Row> {
        let interval = self.interval.unwrap_or(DurationNs(1));
        let strata = self.strata(names);
        if self.only_estimates && strata.is_none() {
            return Vec::new();
        }
        let whole = Whole { ns: self.blocked_ns, interval, strata: strata.as_ref() };
        self.tree.rows(names, groups, whole)
    }

    /// The aspects of that breakdown.
    pub fn by(&self) -> &[Aspect] {
        self.tree.by()
    }

    /// Every lock's totals, by lock.
    pub fn totals(&self) -> FxHashMap<LockId, LockTotals> {
        self.locks.iter().map(|totals| (totals.lock, *totals)).collect()
    }

    /// A lock's totals.
    pub fn total_of(&self, lock: LockId) -> Option<&LockTotals> {
        self.lock_ids.get(lock).and_then(|place| self.locks.get(place as usize))
    }

    /// Every lock with blocked time, in no particular order.
    pub fn locks(&self) -> &[LockTotals] {
        &self.locks
    }

    /// Every contender side with its blocked time.
    pub fn sides(&self) -> impl Iterator<Item = (&Side, u64)> {
        self.sides.iter().map(|cell| (&cell.side, cell.total))
    }

    /// The time that an owner blocked others.
    pub fn held_ns(&self, owner: OwnerId) -> u64 {
        self.owner_cells.get(owner.index()).map_or(0, |cell| cell.total)
    }
}

impl OwnerCell {
    const NEW: OwnerCell = OwnerCell { tuple: NO_TUPLE, approximate: false, has_chain: false, total: 0 };
}

fn folded_side(kind: Kind) -> Side {
    Side { kind, lock: LockId::NONE, thread: ThreadId::NONE, chain: ChainId::NONE, folded: true }
}

/// The part of a slice that lies in the range, its paused time pro rata.
pub(crate) fn clip(slice: &Slice, range: Range) -> Option<Part> {
    let (start, end) = range.clip(slice.start, slice.start + slice.duration)?;
    let duration = end.since(start);
    let paused = match slice.stop_the_world {
        DurationNs::ZERO => 0,
        all if duration == slice.duration => all.0,
        all => (u128::from(all.0) * u128::from(duration.0) / u128::from(slice.duration.0)) as u64,
    };
    Some(Part { duration: duration.0, paused, approximate: 0 })
}
