//! Conditional waiting: `Object.wait` and parks that acquire no lock, kept
//! apart from blocked time.
//!
//! A wait ends when the waiter is chosen by a notify, times out or is
//! interrupted. What follows, acquiring the monitor again, is blocked time;
//! where both are recorded the wait is cut where the re-acquisition begins.

use crate::aggregate::{share, Range};
use crate::monitor::{Sum, Waited};
use crate::names::{NameId, Names, PathId, TextId};
use crate::park::{ParkWait, Synchronizer, Waker};
use crate::threads::Threads;
use headway_model::event::{
    MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited, OwnerSample, ParkOutcome, WaitOutcome,
};
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Waits of one class of lock with one chain.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub class: TextId,
    pub path: Option<PathId>,
    pub synchronizer: Synchronizer,
    /// The method that called `Object.wait`.
    pub method: Option<NameId>,
    /// A lock waited on, and whether there were others.
    pub lock: LockId,
    pub many_locks: bool,
    /// The first thread that waited, and whether it waited on several locks.
    pub first: ThreadId,
    pub changes_lock: bool,
    pub total_ns: u64,
    /// The part of it in which those were sampled that others waited for: without the beginning of each wait.
    pub reached_ns: u64,
    pub count: u64,
    pub max_ns: u64,
    pub notified: u64,
    pub timed_out: u64,
    pub interrupted: u64,
    pub in_flight: u64,
    pub in_flight_ns: u64,
    /// Of those that had not ended, waits that end at some time whoever notifies or unparks the thread.
    pub in_flight_with_limit: u64,
    pub unanswered: Unanswered,
    pub threads: FxHashMap<ThreadId, u64>,
    pub notifiers: FxHashMap<TextId, u64>,
    /// Waits ended, and how long they had lasted, by group and chain of who
    /// unparked the waiter, or notified it.
    pub wakers: FxHashMap<(TextId, Option<PathId>), (u64, u64)>,
}

/// How long threads have waited since a wait last ended otherwise than by its time limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unanswered {
    /// When that was; zero if it never was.
    pub since: TimeNs,
    /// When the first interval after it began; zero if there is none.
    first: TimeNs,
    /// The time of intervals that do not change any more.
    before_ns: u64,
    /// Until when they are in `before_ns`, or left out.
    floor: TimeNs,
    /// The last intervals in which some thread waited, in their order.
    last: [(TimeNs, TimeNs); Self::LAST],
    /// How many these are.
    len: usize,
    /// Some waits are known by their sum only: of these, it is not known when they ended.
    pub has_sums: bool,
}

impl Unanswered {
    /// A wait comes when it ends, after shorter ones that ended while it went on.
    const LAST: usize = 8;

    /// For how long at least, after it, some thread waited until its limit or without an end: two at the same time count
    /// once. Of a long wait in which more than eight others ended apart from each other, the time before those is left out.
    pub fn waited_ns(&self) -> u64 {
        self.before_ns + self.last[..self.len].iter().map(|(start, end)| end.since(*start).0).sum::<u64>()
    }

    fn add(&mut self, (start, end): (TimeNs, TimeNs), gave_up: bool) {
        match gave_up {
            true => self.add_unanswered(start.max(self.since).max(self.floor), end),
            // Waits that overlap it are left out: it is a lower bound.
            false if end >= self.since => *self = Unanswered { since: end, has_sums: self.has_sums, ..Self::default() },
            false => {}
        }
    }

    fn add_unanswered(&mut self, mut start: TimeNs, mut end: TimeNs) {
        let is_late = self.last[..self.len].last().is_some_and(|(begin, _)| end < *begin);
        if is_late || end <= start {
            return;
        }
        self.first = if self.first == TimeNs(0) { start } else { self.first.min(start) };
        while let Some((begin, until)) = self.last[..self.len].last().filter(|(_, until)| *until >= start) {
            (start, end) = (start.min(*begin), end.max(*until));
            self.len -= 1;
        }
        if self.len == Self::LAST {
            let (begin, until) = self.last[0];
            self.before_ns += until.since(begin).0;
            self.floor = until;
            self.last.rotate_left(1);
            self.len -= 1;
        }
        self.last[self.len] = (start, end);
        self.len += 1;
    }

