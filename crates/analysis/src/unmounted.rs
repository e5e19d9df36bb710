//! What virtual threads did while others waited for what they had: an unmounted one has no stack
//! to sample, but it parked with one.
//!
//! The recording is looked at every 20 ms, as the agent looks at platform threads: where somebody
//! waits at that moment, each virtual thread that sleeps, or waits for input or output, is a
//! sample. Which of them had what others wait for, their stacks say
//! ([`Meanwhile`](crate::meanwhile::Meanwhile)).

use crate::aggregate::Range;
use crate::meanwhile::{Actor, Meanwhile, Place, Seen};
use crate::names::Names;
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// Time between two looks.
const LOOKS_NS: u64 = 20_000_000;
/// Looks made at a watermark; of a longer time, the last ones.
const MOST_LOOKS: u64 = 512;
/// Places and stacks distinguished at a watermark.
const MOST_KEYS: usize = 64;

/// Who began to do something, and when.
type Begin = (ThreadId, TimeNs);

/// Times in which threads did something of a kind `K`. Begins and ends come in any order until
/// the next look: a virtual thread's events come from the buffers of several carriers.
#[derive(Debug)]
struct Spans<K> {
    open: FxHashMap<Begin, K>,
    /// Ends whose begin has not come yet.
    ended: FxHashSet<Begin>,
    /// Those that are over and have a look in them which was not made yet.
    over: Vec<(TimeNs, TimeNs, K)>,
}

impl<K: Copy> Spans<K> {
    fn new() -> Spans<K> {
        Spans { open: FxHashMap::default(), ended: FxHashSet::default(), over: Vec::new() }
    }

    fn begin(&mut self, begin: Begin, what: K, bound: usize) {
        if !self.ended.remove(&begin) && self.open.len() < bound {
            self.open.insert(begin, what);
        }
    }

    fn end(&mut self, begin: Begin, time: TimeNs, what: K, bound: usize) {
        if self.open.remove(&begin).is_none() && self.ended.len() < bound {
            self.ended.insert(begin);
        }
        if first_look(begin.1) < time.0 && self.over.len() < bound {
            self.over.push((begin.1, time, what));
        }
    }

    /// Everything before this time was looked at, and all that began before it has come.
    fn known_to(&mut self, time: TimeNs) {
        self.ended.retain(|(_, start)| *start > time);
        self.over.retain(|(_, end, _)| *end > time);
        // Who began something else since has an end that was dropped.
        let mut latest: FxHashMap<ThreadId, TimeNs> = FxHashMap::default();
        for (thread, start) in self.open.keys() {
            let last = latest.entry(*thread).or_default();
            *last = (*start).max(*last);
        }
        self.open.retain(|(thread, start), _| latest.get(thread) == Some(start));
    }

    /// How many threads did each thing at each of the looks; the others are left out.
    fn counts<N: Eq + Hash>(&self, looks: &Looks, mut name: impl FnMut(K) -> Option<N>) -> FxHashMap<N, Vec<u64>> {
        let mut counts: FxHashMap<N, Vec<u64>> = FxHashMap::default();
        let open = self.open.iter().map(|((_, start), what)| (*start, TimeNs(u64::MAX), *what));
        for (start, end, what) in self.over.iter().copied().chain(open) {
            let (from, to) = looks.within(start, end);
            let Some(name) = name(what).filter(|_| from < to) else { continue };
            if counts.len() < MOST_KEYS || counts.contains_key(&name) {
                let of_this = counts.entry(name).or_insert_with(|| vec![0; looks.count]);
                of_this[from..to].iter_mut().for_each(|count| *count += 1);
            }
        }
        counts
    }
}

/// Moments at which the recording is looked at.
#[derive(Clone, Copy, Debug)]
struct Looks {
    first: u64,
    count: usize,
}

impl Looks {
    /// Those from one time on up to another.
    fn between(from: TimeNs, to: TimeNs) -> Looks {
        let (first, end) = (first_look(from), first_look(to));
        let first = first.max(end.saturating_sub(MOST_LOOKS * LOOKS_NS));
        Looks { first, count: (end.saturating_sub(first) / LOOKS_NS) as usize }
    }

    /// Numbers of those that lie in a time.
    fn within(&self, start: TimeNs, end: TimeNs) -> (usize, usize) {
        let number = |time: TimeNs| (first_look(time).saturating_sub(self.first) / LOOKS_NS) as usize;
        (number(start).min(self.count), number(end).min(self.count))
    }
}

