//! Wait-for chains: holders that were themselves blocked.
//!
//! A thread that holds a contended lock and is blocked elsewhere passes its
//! blocking on: whoever waits for the first lock waits in truth for the holder
//! of the second, and so on to a *root* that was not blocked. Monitors, locks
//! of `java.util.concurrent` and conditional waits are links alike; at a
//! conditional wait the root is whoever ended it.
//!
//! Slices say whether their holder may have been blocked meanwhile; only those
//! are looked at. The holder's own stretches have ended by then, because it
//! could not have released the lock before; they are kept until then, within
//! bounds.

use crate::aggregate::Range;
use crate::by_id::ById;
use crate::monitor::{HolderId, Holders, Kind, Stretch};
use crate::names::{NameId, Names};
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Links followed at most.
const DEEPEST: usize = 8;
/// What is kept of each thread in any case, and at most.
const FEW: usize = 16;
const MANY: usize = 1024;
/// What is kept of all threads beyond the few of each.
const MORE: usize = 1 << 16;

/// A blocked stretch of a thread, as far as others blocked by it need it.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    start: TimeNs,
    end: TimeNs,
    kind: Kind,
    lock: LockId,
    /// The holder that blocked it longest.
    holder: HolderId,
}

/// What is kept of a thread.
#[derive(Debug, Default)]
struct Kept {
    blocked: VecDeque<Blocked>,
    /// True if they are not in the order of time: locks are settled in any order.
    is_mixed: bool,
}

/// A slice whose holder may have been blocked.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    lock: LockId,
    kind: Kind,
    start: TimeNs,
    end: TimeNs,
    holder: HolderId,
}

/// A link of a chain: a lock, and the method that held it (or ended the wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Link {
    pub kind: Kind,
    pub lock: LockId,
    pub method: Option<NameId>,
    pub thread: ThreadId,
}

/// Blocked time that a chain explains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explained {
    pub total_ns: u64,
    pub count: u64,
}

/// Finds wait-for chains.
#[derive(Debug)]
pub(crate) struct WaitFor {
    threads: ById<ThreadId, Kept>,
    suspects: Vec<Suspect>,
    chains: FxHashMap<Vec<Link>, Explained>,
    /// Kept beyond the few of each thread.
    more: usize,
    bound: usize,
    pub folded: u64,
}

impl WaitFor {
    /// Keeps to so many threads and chains.
    pub fn new(bound: usize) -> WaitFor {
        WaitFor {
            threads: ById::default(),
            suspects: Vec::new(),
            chains: FxHashMap::default(),
            more: 0,
            bound: bound.max(1),
            folded: 0,
        }
    }

    /// Takes in a stretch that is over; contention counts as far as it lies in
    /// `range`.
    pub fn stretch(&mut self, stretch: &Stretch<'_>, range: Range) {
        let mut longest = (HolderId::UNKNOWN, 0);
        for slice in stretch.slices {
            if slice.holder.is_known() && slice.duration.0 > longest.1 {
                longest = (slice.holder, slice.duration.0);
            }
            if slice.holder_blocked && stretch.kind != Kind::Conditional {
                self.suspect(stretch, slice.start, slice.start + slice.duration, slice.holder, range);
            }
        }
        self.remember(stretch, longest.0);
    }

    fn suspect(&mut self, stretch: &Stretch<'_>, start: TimeNs, end: TimeNs, holder: HolderId, range: Range) {
        let Some((start, end)) = range.clip(start, end) else { return };
        if self.suspects.len() >= self.bound {
            self.folded += 1;
            return;
        }
        self.suspects.push(Suspect { lock: stretch.lock, kind: stretch.kind, start, end, holder });
    }

    fn remember(&mut self, stretch: &Stretch<'_>, holder: HolderId) {
        if self.threads.len() >= self.bound && self.threads.get(stretch.thread).is_none() {
            // Chains across this moment are lost, no more.
            self.folded += 1;
            self.threads.clear();
            self.more = 0;
        }
        let Some(kept) = self.threads.get_or_add(stretch.thread, usize::MAX, Kept::default) else { return };
        // Who is blocked often in a second is so before the suspects of that second are known.
        let Kept { blocked, is_mixed } = kept;
        let is_full = blocked.len() >= MANY || self.more >= MORE;
        if blocked.len() >= FEW {
            match is_full {
                true => drop(blocked.pop_front()),
                false => self.more += 1,
            }
        }
        let (start, end) = (stretch.start, stretch.start + stretch.duration);
        *is_mixed |= blocked.back().is_some_and(|last| last.start > start);
        blocked.push_back(Blocked { start, end, kind: stretch.kind, lock: stretch.lock, holder });
    }