    /// Both together, after the last that ended in either: the longer time of the two, without what may lie before that.
    pub fn and(self, other: Unanswered) -> Unanswered {
        let since = self.since.max(other.since);
        // Where none was ever ended, no thread waited before the first interval.
        let begin = |one: Unanswered| one.since.max(one.first);
        let after = |one: Unanswered| one.waited_ns().saturating_sub(since.since(begin(one)).0);
        let before_ns = after(self).max(after(other));
        let has_sums = self.has_sums || other.has_sums;
        // Nothing more comes to these.
        Unanswered { since, before_ns, floor: TimeNs(u64::MAX), has_sums, ..Self::default() }
    }
}

/// A wait that began, or one that is over but whose end may still move.
#[derive(Clone, Copy, Debug)]
struct Current {
    lock: LockId,
    chain: ChainId,
    start: TimeNs,
    /// It asked for a timeout.
    has_limit: bool,
    /// End, outcome and notifier; `None` while it goes on.
    over: Option<(TimeNs, WaitOutcome, ThreadId)>,
}

/// A notify, with the chain of the notifier as it left the monitor: of the notify
/// itself nobody walks a chain.
#[derive(Clone, Copy, Debug)]
struct Notified {
    notifier: ThreadId,
    waiter: ThreadId,
    lock: LockId,
    time: TimeNs,
    /// `NONE` until the notifier leaves.
    chain: ChainId,
}

/// A wait that a notify ended, until it is known where the notifier came from.
#[derive(Clone, Copy, Debug)]
struct Unexplained {
    site: u32,
    /// Where in `seen` it is; beyond the end if it is not.
    seen: u32,
    notifier: ThreadId,
    waiter: ThreadId,
    lock: LockId,
    end: TimeNs,
    ns: u64,
}

/// When and where a notifier left a monitor, by notifier, waiter and monitor.
type ChainsOfPairs = FxHashMap<(ThreadId, ThreadId, LockId), SmallVec<[(TimeNs, ChainId); 8]>>;

/// All waits.
#[derive(Debug)]
pub(crate) struct Waits {
    /// Notifies since the last watermark but one.
    notified: Vec<Notified>,
    /// Where in `notified` those are whose notifier has not left the monitor yet.
    notifying: FxHashMap<(ThreadId, LockId), SmallVec<[usize; 8]>>,
    unexplained: Vec<Unexplained>,
    /// Room for [`Self::explain`]: where notifiers came from, and when waiters were
    /// notified last.
    chains: ChainsOfPairs,
    last_notified: FxHashMap<ThreadId, TimeNs>,
    watermark: TimeNs,
    current: FxHashMap<ThreadId, Current>,
    site_ids: FxHashMap<(TextId, Option<PathId>), u32>,
    sites: Vec<Site>,
    by_lock: FxHashMap<(LockId, ChainId), u32>,
    /// Waits that were added since they were taken out last.
    ended: Vec<Waited>,
    /// The same where waits are sampled, with who ended them.
    seen: Vec<ParkWait>,
    shows_seen: bool,
    bound: usize,
    pub folded: u64,
}

/// What waits need to know of the rest of the analysis.
pub(crate) struct Context<'a> {
    pub names: &'a mut Names,
    pub threads: &'a mut Threads,
    pub range: Range,
}

impl Waits {
    pub fn new(bound: usize) -> Waits {
        Waits {
            notified: Vec::new(),
            notifying: FxHashMap::default(),
            unexplained: Vec::new(),
            chains: FxHashMap::default(),
            last_notified: FxHashMap::default(),
            watermark: TimeNs(0),
            current: FxHashMap::default(),
            site_ids: FxHashMap::default(),
            sites: Vec::new(),
            by_lock: FxHashMap::default(),
            ended: Vec::new(),
            seen: Vec::new(),
            shows_seen: false,
            bound,
            folded: 0,
        }
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Hands out when threads waited, each wait once, as far as it lies in the range.
    pub fn take_ended(&mut self) -> impl Iterator<Item = Waited> + '_ {
        self.ended.drain(..)
    }

    /// Waits are or were sampled: from now on [`Self::take_seen`] has each one.
    pub fn shows_what_was_seen(&mut self) {
        self.shows_seen = true;
    }

    /// Hands out the waits that were recorded, each once, whole and of all threads, with where
    /// their notifiers came from, where that is known by now.
    pub fn take_seen(&mut self) -> Vec<ParkWait> {
        // Those whose notifier is still to come have no place any more.
        self.unexplained.iter_mut().for_each(|wait| wait.seen = u32::MAX);
        std::mem::take(&mut self.seen)
    }

