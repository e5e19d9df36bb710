/**
 * Loaded again and again by {@link Known}: a call chain through the only class of its kind, until another is
 * loaded while the chain is on the stack, which takes the ground from under compiled frames; and a loop that
 * is replaced by compiled code while it runs.
 */
public final class KnownFresh implements Runnable {
    private static volatile long sink;

    @Override
    public void run() {
        int depth = Truth.enter(Known.RUN);
        try {
            Step step = new One();
            for (int i = 0; i < 3_000; i++) {
                sink += chain(step, 6, false);
            }
            sink += chain(step, 6, true);
            sink += replaced(400_000);
        } finally {
            Truth.leave(depth);
        }
    }

    private static long replaced(int rounds) {
        int depth = Truth.enter(Known.REPLACED);
        try {
            long value = rounds;
            for (int i = 0; i < rounds; i++) {
                value = Known.mix(value);
            }
            return value;
        } finally {
            Truth.leave(depth);
        }
    }

    static long chain(Step step, int left, boolean load) {
        int depth = Truth.enter(Known.CHAIN);
        try {
            return step.step(left, load) + 1;
        } finally {
            Truth.leave(depth);
        }
    }

    static long bottom(boolean load) {
        int depth = Truth.enter(Known.BOTTOM);
        try {
            if (!load) {
                return Known.burn(3, 10);
            }
            return new Two().hashCode() + Known.burn(4, 500_000);
        } finally {
            Truth.leave(depth);
        }
    }

    /** What compiled code takes to have one subclass. */
    abstract static class Step {
        abstract long step(int left, boolean load);
    }

    /** The first. */
    static final class One extends Step {
        @Override
        long step(int left, boolean load) {
            int depth = Truth.enter(Known.STEP);
            try {
                return left == 0 ? bottom(load) : chain(this, left - 1, load);
            } finally {
                Truth.leave(depth);
            }
        }
    }

    /** The second. */
    static final class Two extends Step {
        @Override
        long step(int left, boolean load) {
            return left;
        }
    }
}
