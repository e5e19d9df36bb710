package io.headway.workloads.toggle;

/** Contended enters at a call depth of 40, where what a stack costs shows most. */
final class DeepEnter implements WorkThreads.Operation {
    private static final int DEPTH = 40;
    private static final int HOLD_STEPS = 2_000;
    private static final int OUTSIDE_STEPS = 500;

    private final Object lock = new Object();
    private final ThreadLocal<long[]> outside = ThreadLocal.withInitial(() -> new long[] {1});
    private long state = 1;

    @Override
    public void once() {
        descend(DEPTH);
        long[] mine = outside.get();
        mine[0] = Mix.steps(mine[0], OUTSIDE_STEPS);
    }

    private void descend(int depth) {
        if (depth > 0) {
            descend(depth - 1);
        } else {
            enter();
        }
    }

    private void enter() {
        synchronized (lock) {
            state = Mix.steps(state, HOLD_STEPS);
        }
    }
}
