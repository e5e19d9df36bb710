package io.headway.workloads.toggle;

/**
 * The worst case for a lock tracer: all threads want one monitor all the time, and hold it for next to
 * nothing.
 */
final class HotLock implements WorkThreads.Operation {
    private static final int STEPS = 8;

    private final Object lock = new Object();
    private long state = 88172645463325252L;

    @Override
    public void once() {
        synchronized (lock) {
            state = Mix.steps(state, STEPS);
        }
    }
}
