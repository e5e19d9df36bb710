package io.headway.workloads.predict;

/** Fair use: after a hold, a thread stays away long enough for every other to have its turn. */
final class TakingTurns implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int even;
    private int odd;

    TakingTurns(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        lockId = stage.catalog().lock("TakingTurns.lock", lock);
        even = stage.catalog().site(TakingTurns.class, "holdEven");
        odd = stage.catalog().site(TakingTurns.class, "holdOdd");
        for (int i = 1; i <= settings.threads(); i++) {
            boolean isEven = i % 2 == 0;
            stage.thread("turn-" + i, ledger -> {
                while (stage.running()) {
                    hold(isEven, ledger);
                    Spin.sleepNanos(settings.holdNs() * settings.threads());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        hold(true, scratch);
        hold(false, scratch);
    }

    private void hold(boolean isEven, Ledger ledger) {
        if (isEven) {
            holdEven(ledger);
        } else {
            holdOdd(ledger);
        }
    }

    private void holdEven(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs());
            release = System.nanoTime();
        }
        ledger.add(lockId, even, request, acquired, release);
    }

    private void holdOdd(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 3);
            release = System.nanoTime();
        }
        ledger.add(lockId, odd, request, acquired, release);
    }
}
