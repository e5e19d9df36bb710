package io.headway.diagnose;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** What programs spend time with. */
final class Work {
    private static final LongAdder SINK = new LongAdder();

    private Work() {}

    /** Uses CPU time of this thread for about so many microseconds. */
    static void compute(int micros) {
        long hash = ThreadLocalRandom.current().nextLong() | 1;
        long end = System.nanoTime() + micros * 1000L;
        do {
            for (int i = 0; i < 200; i++) {
                hash = hash * 6364136223846793005L + 1442695040888963407L;
                hash ^= hash >>> 29;
            }
        } while (System.nanoTime() < end);
        SINK.add(hash & 1);
    }

    /** Stands for a call to another machine: no CPU time is used. */
    static void remoteCall(int millis) throws InterruptedException {
        Thread.sleep(millis);
    }
}
