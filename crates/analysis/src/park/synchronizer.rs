//! What a thread parks for: known from the frames through which it parked and by
//! its blocker's class.
//!
//! The blocker alone does not say it. The readers and the writers of a
//! `ReentrantReadWriteLock` park on the same object, a queue's `take` and a
//! developer's own condition both park on a `ConditionObject`, and a lock built
//! by a developer parks on a class of theirs. The frames between
//! `LockSupport.park` and the caller distinguish them.

use serde::Serialize;

/// What a thread parks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Synchronizer {
    /// `Object.wait`, which does not park: here so that all waits are distinguished
    /// by one word.
    Monitor,
    /// A `ReentrantLock`.
    ReentrantLock,
    /// The read lock of a `ReentrantReadWriteLock`.
    ReadLock,
    /// The write lock of a `ReentrantReadWriteLock`.
    WriteLock,
    /// A `StampedLock`, to read.
    StampedRead,
    /// A `StampedLock`, to write.
    StampedWrite,
    /// The exclusive mode of somebody's own `AbstractQueuedSynchronizer`.
    ExclusiveSynchronizer,
    /// The shared mode of somebody's own `AbstractQueuedSynchronizer`.
    SharedSynchronizer,
    /// A `Condition`, or what is built with one and not named here.
    Condition,
    /// A permit of a `Semaphore`.
    Semaphore,
    /// A `CountDownLatch`.
    CountDownLatch,
    /// A `CyclicBarrier`.
    CyclicBarrier,
    /// A `Phaser`.
    Phaser,
    /// An `Exchanger`.
    Exchanger,
    /// A `SynchronousQueue`.
    SynchronousQueue,
    /// A `LinkedTransferQueue`.
    TransferQueue,
    /// An array, linked, priority or delay queue, or a pool's own.
    BlockingQueue,
    /// Work for a `ForkJoinPool`'s worker.
    ForkJoinPool,
    /// The result of a `FutureTask`, a `CompletableFuture` or a `ForkJoinTask`.
    Future,
    /// The end of a thread, or of a scope's threads.
    Join,
    /// `Thread.sleep` of a virtual thread. Not waiting for anybody.
    Sleep,
    /// Input or output of a virtual thread. Not waiting for anybody.
    Io,
    /// None of these, or nothing is known about it.
    #[default]
    Other,
}

impl Synchronizer {
    /// True for mutual exclusion: somebody holds it meanwhile.
    pub const fn is_lock(self) -> bool {
        matches!(
            self,
            Synchronizer::Monitor
                | Synchronizer::ReentrantLock
                | Synchronizer::ReadLock
                | Synchronizer::WriteLock
                | Synchronizer::StampedRead
                | Synchronizer::StampedWrite
                | Synchronizer::ExclusiveSynchronizer
        )
    }

    /// True for waiting that another thread has to end: a condition, work, a
    /// result. Sleep and input are the thread's own running time.
    pub const fn is_conditional(self) -> bool {
        !self.is_lock() && !matches!(self, Synchronizer::Sleep | Synchronizer::Io)
    }

    /// True where threads wait for each other to arrive or to finish.
    pub const fn is_rendezvous(self) -> bool {
        matches!(
            self,
            Synchronizer::CountDownLatch
                | Synchronizer::CyclicBarrier
                | Synchronizer::Phaser
                | Synchronizer::Future
                | Synchronizer::Join
        )
    }

    /// True for what only another thread can give, such as a result or an element of a queue: nobody waits with it for
    /// time to pass, even if each wait has a limit and reaches it.
    pub(crate) const fn is_of_others(self) -> bool {
        let is_queue =
            matches!(self, Synchronizer::SynchronousQueue | Synchronizer::TransferQueue | Synchronizer::BlockingQueue);
        self.is_rendezvous() || is_queue || matches!(self, Synchronizer::Exchanger)
    }

    /// True where waiting near the root of a thread means having no work.
    pub(crate) const fn may_be_idle(self) -> bool {
        matches!(
            self,
            Synchronizer::Condition
                | Synchronizer::SynchronousQueue
                | Synchronizer::TransferQueue
                | Synchronizer::BlockingQueue
                | Synchronizer::ForkJoinPool
                | Synchronizer::SharedSynchronizer
                | Synchronizer::Other
        )
    }

