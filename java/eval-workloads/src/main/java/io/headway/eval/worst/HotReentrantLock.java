package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.concurrent.locks.ReentrantLock;

/** All threads want one {@link ReentrantLock} all the time: most acquisitions park. */
public final class HotReentrantLock implements Work {
    private static final int STEPS = 8;

    private final ReentrantLock lock = new ReentrantLock();
    private long state = 88172645463325252L;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> {
            lock.lock();
            try {
                state = Mix.steps(state, STEPS);
            } finally {
                lock.unlock();
            }
        };
    }
}
