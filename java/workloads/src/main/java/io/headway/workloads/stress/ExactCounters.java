package io.headway.workloads.stress;

import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counters that are only right if every monitor excluded everybody else: incremented in synchronized
 * blocks and methods, nested, recursively, deep down the stack, and in blocks left by exceptions.
 */
final class ExactCounters extends Stressor {
    private static final int THREADS = 4;
    private static final int COUNTERS = 4;

    private final Counter[] counters = new Counter[COUNTERS];
    private final AtomicLong expected = new AtomicLong();
    private static long staticCount;

    @Override
    String name() {
        return "counters";
    }

    @Override
    void plan(Random random) {
        for (int i = 0; i < COUNTERS; i++) {
            counters[i] = new Counter();
        }
        for (int i = 0; i < THREADS; i++) {
            Random own = new Random(random.nextLong());
            thread("" + i, () -> count(own));
        }
    }

    private void count(Random random) {
        long mine = 0;
        while (running()) {
            Counter counter = counters[random.nextInt(COUNTERS)];
            mine += step(random, counter);
            if (random.nextInt(64) == 0) {
                Thread.yield();
            }
        }
        expected.addAndGet(mine);
    }

    private int step(Random random, Counter counter) {
        switch (random.nextInt(7)) {
            case 0 -> counter.inBlock(random.nextInt(2_000));
            case 1 -> counter.inMethod();
            case 2 -> inStaticMethod();
            case 3 -> counter.recursively(random.nextInt(20));
            case 4 -> counter.deep(random.nextInt(400));
            case 5 -> counter.leavingByException();
            default -> {
                Counter first = counters[0];
                Counter second = counters[COUNTERS - 1];
                synchronized (first) {
                    synchronized (second) {
                        second.value++;
                    }
                }
            }
        }
        return 1;
    }

    private static synchronized void inStaticMethod() {
        staticCount++;
    }

    @Override
    String check() {
        long sum = staticCount;
        for (Counter counter : counters) {
            sum += counter.value;
        }
        return sum == expected.get() ? null : "counted " + sum + ", expected " + expected;
    }

    /** Its own lock. */
    private static final class Counter {
        private long value;
        private long sink;

        void inBlock(int rounds) {
            synchronized (this) {
                for (int i = 0; i < rounds; i++) {
                    sink = sink * 31 + i;
                }
                value++;
            }
        }

        synchronized void inMethod() {
            value++;
        }

        synchronized void recursively(int depth) {
            if (depth > 0) {
                recursively(depth - 1);
            } else {
                value++;
            }
        }

        void deep(int depth) {
            if (depth > 0) {
                deep(depth - 1);
            } else {
                inMethod();
            }
        }

        void leavingByException() {
            try {
                synchronized (this) {
                    value++;
                    throw new IllegalStateException("leaves the block");
                }
            } catch (IllegalStateException e) {
                sink++;
            }
        }
    }
}