    /// The stable name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Synchronizer::Monitor => "monitor",
            Synchronizer::ReentrantLock => "reentrant-lock",
            Synchronizer::ReadLock => "read-lock",
            Synchronizer::WriteLock => "write-lock",
            Synchronizer::StampedRead => "stamped-read",
            Synchronizer::StampedWrite => "stamped-write",
            Synchronizer::ExclusiveSynchronizer => "exclusive-synchronizer",
            Synchronizer::SharedSynchronizer => "shared-synchronizer",
            Synchronizer::Condition => "condition",
            Synchronizer::Semaphore => "semaphore",
            Synchronizer::CountDownLatch => "count-down-latch",
            Synchronizer::CyclicBarrier => "cyclic-barrier",
            Synchronizer::Phaser => "phaser",
            Synchronizer::Exchanger => "exchanger",
            Synchronizer::SynchronousQueue => "synchronous-queue",
            Synchronizer::TransferQueue => "transfer-queue",
            Synchronizer::BlockingQueue => "blocking-queue",
            Synchronizer::ForkJoinPool => "fork-join-pool",
            Synchronizer::Future => "future",
            Synchronizer::Join => "join",
            Synchronizer::Sleep => "sleep",
            Synchronizer::Io => "io",
            Synchronizer::Other => "other",
        }
    }

    /// What a sentence calls it: `a latch`.
    pub const fn words(self) -> &'static str {
        match self {
            Synchronizer::Monitor => "Object.wait",
            Synchronizer::ReentrantLock => "a lock",
            Synchronizer::ReadLock | Synchronizer::StampedRead => "a read lock",
            Synchronizer::WriteLock | Synchronizer::StampedWrite => "a write lock",
            Synchronizer::ExclusiveSynchronizer => "a lock of its own",
            Synchronizer::SharedSynchronizer => "a shared synchronizer",
            Synchronizer::Condition => "a condition",
            Synchronizer::Semaphore => "a permit of a semaphore",
            Synchronizer::CountDownLatch => "a latch",
            Synchronizer::CyclicBarrier => "a barrier",
            Synchronizer::Phaser => "a phaser",
            Synchronizer::Exchanger => "an exchange",
            Synchronizer::SynchronousQueue => "a synchronous queue",
            Synchronizer::TransferQueue => "a transfer queue",
            Synchronizer::BlockingQueue => "a blocking queue",
            Synchronizer::ForkJoinPool => "work of a fork-join pool",
            Synchronizer::Future => "a result",
            Synchronizer::Join => "a thread's end",
            Synchronizer::Sleep => "sleep",
            Synchronizer::Io => "input or output",
            Synchronizer::Other => "an unpark",
        }
    }
}

/// What a park is, as far as its frames and its blocker's class say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classified {
    pub synchronizer: Synchronizer,
    /// True where a lock is acquired again at the end of `Condition.await`.
    pub after_wait: bool,
}

/// What an unpark means for the lock that the woken thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Release {
    /// The unparking thread released the lock.
    Exclusive,
    /// The same, to wait on one of the lock's conditions.
    Awaiting,
    /// The unparking thread was the last reader to leave.
    Shared,
    /// The unparking thread passes on the wake-up that ended its own wait.
    PassesOn,
    /// It gave up waiting: the next thread in the queue looks again, and mostly waits on.
    GivesUp,
    /// It did something that is not a release.
    No,
    /// Its chain is not known.
    #[default]
    Unknown,
}

/// Frames looked at, from the leaf.
const DEPTH: usize = 40;

const J_U_C: &str = "java.util.concurrent.";
const LOCKS: &str = "java.util.concurrent.locks.";

/// What a thread with these frames (class and method, leaf first) parks for.
pub(crate) fn classify<'a>(class: &str, frames: impl Iterator<Item = (&'a str, &'a str)>) -> Classified {
    let mut walk = Walk::default();
    for (frame_class, method) in frames.take(DEPTH) {
        if let Some(synchronizer) = walk.frame(frame_class, method) {
            return walk.found(synchronizer, class);
        }
    }
    walk.ended(class)
}

/// What was seen on the way from the leaf.
#[derive(Default)]
struct Walk {
    /// Some frame of a queued synchronizer's `acquire`, and whether it is shared.
    acquires: bool,
    shared: bool,
    /// Some frame of `ConditionObject.await`.
    awaits: bool,
    latch: bool,
}

