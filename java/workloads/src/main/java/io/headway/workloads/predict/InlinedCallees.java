package io.headway.workloads.predict;

import java.util.Random;

/**
 * Three small methods that hold the lock for 1, 3 and 6 parts of the time, all inlined into one
 * compiled frame: only debug information distinguishes them.
 */
final class InlinedCallees implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int one;
    private int three;
    private int six;

    InlinedCallees(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        lockId = stage.catalog().lock("InlinedCallees.lock", lock);
        one = stage.catalog().site(InlinedCallees.class, "holdOne");
        three = stage.catalog().site(InlinedCallees.class, "holdThree");
        six = stage.catalog().site(InlinedCallees.class, "holdSix");
        for (int i = 1; i <= settings.threads(); i++) {
            Random random = new Random(i);
            stage.thread("inliner-" + i, ledger -> {
                while (stage.running()) {
                    work(ledger);
                    Spin.sleepNanos(random.nextLong(settings.pauseNs() + 1));
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        work(scratch);
    }

    private void work(Ledger ledger) {
        holdOne(ledger);
        holdThree(ledger);
        holdSix(ledger);
    }

    private void holdOne(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs());
            release = System.nanoTime();
        }
        ledger.add(lockId, one, request, acquired, release);
    }

    private void holdThree(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 3);
            release = System.nanoTime();
        }
        ledger.add(lockId, three, request, acquired, release);
    }

    private void holdSix(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 6);
            release = System.nanoTime();
        }
        ledger.add(lockId, six, request, acquired, release);
    }
}
