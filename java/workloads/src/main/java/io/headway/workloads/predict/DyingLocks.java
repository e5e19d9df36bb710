package io.headway.workloads.predict;

/**
 * Lock objects that are contended for a few milliseconds and then die, with collections in between:
 * their monitors are deflated and the memory of monitors and objects is used again for others. What
 * one lock's owners caused must never land on another lock.
 */
final class DyingLocks implements Scenario {
    private static final long COLLECT_EVERY = 50;

    private final Settings settings;
    private volatile Mortal current = new Mortal(0);
    private long family;
    private int linger;
    private int touch;

    DyingLocks(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        family = stage.catalog().family("Mortal", Mortal.class);
        linger = stage.catalog().site(DyingLocks.class, "linger");
        touch = stage.catalog().site(DyingLocks.class, "touch");
        for (int i = 1; i <= settings.threads(); i++) {
            boolean lingers = i % 2 == 1;
            stage.thread("mourner-" + i, ledger -> {
                while (stage.running()) {
                    step(lingers, ledger);
                    Spin.sleepNanos(settings.pauseNs() / 4);
                }
            });
        }
        stage.thread("reaper", ledger -> {
            for (int n = 1; stage.running(); n++) {
                Spin.sleepNanos(settings.holdNs() * 8);
                current = new Mortal(n);
                if (n % COLLECT_EVERY == 0) {
                    System.gc();
                }
            }
        });
    }

    @Override
    public void warmUp(Ledger scratch) {
        step(true, scratch);
        step(false, scratch);
    }

    private void step(boolean lingers, Ledger ledger) {
        if (lingers) {
            linger(current, ledger);
        } else {
            touch(current, ledger);
        }
    }

    private void linger(Mortal mortal, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (mortal) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 2);
            release = System.nanoTime();
        }
        ledger.add(Catalog.member(family, mortal.number), linger, request, acquired, release);
    }

    private void touch(Mortal mortal, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (mortal) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 2);
            release = System.nanoTime();
        }
        ledger.add(Catalog.member(family, mortal.number), touch, request, acquired, release);
    }

    /** A short-lived lock. */
    private static final class Mortal {
        private final int number;

        Mortal(int number) {
            this.number = number;
        }
    }
}
