package io.headway.eval.worst;

import io.headway.eval.Work;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that gives itself the permit and parks, under 40 frames: what recording a park and an unpark
 * takes, without the switch to another thread that hides it. {@code down} must not be inlined.
 */
public final class ParkDeep implements Work {
    private static final int FRAMES = 40;
    private static final int PAIRS = 256;
    /** Those that call {@link #down}, and {@code LockSupport}'s and {@code Unsafe}'s. */
    private static final int OTHER_FRAMES = 5;

    @Override
    public Operation operation(int thread, int threads) {
        Object blocker = new Object();
        return new Operation() {
            @Override
            public void once() {
                down(FRAMES - OTHER_FRAMES, blocker);
            }

            @Override
            public long units() {
                return PAIRS;
            }
        };
    }

    private static long down(int left, Object blocker) {
        if (left > 1) {
            return down(left - 1, blocker) + left;
        }
        Thread self = Thread.currentThread();
        for (int pair = 0; pair < PAIRS; pair++) {
            LockSupport.unpark(self);
            LockSupport.park(blocker);
        }
        return PAIRS;
    }
}
