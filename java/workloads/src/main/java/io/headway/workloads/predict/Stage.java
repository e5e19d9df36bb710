package io.headway.workloads.predict;

import io.headway.workloads.ThreadKind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Where a scenario's threads run: starts them together, says how long, collects their ledgers. */
final class Stage {
    /** Delayed acquisitions that a scenario must have seen for its truth to say anything. */
    private static final int ENOUGH = 40;
    /** How long they are waited for beyond the time that was asked for. */
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(60);

    private final Catalog catalog = new Catalog();
    private final ThreadKind kind;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Ledger> ledgers = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();
    private final CountDownLatch go = new CountDownLatch(1);
    private volatile long endNs;

    Stage(ThreadKind kind) {
        this.kind = kind;
    }

    /** Names of locks and methods. */
    Catalog catalog() {
        return catalog;
    }

    /** Adds a thread that runs {@code part} once when the stage opens. */
    void thread(String name, Part part) {
        Ledger ledger = new Ledger(name);
        ledgers.add(ledger);
        threads.add(kind.unstarted(name, () -> play(part, ledger)));
    }

    private void play(Part part, Ledger ledger) {
        try {
            go.await();
            part.play(ledger);
        } catch (Throwable e) {
            synchronized (failures) {
                failures.add(e);
            }
        }
    }

    /**
     * True while threads should go on: as long as was asked for, and until they have contended. Where
     * others have the processors, one thread may hold a lock for seconds, and others hardly ever ask.
     */
    boolean running() {
        long over = System.nanoTime() - endNs;
        return over < 0 || over < PATIENCE_NS && !hasContended();
    }

    private boolean hasContended() {
        return ledgers.stream().mapToInt(Ledger::delayed).sum() >= ENOUGH;
    }

    /**
     * Starts all threads, lets them run for {@code runNs} (see {@link #running}), and waits for their end.
     *
     * @throws IllegalStateException if a thread failed
     */
    void open(long runNs) throws InterruptedException {
        for (Thread thread : threads) {
            thread.start();
        }
        endNs = System.nanoTime() + runNs;
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        synchronized (failures) {
            if (!failures.isEmpty()) {
                throw new IllegalStateException("a thread of the scenario failed", failures.get(0));
            }
        }
    }

    /** What the threads wrote down; to be read after {@link #open}. */
    List<Ledger> ledgers() {
        return ledgers;
    }

    /** Number of threads. */
    int threads() {
        return threads.size();
    }

    /** What one thread does. */
    interface Part {
        /** Runs until {@link Stage#running} says no more. */
        void play(Ledger ledger) throws Exception;
    }
}
