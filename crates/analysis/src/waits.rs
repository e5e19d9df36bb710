//! Conditional waiting: `Object.wait` and parks that acquire no lock, kept
//! apart from blocked time.
//!
//! A wait ends when the waiter is chosen by a notify, times out or is
//! interrupted. What follows, acquiring the monitor again, is blocked time;
//! where both are recorded the wait is cut where the re-acquisition begins.

use crate::aggregate::Range;
use crate::names::{NameId, Names, PathId, TextId};
use crate::park::{ParkWait, Synchronizer};
use crate::threads::Threads;
use headway_model::event::{MonitorReentered, MonitorWait, MonitorWaited, ParkOutcome, WaitOutcome};
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

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
    pub count: u64,
    pub max_ns: u64,
    pub notified: u64,
    pub timed_out: u64,
    pub interrupted: u64,
    pub in_flight: u64,
    pub threads: FxHashMap<ThreadId, u64>,
    pub notifiers: FxHashMap<TextId, u64>,
    /// Waits ended, and how long they had lasted, by group and chain of who
    /// unparked the waiter.
    pub wakers: FxHashMap<(TextId, Option<PathId>), (u64, u64)>,
}

/// A wait that began, or one that is over but whose end may still move.
#[derive(Clone, Copy, Debug)]
struct Current {
    lock: LockId,
    chain: ChainId,
    start: TimeNs,
    /// End, outcome and notifier; `None` while it goes on.
    over: Option<(TimeNs, WaitOutcome, ThreadId)>,
}

/// All waits.
#[derive(Debug)]
pub(crate) struct Waits {
    current: FxHashMap<ThreadId, Current>,
    site_ids: FxHashMap<(TextId, Option<PathId>), u32>,
    sites: Vec<Site>,
    by_lock: FxHashMap<(LockId, ChainId), u32>,
    /// Waits that were added since they were taken out last.
    ended: Vec<(ThreadId, TimeNs, TimeNs)>,
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
            current: FxHashMap::default(),
            site_ids: FxHashMap::default(),
            sites: Vec::new(),
            by_lock: FxHashMap::default(),
            ended: Vec::new(),
            bound,
            folded: 0,
        }
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Hands out when threads waited, each wait once, as far as it lies in the range.
    pub fn take_ended(&mut self) -> impl Iterator<Item = (ThreadId, TimeNs, TimeNs)> + '_ {
        self.ended.drain(..)
    }

    pub fn begin(&mut self, e: &MonitorWait, context: &mut Context<'_>) {
        let wait = Current { lock: e.lock, chain: e.chain, start: e.time, over: None };
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
        let over = Some((e.time, e.outcome, e.notifier));
        self.replace(e.thread, Current { lock: e.lock, chain, start, over }, context);
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
                (None, since) if context.threads.active(thread) <= wait.start => {
                    let until = since.unwrap_or(end).max(wait.start);
                    self.add(thread, wait, until, None, context);
                }
                // Its end was lost: it did something else since.
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
        let Some((from, to)) = context.range.clip(wait.start, end) else { return };
        let ns = to.since(from).0;
        context.threads.waited(thread, ns);
        self.ended.push((thread, from, to));
        let notifier = match outcome {
            Some((_, notifier)) if notifier.is_some() => Some(context.names.group(notifier)),
            _ => None,
        };
        let site = self.site((wait.lock, thread), wait.chain, Synchronizer::Monitor, context.names);
        let site = &mut self.sites[site as usize];
        site.count_wait(thread, wait.lock, ns, self.bound);
        match outcome {
            Some((WaitOutcome::Notified, _)) => site.notified += 1,
            Some((WaitOutcome::TimedOut, _)) => site.timed_out += 1,
            Some((WaitOutcome::Interrupted, _)) => site.interrupted += 1,
            None => site.in_flight += 1,
        }
        if let Some(notifier) = notifier {
            *site.notifiers.entry(notifier).or_default() += 1;
        }
    }

    /// Adds a park that was no lock acquisition.
    pub fn park(&mut self, wait: &ParkWait, context: &mut Context<'_>) {
        let Some((from, to)) = context.range.clip(wait.start, wait.end) else { return };
        let ns = to.since(from).0;
        context.threads.waited(wait.thread, ns);
        self.ended.push((wait.thread, from, to));
        let waker = wait.waker.thread.is_some().then(|| {
            let path = context.names.path(wait.waker.chain, 0);
            (context.names.group(wait.waker.thread), path)
        });
        let site = self.site((wait.blocker, wait.thread), wait.chain, wait.synchronizer, context.names);
        let site = &mut self.sites[site as usize];
        site.count_wait(wait.thread, wait.blocker, ns, self.bound);
        match wait.outcome {
            Some(ParkOutcome::TimedOut) => site.timed_out += 1,
            Some(ParkOutcome::Interrupted) => site.interrupted += 1,
            Some(ParkOutcome::Unparked | ParkOutcome::Spurious) => site.notified += 1,
            Some(ParkOutcome::Unknown) => {}
            None => site.in_flight += 1,
        }
        if let Some(waker) = waker {
            *site.notifiers.entry(waker.0).or_default() += 1;
            if site.wakers.len() < self.bound || site.wakers.contains_key(&waker) {
                let ended = site.wakers.entry(waker).or_default();
                ended.0 += 1;
                ended.1 += ns;
            }
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
    fn count_wait(&mut self, thread: ThreadId, lock: LockId, ns: u64, bound: usize) {
        self.many_locks |= self.lock != lock;
        self.changes_lock |= self.lock != lock && self.first == thread;
        self.total_ns += ns;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
        if self.threads.len() < bound || self.threads.contains_key(&thread) {
            *self.threads.entry(thread).or_default() += ns;
        }
    }
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
        count: 0,
        max_ns: 0,
        notified: 0,
        timed_out: 0,
        interrupted: 0,
        in_flight: 0,
        threads: FxHashMap::default(),
        notifiers: FxHashMap::default(),
        wakers: FxHashMap::default(),
    }
}
