package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.concurrent.locks.LockSupport;

/**
 * One monitor that is hardly used, and then a thousand times as often at once, in turn: what a budget for the cost of
 * a recording has to keep up with.
 */
public final class ChangingLoad implements Work {
    /** How long it stays calm or busy. It begins calm. */
    private static final long TURN_NS = 20_000_000_000L;

    private static final int HOLD_STEPS = 1_000;
    private static final long AWAY_NS = 1_000;
    private static final long CALM_MS = 24;

    private final Object lock = new Object();
    private final long start = System.nanoTime();
    private long state = 1;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> {
            boolean isCalm = (System.nanoTime() - start) / TURN_NS % 2 == 0;
            if (isCalm) {
                Thread.sleep(CALM_MS);
            }
            synchronized (lock) {
                state = Mix.steps(state, HOLD_STEPS);
            }
            if (!isCalm) {
                LockSupport.parkNanos(AWAY_NS);
            }
        };
    }
}
