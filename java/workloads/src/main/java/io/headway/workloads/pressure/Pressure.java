package io.headway.workloads.pressure;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code pressure SCENARIO [--threads N] [--seconds S] [--hold-ms N] [--process-ms N] [--queued true] [--truth FILE]}:
 * programs whose critical section pressure follows from their own timestamps.
 *
 * <ul>
 *   <li>{@code pingpong}: two threads take a lock in turns, the others only live.
 *   <li>{@code forkjoin}: a master hands out work under a lock, workers fetch and process it.
 *   <li>{@code phase}: two of several threads take a lock in turns for three seconds, from a third of
 *       the run on.
 *   <li>{@code beans}: as {@code pingpong}, until a JMX client in the program has seen the lock and
 *       tried the operations; dumps into {@code --dump FILE}.
 * </ul>
 *
 * <p>Whoever waits sleeps, so that all of a thread's life is running time.
 */
public final class Pressure implements Workload {
    private static final long PHASE_NS = 3_000_000_000L;

    private Meter meter;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLong livedNs = new AtomicLong();
    private volatile boolean over;
    private volatile boolean contended;

    @Override
    public int run(Arguments arguments) throws Exception {
        String scenario = arguments.word();
        int count = (int) arguments.number("threads", 2, 2);
        long runNs = arguments.secondsAsNanos("seconds", 4);
        long holdMs = arguments.number("hold-ms", 1, 1);
        long processMs = arguments.number("process-ms", 50, 1);
        meter = new Meter(arguments.flag("queued", false));
        String dumpTo = arguments.text("dump", "dump.jfr");
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();

        Map<String, Object> truth = Json.object();
        truth.put("scenario", String.valueOf(scenario));
        truth.put("start_epoch_ms", System.currentTimeMillis());
        switch (String.valueOf(scenario)) {
            case "pingpong" -> {
                contended = true;
                takingTurns(count, holdMs);
                letPass(runNs);
            }
            case "forkjoin" -> {
                forkJoin(count, holdMs, processMs);
                letPass(runNs);
            }
            case "phase" -> {
                takingTurns(count, holdMs);
                letPass((runNs - PHASE_NS) / 3);
                truth.put("phase_start_epoch_ms", System.currentTimeMillis());
                contended = true;
                letPass(PHASE_NS);
                contended = false;
                truth.put("phase_end_epoch_ms", System.currentTimeMillis());
                letPass((runNs - PHASE_NS) / 3 * 2);
            }
            case "beans" -> {
                contended = true;
                takingTurns(count, holdMs);
                truth.putAll(Beans.seen(dumpTo));
            }
            default -> throw new UsageException("expected pingpong, forkjoin, phase or beans, found '" + scenario + "'");
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        truth.put("end_epoch_ms", System.currentTimeMillis());
        truth.put("acquiring_ns", meter.acquiringNs());
        truth.put("lived_ns", livedNs.get());
        output.write(truth);
        return 0;
    }

    private interface Body {
        void run() throws InterruptedException;
    }

    private void begin(String name, Body body) {
        Thread thread = new Thread(() -> {
            long begin = System.nanoTime();
            try {
                body.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            livedNs.addAndGet(System.nanoTime() - begin);
        }, name);
        threads.add(thread);
        thread.start();
    }

    /** The main thread waits for a condition meanwhile: it does not count as running. */
    private void letPass(long ns) throws InterruptedException {
        Object nobody = new Object();
        long end = System.nanoTime() + ns;
        synchronized (nobody) {
            for (long left = ns; left > 0; left = end - System.nanoTime()) {
                nobody.wait(Math.max(1, left / 1_000_000));
            }
        }
    }

    private void takingTurns(int count, long holdMs) {
        for (int i = 0; i < count; i++) {
            boolean player = i < 2;
            begin(player ? "player-" + i : "bystander-" + i, () -> {
                while (!over) {
                    if (player && contended) {
                        meter.hold(holdMs);
                    } else {
                        Thread.sleep(1);
                    }
                }
            });
        }
    }

    private void forkJoin(int count, long holdMs, long processMs) {
        AtomicLong round = new AtomicLong();
        AtomicLong done = new AtomicLong();
        int workers = count - 1;
        begin("master", () -> {
            while (!over) {
                done.set(0);
                round.incrementAndGet();
                while (done.get() < workers && !over) {
                    Thread.sleep(1);
                }
            }
        });
        for (int i = 0; i < workers; i++) {
            begin("worker-" + i, () -> {
                long seen = 0;
                while (!over) {
                    if (round.get() == seen) {
                        Thread.sleep(1);
                        continue;
                    }
                    seen = round.get();
                    meter.hold(holdMs);
                    Thread.sleep(processMs);
                    done.incrementAndGet();
                }
            });
        }
    }
}
