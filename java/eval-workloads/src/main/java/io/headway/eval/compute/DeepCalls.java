package io.headway.eval.compute;

import io.headway.eval.Mix;
import io.headway.eval.Work;

/** Work under 500 frames: what a sample costs when its stack is long, and whether its root is still found. */
public final class DeepCalls implements Work {
    private static final int DEPTH = 500;
    private static final int STEPS = 20_000;

    @Override
    public Operation operation(int thread, int threads) {
        long[] state = {thread + 1L};
        return () -> state[0] = down(DEPTH, state[0]);
    }

    private static long down(int left, long state) {
        // What follows the call keeps the frame: a compiler could make a loop of it otherwise.
        return left == 0 ? Mix.steps(state, STEPS) : down(left - 1, state) | 1;
    }
}
