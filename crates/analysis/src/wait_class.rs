//! What waits are for, known from how threads behave.
//!
//! A worker that has nothing to do waits in its own loop, near the root of its
//! stack, and somebody else gives it work; nobody waits for it meanwhile. Threads
//! that return permits to each other, or that asked for what they wait for, look
//! alike at first glance and are not idle.

use crate::aggregate::{share, Range};
use crate::ledger::EntryKind;
use crate::names::{Names, PathId, TextId, NO_OBJECT};
use crate::park::Synchronizer;
use crate::threads::Threads;
use crate::waits::Site;
use headway_model::{LockId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;

/// Frames of a worker's own between its root and the wait, at most.
const SHALLOW: usize = 3;
/// The same for a thread that waits there for most of its life, again and again, and
/// for which nobody waits.
const SHALLOW_FOR_MOST: usize = 6;
/// Own frames where the method with which a thread begins waits itself: nobody called it for anything.
const ROOT: usize = 1;
/// Who waited so many times longer than others had for it did not wait for what they do.
const LONGER: u64 = 2;
/// Waits of each thread that make a loop.
const LOOP: u64 = 5;
/// Part of its life from which on a thread lives to wait there.
const MOST_OF_LIFE: f64 = 0.5;
/// Part of the waited time ended by the waiters' own group, from which on they give
/// each other what they wait for.
const BY_PEERS: f64 = 0.3;
/// The same of the waits that somebody ended: others reached their limit.
const MOST_BY_PEERS: f64 = 0.5;
/// At least so many of them: one may be chance.
const LEAST_BY_PEERS: u64 = 3;
/// Part of what a group waits for that others end, from which on it does not only hand on.
const MUCH_BY_OTHERS: f64 = 0.25;
/// Part of the other group's waits that this one ends, from which on each waits for
/// what the other does.
const MUTUAL: f64 = 0.1;
/// Part of waits that time out, from which on time is what is waited for.
const BY_TIME: f64 = 0.8;

/// Mean length of waits that time out, in ns, below which a thread polls for what it needs
/// at once: a worker without work takes its time.
pub(crate) const IMPATIENT_NS: u64 = 1_000_000;

/// Part of the waits of several call stacks, in one method for one object, that is for permits: then all are.
const OF_PERMITS: f64 = 0.3;

/// What the waits of each site are for, by place of the site.
#[derive(Debug, Default)]
pub(crate) struct WaitClasses {
    classes: Vec<EntryKind>,
    /// Sites whose threads nobody is left to wake.
    left_alone: FxHashSet<usize>,
}

impl WaitClasses {
    /// Looks at all sites together.
    pub fn new(sites: &[Site], names: &Names, threads: &Threads, range: Range) -> WaitClasses {
        let by_group = Ended::new(sites, names, (threads, range));
        let mut classes: Vec<EntryKind> =
            sites.iter().map(|site| class(site, &by_group, names, threads, range)).collect();
        let left_alone = left_alone(sites, names, threads, range);
        for place in &left_alone {
            if let Some(class) = classes.get_mut(*place).filter(|class| **class == EntryKind::WaitWork) {
                *class = EntryKind::WaitResult;
            }
        }
        take_permits_together(sites, &mut classes);
        WaitClasses { classes, left_alone }
    }

    /// True if all threads that ended such waits wait there, too, and did so until the recording ended.
    pub fn is_left_alone(&self, place: usize) -> bool {
        self.left_alone.contains(&place)
    }

    /// What the waits of the site at this place are for.
    pub fn get(&self, place: usize) -> EntryKind {
        self.classes.get(place).copied().unwrap_or(EntryKind::WaitResult)
    }

    /// True if threads that wait there have nothing to do.
    pub fn is_idle(&self, place: usize) -> bool {
        self.get(place) == EntryKind::WaitWork
    }
}

/// Who waits in a method for the same object as others do there waits for the same: a short call stack, as of a worker
/// without work, says no more.
fn take_permits_together(sites: &[Site], classes: &mut [EntryKind]) {
    let key = |site: &Site| (site.class, site.lock, site.method, site.synchronizer);
    let mut all: FxHashMap<_, (u64, u64)> = FxHashMap::default();
    for (site, class) in sites.iter().zip(classes.iter()).filter(|(site, _)| !site.many_locks) {
        let (permits, total) = all.entry(key(site)).or_default();
        *permits += if *class == EntryKind::WaitPermit { site.total_ns } else { 0 };
        *total += site.total_ns;
    }
    for (site, class) in sites.iter().zip(classes.iter_mut()).filter(|(site, _)| !site.many_locks) {
        let is_one = all.get(&key(site)).is_some_and(|(permits, total)| share(*permits, *total) >= OF_PERMITS);
        if is_one && *class == EntryKind::WaitWork {
            *class = EntryKind::WaitPermit;
        }
    }
}

/// How many of these threads there are in each group.
fn count_by_group(threads: impl Iterator<Item = ThreadId>, names: &Names) -> FxHashMap<String, u64> {
    let mut groups: FxHashMap<String, u64> = FxHashMap::default();
    threads.for_each(|thread| *groups.entry(names.group_text(thread)).or_default() += 1);
    groups
}

/// Sites on one object, in several methods, whose threads all wait until the end, though only threads that wait there
/// ended such waits before: givers and takers that wait for each other. Workers of a pool, which wake each other, too,
/// wait in one method. A time limit wakes a thread, too.
fn left_alone(sites: &[Site], names: &Names, threads: &Threads, range: Range) -> FxHashSet<usize> {
    let mut by_lock: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
    for (place, site) in sites.iter().enumerate() {
        let may_be = matches!(site.synchronizer, Synchronizer::Monitor | Synchronizer::Condition);
        if may_be && !site.many_locks && site.lock.is_some() {
            by_lock.entry(site.lock).or_default().push(place);
        }
    }
    let lives = |id: &ThreadId| threads.life_ns(*id, range) > 0;
    // Only where a lock is looked at closely, and then once for all locks.
    let alive = LazyCell::new(|| count_by_group(threads.ids().filter(lives), names));
    let are_left_alone = |places: &Vec<usize>| {
        let here = || places.iter().filter_map(|place| sites.get(*place));
        let methods: FxHashSet<_> = here().map(|site| site.method).collect();
        let wait_to_the_end = here().all(|site| {
            let all_are_in_flight = site.in_flight == site.threads.len() as u64 && site.in_flight_with_limit == 0;
            all_are_in_flight && site.in_flight_ns.saturating_mul(2) > site.total_ns
        });
        let enders: FxHashSet<&str> = here().flat_map(|site| site.notifiers.keys()).map(|by| names.text(*by)).collect();
        if methods.len() < 2 || !wait_to_the_end || enders.is_empty() {
            return false;
        }
        let waiting: FxHashSet<ThreadId> = here().flat_map(|site| site.threads.keys().copied()).collect();
        let groups = count_by_group(waiting.iter().copied(), names);
        let still = count_by_group(waiting.into_iter().filter(lives), names);
        let all_wait = |by: &&str| groups.contains_key(*by) && alive.get(*by) == still.get(*by);
        enders.iter().all(all_wait)
    };
    by_lock.into_values().filter(are_left_alone).flatten().collect()
}

/// Who ended whose waits, by groups of threads.
struct Ended {
    /// The waiters, and who ended a wait of theirs.
    pairs: FxHashSet<(String, String)>,
    /// How often, of waits in which threads may be given work: who waits for a result, or each time on another
    /// object, waits for what it asked for.
    by: FxHashMap<(String, String), u64>,
    of: FxHashMap<String, u64>,
    /// Threads of a group that waited.
    threads: FxHashMap<String, usize>,
    /// How long they lived together and did not wait.
    did_not_wait_ns: FxHashMap<String, u64>,
}

impl Ended {
    fn new(sites: &[Site], names: &Names, (lives, range): (&Threads, Range)) -> Ended {
        let mut ended = Ended {
            pairs: FxHashSet::default(),
            by: FxHashMap::default(),
            of: FxHashMap::default(),
            threads: FxHashMap::default(),
            did_not_wait_ns: FxHashMap::default(),
        };
        let mut members: FxHashMap<String, FxHashMap<ThreadId, u64>> = FxHashMap::default();
        for site in sites {
            let waiters = site_groups(site, names);
            for (thread, ns) in &site.threads {
                *members.entry(names.group_text(*thread)).or_default().entry(*thread).or_default() += ns;
            }
            // Where several groups wait, which of them was woken is not kept.
            let [waiter] = &waiters[..] else { continue };
            let may_be_work = !site.synchronizer.is_rendezvous() && !site.changes_lock;
            for (by, times) in &site.notifiers {
                let by = names.text(*by).to_owned();
                ended.pairs.insert((waiter.clone(), by.clone()));
                if !may_be_work {
                    continue;
                }
                *ended.of.entry(waiter.clone()).or_default() += times;
                *ended.by.entry((waiter.clone(), by)).or_default() += times;
            }
        }
        for (group, threads) in members {
            let not_waited = threads.iter().map(|(id, ns)| lives.life_ns(*id, range).saturating_sub(*ns)).sum();
            ended.did_not_wait_ns.insert(group.clone(), not_waited);
            ended.threads.insert(group, threads.len());
        }
        ended
    }

    /// True if those that ended these waits did something for so short a time that the waits cannot have been for it, as
    /// of one that only hands work on to free workers.
    /// Who waited for others meanwhile may have had them do it.
    fn had_no_time(&self, site: &Site, waiters: &[String], names: &Names) -> bool {
        if site.notifiers.keys().any(|by| self.waits_for_others(names.text(*by), waiters)) {
            return false;
        }
        let time: u64 = site.notifiers.keys().filter_map(|by| self.did_not_wait_ns.get(names.text(*by))).sum();
        let longest = site.threads.values().copied().max().unwrap_or(0);
        let are_known = site.notifiers.keys().all(|by| self.did_not_wait_ns.contains_key(names.text(*by)));
        are_known && longest > LONGER.saturating_mul(time)
    }

    /// True if threads that are neither of this group nor of `waiters` end much of what the group waits for.
    fn waits_for_others(&self, group: &str, waiters: &[String]) -> bool {
        let all = self.of.get(group).copied().unwrap_or(0);
        let ends = |by: &str| self.by.get(&(group.to_owned(), by.to_owned())).copied().unwrap_or(0);
        let known: u64 = ends(group) + waiters.iter().filter(|by| *by != group).map(|by| ends(by)).sum::<u64>();
        share(all.saturating_sub(known), all) >= MUCH_BY_OTHERS
    }

    /// True if threads of the group end waits of others.
    fn is_waited_for(&self, group: &str) -> bool {
        self.pairs.iter().any(|(waiter, by)| by == group && waiter != group)
    }

    /// True if the group is fewer threads' client: it waits for them, and they wait
    /// for what it asks of them.
    fn is_client(&self, waiter: &str, notifiers: &FxHashMap<TextId, u64>, names: &Names) -> bool {
        let size = |group: &str| self.threads.get(group).copied().unwrap_or(0);
        let all: u64 = notifiers.values().sum();
        // Who ended a wait or two, as the main thread does at the start, asks for nothing.
        let often = notifiers.iter().filter(|(_, times)| share(**times, all) >= MUTUAL);
        often.map(|(by, _)| by).any(|by| {
            let by = names.text(*by);
            let theirs = self.of.get(by).copied().unwrap_or(0);
            let ours = self.by.get(&(by.to_owned(), waiter.to_owned())).copied().unwrap_or(0);
            by != waiter && theirs > 0 && share(ours, theirs) >= MUTUAL && size(waiter) >= size(by)
        })
    }
}

fn site_groups(site: &Site, names: &Names) -> Vec<String> {
    let groups: FxHashSet<String> = site.threads.keys().map(|thread| names.group_text(*thread)).collect();
    let mut groups: Vec<String> = groups.into_iter().collect();
    groups.sort_unstable();
    groups
}

fn class(site: &Site, ended: &Ended, names: &Names, threads: &Threads, range: Range) -> EntryKind {
    let stack = Stack::new(site, names);
    let ends_by_time = share(site.timed_out, site.count) >= BY_TIME;
    match site.synchronizer {
        _ if stack.is_idle_pool => return EntryKind::WaitWork,
        Synchronizer::Semaphore => return EntryKind::WaitPermit,
        // A worker waits in its own loop. Who calls a library that sleeps is held up by it, as by a rate limiter.
        Synchronizer::Other if ends_by_time && stack.calls_library && names.text(site.class) == NO_OBJECT => {
            return EntryKind::WaitTime;
        }
        _ if stack.gives => return EntryKind::WaitPermit,
        _ => {}
    }
    let groups = site_groups(site, names);
    let of_peers = || -> u64 {
        site.notifiers.iter().filter(|(by, _)| groups.iter().any(|g| g == names.text(**by))).map(|(_, n)| n).sum()
    };
    // In the middle of their work, threads that give each other what they wait for do so however often they give up.
    let are_most_of_peers = || {
        !stack.is_shallow(SHALLOW_FOR_MOST)
            && of_peers() >= LEAST_BY_PEERS
            && share(of_peers(), site.notifiers.values().sum()) >= MOST_BY_PEERS
    };
    let are_of_peers = || share(of_peers(), site.count) >= BY_PEERS || are_most_of_peers();
    // A latch for each wait, opened by threads of the same kind, is no meeting.
    let gives_on = site.synchronizer == Synchronizer::CountDownLatch && site.changes_lock;
    let rendezvous = site.synchronizer.is_rendezvous();
    if (!rendezvous || gives_on) && site.threads.len() > 1 && are_of_peers() {
        return EntryKind::WaitPermit;
    }
    let is_hand_out = || stack.is_shallow(ROOT) && ended.had_no_time(site, &groups, names);
    let client = matches!(&groups[..], [group] if ended.is_client(group, &site.notifiers, names)) && !is_hand_out();
    // A worker waits for work at the same place always; who waits on an object for
    // each occasion waits for that one thing.
    let for_one_thing = client || site.changes_lock;
    let life: u64 = site.threads.keys().map(|thread| threads.life_ns(*thread, range)).sum();
    let lives_here = share(site.total_ns, life) >= MOST_OF_LIFE;
    let loops = site.count >= LOOP * site.threads.len() as u64;
    // Who starts a thread for each piece of work and waits for its end has something to do; who started all others not.
    let joins_all = stack.joins && !(site.threads.len() > 1 && loops);
    let idle = match rendezvous {
        // A thread that started others and waits for them to finish.
        true => site.threads.len() == 1 && lives_here && stack.is_shallow(SHALLOW),
        false => {
            let alone = groups.iter().all(|group| !ended.is_waited_for(group));
            let impatient = ends_by_time && site.total_ns < IMPATIENT_NS * site.count;
            let for_most = lives_here && loops && alone && !impatient;
            stack.is_shallow(SHALLOW) || (for_most && stack.is_shallow(SHALLOW_FOR_MOST))
        }
    };
    let may_be = rendezvous || site.synchronizer == Synchronizer::Monitor || site.synchronizer.may_be_idle();
    if stack.is_service || joins_all || (idle && !stack.joins && may_be && (rendezvous || !for_one_thing)) {
        return EntryKind::WaitWork;
    }
    // Who gives up after some time waited for what it did not get.
    match ends_by_time && !site.synchronizer.is_of_others() {
        true => EntryKind::WaitTime,
        false => EntryKind::WaitResult,
    }
}

/// What a site's stack says.
struct Stack {
    /// Frames that are neither machinery nor adapters, if the root is there.
    own: Option<usize>,
    /// In a pool's own wait for work.
    is_idle_pool: bool,
    /// Puts something where there is no room, hands it to somebody, or may not go on before others end.
    gives: bool,
    /// Waits that housekeeping threads of the JDK are known for.
    is_service: bool,
    /// In `Thread.join` of a platform thread.
    joins: bool,
    /// The code that waits is another one's than that with which the thread begins.
    calls_library: bool,
}

impl Stack {
    fn new(site: &Site, names: &Names) -> Stack {
        let texts: Vec<String> = site
            .path
            .map(|path| names.frames(path))
            .unwrap_or_default()
            .iter()
            .filter_map(|frame| names.method_name(frame.name))
            .map(|name| name.full.clone())
            .collect();
        let own = || texts.iter().filter(|text| !begins(text, &MACHINERY) && !text.contains("(lambda)"));
        let own_code = || own().filter(|text| !text.starts_with("java.lang."));
        let last = texts.last().map_or("", String::as_str);
        let rooted = last.starts_with("java.lang.Thread.run")
            || last.starts_with("java.lang.VirtualThread.run")
            || last.starts_with("jdk.internal.vm.Continuation.enter")
            || last.ends_with(".run")
            || last.ends_with(".main");
        let parks = site.synchronizer != Synchronizer::Monitor;
        Stack {
            own: rooted.then(|| own_code().count()),
            is_idle_pool: parks && is_idle_pool(&texts),
            gives: site.path.is_some_and(|path| is_giving(path, names))
                || texts.iter().any(|text| begins(text, &LIMITS)),
            calls_library: own_code()
                .next()
                .zip(own_code().next_back())
                .is_some_and(|(a, b)| owner_of(a) != owner_of(b)),
            is_service: !parks && own().next().is_some_and(|caller| begins(caller, &IDLE)),
            joins: !parks && own().next().is_some_and(|caller| caller.starts_with(JOIN)),
        }
    }

    fn is_shallow(&self, most: usize) -> bool {
        self.own.is_some_and(|own| own <= most)
    }
}

/// The first two parts of a package's name, which say whose code it is.
fn owner_of(method: &str) -> (Option<&str>, Option<&str>) {
    let mut parts = method.split('.');
    (parts.next(), parts.next())
}

const POOLS: [&str; 5] = [
    "java.util.concurrent.DelayScheduler.",
    "java.util.concurrent.ThreadPoolExecutor.getTask",
    "java.util.concurrent.ForkJoinPool.awaitWork",
    "java.util.concurrent.ForkJoinPool.runWorker",
    "java.util.concurrent.Executors$DelegatedExecutorService",
];
/// How the methods of pools end in which their threads execute tasks.
const WORKERS: [&str; 2] = [".runWorker", ".runJob"];
/// Where pools that servers and languages have instead of the JDK's wait for work.
const POOLS_OF_OTHERS: [&str; 7] = [
    "io.netty.util.concurrent.SingleThreadEventExecutor.takeTask",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll",
    "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait",
    "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.waitForTask",
    "jetbrains.exodus.core.execution.JobProcessorQueueAdapter.waitForJobs",
    "kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.park",
];
/// Where threads wait until others have ended, that look idle: the only one that accepts connections, those that
/// start a thread for each task.
const LIMITS: [&str; 2] = [
    "org.apache.tomcat.util.threads.LimitLatch.countUpOrAwait",
    "org.springframework.util.ConcurrencyThrottleSupport.",
];
const MACHINERY: [&str; 6] = [
    "java.lang.Object.",
    "java.lang.Thread.run",
    "java.lang.VirtualThread.run",
    "java.lang.VirtualThread.park",
    "java.util.concurrent.",
    "jdk.internal.",
];
/// Where a thread waits in `Object.wait` until another one has ended.
const JOIN: &str = "java.lang.Thread.join";
const IDLE: [&str; 6] = [
    "java.util.TimerThread.",
    "java.lang.ref.",
    "java.lang.ProcessImpl.",
    "java.lang.UNIXProcess.",
    "jdk.internal.",
    "sun.",
];

fn begins(text: &str, list: &[&str]) -> bool {
    list.iter().any(|prefix| text.starts_with(prefix))
}

/// True for the stack, innermost frame first, of a worker that parks in its pool's own wait for work.
pub(crate) fn is_idle_pool(frames: &[String]) -> bool {
    let mut machinery = frames.iter().take_while(|frame| begins(frame, &MACHINERY));
    machinery.any(|frame| begins(frame, &POOLS)) || frames.iter().any(|frame| begins(frame, &POOLS_OF_OTHERS))
}

/// True for the stack, innermost method first, of a thread that sleeps near its root, as a timer does.
pub(crate) fn sleeps_in_own_loop<'a>(methods: impl Iterator<Item = &'a str> + Clone) -> bool {
    let is_rooted = methods.clone().last().is_some_and(|last| last.ends_with(".run"));
    // What a task of a pool does is work.
    let is_task = methods.clone().any(|text| WORKERS.iter().any(|worker| text.ends_with(worker)));
    let mut own = methods.filter(|text| text.contains('.') && !begins(text, &MACHINERY) && !text.contains("(lambda)"));
    let sleeps = own.next().is_some_and(|method| method.starts_with("java.lang.Thread.sleep"));
    let callers = own.filter(|method| !method.starts_with("java.lang.Thread."));
    is_rooted && !is_task && sleeps && callers.count() <= SHALLOW
}

