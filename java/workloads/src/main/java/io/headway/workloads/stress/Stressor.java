package io.headway.workloads.stress;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * One kind of trouble: threads that make it until asked to stop, and an invariant that holds if the
 * VM kept its promises meanwhile.
 */
abstract class Stressor {
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;
    private volatile Throwable failure;

    /** What it is called in messages. */
    abstract String name();

    /** Adds the threads by {@link #thread}. */
    abstract void plan(Random random) throws Exception;

    /**
     * Checks the invariant after all threads ended.
     *
     * @return what is wrong, or null
     */
    abstract String check();

    /** Adds a thread that runs {@code part} once; parts loop while {@link #running}. */
    final void thread(String threadName, Part part) {
        threads.add(new Thread(() -> play(part), name() + "-" + threadName));
    }

    private void play(Part part) {
        try {
            part.play();
        } catch (Throwable e) {
            failure = e;
        }
    }

    /** True until {@link #stop}. */
    final boolean running() {
        return !stopped;
    }

    final void start() {
        threads.forEach(Thread::start);
    }

    /** Asks the threads to end; subclasses that keep threads waiting wake them here. */
    void stop() {
        stopped = true;
    }

    /**
     * Waits for the threads.
     *
     * @return names of threads that did not end in time
     */
    final List<String> join(long deadlineNs) throws InterruptedException {
        List<String> hanging = new ArrayList<>();
        for (Thread thread : threads) {
            thread.join(Math.max(1, (deadlineNs - System.nanoTime()) / 1_000_000));
            if (thread.isAlive()) {
                hanging.add(thread.getName());
            }
        }
        return hanging;
    }

    /** What ended a thread early, or null. */
    final Throwable failure() {
        return failure;
    }

    /** What one thread does. */
    interface Part {
        /** Loops while the stressor runs. */
        void play() throws Exception;
    }
}
