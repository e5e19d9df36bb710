package io.headway.workloads.predict;

/**
 * Waits that nobody notifies: they end by timeout or by interrupt while {@code occupy} holds the
 * lock, so that the waiter has to queue for it.
 *
 * <p>The truth takes the timeout's nominal end, or the moment before {@code interrupt()}, as the
 * begin of that contention. The thread starts to queue only when the kernel has woken it, typically
 * 50 us later: use holds of 10 ms and more.
 */
final class TimedWait implements Scenario {
    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private int patient;
    private int interruptible;
    private int occupy;

    TimedWait(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void plan(Stage stage) {
        lockId = stage.catalog().lock("TimedWait.lock", lock);
        patient = stage.catalog().site(TimedWait.class, "patient");
        interruptible = stage.catalog().site(TimedWait.class, "interruptible");
        occupy = stage.catalog().site(TimedWait.class, "occupy");
        stage.thread("patient", ledger -> {
            while (stage.running()) {
                patient(ledger);
                Spin.sleepNanos(settings.pauseNs());
            }
        });
        Interrupts interrupts = new Interrupts();
        stage.thread("interruptible", ledger -> {
            interrupts.target = Thread.currentThread();
            try {
                while (stage.running()) {
                    interruptible(interrupts, ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            } finally {
                interrupts.target = null;
            }
        });
        stage.thread("occupier", ledger -> {
            while (stage.running()) {
                occupy(interrupts, ledger);
                Spin.sleepNanos(settings.pauseNs() / 2);
            }
            // The waiter may still be waiting for its last interrupt.
            while (interrupts.target != null) {
                occupy(interrupts, ledger);
                Spin.sleepNanos(settings.pauseNs());
            }
        });
    }

    @Override
    public void warmUp(Ledger scratch) throws InterruptedException {
        occupy(new Interrupts(), scratch);
        patient(scratch);
    }

    private void patient(Ledger ledger) throws InterruptedException {
        long timeoutMs = Math.max(1, settings.holdNs() / 1_000_000);
        long request = System.nanoTime();
        long acquired;
        long waitBegin;
        long waitEnd;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 10);
            waitBegin = System.nanoTime();
            lock.wait(timeoutMs);
            waitEnd = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 10);
            release = System.nanoTime();
        }
        ledger.add(lockId, patient, request, acquired, waitBegin);
        ledger.add(lockId, patient, Math.min(waitEnd, waitBegin + timeoutMs * 1_000_000), waitEnd, release);
    }

    private void interruptible(Interrupts interrupts, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long waitBegin;
        long waitEnd;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 10);
            interrupts.wanted = true;
            waitBegin = System.nanoTime();
            waitForInterrupt();
            waitEnd = System.nanoTime();
            interrupts.wanted = false;
            Spin.forNanos(settings.holdNs() / 10);
            release = System.nanoTime();
        }
        ledger.add(lockId, interruptible, request, acquired, waitBegin);
        ledger.add(lockId, interruptible, interrupts.at, waitEnd, release);
    }

    private void waitForInterrupt() {
        try {
            while (true) {
                lock.wait();
            }
        } catch (InterruptedException e) {
            // This is how the wait is meant to end.
        }
    }

    /** Holds the lock, and a third of the way interrupts whoever waits for that. */
    private void occupy(Interrupts interrupts, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 3);
            interrupts.send();
            Spin.forNanos(settings.holdNs());
            release = System.nanoTime();
        }
        ledger.add(lockId, occupy, request, acquired, release);
    }

    /** Guarded by the scenario's lock, but for {@code target}. */
    private static final class Interrupts {
        private volatile Thread target;
        private boolean wanted;
        private long at;

        void send() {
            Thread thread = target;
            if (wanted && thread != null) {
                wanted = false;
                at = System.nanoTime();
                thread.interrupt();
            }
        }
    }
}
