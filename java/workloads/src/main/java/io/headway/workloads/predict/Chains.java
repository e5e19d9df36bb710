package io.headway.workloads.predict;

import java.util.Random;

/**
 * The plain case: one lock, three methods that hold it for different times, reached through two
 * different call chains of the wanted depth.
 */
final class Chains implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int shortLeft;
    private int shortRight;
    private int middleRight;
    private int longLeft;

    Chains(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        Catalog catalog = stage.catalog();
        lockId = catalog.lock("Chains.lock", lock);
        shortLeft = catalog.site(Chains.class, "holdShort", "viaLeft");
        shortRight = catalog.site(Chains.class, "holdShort", "viaRight");
        middleRight = catalog.site(Chains.class, "holdMiddle", "viaRight");
        longLeft = catalog.site(Chains.class, "holdLong", "viaLeft");
        for (int i = 1; i <= settings.threads(); i++) {
            Random random = new Random(i);
            stage.thread("worker-" + i, ledger -> {
                while (stage.running()) {
                    step(random.nextInt(4), ledger);
                    Spin.sleepNanos(settings.pauseNs() / 2 + random.nextLong(settings.pauseNs() + 1));
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        for (int kind = 0; kind < 4; kind++) {
            step(kind, scratch);
        }
    }

    private void step(int kind, Ledger ledger) {
        switch (kind) {
            case 0 -> viaLeft(settings.depth(), shortLeft, ledger);
            case 1 -> viaRight(settings.depth(), shortRight, ledger);
            case 2 -> viaRight(settings.depth(), middleRight, ledger);
            default -> viaLeft(settings.depth(), longLeft, ledger);
        }
    }

    private void viaLeft(int depth, int site, Ledger ledger) {
        if (depth > 0) {
            viaLeft(depth - 1, site, ledger);
        } else if (site == shortLeft) {
            holdShort(site, ledger);
        } else {
            holdLong(site, ledger);
        }
    }

    private void viaRight(int depth, int site, Ledger ledger) {
        if (depth > 0) {
            viaRight(depth - 1, site, ledger);
        } else if (site == shortRight) {
            holdShort(site, ledger);
        } else {
            holdMiddle(site, ledger);
        }
    }

    private void holdShort(int site, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 4);
            release = System.nanoTime();
        }
        ledger.add(lockId, site, request, acquired, release);
    }

    private void holdMiddle(int site, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs());
            release = System.nanoTime();
        }
        ledger.add(lockId, site, request, acquired, release);
    }

    private void holdLong(int site, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 2);
            release = System.nanoTime();
        }
        ledger.add(lockId, site, request, acquired, release);
    }
}
