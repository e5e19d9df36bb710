//! Wait-for chains: owners that were themselves blocked.
//!
//! A thread that holds a contended lock and is blocked elsewhere passes its
//! blocking on: whoever waits for the first lock waits in truth for the owner
//! of the second, and so on to a *root* that was not blocked. Monitors, locks
//! of `java.util.concurrent` and conditional waits are links alike; at a
//! conditional wait the root is whoever ended it.
//!
//! Slices say whether their owner may have been blocked meanwhile; only those
//! are looked at. The owner's own contentions have ended by then, because it
//! could not have released the lock before; they are kept until then, within
//! bounds.

mod chains;

use crate::aggregate::Range;
use crate::by_id::ById;
use crate::monitor::{Contention, Kind, OwnerId, OwnersById};
use crate::names::{NameId, Names};
use chains::{Chains, Links, Path};
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Links followed at most.
const DEEPEST: usize = 8;
/// What is kept of each thread in any case, and at most.
const FEW: usize = 16;
const MANY: usize = 1024;
/// What is kept of all threads beyond the few of each.
const MORE: usize = 1 << 16;

/// A contention of a thread, as far as others blocked by it need it.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    start: TimeNs,
    end: TimeNs,
    kind: Kind,
    lock: LockId,
    /// The owner that blocked it longest.
    owner: OwnerId,
}

/// What is kept of a thread.
#[derive(Debug, Default)]
struct Kept {
    blocked: VecDeque<Blocked>,
    /// True if they are not in the order of time: locks are settled in any order.
    is_mixed: bool,
}

/// A slice whose owner may have been blocked.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    lock: LockId,
    kind: Kind,
    start: TimeNs,
    end: TimeNs,
    owner: OwnerId,
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
    chains: Chains,
    /// What the owners of suspects were blocked by, while chains are followed.
    found: Vec<Blocked>,
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
            chains: Chains::new(bound.max(1)),
            found: Vec::new(),
            more: 0,
            bound: bound.max(1),
            folded: 0,
        }
    }

    /// Takes in a contention that is over; the contention counts as far as it lies in
    /// `range`.
    pub fn contention(&mut self, contention: &Contention<'_>, range: Range) {
        let mut longest = (OwnerId::UNKNOWN, 0);
        for slice in contention.slices {
            if slice.owner.is_known() && slice.duration.0 > longest.1 {
                longest = (slice.owner, slice.duration.0);
            }
            if slice.owner_blocked && contention.kind != Kind::Conditional {
                self.suspect(contention, slice.start, slice.start + slice.duration, slice.owner, range);
            }
        }
        self.remember(contention, longest.0);
    }

    fn suspect(&mut self, contention: &Contention<'_>, start: TimeNs, end: TimeNs, owner: OwnerId, range: Range) {
        let Some((start, end)) = range.clip(start, end) else { return };
        if self.suspects.len() >= self.bound {
            self.folded += 1;
            return;
        }
        self.suspects.push(Suspect { lock: contention.lock, kind: contention.kind, start, end, owner });
    }

    fn remember(&mut self, contention: &Contention<'_>, owner: OwnerId) {
        if self.threads.len() >= self.bound && self.threads.get(contention.thread).is_none() {
            // Chains across this moment are dropped, no more.
            self.folded += 1;
            self.threads.clear();
            self.more = 0;
        }
        let Some(kept) = self.threads.get_or_add(contention.thread, usize::MAX, Kept::default) else { return };
        // Who is blocked often in a second is so before the suspects of that second are known.
        let Kept { blocked, is_mixed } = kept;
        let is_full = blocked.len() >= MANY || self.more >= MORE;
        if blocked.len() >= FEW {
            match is_full {
                true => drop(blocked.pop_front()),
                false => self.more += 1,
            }
        }
        let (start, end) = (contention.start, contention.start + contention.duration);
        *is_mixed |= blocked.back().is_some_and(|last| last.start > start);
        blocked.push_back(Blocked { start, end, kind: contention.kind, lock: contention.lock, owner });
    }

    /// All contentions that ended before some moment were taken in: follows the
    /// suspects.
    ///
    /// `lock_of` gives the lock of a condition: waiting on a condition releases
    /// that lock, and so is no reason why its owner held it.
    pub fn follow(&mut self, owners: &OwnersById, lock_of: impl Fn(LockId) -> Option<LockId>, names: &mut Names) {
        let mut path = Path::new();
        let WaitFor { threads, suspects, chains, found, folded, .. } = self;
        let known = FxHashMap::default();
        let mut following = Following { threads, chains, found, folded, owners, names, known };
        for suspect in suspects.drain(..) {
            if following.meanwhile(&suspect, &lock_of) {
                path.push(following.link(suspect.kind, suspect.lock, suspect.owner));
                following.follow(&suspect, 0, &mut path, &lock_of);
                path.pop();
            }
        }
    }

    /// For how much of the time that threads were blocked on a lock its owner was
    /// itself blocked or waiting.
    pub fn by_lock(&self) -> FxHashMap<LockId, u64> {
        let mut through: FxHashMap<LockId, u64> = FxHashMap::default();
        for (first, explained) in self.chains.firsts() {
            *through.entry(first.lock).or_default() += explained.total_ns;
        }
        through
    }

    /// Every chain of two links or more, and what it explains.
    pub fn chains(&self) -> impl Iterator<Item = (Links, Explained)> + '_ {
        self.chains.iter()
    }
}

