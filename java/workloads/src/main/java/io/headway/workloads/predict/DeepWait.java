package io.headway.workloads.predict;

/**
 * {@code transact} takes the lock and two methods deeper {@code awaitSignal} waits on it: what the
 * waiter held until then, and again after it woke, is {@code transact}'s.
 *
 * <p>Each waiter has a lock of its own, with one {@code signaller} that notifies it and then keeps
 * the lock for a while (the waiter's contended re-acquisition), and one {@code bystander}.
 */
final class DeepWait implements Scenario {
    private final Settings settings;

    DeepWait(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        int transact = stage.catalog().site(Trio.class, "transact");
        int signaller = stage.catalog().site(Trio.class, "signaller");
        int bystander = stage.catalog().site(Trio.class, "bystander");
        int trios = Math.max(1, settings.threads() / 3);
        for (int i = 1; i <= trios; i++) {
            Trio trio = new Trio(settings, transact, signaller, bystander);
            trio.lockId = stage.catalog().lock("DeepWait.Trio.lock", trio.lock);
            stage.thread("waiter-" + i, ledger -> {
                try {
                    while (stage.running()) {
                        trio.transact(ledger);
                        Spin.sleepNanos(settings.pauseNs() / 4);
                    }
                } finally {
                    trio.waiterDone = true;
                }
            });
            stage.thread("signaller-" + i, ledger -> {
                while (!trio.waiterDone) {
                    trio.signaller(ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
            stage.thread("bystander-" + i, ledger -> {
                while (stage.running()) {
                    trio.bystander(ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) throws InterruptedException {
        Trio trio = new Trio(settings, 0, 0, 0);
        trio.signalled = true;
        trio.transact(scratch);
        trio.signaller(scratch);
        trio.bystander(scratch);
    }

    /** One lock with its waiter, signaller and bystander. */
    static final class Trio {
        private final Object lock = new Object();
        private final Settings settings;
        private final int transact;
        private final int signaller;
        private final int bystander;
        private long lockId;
        private boolean waiting;
        private boolean signalled;
        private long signalledAt;
        private volatile boolean waiterDone;

        Trio(Settings settings, int transact, int signaller, int bystander) {
            this.settings = settings;
            this.transact = transact;
            this.signaller = signaller;
            this.bystander = bystander;
        }

        private void transact(Ledger ledger) throws InterruptedException {
            long request = System.nanoTime();
            long acquired;
            long[] wait;
            long release;
            synchronized (lock) {
                acquired = System.nanoTime();
                Spin.forNanos(settings.holdNs());
                wait = prepare();
                Spin.forNanos(settings.holdNs() / 2);
                release = System.nanoTime();
            }
            if (wait[2] == 0) {
                ledger.add(lockId, transact, request, acquired, release);
                return;
            }
            ledger.add(lockId, transact, request, acquired, wait[0]);
            ledger.addWait(wait[0], wait[1]);
            ledger.add(lockId, transact, wait[1], wait[2], release);
        }

        private long[] prepare() throws InterruptedException {
            long[] wait = new long[3];
            awaitSignal(wait);
            return wait;
        }

        /** Stamps: about to wait, notified, back with the lock (0 if there was no need to wait). */
        private void awaitSignal(long[] wait) throws InterruptedException {
            waiting = true;
            wait[0] = System.nanoTime();
            while (!signalled) {
                lock.wait();
                wait[2] = System.nanoTime();
            }
            wait[1] = signalledAt;
            waiting = false;
            signalled = false;
        }

        private void signaller(Ledger ledger) {
            long request = System.nanoTime();
            long acquired;
            long release;
            synchronized (lock) {
                acquired = System.nanoTime();
                Spin.forNanos(settings.holdNs() / 2);
                if (waiting && !signalled) {
                    signalled = true;
                    signalledAt = System.nanoTime();
                    lock.notify();
                }
                Spin.forNanos(settings.holdNs());
                release = System.nanoTime();
            }
            ledger.add(lockId, signaller, request, acquired, release);
        }

        private void bystander(Ledger ledger) {
            long request = System.nanoTime();
            long acquired;
            long release;
            synchronized (lock) {
                acquired = System.nanoTime();
                Spin.forNanos(settings.holdNs() / 4);
                release = System.nanoTime();
            }
            ledger.add(lockId, bystander, request, acquired, release);
        }
    }
}
