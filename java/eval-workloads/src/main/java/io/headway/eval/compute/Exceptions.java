package io.headway.eval.compute;

import io.headway.eval.Work;

/** Exceptions with their stack traces, thrown under twenty frames and caught above. */
public final class Exceptions implements Work {
    private static final int DEPTH = 20;

    @Override
    public Operation operation(int thread, int threads) {
        return () -> {
            try {
                fall(DEPTH);
            } catch (Fallen e) {
                if (e.getStackTrace().length < DEPTH) {
                    throw new IllegalStateException("a stack trace of " + e.getStackTrace().length, e);
                }
            }
        };
    }

    private static int fall(int left) throws Fallen {
        if (left == 0) {
            throw new Fallen();
        }
        return fall(left - 1) + 1;
    }

    private static final class Fallen extends Exception {
        private static final long serialVersionUID = 1;
    }
}
