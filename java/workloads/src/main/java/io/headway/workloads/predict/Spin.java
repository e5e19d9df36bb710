package io.headway.workloads.predict;

import java.util.concurrent.locks.LockSupport;

/** Ways to let time pass. */
final class Spin {
    private Spin() {}

    /** Keeps a processor busy for this long, by the clock that the truth is measured with. */
    static void forNanos(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() - end < 0) {
            Thread.onSpinWait();
        }
    }

    /** Leaves the processor to others for about this long; zero does nothing. */
    static void sleepNanos(long ns) {
        if (ns > 0) {
            LockSupport.parkNanos(ns);
        }
    }
}