impl Walk {
    /// What the frame decides; `None` to look further.
    fn frame(&mut self, class: &str, method: &str) -> Option<Synchronizer> {
        if let Some(rest) = class.strip_prefix(LOCKS) {
            return self.lock_frame(rest, method);
        }
        if let Some(rest) = class.strip_prefix(J_U_C) {
            return self.concurrent_frame(rest, method);
        }
        match class {
            "java.lang.Thread" | "java.lang.VirtualThread" => self.thread_frame(method),
            "java.lang.System$2" | "java.lang.System$1" => None,
            _ if class.starts_with("jdk.internal.misc.ThreadFlock") => Some(Synchronizer::Join),
            _ if class.starts_with("sun.nio.ch.") || class.starts_with("java.net.") => Some(Synchronizer::Io),
            _ if class.starts_with("jdk.internal.") || class.starts_with("sun.misc.") => None,
            // Native code on top of the chain.
            "" => None,
            _ if self.latch => Some(Synchronizer::CountDownLatch),
            _ => Some(Synchronizer::Other),
        }
    }

    fn thread_frame(&mut self, method: &str) -> Option<Synchronizer> {
        match method {
            _ if method.starts_with("sleep") => Some(Synchronizer::Sleep),
            _ if method.starts_with("join") => Some(Synchronizer::Join),
            // The machinery below LockSupport of a virtual thread.
            _ if method.starts_with("park") || method.starts_with("yield") || method == "doYield" => None,
            _ if self.latch => Some(Synchronizer::CountDownLatch),
            _ => Some(Synchronizer::Other),
        }
    }

    fn lock_frame(&mut self, class: &str, method: &str) -> Option<Synchronizer> {
        if class.starts_with("AbstractQueued") && class.contains("ConditionObject") {
            // A lock acquired again at the end of a wait is still that lock.
            self.awaits |= method.starts_with("await");
            return None;
        }
        if class.starts_with("AbstractQueued") {
            if !self.awaits && is_acquire(method) {
                self.acquires = true;
                self.shared |= method.contains("Shared");
            }
            return None;
        }
        if let Some(read) = stamped(class, method) {
            return Some(if read { Synchronizer::StampedRead } else { Synchronizer::StampedWrite });
        }
        if self.acquires && class.starts_with("ReentrantReadWriteLock$ReadLock") {
            self.shared = true;
        }
        None
    }

    fn concurrent_frame(&mut self, class: &str, method: &str) -> Option<Synchronizer> {
        let outer = class.split('$').next().unwrap_or(class);
        let waits = self.awaits && !self.acquires;
        match outer {
            "CountDownLatch" => {
                // Thread.join of a virtual thread waits on a latch.
                self.latch = true;
                None
            }
            "Semaphore" if self.acquires => Some(Synchronizer::Semaphore),
            "CyclicBarrier" if waits => Some(Synchronizer::CyclicBarrier),
            "Phaser" => Some(Synchronizer::Phaser),
            "Exchanger" => Some(Synchronizer::Exchanger),
            "SynchronousQueue" => Some(Synchronizer::SynchronousQueue),
            // SynchronousQueue is built of it from JDK 21 on.
            "LinkedTransferQueue" => self.transfer(method),
            "FutureTask" | "CompletableFuture" | "ForkJoinTask" => Some(Synchronizer::Future),
            "ThreadPerTaskExecutor" | "StructuredTaskScope" | "StructuredTaskScopeImpl" => Some(Synchronizer::Join),
            "ForkJoinPool" => match method {
                "awaitWork" | "runWorker" | "scan" => Some(Synchronizer::ForkJoinPool),
                "awaitDone" | "helpJoin" | "awaitQuiescence" | "helpComplete" => Some(Synchronizer::Future),
                _ => None,
            },
            _ if waits && (outer.ends_with("Queue") || outer.ends_with("Deque") || class.contains("WorkQueue")) => {
                Some(Synchronizer::BlockingQueue)
            }
            _ => None,
        }
    }

    fn transfer(&self, method: &str) -> Option<Synchronizer> {
        // `xfer` and `await` are called by both queues: the caller decides.
        let inner = matches!(method, "xfer" | "xferLifo" | "await" | "awaitMatch" | "block");
        (!inner).then_some(Synchronizer::TransferQueue)
    }

