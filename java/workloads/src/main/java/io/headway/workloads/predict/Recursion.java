package io.headway.workloads.predict;

/**
 * A lock taken again by its owner, several times and in another method: only the outermost exit
 * releases it, so the time belongs to {@code outermost}, although {@code again} spends it.
 */
final class Recursion implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int outermost;
    private int plain;

    Recursion(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        lockId = stage.catalog().lock("Recursion.lock", lock);
        outermost = stage.catalog().site(Recursion.class, "outermost");
        plain = stage.catalog().site(Recursion.class, "plain");
        for (int i = 1; i <= settings.threads(); i++) {
            int first = i;
            stage.thread("recursive-" + i, ledger -> {
                for (int n = first; stage.running(); n++) {
                    if (n % 2 == 0) {
                        outermost(ledger);
                    } else {
                        plain(ledger);
                    }
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        outermost(scratch);
        plain(scratch);
    }

    private void outermost(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            again(settings.depth());
            release = System.nanoTime();
        }
        ledger.add(lockId, outermost, request, acquired, release);
    }

    private void again(int depth) {
        synchronized (lock) {
            if (depth > 0) {
                again(depth - 1);
            } else {
                Spin.forNanos(settings.holdNs());
            }
        }
    }

    private void plain(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 2);
            release = System.nanoTime();
        }
        ledger.add(lockId, plain, request, acquired, release);
    }
}
