package io.headway.workloads.toggle;

import io.headway.workloads.ThreadKind;
import io.headway.workloads.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Locks, or virtual threads, that are used for some operations and then never again. An operation is
 * one contention (a thread blocked once on one lock) or one park of a virtual thread. It ends only
 * when the thread was seen blocked, so that the number of operations is the number of contentions.
 */
final class ShortLived implements ContinuousWork {
    /** Longs between two counters, so that they share no cache line. */
    private static final int STRIDE = 16;
    /** Virtual threads that are parked at a time. */
    private static final int BATCH = 64;
    /** Looks at another thread before the processor is given up. */
    private static final int LOOKS = 64;

    private final AtomicLongArray counts;
    private final List<Thread> threads = new ArrayList<>();
    private final long most;
    private final long uses;
    private volatile boolean ended;

    /**
     * @param what monitors, reentrantlocks or vparks
     * @param lanes how many pairs of threads, or makers of virtual threads
     * @param most operations of each lane after which it ends
     * @param uses operations of each lock or virtual thread
     */
    ShortLived(String what, int lanes, long most, long uses) {
        this.most = most;
        this.uses = uses;
        counts = new AtomicLongArray(lanes * STRIDE);
        for (int i = 0; i < lanes; i++) {
            int slot = i * STRIDE;
            switch (what) {
                case "monitors" -> addPair(new MonitorPair(), slot, i + 1);
                case "reentrantlocks" -> addPair(new LockPair(), slot, i + 1);
                case "vparks" -> addMaker(slot, i + 1);
                default -> throw new UsageException("expected monitors, reentrantlocks or vparks, found '" + what + "'");
            }
        }
    }

    private void addPair(Pair pair, int slot, int number) {
        Thread waiter = new Thread(() -> take(pair), "waiter-" + number);
        threads.add(new Thread(() -> offer(pair, waiter, slot), "owner-" + number));
        threads.add(waiter);
    }

    private void addMaker(int slot, int number) {
        ThreadFactory factory = ThreadKind.virtual().factory();
        threads.add(new Thread(() -> makeThreads(factory, slot), "maker-" + number));
    }

    private boolean goesOn(int slot) {
        return !ended && counts.getPlain(slot) < most;
    }

    private void count(int slot) {
        counts.setOpaque(slot, counts.getPlain(slot) + 1);
    }

    /** Owns one lock after the other until the waiter is blocked on it. */
    private void offer(Pair pair, Thread waiter, int slot) {
        while (goesOn(slot)) {
            long done = counts.getPlain(slot);
            if (done % uses == 0) {
                pair.makeLock();
            }
            pair.ownWhileOffered(done + 1, waiter);
            await(() -> pair.taken == done + 1);
            count(slot);
        }
        pair.offered = Long.MAX_VALUE;
    }

    private static void take(Pair pair) {
        for (long next = 1; ; next++) {
            long wanted = next;
            await(() -> pair.offered >= wanted);
            if (pair.offered == Long.MAX_VALUE) {
                return;
            }
            pair.acquire();
            pair.taken = next;
        }
    }

    private void makeThreads(ThreadFactory factory, int slot) {
        List<Parker> batch = new ArrayList<>(BATCH);
        while (goesOn(slot)) {
            long wanted = Math.min(BATCH, Math.max(1, (most - counts.getPlain(slot)) / uses));
            batch.clear();
            for (long i = 0; i < wanted; i++) {
                Parker parker = new Parker(uses);
                parker.thread = factory.newThread(parker);
                batch.add(parker);
                parker.thread.start();
            }
            for (long use = 1; use <= uses; use++) {
                for (Parker parker : batch) {
                    parker.endPark(use);
                    count(slot);
                }
            }
            for (Parker parker : batch) {
                await(() -> parker.isOver);
            }
        }
    }

    /** Looks again and again, and lets others run. */
    private static void await(BooleanSupplier condition) {
        for (int looks = 1; !condition.getAsBoolean(); looks++) {
            if (looks % LOOKS == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    @Override
    public void start() {
        threads.forEach(Thread::start);
    }

    @Override
    public long operations() {
        long sum = 0;
        for (int i = 0; i < counts.length(); i += STRIDE) {
            sum += counts.getOpaque(i);
        }
        return sum;
    }

    @Override
    public long[] threadIds() {
        return threads.stream().mapToLong(Thread::getId).toArray();
    }

    @Override
    public void end() throws InterruptedException {
        ended = true;
        join();
    }

    /** Waits until every lane has done its operations. */
    void join() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** An owner and a waiter, and the lock that they use now. */
    private abstract static class Pair {
        /** Number of the operation that the waiter may begin. */
        volatile long offered;
        /** Number of the operation that it has ended. */
        volatile long taken;

        abstract void makeLock();

        /** Acquires the lock, lets the waiter come, and releases it when the waiter is blocked. */
        abstract void ownWhileOffered(long number, Thread waiter);

        abstract void acquire();
    }

    private static final class MonitorPair extends Pair {
        private volatile Row row;

        @Override
        void makeLock() {
            row = new Row();
        }

        @Override
        void ownWhileOffered(long number, Thread waiter) {
            synchronized (row) {
                offered = number;
                await(() -> waiter.getState() == Thread.State.BLOCKED);
            }
        }

        @Override
        void acquire() {
            Row row = this.row;
            synchronized (row) {
                row.uses++;
            }
        }
    }

    private static final class LockPair extends Pair {
        private volatile ReentrantLock lock;

        @Override
        void makeLock() {
            lock = new ReentrantLock();
        }

        @Override
        void ownWhileOffered(long number, Thread waiter) {
            ReentrantLock lock = this.lock;
            lock.lock();
            try {
                offered = number;
                await(() -> lock.hasQueuedThread(waiter) && waiter.getState() == Thread.State.WAITING);
            } finally {
                lock.unlock();
            }
        }

        @Override
        void acquire() {
            ReentrantLock lock = this.lock;
            lock.lock();
            lock.unlock();
        }
    }

    /** What a short-lived monitor guards. */
    private static final class Row {
        private long uses;
    }

    /** Parks so many times, each time until it hears that this park is over. */
    private static final class Parker implements Runnable {
        private final long uses;
        private volatile long parkEnded;
        private volatile boolean isOver;
        private Thread thread;

        Parker(long uses) {
            this.uses = uses;
        }

        @Override
        public void run() {
            for (long use = 1; use <= uses; use++) {
                while (parkEnded < use) {
                    LockSupport.park(this);
                }
            }
            isOver = true;
        }

        void endPark(long use) {
            await(() -> thread.getState() == Thread.State.WAITING);
            parkEnded = use;
            LockSupport.unpark(thread);
        }
    }
}
