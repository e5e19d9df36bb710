package io.headway.workloads.faults;

import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code faults [monitor|jni|memory] [--seconds N] [--threads N] [--end exit|halt|return] [--native
 * FILE] [--libraries PREFIX --library-count N]}: a program for faults to happen to. Its threads block
 * each other all the time and use little CPU time. Prints {@code READY} when they run; ends with code
 * 0.
 *
 * <ul>
 *   <li>{@code monitor}: they contend for a monitor and a {@link ReentrantLock}, a millisecond each.
 *   <li>{@code jni}: the same for a monitor that native code enters and exits ({@code --native}).
 *   <li>{@code memory}: meanwhile a thread runs out of memory again and again.
 * </ul>
 */
public final class Target implements Workload {
    private static final long HOLD_MS = 1;

    private final Object monitor = new Object();
    private final ReentrantLock lock = new ReentrantLock();
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
            default -> throw new UsageException("faults: expected monitor, jni or memory, not '" + how + "'");
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