    /// A frame decided; a lock being acquired outweighs what called for it.
    fn found(&self, synchronizer: Synchronizer, class: &str) -> Classified {
        if self.acquires && !matches!(synchronizer, Synchronizer::Semaphore | Synchronizer::Join) {
            return self.acquiring(class);
        }
        if self.awaits && synchronizer == Synchronizer::Other {
            return plain(Synchronizer::Condition);
        }
        if synchronizer == Synchronizer::Other {
            return plain(by_class(class));
        }
        plain(synchronizer)
    }

    fn ended(&self, class: &str) -> Classified {
        if self.acquires {
            return self.acquiring(class);
        }
        if self.latch {
            return plain(Synchronizer::CountDownLatch);
        }
        if self.awaits {
            return plain(Synchronizer::Condition);
        }
        plain(by_class(class))
    }

    fn acquiring(&self, class: &str) -> Classified {
        let inner = class.strip_prefix(LOCKS).or_else(|| class.strip_prefix(J_U_C)).unwrap_or(class);
        let known = class.starts_with(J_U_C);
        let synchronizer = match inner.split('$').next().unwrap_or(inner) {
            "ReentrantLock" if known => Synchronizer::ReentrantLock,
            "ReentrantReadWriteLock" if known && self.shared => Synchronizer::ReadLock,
            "ReentrantReadWriteLock" if known => Synchronizer::WriteLock,
            "Semaphore" if known => Synchronizer::Semaphore,
            "CountDownLatch" if known => Synchronizer::CountDownLatch,
            _ if self.latch => Synchronizer::CountDownLatch,
            _ if self.shared => Synchronizer::SharedSynchronizer,
            _ => Synchronizer::ExclusiveSynchronizer,
        };
        Classified { synchronizer, after_wait: self.awaits && synchronizer.is_lock() }
    }
}

const fn plain(synchronizer: Synchronizer) -> Classified {
    Classified { synchronizer, after_wait: false }
}

fn is_acquire(method: &str) -> bool {
    ["acquire", "tryAcquire", "doAcquire"].iter().any(|prefix| method.starts_with(prefix))
}

