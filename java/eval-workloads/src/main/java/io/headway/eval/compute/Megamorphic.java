package io.headway.eval.compute;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.function.LongUnaryOperator;

/** Calls that no compiler can bind: eight receivers at one place. */
public final class Megamorphic implements Work {
    private static final int CALLS = 2_000;
    private static final LongUnaryOperator[] STEPS = {
        x -> x + 1, x -> x ^ x << 13, x -> x ^ x >>> 7, x -> x ^ x << 17,
        x -> x * 31, x -> Long.rotateLeft(x, 5), x -> ~x, x -> x - 7,
    };

    @Override
    public Operation operation(int thread, int threads) {
        return new Walk(thread + 1L);
    }

    private static final class Walk implements Operation {
        private long state;

        Walk(long seed) {
            state = Mix.steps(seed, 3);
        }

        @Override
        public void once() {
            long x = state;
            for (int i = 0; i < CALLS; i++) {
                x = STEPS[(int) (x ^ i) & 7].applyAsLong(x);
            }
            state = x;
        }
    }
}
