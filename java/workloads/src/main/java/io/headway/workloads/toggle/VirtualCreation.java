package io.headway.workloads.toggle;

import io.headway.workloads.ThreadKind;
import java.util.concurrent.ThreadFactory;

/** Makes, starts and joins virtual threads; an operation is one thread's life. */
final class VirtualCreation implements ContinuousWork {
    private static final int BATCH = 200;

    private final ThreadFactory factory = ThreadKind.virtual().factory();
    private final Thread creator = new Thread(this::create, "creator");
    private volatile long created;
    private volatile boolean ended;

    private void create() {
        Thread[] batch = new Thread[BATCH];
        try {
            while (!ended) {
                for (int i = 0; i < BATCH; i++) {
                    batch[i] = factory.newThread(() -> {});
                    batch[i].start();
                }
                for (Thread thread : batch) {
                    thread.join();
                }
                created = created + BATCH;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void start() {
        creator.start();
    }

    @Override
    public long operations() {
        return created;
    }

    @Override
    public long[] threadIds() {
        return new long[0];
    }

    @Override
    public void end() throws InterruptedException {
        ended = true;
        creator.join();
    }
}
