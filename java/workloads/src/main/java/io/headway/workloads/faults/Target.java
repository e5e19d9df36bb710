package io.headway.workloads.faults;

import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code faults [monitor|jni|memory|stacks] [--seconds N] [--threads N] [--end exit|halt|return] [--native
 * FILE] [--libraries PREFIX --library-count N]}: a program for faults to happen to. Its threads block
 * each other all the time and use little CPU time. Prints {@code READY} when they run; ends with code
 * 0.
 *
 * <ul>
 *   <li>{@code monitor}: they contend for a monitor and a {@link ReentrantLock}, a millisecond each.
 *   <li>{@code jni}: the same for a monitor that native code enters and exits ({@code --native}).
 *   <li>{@code memory}: meanwhile a thread runs out of memory again and again.
 *   <li>{@code stacks}: they contend for the monitor, each time from another call stack, and each
 *       thread ends after {@value #PER_THREAD} times and starts the next one.
 * </ul>
 */
public final class Target implements Workload {
    private static final long HOLD_MS = 1;

    private final Object monitor = new Object();
    private final ReentrantLock lock = new ReentrantLock();
    private static final int PER_THREAD = 100;
    /** Calls that make a call stack: there are two to the power of it. */
    private static final int TURNS = 20;

    private static final long SHORT_HOLD_NS = 100_000;

    private final AtomicLong next = new AtomicLong();
    private long steps;

    @Override
    public int run(Arguments arguments) throws Exception {
        String how = arguments.word() == null ? "monitor" : arguments.word();
        long runNs = arguments.secondsAsNanos("seconds", 600);
        long threads = arguments.number("threads", 3, 1);
        String end = arguments.text("end", "return");
        String library = arguments.text("native", null);
        String prefix = arguments.text("libraries", null);
        long count = arguments.number("library-count", 0, 0);
        arguments.refuseUnknown();

        for (long i = 0; i < count; i++) {
            System.load(prefix + i + ".so");
        }
        for (Runnable work : works(how, library, (int) threads)) {
            Thread thread = new Thread(work, how + "-worker");
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("READY");
        Thread.sleep(runNs / 1_000_000);
        switch (end) {
            case "exit" -> System.exit(0);
            case "halt" -> Runtime.getRuntime().halt(0);
            case "return" -> System.out.println("DONE");
            default -> throw new UsageException("--end takes exit, halt or return, not '" + end + "'");
        }
        return 0;
    }

    private List<Runnable> works(String how, String library, int threads) {
        List<Runnable> works = new ArrayList<>();
        switch (how) {
            case "monitor" -> add(works, threads, this::contend);
            case "jni" -> {
                System.load(library);
                add(works, threads, this::contendInNativeCode);
            }
            case "memory" -> {
                add(works, threads, this::contend);
                works.add(Target::runOutOfMemory);
            }
            case "stacks" -> add(works, threads, this::contendFromManyPlaces);
            default -> throw new UsageException("faults: expected monitor, jni, memory or stacks, not '" + how + "'");
        }
        return works;
    }

    private static void add(List<Runnable> works, int threads, Runnable work) {
        for (int i = 0; i < threads; i++) {
            works.add(work);
        }
    }

    private void contend() {
        while (true) {
            synchronized (monitor) {
                hold();
            }
            lock.lock();
            try {
                hold();
            } finally {
                lock.unlock();
            }
        }
    }

    private void contendFromManyPlaces() {
        for (int i = 0; i < PER_THREAD; i++) {
            turn(next.getAndIncrement(), TURNS);
        }
        Thread successor = new Thread(this::contendFromManyPlaces, Thread.currentThread().getName());
        successor.setDaemon(true);
        successor.start();
    }

    private void turn(long path, int turns) {
        if (turns == 0) {
            holdShortly();
        } else if ((path & 1) == 0) {
            left(path >> 1, turns - 1);
        } else {
            right(path >> 1, turns - 1);
        }
    }

    private void left(long path, int turns) {
        turn(path, turns);
    }

    private void right(long path, int turns) {
        turn(path, turns);
    }

    private void holdShortly() {
        synchronized (monitor) {
            steps++;
            long until = System.nanoTime() + SHORT_HOLD_NS;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
        }
    }

    private void contendInNativeCode() {
        while (true) {
            enter(monitor);
            hold();
            exit(monitor);
        }
    }

    private static native void enter(Object monitor);

    private static native void exit(Object monitor);

    private void hold() {
        steps++;
        try {
            Thread.sleep(HOLD_MS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void runOutOfMemory() {
        while (true) {
            List<byte[]> all = new ArrayList<>();
            try {
                while (true) {
                    all.add(new byte[1 << 20]);
                }
            } catch (OutOfMemoryError e) {
                all.clear();
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