/// What following suspects needs.
struct Following<'a> {
    threads: &'a mut ById<ThreadId, Kept>,
    chains: &'a mut Chains,
    /// Contentions and waits in which the owners of what is waited for were away: those of a
    /// suspect behind those of the suspect that led to it.
    found: &'a mut Vec<Blocked>,
    folded: &'a mut u64,
    owners: &'a OwnersById,
    names: &'a mut Names,
    /// The links of owners that were asked for already.
    known: FxHashMap<OwnerId, u32>,
}

impl Following<'_> {
    /// Finds the contentions and waits of the suspect's owner in that time. False if there
    /// are none.
    fn meanwhile(&mut self, suspect: &Suspect, lock_of: &impl Fn(LockId) -> Option<LockId>) -> bool {
        let names = &*self.names;
        let releases = |blocked: &Blocked| {
            blocked.kind == Kind::Conditional
                && lock_of(blocked.lock).is_none_or(|lock| lock == suspect.lock)
                && names.lock(blocked.lock).is_none_or(|def| def.class.contains("$ConditionObject"))
        };
        let Some(kept) = self.threads.get_mut(self.owners.get(suspect.owner).thread) else { return false };
        if std::mem::take(&mut kept.is_mixed) {
            kept.blocked.make_contiguous().sort_by_key(|blocked| blocked.start);
        }
        let first = kept.blocked.partition_point(|blocked| blocked.end <= suspect.start);
        let before = self.found.len();
        let meanwhile = kept.blocked.range(first..).take_while(|blocked| blocked.start < suspect.end);
        self.found.extend(meanwhile.filter(|blocked| blocked.lock != suspect.lock && !releases(blocked)));
        self.found.len() > before
    }

    /// What the suspect's owner was blocked by, as one chain for each of its
    /// contentions and waits in that time (those found, from `first` on), after the links of
    /// `path`.
    fn follow(
        &mut self,
        suspect: &Suspect,
        first: usize,
        path: &mut Path,
        lock_of: &impl Fn(LockId) -> Option<LockId>,
    ) {
        let mut explained = 0;
        let end_of_found = self.found.len();
        for place in first..end_of_found {
            let Some(blocked) = self.found.get(place).copied() else { break };
            let (start, end) = (blocked.start.max(suspect.start), blocked.end.min(suspect.end));
            let thread = self.owners.get(blocked.owner).thread;
            let circle = path.links().iter().any(|link| link.thread == thread);
            path.push(self.link(blocked.kind, blocked.lock, blocked.owner));
            explained += end.since(start).0;
            let ends = path.len() >= DEEPEST || !blocked.owner.is_known() || blocked.kind == Kind::Conditional;
            if circle || ends {
                self.add(path, end.since(start).0);
            } else {
                let next = Suspect { lock: blocked.lock, kind: blocked.kind, start, end, owner: blocked.owner };
                self.meanwhile(&next, lock_of);
                self.follow(&next, end_of_found, path, lock_of);
            }
            path.pop();
        }
        self.found.truncate(first);
        let rest = suspect.end.since(suspect.start).0.saturating_sub(explained);
        if path.len() > 1 && rest > 0 {
            self.add(path, rest);
        }
    }

    fn add(&mut self, path: &Path, ns: u64) {
        let has_room = self.chains.add(path, ns);
        *self.folded += u64::from(!has_room);
    }

    /// The link of a lock with this owner, and its number.
    fn link(&mut self, kind: Kind, lock: LockId, id: OwnerId) -> (Link, u32) {
        let known = self.known.get(&id).and_then(|number| Some((*self.chains.link(*number)?, *number)));
        if let Some(known) = known.filter(|(link, _)| link.kind == kind && link.lock == lock) {
            return known;
        }
        let owner = self.owners.get(id);
        let path = match owner.chain {
            ChainId::NONE => None,
            chain => self.names.owner_path(chain, owner.frame),
        };
        let method = path.and_then(|path| self.names.acting_method(path));
        let link = Link { kind, lock, method, thread: owner.thread };
        let number = self.chains.number(&link);
        self.known.insert(id, number);
        (link, number)
    }
}
