package io.headway.diagnose;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/**
 * {@code PROGRAM [--fixed] [--seconds N]} puts a program under load and prints
 * {@code operations N seconds S}; {@code --list} prints a line of tab-separated words per program: name,
 * library, regular expressions of the cause and of what must not be said, with {@code ;;} between.
 */
public final class Main {
    private static final int SECONDS = 8;

    private Main() {}

    /** See the class. */
    public static void main(String[] arguments) throws Exception {
        List<Program> programs = programs();
        if (arguments.length == 1 && arguments[0].equals("--list")) {
            programs.forEach(Main::print);
            return;
        }
        String wanted = arguments.length == 0 ? "" : arguments[0];
        Program program = programs.stream().filter(one -> one.name().equals(wanted)).findFirst().orElse(null);
        if (program == null) {
            System.err.println("headway-diagnose: there is no program \"" + wanted + "\"; --list names them");
            System.exit(2);
        }
        List<String> options = List.of(arguments).subList(1, arguments.length);
        int at = options.indexOf("--seconds");
        int seconds = at < 0 ? SECONDS : Integer.parseInt(options.get(at + 1));
        run(program, options.contains("--fixed"), seconds);
        // Libraries leave threads behind that are no daemons.
        System.exit(0);
    }

    static List<Program> programs() {
        List<Program> programs = new ArrayList<>(Locks.programs());
        programs.addAll(Waits.programs());
        programs.addAll(Harmless.programs());
        programs.addAll(Pools.programs());
        programs.addAll(Caches.programs());
        programs.addAll(Logs.programs());
        programs.addAll(Databases.programs());
        programs.addAll(Reactive.programs());
        return programs;
    }

    private static void print(Program program) {
        String cause = String.join(";;", program.cause());
        System.out.println(
                String.join("\t", program.name(), program.library(), cause, String.join(";;", program.never())));
    }

    private static void run(Program program, boolean isFixed, int seconds) throws Exception {
        Service service = program.factory().make(isFixed);
        LongAdder operations = new LongAdder();
        AtomicReference<Exception> failed = new AtomicReference<>();
        long begun = System.nanoTime();
        long deadline = begun + seconds * 1_000_000_000L;
        List<Thread> threads = new ArrayList<>();
        for (int worker = 0; worker < program.workers(); worker++) {
            int number = worker;
            Thread thread = new Thread(() -> work(service, number, deadline, operations, failed), "request-" + worker);
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        System.out.println("READY");
        for (Thread thread : threads) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            thread.join(Math.max(1, left));
        }
        double took = (System.nanoTime() - begun) / 1e9;
        System.out.printf("operations %d seconds %.3f%n", operations.sum(), took);
        if (failed.get() != null) {
            throw failed.get();
        }
    }

    private static void work(
            Service service, int worker, long deadline, LongAdder operations, AtomicReference<Exception> failed) {
        try {
            while (System.nanoTime() < deadline) {
                service.serve(worker);
                operations.increment();
            }
        } catch (Exception failure) {
            failed.compareAndSet(null, failure);
        }
    }
}