/// The first look at a time or later.
fn first_look(time: TimeNs) -> u64 {
    time.0.checked_next_multiple_of(LOOKS_NS).unwrap_or(u64::MAX)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Unmounted {
    rests: Spans<(ThreadId, ChainId)>,
    waits: Spans<(LockId, ChainId)>,
    looked: TimeNs,
    bound: usize,
}

impl Unmounted {
    /// Follows so many threads at a time.
    pub fn new(bound: usize) -> Unmounted {
        Unmounted { rests: Spans::new(), waits: Spans::new(), looked: TimeNs(0), bound }
    }

    /// A virtual thread begins to wait for input or output, or to sleep; `end` if it is over.
    pub fn rests(&mut self, thread: ThreadId, chain: ChainId, start: TimeNs, end: Option<TimeNs>) {
        let (begin, what) = ((thread, start), (thread, chain));
        match end {
            None => self.rests.begin(begin, what, self.bound),
            Some(end) => self.rests.end(begin, end, what, self.bound),
        }
    }

    /// The same of a thread that waits for another one.
    pub fn waits(&mut self, thread: ThreadId, place: (LockId, ChainId), start: TimeNs, end: Option<TimeNs>) {
        let begin = (thread, start);
        match end {
            None => self.waits.begin(begin, place, self.bound),
            Some(end) => self.waits.end(begin, end, place, self.bound),
        }
    }

    /// Everything before `watermark` is known: looks at it.
    pub fn look(&mut self, watermark: TimeNs, range: Range, names: &mut Names, meanwhile: &mut Meanwhile) {
        let looks = Looks::between(self.looked.max(range.from), watermark.min(range.to));
        self.looked = watermark;
        let has_rests = !(self.rests.open.is_empty() && self.rests.over.is_empty());
        if looks.count > 0 && has_rests {
            let actors: FxHashMap<Actor, _> =
                self.rests.counts(&looks, |(thread, chain)| Some((names.group(thread), names.path(chain, 0)?)));
            let places: FxHashMap<Place, _> =
                self.waits.counts(&looks, |(lock, chain)| Some((names.lock_class(lock), names.path(chain, 0)?)));
            for (place, waiters) in &places {
                for (actor, resting) in &actors {
                    let seen = waiters.iter().zip(resting).filter(|(waiters, _)| **waiters > 0);
                    let count: u64 = seen.map(|(_, resting)| resting).sum();
                    meanwhile.count(*place, *actor, Seen { count, ns: count * LOOKS_NS });
                    meanwhile.lasts(*place, count * LOOKS_NS);
                }
            }
        }
        self.rests.known_to(watermark);
        self.waits.known_to(watermark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_look_belongs_to_what_is_under_way_at_that_moment() {
        let looks = Looks::between(TimeNs(30 * MS), TimeNs(130 * MS));
        assert_eq!((looks.first, looks.count), (40 * MS, 5));
        assert_eq!(looks.within(TimeNs(41 * MS), TimeNs(59 * MS)), (1, 1));
        assert_eq!(looks.within(TimeNs(40 * MS), TimeNs(100 * MS)), (0, 3));
        assert_eq!(looks.within(TimeNs(0), TimeNs(u64::MAX)), (0, 5));
        assert_eq!(Looks::between(TimeNs(90 * MS), TimeNs(30 * MS)).count, 0);
        assert_eq!(Looks::between(TimeNs(0), TimeNs(u64::MAX / 2)).count, MOST_LOOKS as usize);
    }

    #[test]
    fn what_has_no_look_in_it_is_not_kept_and_what_goes_on_counts() {
        let mut spans = Spans::new();
        for (thread, start, end) in [(1, 1, 19), (2, 1, 21), (3, 1, 61)] {
            let begin = (ThreadId(thread), TimeNs(start * MS));
            // Of one thread the end comes first.
            if thread == 2 {
                spans.end(begin, TimeNs(end * MS), 'a', 8);
            }
            spans.begin(begin, 'a', 8);
            if thread != 2 {
                spans.end(begin, TimeNs(end * MS), 'a', 8);
            }
        }
        spans.begin((ThreadId(4), TimeNs(30 * MS)), 'b', 8);
        assert_eq!((spans.over.len(), spans.open.len(), spans.ended.len()), (2, 1, 0));
        let counts = spans.counts(&Looks::between(TimeNs(0), TimeNs(100 * MS)), Some);
        assert_eq!(counts[&'a'], [0, 2, 1, 1, 0]);
        assert_eq!(counts[&'b'], [0, 0, 1, 1, 1]);
    }
}
