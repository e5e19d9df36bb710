//! Rounds: threads that wait for each other until the last one comes.
//!
//! All waits on one object that the same thread ended (itself, or through those
//! whom it woke) are a *round*. What a *straggler* costs is not the whole
//! waiting time, which also has the others' own differences in it, but the time
//! from when the last of the waiters had come until the straggler did, for each
//! waiter.

use super::wait::{ParkWait, Waker};
use super::Synchronizer;
use crate::aggregate::Range;
use crate::names::{NameId, Names};
use headway_model::event::ParkOutcome;
use headway_model::{LockId, ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where threads wait for each other: an object. At a phaser, each thread parks on another object: there, the thread
/// that ends the waits.
type Meeting = (LockId, ThreadId);

/// A round that may go on.
#[derive(Clone, Debug)]
struct Round {
    root: Waker,
    place: (NameId, Synchronizer),
    waiters: u64,
    waited_ns: u64,
    longest_ns: u64,
    /// When the last of the waiters had come.
    complete: TimeNs,
    range: Range,
}

/// Rounds of one method and kind of synchronizer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub count: u64,
    pub waits: u64,
    pub waited_ns: u64,
    /// What the last ones to come cost the others.
    pub late_ns: u64,
    pub longest_ns: u64,
    pub waiters: FxHashSet<ThreadId>,
    /// Rounds and cost by who came last.
    pub last: FxHashMap<ThreadId, (u64, u64)>,
    /// Cost by what the last one had been doing, and who it was.
    methods: FxHashMap<(NameId, ThreadId), u64>,
}

impl Rounds {
    /// What the last ones to come had been doing that cost most, and what that cost with those whom `counts` lets
    /// through.
    pub fn method(&self, counts: impl Fn(ThreadId) -> bool) -> Option<(NameId, u64)> {
        let mut by: FxHashMap<NameId, (u64, u64)> = FxHashMap::default();
        for ((method, thread), ns) in &self.methods {
            let (all, counted) = by.entry(*method).or_default();
            *all += ns;
            *counted += if counts(*thread) { *ns } else { 0 };
        }
        by.into_iter().max_by_key(|(method, (all, _))| (*all, *method)).map(|(method, (_, counted))| (method, counted))
    }
}

/// Adds rounds up.
#[derive(Debug)]
pub(crate) struct Stragglers {
    open: FxHashMap<Meeting, Round>,
    places: FxHashMap<(NameId, Synchronizer), Rounds>,
    bound: usize,
    pub folded: u64,
}

impl Stragglers {
    /// Keeps to so many objects and methods.
    pub fn new(bound: usize) -> Stragglers {
        Stragglers { open: FxHashMap::default(), places: FxHashMap::default(), bound: bound.max(1), folded: 0 }
    }

    /// Takes in a wait.
    pub fn add(&mut self, wait: &ParkWait, range: Range, names: &mut Names) {
        let ended = wait.outcome == Some(ParkOutcome::Unparked) && wait.root.thread.is_some();
        if !wait.synchronizer.is_rendezvous() || !ended || wait.blocker.is_none() {
            return;
        }
        let Some((start, end)) = range.clip(wait.start, wait.end) else { return };
        let method = names.path(wait.chain, 0).and_then(|path| names.acting_method(path));
        let Some(method) = method else { return };
        let place = (method, wait.synchronizer);
        let at_phaser = wait.synchronizer == Synchronizer::Phaser;
        let meeting = if at_phaser { (LockId::NONE, wait.root.thread) } else { (wait.blocker, ThreadId::NONE) };
        let is_other = |round: &Round| match at_phaser {
            // It wakes one thread after another; who comes after the first wake-up waits in the next round.
            true => round.place != place || wait.start >= round.root.time,
            false => round.root.seq != wait.root.seq,
        };
        if self.open.get(&meeting).is_some_and(is_other) {
            self.close(meeting, names);
        }
        if self.open.len() >= self.bound {
            self.close_all(names);
        }
        if let Some(rounds) = self.rounds(place) {
            rounds.waiters.insert(wait.thread);
        }
        let round = self.open.entry(meeting).or_insert(Round {
            root: wait.root,
            place,
            waiters: 0,
            waited_ns: 0,
            longest_ns: 0,
            complete: start,
            range,
        });
        let ns = end.since(start).0;
        if wait.root.time < round.root.time {
            round.root = wait.root;
        }
        round.waiters += 1;
        round.waited_ns += ns;
        round.longest_ns = round.longest_ns.max(ns);
        round.complete = round.complete.max(start);
    }

    fn rounds(&mut self, place: (NameId, Synchronizer)) -> Option<&mut Rounds> {
        if self.places.len() >= self.bound && !self.places.contains_key(&place) {
            self.folded += 1;
            return None;
        }
        Some(self.places.entry(place).or_default())
    }

    fn close(&mut self, meeting: Meeting, names: &mut Names) {
        let Some(round) = self.open.remove(&meeting) else { return };
        let came = round.range.clip(round.complete, round.root.time);
        let late = came.map_or(0, |(complete, came)| came.since(complete).0) * round.waiters;
        let method = names.path(round.root.chain, 0).and_then(|path| names.acting_method(path));
        let Some(rounds) = self.rounds(round.place) else { return };
        rounds.count += 1;
        rounds.waits += round.waiters;
        rounds.waited_ns += round.waited_ns;
        rounds.late_ns += late;
        rounds.longest_ns = rounds.longest_ns.max(round.longest_ns);
        let last = rounds.last.entry(round.root.thread).or_default();
        last.0 += 1;
        last.1 += late;
        if let Some(method) = method {
            *rounds.methods.entry((method, round.root.thread)).or_default() += late;
        }
    }

    /// Counts the rounds that are still open.
    pub fn close_all(&mut self, names: &mut Names) {
        let meetings: Vec<Meeting> = self.open.keys().copied().collect();
        for meeting in meetings {
            self.close(meeting, names);
        }
    }

    /// All rounds, by method and synchronizer.
    pub fn places(&self) -> impl Iterator<Item = (&(NameId, Synchronizer), &Rounds)> {
        self.places.iter()
    }
}
