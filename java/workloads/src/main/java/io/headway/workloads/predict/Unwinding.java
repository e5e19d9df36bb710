package io.headway.workloads.predict;

/**
 * Locks released by exceptions: out of a synchronized block, out of a synchronized method, out of two
 * nested blocks at once, always thrown by a callee.
 *
 * <p>Of two nested locks only one is ever shared. If both were, the release of the inner one would wake
 * its successor, which may take the processor from a thread that still holds the outer one, long after
 * its last stamp: the truth would be wrong.
 */
final class Unwinding implements Scenario {
    private final Object lock = new Object();
    private final Object outer = new Object();
    private final Settings settings;
    private long lockId;
    private long outerId;
    private long thisId;
    private int block;
    private int method;
    private int nested;

    Unwinding(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        Catalog catalog = stage.catalog();
        lockId = catalog.lock("Unwinding.lock", lock);
        outerId = catalog.lock("Unwinding.outer", outer);
        thisId = catalog.lock("Unwinding (this)", this);
        block = catalog.site(Unwinding.class, "leaveBlock");
        method = catalog.site(Unwinding.class, "leaveMethod");
        nested = catalog.site(Unwinding.class, "leaveTwoBlocks");
        for (int i = 1; i <= settings.threads(); i++) {
            int first = i;
            stage.thread("thrower-" + i, ledger -> {
                Object own = new Object();
                for (int n = first; stage.running(); n++) {
                    step(n % 4, own, ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        Object own = new Object();
        for (int kind = 0; kind < 4; kind++) {
            step(kind, own, scratch);
        }
    }

    private void step(int kind, Object own, Ledger ledger) {
        long[] stamps = new long[4];
        try {
            switch (kind) {
                case 0 -> leaveBlock(stamps);
                case 1 -> {
                    stamps[0] = System.nanoTime();
                    leaveMethod(stamps);
                }
                case 2 -> leaveTwoBlocks(outer, own, stamps);
                default -> leaveTwoBlocks(own, lock, stamps);
            }
            throw new IllegalStateException("nothing was thrown");
        } catch (HoldIsOver e) {
            switch (kind) {
                case 0 -> ledger.add(lockId, block, stamps[0], stamps[1], stamps[2]);
                case 1 -> ledger.add(thisId, method, stamps[0], stamps[1], stamps[2]);
                case 2 -> ledger.add(outerId, nested, stamps[0], stamps[1], stamps[2]);
                default -> ledger.add(lockId, nested, stamps[1], stamps[3], stamps[2]);
            }
        }
    }

    private void leaveBlock(long[] stamps) {
        stamps[0] = System.nanoTime();
        synchronized (lock) {
            stamps[1] = System.nanoTime();
            holdAndThrow(settings.holdNs() / 2, stamps);
        }
    }

    private synchronized void leaveMethod(long[] stamps) {
        stamps[1] = System.nanoTime();
        holdAndThrow(settings.holdNs(), stamps);
    }

    private void leaveTwoBlocks(Object first, Object second, long[] stamps) {
        stamps[0] = System.nanoTime();
        synchronized (first) {
            stamps[1] = System.nanoTime();
            synchronized (second) {
                stamps[3] = System.nanoTime();
                holdAndThrow(settings.holdNs(), stamps);
            }
        }
    }

    private static void holdAndThrow(long holdNs, long[] stamps) {
        Spin.forNanos(holdNs);
        stamps[2] = System.nanoTime();
        throw HoldIsOver.INSTANCE;
    }

    /** Without a stack trace, whose making would lie between the last stamp and the release. */
    private static final class HoldIsOver extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private static final HoldIsOver INSTANCE = new HoldIsOver();

        private HoldIsOver() {
            super("hold is over", null, false, false);
        }
    }
}
