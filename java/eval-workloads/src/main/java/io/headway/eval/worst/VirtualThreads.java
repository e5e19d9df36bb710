package io.headway.eval.worst;

import io.headway.eval.Work;
import io.headway.workloads.ThreadKind;
import java.util.concurrent.ThreadFactory;

/** Virtual threads (21, 25) that live for a moment; an operation is the life of a hundred. */
public final class VirtualThreads implements Work {
    private static final int BATCH = 100;

    private final ThreadFactory factory = ThreadKind.virtual().factory();

    @Override
    public Operation operation(int thread, int threads) {
        Thread[] batch = new Thread[BATCH];
        return () -> {
            for (int i = 0; i < BATCH; i++) {
                batch[i] = factory.newThread(() -> {});
                batch[i].start();
            }
            for (Thread started : batch) {
                started.join();
            }
        };
    }
}
