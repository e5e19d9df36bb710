package io.headway.workloads.steal;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Uses up CPU time in units of a fixed amount of work, so that demand is known in advance. */
final class Burner {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Steps of a unit. */
    private static final int STEPS = 20_000;

    private static volatile long sink;

    private Burner() {}

    /** CPU time of the current thread. */
    static long cpuNanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** CPU time that a unit takes on this machine, once the code is compiled. */
    static double calibrate() {
        burn(2_000);
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long before = cpuNanos();
            burn(1_000);
            best = Math.min(best, (cpuNanos() - before) / 1_000.0);
        }
        return best;
    }

    /** Does so many units of work. */
    static void burn(long units) {
        long value = sink;
        for (long unit = 0; unit < units; unit++) {
            for (int step = 0; step < STEPS; step++) {
                value = value * 6364136223846793005L + 1442695040888963407L;
            }
        }
        sink = value;
    }
}
