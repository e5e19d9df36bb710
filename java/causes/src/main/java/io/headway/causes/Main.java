package io.headway.causes;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * {@code ID} provokes the known cause with this id; {@code --list} prints a line of tab-separated words per
 * program: the id and the last JDK that it is for.
 */
public final class Main {
    /** A machine that is busy gets more time, until so much was done. */
    private static final long CALLS = 50;

    private static final long MOST_NANOS = 15_000_000_000L;

    private Main() {}

    /** See the class. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("--list")) {
            causes().forEach(cause -> System.out.println(cause.id() + "\t" + cause.until()));
            return;
        }
        String wanted = arguments.length == 0 ? "" : arguments[0];
        Cause cause = causes().stream().filter(one -> one.id().equals(wanted)).findFirst().orElse(null);
        if (cause == null) {
            System.err.println("headway-causes: there is no program for \"" + wanted + "\"; --list names them");
            System.exit(2);
        }
        run(cause);
        // Libraries leave threads behind that are no daemons.
        System.exit(0);
    }

    private static List<Cause> causes() {
        List<Cause> causes = new ArrayList<>(Logs.causes());
        causes.addAll(Pools.causes());
        causes.addAll(Clients.causes());
        causes.addAll(Databases.causes());
        causes.addAll(Caches.causes());
        causes.addAll(Frameworks.causes());
        causes.addAll(Languages.causes());
        causes.addAll(Reactive.causes());
        causes.addAll(Servers.causes());
        causes.addAll(Messages.causes());
        causes.addAll(Collections.causes());
        causes.addAll(Platform.causes());
        return causes;
    }

    private static void run(Cause cause) throws Exception {
        Cause.Task task = cause.setup().make();
        if (!cause.isCold()) {
            task.run(0);
        }
        AtomicReference<Throwable> failed = new AtomicReference<>();
        AtomicLong calls = new AtomicLong();
        AtomicBoolean isOver = new AtomicBoolean();
        long begun = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        for (int worker = 0; worker < cause.workers(); worker++) {
            int number = worker;
            Thread thread = new Thread(() -> repeat(task, number, calls, isOver, failed), "worker-" + worker);
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        long took = 0;
        while (failed.get() == null && (took < cause.millis() * 1_000_000L || calls.get() < CALLS) && took < MOST_NANOS) {
            Slow.pause(50);
            took = System.nanoTime() - begun;
        }
        isOver.set(true);
        if (failed.get() != null) {
            failed.get().printStackTrace();
            System.exit(1);
        }
    }

    private static void repeat(
            Cause.Task task, int worker, AtomicLong calls, AtomicBoolean isOver, AtomicReference<Throwable> failed) {
        try {
            while (!isOver.get()) {
                task.run(worker);
                calls.incrementAndGet();
            }
        } catch (Throwable failure) {
            // What ends with the program is no failure.
            if (!isOver.get()) {
                failed.compareAndSet(null, failure);
            }
        }
    }
}
