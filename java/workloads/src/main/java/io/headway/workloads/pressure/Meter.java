package io.headway.workloads.pressure;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock whose threads measure how long they take to acquire it, by their own clock: from wanting it
 * to having it.
 */
final class Meter {
    private final Object lock = new Object();
    private final ReentrantLock queue;
    private final AtomicLong acquiringNs = new AtomicLong();

    /** Measures a monitor, or a lock of {@code java.util.concurrent}. */
    Meter(boolean queued) {
        queue = queued ? new ReentrantLock() : null;
    }

    /** Holds the lock for about this long, asleep, so that a machine with few processors plays along. */
    void hold(long ms) throws InterruptedException {
        if (queue != null) {
            holdQueue(ms);
            return;
        }
        long wanted = System.nanoTime();
        synchronized (lock) {
            acquiringNs.addAndGet(System.nanoTime() - wanted);
            work(ms);
        }
    }

    private void holdQueue(long ms) throws InterruptedException {
        long wanted = System.nanoTime();
        queue.lock();
        try {
            acquiringNs.addAndGet(System.nanoTime() - wanted);
            work(ms);
        } finally {
            queue.unlock();
        }
    }

    private static void work(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    /** Time that all threads spent acquiring so far. */
    long acquiringNs() {
        return acquiringNs.get();
    }
}
