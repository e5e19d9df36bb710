package io.headway.workloads.steal;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Six threads with different patterns of activity, and thirty that are always idle: the synthetic
 * benchmark on which the published attribution of steal time was evaluated. Each thread's demand
 * for CPU time is fixed work, so its true CPU time is the same however long that takes.
 */
final class Patterns {
    private static final int IDLE = 30;
    private static final long MILLI = 1_000_000;

    /** Milliseconds of CPU time and of waiting, over and over; the sixth is random. */
    private static final int[][] PATTERNS = {{50, 50}, {100, 150}, {500, 500}, {1_000, 500}, {1_000, 0}, {}};

    private Patterns() {}

    static Map<String, Object> run(Arguments arguments) throws InterruptedException {
        long demand = arguments.secondsAsNanos("seconds", 4);
        int idle = (int) arguments.number("idle", IDLE, 0);
        arguments.refuseUnknown();
        double unit = Burner.calibrate();
        for (int i = 0; i < idle; i++) {
            Thread thread = new Thread(Patterns::sleepForever, "idle-" + (i + 1));
            thread.setDaemon(true);
            thread.start();
        }
        List<Active> active = new ArrayList<>();
        for (int i = 0; i < PATTERNS.length; i++) {
            active.add(new Active("pattern-" + (i + 1), PATTERNS[i], demand, unit, i));
        }
        active.forEach(Thread::start);
        List<Object> threads = new ArrayList<>();
        for (Active thread : active) {
            thread.join();
            threads.add(thread.truth());
        }
        Map<String, Object> truth = Json.object();
        truth.put("unit_ns", unit);
        truth.put("idle", idle);
        truth.put("threads", threads);
        return truth;
    }

    private static void sleepForever() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException ended) {
            // Nobody interrupts it but the end of the program.
        }
    }

    /** Does its part of the time what its pattern says, as work instead of time. */
    private static final class Active extends Thread {
        private final int[] pattern;
        private final long demand;
        private final double unit;
        private final Random random;
        private long units;
        private long cpu;

        Active(String name, int[] pattern, long demand, double unit, int seed) {
            super(name);
            this.pattern = pattern;
            this.demand = demand;
            this.unit = unit;
            this.random = new Random(seed);
        }

        @Override
        public void run() {
            long before = Burner.cpuNanos();
            long asked = 0;
            for (long covered = 0; covered < demand; ) {
                long busy = (pattern.length == 0 ? random.nextInt(100) + 1 : pattern[0]) * MILLI;
                long wait = (pattern.length == 0 ? random.nextInt(100) + 1 : pattern[1]) * MILLI;
                long work = (long) (busy / unit);
                Burner.burn(work);
                units += work;
                asked += busy;
                covered += busy + wait;
                pause(wait);
            }
            cpu = Burner.cpuNanos() - before;
        }

        private static void pause(long nanos) {
            try {
                if (nanos > 0) {
                    Thread.sleep(nanos / MILLI);
                }
            } catch (InterruptedException ended) {
                throw new IllegalStateException(ended);
            }
        }

        Map<String, Object> truth() {
            Map<String, Object> truth = Json.object();
            truth.put("name", getName());
            truth.put("demand_ns", (long) (units * unit));
            truth.put("cpu_ns", cpu);
            return truth;
        }
    }
}