    /// All stretches that ended before some moment were taken in: follows the
    /// suspects.
    ///
    /// `lock_of` tells the lock of a condition: waiting on a condition releases
    /// that lock, and so is no reason why its holder held it.
    pub fn follow(&mut self, holders: &Holders, lock_of: impl Fn(LockId) -> Option<LockId>, names: &mut Names) {
        let suspects = std::mem::take(&mut self.suspects);
        let (mut path, mut methods) = (Vec::with_capacity(DEEPEST), FxHashMap::default());
        let WaitFor { threads, chains, bound, folded, .. } = self;
        let mut following = Following { threads, chains, bound: *bound, folded, holders, names, methods: &mut methods };
        for suspect in &suspects {
            let found = following.meanwhile(suspect, &lock_of);
            if !found.is_empty() {
                path.push(following.link(suspect.kind, suspect.lock, suspect.holder));
                following.follow(suspect, &found, &mut path, &lock_of);
                path.clear();
            }
        }
    }

    /// For how much of the time that threads were blocked on a lock its owner was
    /// itself blocked or waiting.
    pub fn by_lock(&self) -> FxHashMap<LockId, u64> {
        let mut through: FxHashMap<LockId, u64> = FxHashMap::default();
        for (path, explained) in &self.chains {
            if let Some(first) = path.first() {
                *through.entry(first.lock).or_default() += explained.total_ns;
            }
        }
        through
    }

    /// Every chain of two links or more, and what it explains.
    pub fn chains(&self) -> impl Iterator<Item = (&[Link], Explained)> {
        self.chains.iter().map(|(path, explained)| (path.as_slice(), *explained))
    }
}

/// Contentions and waits in which the owner of what a suspect waited for was itself away.
type Found = SmallVec<[Blocked; 4]>;

/// What following suspects needs.
struct Following<'a> {
    threads: &'a mut ById<ThreadId, Kept>,
    chains: &'a mut FxHashMap<Vec<Link>, Explained>,
    bound: usize,
    folded: &'a mut u64,
    holders: &'a Holders,
    names: &'a mut Names,
    /// The methods of holders that were asked for already.
    methods: &'a mut FxHashMap<HolderId, Option<NameId>>,
}

impl Following<'_> {
    /// The stretches in which the suspect's holder was blocked elsewhere.
    fn meanwhile(&mut self, suspect: &Suspect, lock_of: &impl Fn(LockId) -> Option<LockId>) -> Found {
        let names = &*self.names;
        let releases = |blocked: &Blocked| {
            blocked.kind == Kind::Conditional
                && lock_of(blocked.lock).is_none_or(|lock| lock == suspect.lock)
                && names.lock(blocked.lock).is_none_or(|def| def.class.contains("$ConditionObject"))
        };
        let Some(kept) = self.threads.get_mut(self.holders.get(suspect.holder).thread) else { return Found::new() };
        if std::mem::take(&mut kept.is_mixed) {
            kept.blocked.make_contiguous().sort_by_key(|blocked| blocked.start);
        }
        let first = kept.blocked.partition_point(|blocked| blocked.end <= suspect.start);
        let meanwhile = kept.blocked.range(first..).take_while(|blocked| blocked.start < suspect.end);
        meanwhile.filter(|blocked| blocked.lock != suspect.lock && !releases(blocked)).copied().collect()
    }

    /// What the suspect's holder was blocked by, as one chain for each of its
    /// contentions and waits in that time (`found`), after the links of `path`.
    fn follow(
        &mut self,
        suspect: &Suspect,
        found: &[Blocked],
        path: &mut Vec<Link>,
        lock_of: &impl Fn(LockId) -> Option<LockId>,
    ) {
        let mut explained = 0;
        for blocked in found {
            let (start, end) = (blocked.start.max(suspect.start), blocked.end.min(suspect.end));
            let thread = self.holders.get(blocked.holder).thread;
            let circle = path.iter().any(|link| link.thread == thread);
            path.push(self.link(blocked.kind, blocked.lock, blocked.holder));
            explained += end.since(start).0;
            let ends = path.len() >= DEEPEST || !blocked.holder.is_known() || blocked.kind == Kind::Conditional;
            if circle || ends {
                self.add(path, end.since(start).0);
            } else {
                let next = Suspect { lock: blocked.lock, kind: blocked.kind, start, end, holder: blocked.holder };
                let found = self.meanwhile(&next, lock_of);
                self.follow(&next, &found, path, lock_of);
            }
            path.pop();
        }
        let rest = suspect.end.since(suspect.start).0.saturating_sub(explained);
        if path.len() > 1 && rest > 0 {
            self.add(path, rest);
        }
    }

    fn add(&mut self, path: &[Link], ns: u64) {
        if let Some(known) = self.chains.get_mut(path) {
            known.total_ns += ns;
            known.count += 1;
        } else if self.chains.len() < self.bound {
            self.chains.insert(path.to_vec(), Explained { total_ns: ns, count: 1 });
        } else {
            *self.folded += 1;
        }
    }

    fn link(&mut self, kind: Kind, lock: LockId, id: HolderId) -> Link {
        let holder = self.holders.get(id);
        let method = *self.methods.entry(id).or_insert_with(|| {
            let path = match holder.chain {
                ChainId::NONE => None,
                chain => self.names.holder_path(chain, holder.frame),
            };
            path.and_then(|path| self.names.acting_method(path))
        });
        Link { kind, lock, method, thread: holder.thread }
    }
}
