package io.headway.eval;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * A crew at work, and someone outside who asks how far it is. Prints {@code READY} when the crew has
 * begun. Then each line of standard input is answered with one line; when it ends, so does the program.
 *
 * <ul>
 *   <li>{@code mark}: {@code mark NOW_NS OPERATIONS THREADS_CPU_NS P50_NS P99_NS MAX_NS}. The time is that
 *       of {@code System.nanoTime}, which on Linux is CLOCK_MONOTONIC; operations and the CPU time of the
 *       threads that work (a profiler's own threads are not among them) are counted from the beginning,
 *       latencies from the mark before, and are 0 where operations are no requests.
 *   <li>Anything else is a command for {@link Switchboard}.
 * </ul>
 */
final class Session {
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final Switchboard switchboard = new Switchboard();
    private final Crew crew;
    /** As it is now: a suite's output goes elsewhere. */
    private final PrintStream out;

    Session(Crew crew, PrintStream out) {
        this.crew = crew;
        this.out = out;
    }

    void run() throws IOException {
        crew.start();
        say("READY");
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                say(line.equals("mark") ? mark() : switchboard.obey(line.split("\t")));
            }
        }
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }

    private String mark() {
        long[] counts = crew.takeLatencies();
        long cpu = 0;
        for (long id : crew.threadIds()) {
            cpu += Math.max(0, threads.getThreadCpuTime(id));
        }
        String progress = "mark " + System.nanoTime() + " " + crew.operations() + " " + cpu;
        if (counts == null) {
            return progress + " 0 0 0";
        }
        return progress + " " + Latencies.quantile(counts, 0.5) + " " + Latencies.quantile(counts, 0.99) + " "
                + Latencies.quantile(counts, 1);
    }
}
