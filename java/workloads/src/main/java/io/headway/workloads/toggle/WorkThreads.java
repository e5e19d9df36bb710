package io.headway.workloads.toggle;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/** Platform threads that repeat an operation until ended. */
final class WorkThreads implements ContinuousWork {
    /** Longs between two threads' counters, so that they share no cache line. */
    private static final int STRIDE = 16;

    private final AtomicLongArray counts;
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean ended;

    WorkThreads(String name, int count, Operation operation) {
        counts = new AtomicLongArray(count * STRIDE);
        for (int i = 0; i < count; i++) {
            int slot = i * STRIDE;
            threads.add(new Thread(() -> repeat(operation, slot), name + "-" + (i + 1)));
        }
    }

    private void repeat(Operation operation, int slot) {
        while (!ended) {
            operation.once();
            counts.setOpaque(slot, counts.getPlain(slot) + 1);
        }
    }

    @Override
    public void start() {
        threads.forEach(Thread::start);
    }

    @Override
    public long operations() {
        long sum = 0;
        for (int i = 0; i < threads.size(); i++) {
            sum += counts.getOpaque(i * STRIDE);
        }
        return sum;
    }

    @Override
    public long[] threadIds() {
        return threads.stream().mapToLong(Thread::getId).toArray();
    }

    @Override
    public void end() throws InterruptedException {
        ended = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** One operation, a microsecond or so. */
    interface Operation {
        /** Does it. */
        void once();
    }
}
