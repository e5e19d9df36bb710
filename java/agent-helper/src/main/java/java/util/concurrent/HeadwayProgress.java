package java.util.concurrent;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the agent defines in the boot loader while it does causal profiling.
 *
 * <p>Methods that are progress points begin with a call of {@link #visit}. It adds one to a counter in
 * the agent's memory. Each point has several, far apart, among which threads are spread, so that a point
 * that many threads visit does not make them wait for each other.
 */
public final class HeadwayProgress {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    /** Where the counters are; they stay for the life of the process. */
    private static final long COUNTERS = counters();

    private static final int POINT_BYTES = 1024;
    private static final int STRIPE_BYTES = 64;
    private static final int STRIPES = 16;

    private HeadwayProgress() {}

    /** Counts a visit. */
    @Hidden
    public static void visit(int point) {
        int stripe = ThreadLocalRandom.getProbe() & (STRIPES - 1);
        UNSAFE.getAndAddLong(null, COUNTERS + (long) point * POINT_BYTES + stripe * STRIPE_BYTES, 1L);
    }

    private static native long counters();
}
