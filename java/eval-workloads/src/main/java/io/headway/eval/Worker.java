package io.headway.eval;

import java.util.concurrent.atomic.AtomicLongArray;

/** A thread that repeats an operation and counts. */
final class Worker extends Thread {
    /** Longs on either side of the counter, so that it shares no cache line. */
    private static final int MARGIN = 16;

    private final AtomicLongArray count = new AtomicLongArray(2 * MARGIN);
    private final Work.Operation operation;
    private final Latencies latencies;

    Worker(int number, Work.Operation operation, boolean hasLatency) {
        super("worker-" + (number + 1));
        this.operation = operation;
        this.latencies = hasLatency ? new Latencies() : null;
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            while (true) {
                once();
                count.setOpaque(MARGIN, count.getPlain(MARGIN) + operation.units());
            }
        } catch (Exception e) {
            // A program that does less than it says would be measured wrongly: better not at all.
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private void once() throws Exception {
        if (latencies == null) {
            operation.once();
            return;
        }
        long start = System.nanoTime();
        operation.once();
        latencies.add(System.nanoTime() - start);
    }

    long operations() {
        return count.getOpaque(MARGIN);
    }

    Latencies latencies() {
        return latencies;
    }
}
