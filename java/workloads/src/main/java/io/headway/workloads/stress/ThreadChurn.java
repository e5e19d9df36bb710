package io.headway.workloads.stress;

import io.headway.workloads.ThreadKind;
import java.util.Random;

/**
 * Threads that live for a few contended enters, and locks that die with them. Platform threads, and
 * virtual ones where there are any.
 */
final class ThreadChurn extends Stressor {
    private static final int BATCH = 6;
    private static final int ROUNDS = 20;

    private final ThreadKind kind;
    private final String name;
    private final Object total = new Object();
    private long expected;
    private long counted;
    private String wrong;

    ThreadChurn(String name, ThreadKind kind) {
        this.name = name;
        this.kind = kind;
    }

    @Override
    String name() {
        return name;
    }

    @Override
    void plan(Random random) {
        Random own = new Random(random.nextLong());
        thread("parent", () -> churn(own));
    }

    private void churn(Random random) throws InterruptedException {
        for (long generation = 0; running(); generation++) {
            long[] dying = new long[1];
            Thread[] batch = new Thread[BATCH];
            for (int i = 0; i < BATCH; i++) {
                boolean sleeps = random.nextInt(4) == 0;
                batch[i] = kind.unstarted(name + "-" + generation + "-" + i, () -> live(dying, sleeps));
                batch[i].start();
            }
            for (Thread thread : batch) {
                thread.join();
            }
            expected += BATCH * ROUNDS;
            if (dying[0] != BATCH * ROUNDS) {
                wrong = "generation " + generation + " counted " + dying[0];
            }
        }
    }

    private void live(long[] dying, boolean sleeps) {
        for (int i = 0; i < ROUNDS; i++) {
            synchronized (dying) {
                dying[0]++;
                if (sleeps && i == ROUNDS / 2) {
                    waitBriefly(dying);
                }
            }
            synchronized (total) {
                counted++;
            }
        }
    }

    private static void waitBriefly(Object lock) {
        try {
            lock.wait(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    String check() {
        if (wrong != null) {
            return wrong;
        }
        return counted == expected ? null : "counted " + counted + ", expected " + expected;
    }
}
