package io.headway.workloads.toggle;

import java.util.concurrent.locks.LockSupport;

/**
 * As many contended enters as a machine gives: every thread leaves the processor after its hold, so
 * that the next one gets the lock by queueing rather than by taking it in passing (which is what
 * {@link HotLock} mostly does).
 */
final class Queue implements WorkThreads.Operation {
    private static final int HOLD_STEPS = 5_000;
    private static final long AWAY_NS = 1_000;

    private final Object lock = new Object();
    private long state = 1;

    @Override
    public void once() {
        synchronized (lock) {
            state = Mix.steps(state, HOLD_STEPS);
        }
        LockSupport.parkNanos(AWAY_NS);
    }
}
