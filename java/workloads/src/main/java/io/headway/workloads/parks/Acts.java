package io.headway.workloads.parks;

import io.headway.workloads.ThreadKind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** The synchronizers of {@code java.util.concurrent}, each as an {@link Act}. */
final class Acts {
    private static final Act.Step NOTHING = () -> {};

    private Acts() {}

    /** All acts by name; timed ones give up after {@code waitMs}. */
    static Map<String, Act> all(long waitMs, int waiters) {
        Map<String, Act> acts = new LinkedHashMap<>();
        acts.put("lock", mutex(new ReentrantLock()));
        acts.put("fairlock", mutex(new ReentrantLock(true)));
        acts.put("condition", condition());
        acts.put("readwaitswrite", readerBehindWriter());
        acts.put("writewaitsread", writerBehindReader());
        acts.put("stamped", stamped());
        acts.put("semaphore", semaphore());
        acts.put("latch", new Latch());
        acts.put("barrier", barrier(waiters));
        acts.put("phaser", phaser(waiters));
        acts.put("exchanger", exchanger(waiters));
        acts.put("synchronousqueue", queue(new SynchronousQueue<>(), waiters));
        acts.put("transferqueue", queue(new LinkedTransferQueue<>(), waiters));
        acts.put("arrayqueue", queue(new ArrayBlockingQueue<>(16), waiters));
        acts.put("linkedqueue", queue(new LinkedBlockingQueue<>(), waiters));
        acts.put("futuretask", new Task());
        acts.put("completablefuture", new Promise());
        acts.put("forkjoin", new Join());
        if (ThreadKind.virtualAvailable()) {
            acts.put("virtualjoin", new VirtualJoin());
        }
        acts.put("timedlock", new TimedLock(waitMs));
        acts.put("interruptedlock", new InterruptedLock());
        acts.put("spurious", new Spurious());
        acts.put("plain", new Plain());
        acts.put("parknanos", timed(() -> LockSupport.parkNanos(acts, waitMs * 1_000_000)));
        acts.put("parkuntil", timed(() -> LockSupport.parkUntil(acts, System.currentTimeMillis() + waitMs)));
        return acts;
    }

    private static Act mutex(ReentrantLock lock) {
        return Act.owned(lock::lock, () -> {
            lock.lock();
            lock.unlock();
        }, lock::unlock);
    }

    private static Act condition() {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        loadWhatAwaits(lock, condition);
        return Act.of(NOTHING, () -> {
            // To park at the lock is not what is counted here.
            while (!lock.tryLock()) {
                Thread.yield();
            }
            try {
                condition.await();
            } finally {
                lock.unlock();
            }
        }, () -> {
            lock.lock();
            try {
                condition.signalAll();
            } finally {
                lock.unlock();
            }
        });
    }

    /** So that the first waiter does not load classes while it has the lock, in whose way others would park. */
    private static void loadWhatAwaits(Lock lock, Condition condition) {
        ForkJoinPool.commonPool();
        lock.lock();
        try {
            condition.awaitNanos(1);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            lock.unlock();
        }
    }

    private static Act readerBehindWriter() {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        return Act.owned(lock.writeLock()::lock, () -> {
            lock.readLock().lock();
            lock.readLock().unlock();
        }, lock.writeLock()::unlock);
    }

    private static Act writerBehindReader() {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Lock writes = lock.writeLock();
        return Act.of(lock.readLock()::lock, () -> {
            writes.lock();
            writes.unlock();
        }, lock.readLock()::unlock);
    }

    private static Act stamped() {
        StampedLock lock = new StampedLock();
        return Act.of(lock::writeLock, () -> lock.unlockWrite(lock.writeLock()), () -> lock.tryUnlockWrite());
    }

    private static Act semaphore() {
        Semaphore semaphore = new Semaphore(0);
        return new Act() {
            @Override
            void block() throws InterruptedException {
                semaphore.acquire();
            }

            @Override
            void release(List<Thread> waiters) {
                semaphore.release(waiters.size());
            }
        };
    }

    private static Act barrier(int waiters) {
        CyclicBarrier barrier = new CyclicBarrier(waiters + 1);
        return Act.of(NOTHING, barrier::await, barrier::await);
    }

    private static Act phaser(int waiters) {
        Phaser phaser = new Phaser(waiters + 1);
        return Act.of(NOTHING, phaser::arriveAndAwaitAdvance, phaser::arrive);
    }

    /** Two who exchange would not wait, so only the first waiter meets the holder, once for each. */
    private static Act exchanger(int waiters) {
        Exchanger<Object> exchanger = new Exchanger<>();
        if (waiters != 1) {
            throw new IllegalArgumentException("waiters would exchange with each other");
        }
        return Act.of(NOTHING, () -> exchanger.exchange("waiter"), () -> exchanger.exchange("holder"));
    }

