package io.headway.workloads.causal;

import io.headway.Headway;
import io.headway.workloads.Arguments;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.util.Locale;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Programs whose gain by a speedup can be computed by hand: {@code causal SCENARIO --seconds N}.
 *
 * <ul>
 *   <li>{@code lines}: one thread, twice as long in {@code longer} as in {@code shorter}: 2s/3 and s/3.
 *   <li>{@code barrier}: two threads that meet, 10 ms and 5 ms: {@code longer} min(s, 0.5), {@code shorter} 0.
 *   <li>{@code lock}: two threads that do everything under one fair lock, 4 ms each: s/2.
 *   <li>{@code handoff}: two threads that wait for each other in turn by {@code wait} and {@code notify}: s/2.
 *   <li>{@code sleeper}: runs 6 ms, sleeps 4 ms: {@code longer} 0.6s, or by what it prints in the end:
 *       the part of its time that it really spent there, times s.
 * </ul>
 *
 * <p>With {@code --virtual true} the threads are virtual (JDK 21 and later).
 *
 * <p>Those of {@link Gains} really become faster when they are asked to.
 *
 * <p>Each round is a visit of {@code round}, said by the program, and a call of {@link #done}.
 */
public final class Known implements Workload {
    private static volatile boolean running = true;
    private static final Object LOCK = new Object();
    private static boolean turn;
    private static ThreadKind kind = ThreadKind.PLATFORM;
    /** Time that the thread of {@code sleeper} spent in {@link #longer}, and in all, by its own clock. */
    private static final AtomicLong IN_TARGET = new AtomicLong();
    private static final AtomicLong IN_ALL = new AtomicLong();

    @Override
    public int run(Arguments arguments) throws Exception {
        String scenario = arguments.word();
        if (Gains.SCENARIOS.contains(scenario == null ? "" : scenario)) {
            return Gains.run(scenario, arguments);
        }
        long nanos = arguments.secondsAsNanos("seconds", 20);
        kind = arguments.flag("virtual", false) ? ThreadKind.virtual() : ThreadKind.PLATFORM;
        arguments.refuseUnknown();
        Work.calibrate();
        Thread[] threads = threads(scenario == null ? "" : scenario);
        for (Thread thread : threads) {
            if (kind == ThreadKind.PLATFORM) {
                thread.setDaemon(true);
            }
            thread.start();
        }
        Thread.sleep(nanos / 1_000_000);
        running = false;
        for (Thread thread : threads) {
            thread.join(1_000);
        }
        if (IN_ALL.get() > 0) {
            double share = IN_TARGET.doubleValue() / IN_ALL.get();
            System.out.printf(Locale.ROOT, "{\"share\": %.4f, \"seconds\": %.3f}%n", share, IN_ALL.get() / 1e9);
        }
        return 0;
    }

    private static Thread[] threads(String scenario) {
        CyclicBarrier barrier = new CyclicBarrier(2);
        var lock = new java.util.concurrent.locks.ReentrantLock(true);
        return switch (scenario) {
            case "lines" -> new Thread[] {thread("only", () -> {
                longer(4);
                shorter(2);
                done();
            })};
            case "barrier" -> new Thread[] {
                thread("long", () -> {
                    longer(10);
                    meet(barrier);
                    done();
                }),
                thread("short", () -> {
                    shorter(5);
                    meet(barrier);
                })
            };
            case "lock" -> new Thread[] {
                thread("long", () -> {
                    lock.lock();
                    try {
                        longer(4);
                        done();
                    } finally {
                        lock.unlock();
                    }
                }),
                thread("short", () -> {
                    lock.lock();
                    try {
                        shorter(4);
                        done();
                    } finally {
                        lock.unlock();
                    }
                })
            };
            case "handoff" -> new Thread[] {
                thread("long", () -> inTurn(true)), thread("short", () -> inTurn(false))
            };
            case "sleeper" -> new Thread[] {thread("only", () -> {
                long begun = System.nanoTime();
                longer(6);
                long ran = System.nanoTime();
                pause(4);
                done();
                IN_TARGET.addAndGet(ran - begun);
                IN_ALL.addAndGet(System.nanoTime() - begun);
            })};
            default -> throw new UsageException("causal takes lines, barrier, lock, handoff, sleeper, or one of " + Gains.SCENARIOS);
        };
    }

    private static Thread thread(String name, Runnable round) {
        return kind.unstarted(name, () -> {
            while (running) {
                round.run();
            }
        });
    }

    private static void inTurn(boolean isLong) {
        synchronized (LOCK) {
            while (turn != isLong && running) {
                try {
                    LOCK.wait(1_000);
                } catch (InterruptedException e) {
                    return;
                }
            }
            if (isLong) {
                longer(4);
            } else {
                shorter(4);
            }
            done();
            turn = !isLong;
            LOCK.notifyAll();
        }
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            running = false;
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            running = false;
        }
    }

    /** Called once a round. */
    static void done() {
        Headway.progress("round");
    }

    /** Work for about so many milliseconds of CPU time: always the same. */
    static void longer(double millis) {
        Work.millis(millis);
    }

    /** The same, under another name. */
    static void shorter(double millis) {
        Work.millis(millis);
    }
}