    /// A waiter was chosen.
    pub fn notified(&mut self, e: &MonitorNotify) {
        if self.notified.len() >= self.bound {
            // Only where notifiers came from is not known then.
            self.notified.clear();
            self.notifying.clear();
        }
        self.notifying.entry((e.thread, e.lock)).or_default().push(self.notified.len());
        self.notified.push(Notified {
            notifier: e.thread,
            waiter: e.waiter,
            lock: e.lock,
            time: e.time,
            chain: ChainId::NONE,
        });
    }

    /// The notifier leaves the monitor: this is where it came from.
    pub fn left(&mut self, e: &MonitorExit) {
        if self.notifying.is_empty() {
            return;
        }
        for at in self.notifying.remove(&(e.thread, e.lock)).into_iter().flatten() {
            if let Some(notified) = self.notified.get_mut(at) {
                notified.chain = e.chain;
            }
        }
    }

    /// Everything until this time was fed: says where the notifiers of waits came
    /// from. Events of different threads come in any order until then.
    pub fn explain(&mut self, watermark: TimeNs, names: &mut Names) {
        // The same room at each watermark.
        let mut chains = std::mem::take(&mut self.chains);
        chains.clear();
        for one in self.notified.iter().filter(|one| one.chain.is_some()) {
            let of_pair = chains.entry((one.notifier, one.waiter, one.lock)).or_default();
            of_pair.push((one.time, one.chain));
        }
        let (sites, seen, bound, before) = (&mut self.sites, &mut self.seen, self.bound, self.watermark);
        self.unexplained.retain(|wait| {
            let of_pair = chains.get(&(wait.notifier, wait.waiter, wait.lock));
            let last = of_pair.and_then(|all| all.iter().filter(|(time, _)| *time <= wait.end).max_by_key(|(t, _)| *t));
            let Some((_, chain)) = last else { return wait.end > before };
            let waker = (names.group(wait.notifier), names.path(*chain, 0));
            if let Some(seen) = seen.get_mut(wait.seen as usize) {
                seen.waker.chain = *chain;
            }
            if let Some(site) = sites.get_mut(wait.site as usize) {
                site.count_waker(waker, wait.ns, bound);
            }
            false
        });
        // A waiter's end comes late where it takes long to acquire the monitor again.
        self.chains = chains;
        let last = &mut self.last_notified;
        last.clear();
        for one in &self.notified {
            let time = last.entry(one.waiter).or_default();
            *time = one.time.max(*time);
        }
        self.notified.retain(|one| one.time > before || last.get(&one.waiter) == Some(&one.time));
        self.notifying.clear();
        for (at, one) in self.notified.iter().enumerate().filter(|(_, one)| one.chain.is_none()) {
            self.notifying.entry((one.notifier, one.lock)).or_default().push(at);
        }
        self.watermark = watermark;
    }

    pub fn begin(&mut self, e: &MonitorWait, context: &mut Context<'_>) {
        let wait = Current { lock: e.lock, chain: e.chain, start: e.time, has_limit: e.timeout.0 > 0, over: None };
        self.replace(e.thread, wait, context);
    }

    pub fn end(&mut self, e: &MonitorWaited, context: &mut Context<'_>) {
        let begun = self.current.remove(&e.thread);
        let begun = match begun {
            Some(wait) if wait.over.is_none() && wait.lock == e.lock => Some(wait),
            Some(wait) => {
                self.commit(e.thread, wait, context);
                None
            }
            None => None,
        };
        let told = e.start > TimeNs(0) && e.start <= e.time;
        let start = match begun {
            Some(wait) => wait.start,
            None if told => e.start,
            None => return,
        };
        let chain = if e.chain.is_some() { e.chain } else { begun.map_or(e.chain, |wait| wait.chain) };
        let has_limit = e.timeout.0 > 0;
        let wait = Current { lock: e.lock, chain, start, has_limit, over: Some((e.time, e.outcome, e.notifier)) };
        match self.shows_seen && e.seq.is_none() {
            // It ended at the notify, and of its re-acquisition there may be no event.
            true => self.commit(e.thread, wait, context),
            false => self.replace(e.thread, wait, context),
        }
    }

    /// The waiter's re-acquisition began: no later than then its wait was over.
    pub fn reentered(&mut self, e: &MonitorReentered, context: &mut Context<'_>) {
        let Some(mut wait) = self.current.remove(&e.thread) else { return };
        if let Some((end, _, _)) = &mut wait.over {
            if wait.lock == e.lock && e.start >= wait.start {
                *end = e.start.min(*end);
            }
        }
        self.commit(e.thread, wait, context);
    }