/// True for the stack of a thread that puts something where there is no room.
pub(crate) fn is_giving(path: PathId, names: &Names) -> bool {
    let frames = names.frames(path);
    let mut texts = frames.iter().map(|frame| names.method_name(frame.name).map_or("", |name| name.full.as_str()));
    texts.by_ref().take_while(|text| MACHINERY.iter().any(|prefix| text.starts_with(prefix))).any(is_put)
}

/// True for the stack of a thread that waits until another one has ended.
pub(crate) fn is_join(path: PathId, names: &Names) -> bool {
    let frames = names.frames(path);
    let names = frames.iter().filter_map(|frame| names.method_name(frame.name));
    names
        .map(|name| name.full.as_str())
        .find(|full| !full.starts_with("java.lang.Object."))
        .is_some_and(|full| full.starts_with(JOIN))
}

/// True for a method of a queue, or of a publisher with room for some items, that adds to it.
fn is_put(full: &str) -> bool {
    let Some(rest) = full.strip_prefix("java.util.concurrent.") else { return false };
    let Some((class, method)) = rest.split_once('.') else { return false };
    // Both sides of a SynchronousQueue are in `transfer` of a class within it.
    let queue = !class.contains('$') && (class.ends_with("Queue") || class.ends_with("Deque"));
    let gives =
        |method: &str| method.starts_with("submit") || method.starts_with("offer") || method.starts_with("doOffer");
    if class == "SubmissionPublisher" {
        return gives(method);
    }
    queue && ["put", "offer", "add", "transfer"].iter().any(|verb| method.starts_with(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_adds_to_a_queue_or_a_publisher_gives() {
        let juc = |method: &str| is_put(&format!("java.util.concurrent.{method}"));
        assert!(
            juc("ArrayBlockingQueue.put") && juc("SubmissionPublisher.doOffer") && juc("SubmissionPublisher.submit")
        );
        assert!(!juc("ArrayBlockingQueue.take") && !juc("SubmissionPublisher.close"));
        assert!(!juc("SubmissionPublisher$BufferedSubscription.request") && !juc("Semaphore.acquire"));
    }

    #[test]
    fn workers_of_coroutines_without_work_are_idle_although_they_wake_each_other() {
        let is_idle = |stack: &str| is_idle_pool(&stack.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let parks = "jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.parkNanos";
        let worker = "kotlinx.coroutines.scheduling.CoroutineScheduler$Worker";
        let rest = format!("{worker}.runWorker {worker}.run");
        assert!(is_idle(&format!("{parks} {worker}.park {worker}.tryPark {rest}")));
        let blocks = "kotlinx.coroutines.BlockingCoroutine.joinBlocking com.acme.Orders.load";
        assert!(!is_idle(&format!("{parks} {blocks} {worker}.executeTask {rest}")));
    }
}
