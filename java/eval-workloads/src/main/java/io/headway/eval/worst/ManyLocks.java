package io.headway.eval.worst;

import io.headway.eval.Mix;
import io.headway.eval.Work;

/** Ten thousand monitors, taken at random and held for some microseconds, a few of them wanted by many. */
public final class ManyLocks implements Work {
    private static final int LOCKS = 10_000;
    private static final int HOLD_STEPS = 3_000;

    private final Account[] accounts = new Account[LOCKS];

    /** Makes the locks. */
    public ManyLocks() {
        for (int i = 0; i < LOCKS; i++) {
            accounts[i] = new Account();
        }
    }

    @Override
    public Operation operation(int thread, int threads) {
        return new Walk(thread + 1L);
    }

    /** What a monitor guards. */
    private static final class Account {
        private long state = 1;

        synchronized void use() {
            state = Mix.steps(state, HOLD_STEPS);
        }
    }

    private final class Walk implements Operation {
        private long random;

        Walk(long seed) {
            random = seed * 88172645463325252L;
        }

        @Override
        public void once() {
            random = Mix.steps(random, 1);
            // The product of two uniform numbers: low indices come often.
            long index = (random >>> 40) * ((random & 0xffff) + 1) >>> 16;
            accounts[(int) (index % LOCKS)].use();
        }
    }
}
