package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.concurrent.locks.LockSupport;

/**
 * As many contended enters as a machine gives: every thread leaves the processor after its hold, so
 * that the next one gets the monitor by queueing rather than in passing.
 */
public final class QueuedMonitor implements Work {
    private static final int HOLD_STEPS = 5_000;
    private static final long AWAY_NS = 1_000;

    private final Object lock = new Object();
    private long state = 1;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> {
            synchronized (lock) {
                state = Mix.steps(state, HOLD_STEPS);
            }
            LockSupport.parkNanos(AWAY_NS);
        };
    }
}
