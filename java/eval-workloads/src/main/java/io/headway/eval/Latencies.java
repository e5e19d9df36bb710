package io.headway.eval;

import java.util.concurrent.atomic.AtomicLongArray;

/** Counts of latencies in buckets an eighth of a power of two wide: quantiles to within 9 %. */
final class Latencies {
    private static final int STEPS = 8;
    static final int BUCKETS = 64 * STEPS;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

    void add(long ns) {
        counts.getAndIncrement(bucket(ns));
    }

    /** Moves the counts into {@code sums}. */
    void drainInto(long[] sums) {
        for (int i = 0; i < BUCKETS; i++) {
            if (counts.getPlain(i) != 0) {
                sums[i] += counts.getAndSet(i, 0);
            }
        }
    }

    /** The least latency that this share of the counts does not exceed; 0 without any. */
    static long quantile(long[] counts, double share) {
        long total = 0;
        for (long count : counts) {
            total += count;
        }
        long wanted = (long) Math.ceil(total * share);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted && seen > 0) {
                return upperEdge(i);
            }
        }
        return 0;
    }

    private static int bucket(long ns) {
        long value = Math.max(1, ns);
        int power = 63 - Long.numberOfLeadingZeros(value);
        long step = power >= 3 ? (value >>> (power - 3)) & 7 : (value << (3 - power)) & 7;
        return power * STEPS + (int) step;
    }

    private static long upperEdge(int bucket) {
        return (long) Math.scalb(1 + (bucket % STEPS + 1) / (double) STEPS, bucket / STEPS);
    }
}