    fn replace(&mut self, thread: ThreadId, wait: Current, context: &mut Context<'_>) {
        if let Some(former) = self.current.insert(thread, wait) {
            self.commit(thread, former, context);
        }
    }

    /// The recording is over. `reacquiring` says since when a thread is
    /// acquiring its monitor again.
    pub fn finish(&mut self, end: TimeNs, reacquiring: impl Fn(ThreadId) -> Option<TimeNs>, context: &mut Context<'_>) {
        let mut current: Vec<_> = std::mem::take(&mut self.current).into_iter().collect();
        current.sort_by_key(|(thread, wait)| (wait.start, *thread));
        for (thread, mut wait) in current {
            match (&mut wait.over, reacquiring(thread)) {
                (Some((until, _, _)), Some(since)) if since >= wait.start => {
                    *until = since.min(*until);
                    self.commit(thread, wait, context);
                }
                (Some(_), _) => self.commit(thread, wait, context),
                (None, since) if context.threads.active_before_leaving(thread, wait.lock) <= wait.start => {
                    let until = since.unwrap_or(end).max(wait.start);
                    self.add(thread, wait, until, None, context);
                }
                // Its end was dropped: it did something else since.
                (None, _) => {}
            }
        }
    }

    fn commit(&mut self, thread: ThreadId, wait: Current, context: &mut Context<'_>) {
        if let Some((end, outcome, notifier)) = wait.over {
            self.add(thread, wait, end, Some((outcome, notifier)), context);
        }
    }

    fn add(
        &mut self,
        thread: ThreadId,
        wait: Current,
        end: TimeNs,
        outcome: Option<(WaitOutcome, ThreadId)>,
        context: &mut Context<'_>,
    ) {
        let seen = outcome.map_or(u32::MAX, |outcome| self.see(thread, &wait, end, outcome));
        let Some((from, to)) = context.range.clip(wait.start, end) else { return };
        let ns = to.since(from).0;
        context.threads.waited(thread, ns);
        let Current { lock, chain, .. } = wait;
        self.ended.push(Waited { thread, lock, chain, synchronizer: Synchronizer::Monitor, start: from, end: to });
        // As with parks: threads of the JDK and the VM have nothing else to do.
        if context.names.thread(thread).is_some_and(|def| def.is_service) {
            return;
        }
        let notifier = match outcome {
            Some((_, notifier)) if notifier.is_some() => Some(context.names.group(notifier)),
            _ => None,
        };
        let at = self.site((wait.lock, thread), wait.chain, Synchronizer::Monitor, context.names);
        if let Some((_, notifier)) = outcome.filter(|(_, by)| by.is_some() && self.unexplained.len() < self.bound) {
            self.unexplained.push(Unexplained { site: at, seen, notifier, waiter: thread, lock: wait.lock, end, ns });
        }
        let site = &mut self.sites[at as usize];
        site.count_wait(thread, wait.lock, ns, self.bound);
        let gave_up = matches!(outcome, None | Some((WaitOutcome::TimedOut, _)));
        site.unanswered.add((from, to), gave_up);
        match outcome {
            Some((WaitOutcome::Notified, _)) => site.notified += 1,
            Some((WaitOutcome::TimedOut, _)) => site.timed_out += 1,
            Some((WaitOutcome::Interrupted, _)) => site.interrupted += 1,
            None => site.count_in_flight(ns, wait.has_limit),
        }
        if let Some(notifier) = notifier {
            *site.notifiers.entry(notifier).or_default() += 1;
        }
    }

    /// Keeps a wait for [`Self::take_seen`]; gives where it is.
    fn see(&mut self, thread: ThreadId, wait: &Current, end: TimeNs, (how, by): (WaitOutcome, ThreadId)) -> u32 {
        if !self.shows_seen || self.seen.len() >= self.bound {
            return u32::MAX;
        }
        let outcome = match how {
            WaitOutcome::Notified => ParkOutcome::Unparked,
            WaitOutcome::TimedOut => ParkOutcome::TimedOut,
            WaitOutcome::Interrupted => ParkOutcome::Interrupted,
        };
        let waker = Waker { thread: by, time: end, ..Waker::default() };
        self.seen.push(ParkWait {
            thread,
            chain: wait.chain,
            blocker: wait.lock,
            synchronizer: Synchronizer::Monitor,
            start: wait.start,
            end,
            has_limit: wait.has_limit,
            outcome: Some(outcome),
            woken_for_nothing: false,
            waker,
            root: waker,
        });
        self.seen.len() as u32 - 1
    }

