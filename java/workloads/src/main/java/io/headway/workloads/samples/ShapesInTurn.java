package io.headway.workloads.samples;

import io.headway.workloads.Json;
import io.headway.workloads.ThreadKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Virtual threads that take turns of a millisecond on few carriers. Each does its work at a depth of its
 * own, so that its stack says who it is.
 */
final class ShapesInTurn {
    private static final int THREADS = 5;
    private static final long TURN_NS = 1_000_000;

    private final List<Thread> threads = new ArrayList<>();
    private final Thread staying = ThreadKind.virtual().unstarted("stay", this::stay);
    private final long end;

    ShapesInTurn(long end) {
        this.end = end;
        for (int number = 1; number <= THREADS; number++) {
            int depth = number;
            threads.add(ThreadKind.virtual().unstarted("turn-" + depth, () -> down(depth)));
        }
    }

    /** Runs them to their end. */
    void run() throws InterruptedException {
        // Carriers that are busy take up no other threads.
        staying.start();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        staying.join();
    }

    /** How many calls of {@code down} are on the stack of the thread with an id. */
    @SuppressWarnings("deprecation") // what replaces it is younger than 17
    Map<String, Object> depths() {
        Map<String, Object> depths = Json.object();
        for (int number = 0; number < THREADS; number++) {
            depths.put(String.valueOf(threads.get(number).getId()), number + 1);
        }
        return depths;
    }

    private void down(int left) {
        if (left > 1) {
            down(left - 1);
            return;
        }
        while (System.nanoTime() < end) {
            turn();
            Thread.yield();
        }
    }

    /** Works in the frame that yields: the first one that is put back on a stack. */
    private void stay() {
        while (System.nanoTime() < end) {
            long until = System.nanoTime() + TURN_NS;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            Thread.yield();
        }
    }

    private void turn() {
        long until = System.nanoTime() + TURN_NS;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }
}
