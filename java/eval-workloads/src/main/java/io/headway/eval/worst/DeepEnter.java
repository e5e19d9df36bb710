package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.concurrent.locks.LockSupport;

/** Contended enters under 500 frames: what a call chain costs when it is long. */
public final class DeepEnter implements Work {
    private static final int DEPTH = 500;
    private static final int HOLD_STEPS = 5_000;
    private static final long AWAY_NS = 1_000;

    private final Object lock = new Object();
    private long state = 1;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> down(DEPTH);
    }

    private long down(int left) {
        if (left > 0) {
            return down(left - 1) + left;
        }
        synchronized (lock) {
            state = Mix.steps(state, HOLD_STEPS);
        }
        LockSupport.parkNanos(AWAY_NS);
        return state;
    }
}