    private static Act queue(BlockingQueue<Object> queue, int waiters) {
        return Act.of(NOTHING, queue::take, () -> {
            for (int i = 0; i < waiters; i++) {
                queue.put("work");
            }
        });
    }

    private static Act timed(Act.Step park) {
        return new Act() {
            @Override
            void block() throws Exception {
                park.run();
            }

            @Override
            Outcome outcome() {
                return Outcome.TIMED_OUT;
            }
        };
    }

    private static class Latch extends Act {
        private volatile CountDownLatch latch;

        @Override
        void prepare() {
            latch = new CountDownLatch(1);
        }

        @Override
        void block() throws InterruptedException {
            latch.await();
        }

        @Override
        void release(List<Thread> waiters) {
            latch.countDown();
        }
    }

    /** Each waiter is unparked once before what it waits for has happened. */
    private static final class Spurious extends Latch {
        @Override
        void release(List<Thread> waiters) {
            waiters.forEach(LockSupport::unpark);
            Choreography.sleep(Choreography.SETTLE_MS);
            super.release(waiters);
        }

        @Override
        int parks() {
            return 2;
        }
    }

    private static final class Task extends Act {
        private volatile FutureTask<String> task;

        @Override
        void prepare() {
            task = new FutureTask<>(() -> "done");
        }

        @Override
        void block() throws Exception {
            task.get();
        }

        @Override
        void release(List<Thread> waiters) {
            task.run();
        }
    }

    private static final class Promise extends Act {
        private volatile CompletableFuture<String> promise;

        @Override
        void prepare() {
            promise = new CompletableFuture<>();
        }

        @Override
        void block() {
            promise.join();
        }

        @Override
        void release(List<Thread> waiters) {
            promise.complete("done");
        }
    }

    /** Waits for a task that a pool's worker runs. */
    private static final class Join extends Act {
        private final ForkJoinPool pool = new ForkJoinPool(1);
        private volatile boolean isDone;

        @Override
        void prepare() {
            isDone = false;
        }

        @Override
        void block() {
            pool.submit(this::run).join();
        }

        private void run() {
            while (!isDone) {
                Choreography.pause();
            }
        }

        @Override
        void release(List<Thread> waiters) {
            isDone = true;
        }
    }

    /** Waits for the end of a virtual thread; that of a platform thread is an {@code Object.wait}. */
    private static final class VirtualJoin extends Act {
        private volatile Thread awaited;
        private volatile boolean isDone;

        @Override
        void prepare() {
            isDone = false;
            awaited = ThreadKind.virtual().unstarted("awaited", () -> {
                while (!isDone) {
                    Choreography.pause();
                }
            });
            awaited.start();
        }

        @Override
        void block() throws InterruptedException {
            awaited.join();
        }

        @Override
        void release(List<Thread> waiters) {
            isDone = true;
        }
    }

    private static final class TimedLock extends Act {
        private final ReentrantLock lock = new ReentrantLock();
        private final long waitMs;

        TimedLock(long waitMs) {
            this.waitMs = waitMs;
        }

        @Override
        void prepare() {
            lock.lock();
        }

        @Override
        void block() throws InterruptedException {
            if (lock.tryLock(waitMs, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("the lock was to be held for longer");
            }
        }

        @Override
        void release(List<Thread> waiters) {
            lock.unlock();
        }

        @Override
        boolean owned() {
            return true;
        }

        @Override
        Outcome outcome() {
            return Outcome.TIMED_OUT;
        }
    }

    private static final class InterruptedLock extends Act {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void prepare() {
            lock.lock();
        }

        @Override
        void block() {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                return;
            }
            throw new IllegalStateException("the lock was to be held until the interrupt");
        }

        @Override
        void release(List<Thread> waiters) {
            waiters.forEach(Thread::interrupt);
            Choreography.sleep(Choreography.SETTLE_MS);
            lock.unlock();
        }

        @Override
        boolean owned() {
            return true;
        }

        @Override
        Outcome outcome() {
            return Outcome.INTERRUPTED;
        }
    }

    /** Names nothing that it parks on. */
    private static final class Plain extends Act {
        private volatile boolean isReleased;

        @Override
        void prepare() {
            isReleased = false;
        }

        @Override
        void block() {
            while (!isReleased) {
                LockSupport.park();
            }
        }

        @Override
        void release(List<Thread> waiters) {
            isReleased = true;
            waiters.forEach(LockSupport::unpark);
        }

        @Override
        boolean named() {
            return false;
        }
    }
}
