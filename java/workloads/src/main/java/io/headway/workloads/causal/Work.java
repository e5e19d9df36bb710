package io.headway.workloads.causal;

/** Work that takes a known CPU time, once {@link #calibrate} was called. */
final class Work {
    /** Results go here, so that no work is optimised away. */
    private static volatile long sink;

    private static double unitsPerMilli;

    private Work() {}

    /** Works for about so many milliseconds of CPU time: always the same. */
    static void millis(double millis) {
        sink = units((long) (millis * unitsPerMilli));
    }

    private static long units(long units) {
        long value = units;
        for (long unit = 0; unit < units; unit++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
            value ^= value >>> 29;
        }
        return value;
    }

    /** Finds out how much work takes a millisecond, once the code is compiled. */
    static void calibrate() {
        long units = 100_000;
        double best = 0;
        for (int attempt = 0; attempt < 60; attempt++) {
            long begun = System.nanoTime();
            sink = units(units);
            best = Math.max(best, units * 1e6 / (System.nanoTime() - begun));
        }
        unitsPerMilli = best;
    }
}
