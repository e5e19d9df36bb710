package io.headway.workloads.predict;

/**
 * Locks reached in all the ways that a developer has a name for: a field, a static field, {@code this},
 * a class, a class by a static synchronized method, a field of another object, an array element.
 */
final class NamedLocks implements Scenario {
    private static final Object SHARED = new Object();

    private final Object guard = new Object();
    private final Vault vault = new Vault();
    private final Object[] stripes = {new Object(), new Object()};
    private final Settings settings;
    private long[] lockIds = new long[6];
    private int[] sites = new int[7];

    NamedLocks(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        Catalog catalog = stage.catalog();
        lockIds = new long[] {
            catalog.lock("NamedLocks.guard", guard),
            catalog.lock("NamedLocks.SHARED", SHARED),
            catalog.lock("NamedLocks (this)", this),
            catalog.lock("NamedLocks.class", NamedLocks.class),
            catalog.lock("NamedLocks$Vault.door", vault.door),
            catalog.lock("NamedLocks.stripes[]", stripes[1])
        };
        sites = new int[] {
            catalog.site(NamedLocks.class, "byField"),
            catalog.site(NamedLocks.class, "byStaticField"),
            catalog.site(NamedLocks.class, "byThis"),
            catalog.site(NamedLocks.class, "byClass"),
            catalog.site(NamedLocks.class, "byStaticMethod"),
            catalog.site(NamedLocks.class, "byFieldOfOther"),
            catalog.site(NamedLocks.class, "byElement")
        };
        for (int i = 1; i <= settings.threads(); i++) {
            int first = i;
            stage.thread("namer-" + i, ledger -> {
                // Pairs of threads do the same for a while, so that they meet at the same lock.
                for (int n = first / 2; stage.running(); n++) {
                    for (int again = 0; again < 3; again++) {
                        step(n % sites.length, ledger);
                    }
                    Spin.sleepNanos(settings.pauseNs() / 8);
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        for (int kind = 0; kind < sites.length; kind++) {
            step(kind, scratch);
        }
    }

    private void step(int kind, Ledger ledger) {
        long[] stamps = new long[3];
        stamps[0] = System.nanoTime();
        switch (kind) {
            case 0 -> byField(stamps);
            case 1 -> byStaticField(stamps);
            case 2 -> byThis(stamps);
            case 3 -> byClass(stamps);
            case 4 -> byStaticMethod(stamps, settings.holdNs());
            case 5 -> byFieldOfOther(stamps);
            default -> byElement(stamps);
        }
        ledger.add(lockIds[kind < 4 ? kind : kind - 1], sites[kind], stamps[0], stamps[1], stamps[2]);
    }

    private static void hold(long[] stamps, long ns) {
        stamps[1] = System.nanoTime();
        Spin.forNanos(ns);
        stamps[2] = System.nanoTime();
    }

    private void byField(long[] stamps) {
        synchronized (guard) {
            hold(stamps, settings.holdNs());
        }
    }

    private void byStaticField(long[] stamps) {
        synchronized (SHARED) {
            hold(stamps, settings.holdNs());
        }
    }

    private synchronized void byThis(long[] stamps) {
        hold(stamps, settings.holdNs());
    }

    private void byClass(long[] stamps) {
        synchronized (NamedLocks.class) {
            hold(stamps, settings.holdNs());
        }
    }

    private static synchronized void byStaticMethod(long[] stamps, long holdNs) {
        hold(stamps, holdNs);
    }

    private void byFieldOfOther(long[] stamps) {
        synchronized (vault.door) {
            hold(stamps, settings.holdNs());
        }
    }

    private void byElement(long[] stamps) {
        synchronized (stripes[1]) {
            hold(stamps, settings.holdNs());
        }
    }

    /** Holds a lock that others take. */
    private static final class Vault {
        private final Object door = new Object();
    }
}