/// For a frame of a `StampedLock`, whether it acquires to read.
fn stamped(class: &str, method: &str) -> Option<bool> {
    if !class.starts_with("StampedLock") {
        return None;
    }
    let method = method.to_ascii_lowercase();
    match (method.contains("read"), method.contains("write")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// What the blocker's class says where frames say nothing.
fn by_class(class: &str) -> Synchronizer {
    if class.is_empty() {
        return Synchronizer::Other;
    }
    if let Some(inner) = class.strip_prefix(LOCKS) {
        return match inner.split('$').next().unwrap_or(inner) {
            "ReentrantLock" => Synchronizer::ReentrantLock,
            // Which of the two is not known: the one that claims less.
            "ReentrantReadWriteLock" => Synchronizer::ReadLock,
            "StampedLock" => Synchronizer::StampedRead,
            _ if inner.contains("ConditionObject") => Synchronizer::Condition,
            _ => Synchronizer::Other,
        };
    }
    let Some(inner) = class.strip_prefix(J_U_C) else { return Synchronizer::Other };
    match inner.split('$').next().unwrap_or(inner) {
        "Semaphore" => Synchronizer::Semaphore,
        "CountDownLatch" => Synchronizer::CountDownLatch,
        "Phaser" => Synchronizer::Phaser,
        "Exchanger" => Synchronizer::Exchanger,
        "SynchronousQueue" => Synchronizer::SynchronousQueue,
        "LinkedTransferQueue" => Synchronizer::TransferQueue,
        "ForkJoinPool" => Synchronizer::ForkJoinPool,
        "FutureTask" | "CompletableFuture" | "ForkJoinTask" => Synchronizer::Future,
        outer if outer.ends_with("Queue") || outer.ends_with("Deque") => Synchronizer::BlockingQueue,
        _ => Synchronizer::Other,
    }
}

/// What an unpark with these frames means for the lock waited for.
pub(crate) fn release<'a>(frames: impl Iterator<Item = (&'a str, &'a str)>) -> Release {
    let mut any = false;
    let mut found = None;
    for (class, method) in frames.take(DEPTH) {
        any = true;
        if let Some(release) = found {
            return match release {
                Release::Exclusive if class.contains("$ConditionObject") => Release::Awaiting,
                // Before JDK 14, who acquired in shared mode and who released call the same method.
                Release::Shared if propagates(method) => Release::PassesOn,
                _ => release,
            };
        }
        let machinery = class.is_empty()
            || class.starts_with(J_U_C)
            || class.starts_with("jdk.internal.")
            || class.starts_with("sun.misc.")
            || matches!(class, "java.lang.VirtualThread" | "java.lang.System$2" | "java.lang.System$1");
        if !machinery {
            return Release::No;
        }
        if class == "java.util.concurrent.Phaser" && method == "internalAwaitAdvance" {
            return Release::PassesOn;
        }
        if !class.starts_with(LOCKS) || class.starts_with("java.util.concurrent.locks.LockSupport") {
            continue;
        }
        found = releases(class, method);
    }
    match (found, any) {
        (Some(release), _) => release,
        (None, true) => Release::No,
        (None, false) => Release::Unknown,
    }
}

fn releases(class: &str, method: &str) -> Option<Release> {
    if class.starts_with("java.util.concurrent.locks.StampedLock") {
        return match method {
            "signalNext" | "release" => None,
            "unlockRead" | "tryUnlockRead" | "releaseRead" | "tryDecReaderOverflow" => Some(Release::Shared),
            _ if method.starts_with("unlock") || method.starts_with("tryUnlock") || method == "releaseWrite" => {
                Some(Release::Exclusive)
            }
            _ if method.starts_with("tryConvertTo") => Some(Release::Exclusive),
            _ => Some(Release::No),
        };
    }
    match method {
        "signalNext" | "unparkSuccessor" => None,
        "release" | "fullyRelease" => Some(Release::Exclusive),
        "releaseShared" | "doReleaseShared" => Some(Release::Shared),
        _ if propagates(method) => Some(Release::PassesOn),
        _ if method.starts_with("cancel") || method == "cleanQueue" => Some(Release::GivesUp),
        _ if is_acquire(method) => Some(Release::No),
        _ => None,
    }
}

/// True for a method of a queued synchronizer with which a thread that acquired in shared mode wakes the next one.
fn propagates(method: &str) -> bool {
    method.starts_with("signalNextIfShared") || method.starts_with("setHeadAndPropagate")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
    const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
    const NODE: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode";

    /// Frames as `class.method`, leaf first, `j.` for `java.util.concurrent.`.
    fn split(frames: &str) -> Vec<(String, String)> {
        let park = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park ";
        let all = if frames.contains("unpark") { frames.to_owned() } else { format!("{park}{frames}") };
        all.split_whitespace()
            .map(|frame| {
                let frame = frame.replace("AQS", AQS).replace("CONDITION", CONDITION).replace("NODE", NODE);
                let frame = match frame.strip_prefix("j.") {
                    Some(rest) => format!("java.util.concurrent.{rest}"),
                    None => frame,
                };
                let (class, method) = frame.rsplit_once('.').expect("class.method");
                (class.to_owned(), method.to_owned())
            })
            .collect()
    }

    fn check(class: &str, frames: &str, expected: Synchronizer) -> Classified {
        let class = class.replace("j.", "java.util.concurrent.").replace("CONDITION", CONDITION);
        let frames = split(frames);
        let found = classify(&class, frames.iter().map(|(class, method)| (class.as_str(), method.as_str())));
        assert_eq!(found.synchronizer, expected, "{class}: {frames:?}");
        found
    }

    fn check_release(frames: &str, expected: Release) {
        let split = split(frames);
        assert_eq!(
            release(split.iter().map(|(class, method)| (class.as_str(), method.as_str()))),
            expected,
            "{frames}"
        );
    }

    #[test]
    fn names_are_those_of_the_json() {
        for synchronizer in [Synchronizer::CountDownLatch, Synchronizer::Io, Synchronizer::ReadLock] {
            let json = serde_json::to_string(&synchronizer).ok();
            assert_eq!(json, Some(format!("\"{}\"", synchronizer.name())));
        }
    }

    #[test]
    fn locks() {
        let lock = "AQS.acquire AQS.acquire j.locks.ReentrantLock$Sync.lock j.locks.ReentrantLock.lock a.Shop.sell";
        let found = check("j.locks.ReentrantLock$NonfairSync", lock, Synchronizer::ReentrantLock);
        assert!(!found.after_wait);
        let again = "AQS.acquire CONDITION.await j.ArrayBlockingQueue.take a.Shop.sell";
        let found = check("j.locks.ReentrantLock$FairSync", again, Synchronizer::ReentrantLock);
        assert!(found.after_wait);
        let rw = "j.locks.ReentrantReadWriteLock$NonfairSync";
        let read = "AQS.acquire AQS.acquireShared j.locks.ReentrantReadWriteLock$ReadLock.lock a.Cache.get";
        check(rw, read, Synchronizer::ReadLock);
        let read = "AQS.doAcquireShared AQS.acquireShared j.locks.ReentrantReadWriteLock$ReadLock.lock a.Cache.get";
        check(rw, read, Synchronizer::ReadLock);
        let write = "AQS.acquire AQS.acquire j.locks.ReentrantReadWriteLock$WriteLock.lock a.Cache.put";
        check(rw, write, Synchronizer::WriteLock);
        let stamped = "j.locks.StampedLock";
        check(stamped, "j.locks.StampedLock.acquireRead j.locks.StampedLock.readLock a.B.c", Synchronizer::StampedRead);
        check(
            stamped,
            "j.locks.StampedLock.acquireWrite j.locks.StampedLock.writeLock a.B.c",
            Synchronizer::StampedWrite,
        );
        check("a.Mutex$Sync", "AQS.acquire AQS.acquire a.Mutex.lock a.B.c", Synchronizer::ExclusiveSynchronizer);
        check("a.Gate$Sync", "AQS.acquire AQS.acquireShared a.Gate.pass a.B.c", Synchronizer::SharedSynchronizer);
    }

    #[test]
    fn a_queues_own_lock_is_a_lock_and_its_condition_is_a_queue() {
        let lock = "AQS.acquire AQS.acquire j.locks.ReentrantLock$Sync.lock j.locks.ReentrantLock.lock \
                    j.ArrayBlockingQueue.put a.B.c";
        check("j.locks.ReentrantLock$NonfairSync", lock, Synchronizer::ReentrantLock);
        let take = "NODE.block j.ForkJoinPool.unmanagedBlock j.ForkJoinPool.managedBlock CONDITION.await \
                    j.LinkedBlockingQueue.take j.ThreadPoolExecutor.getTask j.ThreadPoolExecutor.runWorker";
        check("CONDITION", take, Synchronizer::BlockingQueue);
        let delayed =
            "CONDITION.awaitNanos j.ScheduledThreadPoolExecutor$DelayedWorkQueue.take j.ThreadPoolExecutor.getTask";
        check("CONDITION", delayed, Synchronizer::BlockingQueue);
        let own = "NODE.block j.ForkJoinPool.managedBlock CONDITION.await a.Pool.borrow a.B.c";
        check("CONDITION", own, Synchronizer::Condition);
    }

    #[test]
    fn waiting_for_each_other() {
        let latch = "AQS.acquire AQS.acquireSharedInterruptibly j.CountDownLatch.await a.B.c";
        check("j.CountDownLatch$Sync", latch, Synchronizer::CountDownLatch);
        let join =
            "AQS.acquire AQS.acquireSharedInterruptibly j.CountDownLatch.await java.lang.VirtualThread.joinNanos \
                    java.lang.Thread.join a.B.c";
        check("j.CountDownLatch$Sync", join, Synchronizer::Join);
        let barrier =
            "NODE.block j.ForkJoinPool.managedBlock CONDITION.await j.CyclicBarrier.dowait j.CyclicBarrier.await a.B.c";
        check("CONDITION", barrier, Synchronizer::CyclicBarrier);
        let phaser = "j.Phaser$QNode.block j.ForkJoinPool.managedBlock j.Phaser.internalAwaitAdvance a.B.c";
        check("j.Phaser$QNode", phaser, Synchronizer::Phaser);
        check("j.FutureTask", "j.FutureTask.awaitDone j.FutureTask.get a.B.c", Synchronizer::Future);
        let future =
            "j.CompletableFuture$Signaller.block j.ForkJoinPool.managedBlock j.CompletableFuture.waitingGet a.B.c";
        check("j.CompletableFuture$Signaller", future, Synchronizer::Future);
        check("", "j.ForkJoinTask.awaitDone j.ForkJoinTask.join a.B.c", Synchronizer::Future);
        check("j.Exchanger", "j.Exchanger.slotExchange j.Exchanger.exchange a.B.c", Synchronizer::Exchanger);
        let permit = "AQS.acquire AQS.acquireSharedInterruptibly j.Semaphore.acquire a.Pool.borrow";
        check("j.Semaphore$NonfairSync", permit, Synchronizer::Semaphore);
    }

    #[test]
    fn queues_and_pools() {
        let old = "j.SynchronousQueue$TransferStack$SNode.block j.ForkJoinPool.managedBlock \
                   j.SynchronousQueue$TransferStack.transfer j.SynchronousQueue.take a.B.c";
        check("j.SynchronousQueue$TransferStack", old, Synchronizer::SynchronousQueue);
        let new =
            "j.LinkedTransferQueue$DualNode.await j.SynchronousQueue$Transferer.xferLifo j.SynchronousQueue.take a.B.c";
        check("j.SynchronousQueue$Transferer", new, Synchronizer::SynchronousQueue);
        let transfer = "j.LinkedTransferQueue.awaitMatch j.LinkedTransferQueue.xfer j.LinkedTransferQueue.take a.B.c";
        check("j.LinkedTransferQueue", transfer, Synchronizer::TransferQueue);
        let pool = "j.ForkJoinPool.awaitWork j.ForkJoinPool.runWorker j.ForkJoinWorkerThread.run";
        check("j.ForkJoinPool", pool, Synchronizer::ForkJoinPool);
    }

    #[test]
    fn virtual_threads_and_strangers() {
        let sleep = "java.lang.VirtualThread.parkNanos java.lang.VirtualThread.sleepNanos java.lang.Thread.sleep a.B.c";
        check("", sleep, Synchronizer::Sleep);
        check("", "sun.nio.ch.Poller.poll sun.nio.ch.NioSocketImpl.park java.net.Socket.read", Synchronizer::Io);
        check("a.Box", "a.Box.await a.B.c", Synchronizer::Other);
        check("j.locks.ReentrantLock$NonfairSync", "", Synchronizer::ReentrantLock);
    }

    #[test]
    fn unparks_that_release() {
        let unpark = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark ";
        let check = |frames: &str, expected| check_release(&format!("{unpark}{frames}"), expected);
        check("AQS.signalNext AQS.release j.locks.ReentrantLock.unlock a.B.c", Release::Exclusive);
        check("AQS.signalNext AQS.releaseShared j.locks.ReentrantReadWriteLock$ReadLock.unlock a.B.c", Release::Shared);
        check("AQS.signalNext AQS.release CONDITION.enableWait CONDITION.await a.B.c", Release::Awaiting);
        check("AQS.signalNextIfShared AQS.acquire AQS.acquireShared a.B.c", Release::PassesOn);
        let old = "AQS.unparkSuccessor AQS.doReleaseShared";
        check(&format!("{old} AQS.setHeadAndPropagate AQS.doAcquireShared a.B.c"), Release::PassesOn);
        check(&format!("{old} AQS.releaseShared j.Semaphore.release a.B.c"), Release::Shared);
        let phaser = "j.Phaser.releaseWaiters j.Phaser.";
        check(&format!("{phaser}internalAwaitAdvance j.Phaser.arriveAndAwaitAdvance a.B.c"), Release::PassesOn);
        check(&format!("{phaser}arriveAndAwaitAdvance a.B.c"), Release::No);
        check("AQS.signalNext AQS.cleanQueue AQS.cancelAcquire AQS.acquire a.B.c", Release::GivesUp);
        check("j.locks.StampedLock.signalNext j.locks.StampedLock.unlockRead a.B.c", Release::Shared);
        check(
            "j.locks.StampedLock.signalNext j.locks.StampedLock.release j.locks.StampedLock.unlockWrite a.B.c",
            Release::Exclusive,
        );
        check("a.Box.wake a.B.c", Release::No);
        assert_eq!(release(std::iter::empty()), Release::Unknown);
    }
}
