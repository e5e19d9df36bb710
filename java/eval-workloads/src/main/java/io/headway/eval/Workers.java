package io.headway.eval;

import java.util.ArrayList;
import java.util.List;

/** The usual crew: each thread repeats an operation. */
final class Workers implements Crew {
    private final List<Worker> workers = new ArrayList<>();
    private final boolean hasLatency;

    Workers(Work work, int count) throws Exception {
        hasLatency = work.hasLatency();
        for (int i = 0; i < count; i++) {
            workers.add(new Worker(i, work.operation(i, count), hasLatency));
        }
    }

    @Override
    public void start() {
        workers.forEach(Thread::start);
    }

    @Override
    public long operations() {
        return workers.stream().mapToLong(Worker::operations).sum();
    }

    @Override
    public long[] threadIds() {
        return workers.stream().mapToLong(Thread::getId).toArray();
    }

    @Override
    public long[] takeLatencies() {
        if (!hasLatency) {
            return null;
        }
        long[] counts = new long[Latencies.BUCKETS];
        workers.forEach(worker -> worker.latencies().drainInto(counts));
        return counts;
    }
}
