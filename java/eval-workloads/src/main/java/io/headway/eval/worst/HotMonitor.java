package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;

/** All threads want one monitor all the time, and hold it for next to nothing. */
public final class HotMonitor implements Work {
    private static final int STEPS = 8;

    private final Object lock = new Object();
    private long state = 88172645463325252L;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> {
            synchronized (lock) {
                state = Mix.steps(state, STEPS);
            }
        };
    }
}