    /// Adds a park that was no lock acquisition.
    pub fn park(&mut self, wait: &ParkWait, context: &mut Context<'_>) {
        let Some((from, to)) = context.range.clip(wait.start, wait.end) else { return };
        let ns = to.since(from).0;
        context.threads.waited(wait.thread, ns);
        let ParkWait { thread, blocker: lock, chain, synchronizer, .. } = *wait;
        self.ended.push(Waited { thread, lock, chain, synchronizer, start: from, end: to });
        let waker = wait.waker.thread.is_some().then(|| {
            let path = context.names.path(wait.waker.chain, 0);
            (context.names.group(wait.waker.thread), path)
        });
        let site = self.site((wait.blocker, wait.thread), wait.chain, wait.synchronizer, context.names);
        let site = &mut self.sites[site as usize];
        site.count_wait(wait.thread, wait.blocker, ns, self.bound);
        site.unanswered.add((from, to), wait.is_unanswered());
        match wait.outcome {
            Some(ParkOutcome::TimedOut) => site.timed_out += 1,
            Some(ParkOutcome::Interrupted) => site.interrupted += 1,
            Some(ParkOutcome::Unparked | ParkOutcome::Spurious) => site.notified += 1,
            Some(ParkOutcome::Unknown) => {}
            None => site.count_in_flight(ns, wait.has_limit),
        }
        if let Some(waker) = waker {
            *site.notifiers.entry(waker.0).or_default() += 1;
            site.count_waker(waker, ns, self.bound);
        }
    }

    /// Adds waits of which only the sum is known, and which were like `wait`.
    pub fn sum(&mut self, wait: &ParkWait, sum: &Sum, context: &mut Context<'_>) {
        context.threads.waited(sum.thread, sum.total_ns);
        let waker = wait.waker.thread.is_some().then(|| {
            let path = context.names.path(wait.waker.chain, 0);
            (context.names.group(wait.waker.thread), path)
        });
        let site = self.site((sum.lock, sum.thread), wait.chain, wait.synchronizer, context.names);
        let site = &mut self.sites[site as usize];
        site.count_waits(sum.thread, sum.lock, (sum.total_ns, sum.count), self.bound);
        site.unanswered.has_sums = true;
        // Of one that was not recorded itself the length is not known: no more than that of waits of the mean.
        let like = Some(wait.end.since(wait.start).0).filter(|ns| *ns > 0).unwrap_or(sum.mean_ns);
        site.reached_ns += (sum.total_ns as f64 * share(reached(like), like)) as u64;
        site.max_ns = site.max_ns.max(sum.mean_ns);
        match wait.outcome {
            Some(ParkOutcome::TimedOut) => site.timed_out += sum.count,
            Some(ParkOutcome::Interrupted) => site.interrupted += sum.count,
            Some(ParkOutcome::Unparked | ParkOutcome::Spurious) => site.notified += sum.count,
            Some(ParkOutcome::Unknown) | None => {}
        }
        if let Some(waker) = waker {
            *site.notifiers.entry(waker.0).or_default() += sum.count;
            site.count_wakers(waker, (sum.total_ns, sum.count), self.bound);
        }
    }

    fn site(
        &mut self,
        (lock, thread): (LockId, ThreadId),
        chain: ChainId,
        synchronizer: Synchronizer,
        names: &mut Names,
    ) -> u32 {
        if let Some(site) = self.by_lock.get(&(lock, chain)) {
            return *site;
        }
        if self.by_lock.len() >= self.bound {
            // Only a shortcut; it fills again.
            self.by_lock.clear();
        }
        let class = names.lock_class(lock);
        let mut path = names.path(chain, 0);
        if self.sites.len() >= self.bound && !self.site_ids.contains_key(&(class, path)) {
            self.folded += 1;
            path = None;
        }
        let sites = &mut self.sites;
        let site = *self.site_ids.entry((class, path)).or_insert_with(|| {
            let method = path.and_then(|path| names.acting_method(path));
            sites.push(new_site(class, path, synchronizer, method, (lock, thread)));
            sites.len() as u32 - 1
        });
        self.by_lock.insert((lock, chain), site);
        site
    }
}

impl Site {
    fn count_waker(&mut self, waker: (TextId, Option<PathId>), ns: u64, bound: usize) {
        self.count_wakers(waker, (ns, 1), bound);
    }

