package io.headway.workloads.toggle;

/** Work whose locks nobody else wants: what an idle profiler costs. */
final class NoContention implements WorkThreads.Operation {
    private static final int STEPS = 1_000;

    private final ThreadLocal<long[]> mine = ThreadLocal.withInitial(() -> new long[] {1});

    @Override
    public void once() {
        long[] state = mine.get();
        synchronized (state) {
            state[0] = Mix.steps(state[0], STEPS);
        }
    }
}
