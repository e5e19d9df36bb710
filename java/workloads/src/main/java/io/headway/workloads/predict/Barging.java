package io.headway.workloads.predict;

/**
 * One thread that takes the lock again as soon as it has released it, so that the successor that it
 * woke usually finds the lock taken; the others hold it briefly and stay away for a while.
 */
final class Barging implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int greedy;
    private int polite;

    Barging(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        lockId = stage.catalog().lock("Barging.lock", lock);
        greedy = stage.catalog().site(Barging.class, "takeAgainAndAgain");
        polite = stage.catalog().site(Barging.class, "takeOnce");
        stage.thread("greedy", ledger -> {
            while (stage.running()) {
                takeAgainAndAgain(ledger);
            }
        });
        for (int i = 1; i < settings.threads(); i++) {
            stage.thread("polite-" + i, ledger -> {
                while (stage.running()) {
                    takeOnce(ledger);
                    Spin.sleepNanos(settings.pauseNs() * 2);
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        takeAgainAndAgain(scratch);
        takeOnce(scratch);
    }

    private void takeAgainAndAgain(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs());
            release = System.nanoTime();
        }
        ledger.add(lockId, greedy, request, acquired, release);
    }

    private void takeOnce(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 4);
            release = System.nanoTime();
        }
        ledger.add(lockId, polite, request, acquired, release);
    }
}