    fn count_wakers(&mut self, waker: (TextId, Option<PathId>), (ns, count): (u64, u64), bound: usize) {
        if self.wakers.len() < bound || self.wakers.contains_key(&waker) {
            let ended = self.wakers.entry(waker).or_default();
            ended.0 += count;
            ended.1 += ns;
        }
    }

    fn count_in_flight(&mut self, ns: u64, has_limit: bool) {
        self.in_flight += 1;
        self.in_flight_with_limit += u64::from(has_limit);
        self.in_flight_ns += ns;
    }

    fn count_wait(&mut self, thread: ThreadId, lock: LockId, ns: u64, bound: usize) {
        self.count_waits(thread, lock, (ns, 1), bound);
        self.reached_ns += reached(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// So many waits with so much time together.
    fn count_waits(&mut self, thread: ThreadId, lock: LockId, (ns, count): (u64, u64), bound: usize) {
        self.many_locks |= self.lock != lock;
        self.changes_lock |= self.lock != lock && self.first == thread;
        self.total_ns += ns;
        self.count += count;
        if self.threads.len() < bound || self.threads.contains_key(&thread) {
            *self.threads.entry(thread).or_default() += ns;
        }
    }
}

/// The part of a wait in which those are sampled that it is for.
fn reached(ns: u64) -> u64 {
    ns.saturating_sub(OwnerSample::AFTER.0)
}

fn new_site(
    class: TextId,
    path: Option<PathId>,
    synchronizer: Synchronizer,
    method: Option<NameId>,
    (lock, first): (LockId, ThreadId),
) -> Site {
    Site {
        class,
        path,
        synchronizer,
        method,
        lock,
        many_locks: false,
        first,
        changes_lock: false,
        total_ns: 0,
        reached_ns: 0,
        count: 0,
        max_ns: 0,
        notified: 0,
        timed_out: 0,
        interrupted: 0,
        in_flight: 0,
        in_flight_ns: 0,
        in_flight_with_limit: 0,
        unanswered: Unanswered::default(),
        threads: FxHashMap::default(),
        notifiers: FxHashMap::default(),
        wakers: FxHashMap::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unanswered(waits: &[(u64, u64, bool)]) -> Unanswered {
        let mut all = Unanswered::default();
        waits.iter().for_each(|(start, end, gave_up)| all.add((TimeNs(*start), TimeNs(*end)), *gave_up));
        all
    }

    #[test]
    fn waits_at_the_same_time_count_once_and_only_after_the_last_that_was_ended() {
        let burst = [(100, 110, true), (101, 110, true), (102, 112, true)];
        assert_eq!(unanswered(&burst).waited_ns(), 12);
        let ended = unanswered(&[(10, 50, true), (20, 60, false), (55, 100, true)]);
        assert_eq!((ended.since, ended.waited_ns()), (TimeNs(60), 40));
        // At another place a wait was ended at 90: what came before says nothing.
        let both = ended.and(unanswered(&[(0, 90, false)]));
        assert_eq!((both.since, both.waited_ns()), (TimeNs(90), 10));
        let other = ended.and(unanswered(&[(0, 90, false), (92, 120, true)]));
        assert_eq!((other.since, other.waited_ns()), (TimeNs(90), 28));
    }

    #[test]
    fn a_place_where_no_wait_was_ever_ended_counts_from_its_first_one() {
        let boot = 7_000_000_000_000;
        let never = unanswered(&[(boot + 100, boot + 200, true)]);
        let both = never.and(unanswered(&[(boot, boot + 120, false)]));
        assert_eq!((both.since, both.waited_ns()), (TimeNs(boot + 120), 80));
    }

    /// Each wakes another one, which waits on for a moment, while most wait for long.
    #[test]
    fn a_wait_counts_whole_though_shorter_ones_ended_in_it() {
        let mut waits = Vec::new();
        for round in 0..40 {
            let from = 100 * round;
            waits.extend((0..5).map(|short| (from + 10 * short, from + 10 * short + 2, true)));
            waits.push((from, from + 99, true));
        }
        assert_eq!(unanswered(&waits).waited_ns(), 40 * 99);
        // Apart from each other, and more than are kept.
        let apart: Vec<_> = (0..40).map(|at| (10 * at, 10 * at + 3, true)).collect();
        assert_eq!(unanswered(&apart).waited_ns(), 40 * 3);
        assert_eq!(unanswered(&[(50, 60, true), (10, 20, true)]).waited_ns(), 10, "late: a lower bound");
    }
}
