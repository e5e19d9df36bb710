package io.headway.workloads.parks;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code mounts}: virtual threads that are late, and virtual threads that are pinned, for times that
 * the program measures.
 *
 * <p>It wants one carrier ({@code -Djdk.virtualThreadScheduler.parallelism=1} and {@code maxPoolSize=1}) and
 * reflection by native methods ({@code -Djdk.reflect.useNativeAccessorOnly=true}).
 *
 * <ul>
 *   <li>Late: one virtual thread unparks another and keeps the only carrier for {@code --hold-ms}.
 *   <li>Prompt: a platform thread unparks it while the carrier is idle.
 *   <li>Pinned: a virtual thread parks for twice {@code --hold-ms} below a native method.
 *   <li>Held: the same in a {@code synchronized} block. It pins until JDK 23.
 * </ul>
 */
public final class Mounts implements Workload {
    private static final Object HELD = new Object();

    private volatile long unparkedAt;
    private volatile boolean parks;
    private volatile boolean over;
    /** Written by one thread at a time. */
    private long late;

    private long times;

    @Override
    public int run(Arguments arguments) throws Exception {
        int rounds = (int) arguments.number("rounds", 50, 1);
        long hold = arguments.number("hold-ms", 20, 1) * 1_000_000L;
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();
        if (Integer.getInteger("jdk.virtualThreadScheduler.maxPoolSize", 0) != 1) {
            throw new UsageException("mounts needs -Djdk.virtualThreadScheduler.maxPoolSize=1");
        }
        ThreadKind kind = ThreadKind.virtual();
        Map<String, Object> truth = Json.object();
        add(truth, "late", kind, sleeper -> {
            Thread hog = kind.unstarted("hog", () -> unpark(sleeper, rounds, () -> spin(hold)));
            hog.start();
            hog.join();
        });
        add(truth, "prompt", kind, sleeper -> unpark(sleeper, rounds, () -> spin(hold / 4)));
        Method below = Mounts.class.getDeclaredMethod("park", long.class);
        truth.put("pinned_ns", timed(kind, "pinned", rounds, () -> below.invoke(null, 2 * hold)));
        truth.put("held_ns", timed(kind, "held", rounds, () -> held(2 * hold)));
        truth.put("rounds", rounds);
        output.write(truth);
        return 0;
    }

    /** Something that the sleeper is unparked by. */
    private interface Waker {
        void wake(Thread sleeper) throws InterruptedException;
    }

    /** Something that may fail. */
    private interface Step {
        void run() throws ReflectiveOperationException;
    }

    private void add(Map<String, Object> truth, String name, ThreadKind kind, Waker waker) throws InterruptedException {
        late = 0;
        times = 0;
        over = false;
        Thread sleeper = kind.unstarted("sleeper-" + name, this::sleep);
        sleeper.start();
        waker.wake(sleeper);
        over = true;
        LockSupport.unpark(sleeper);
        sleeper.join();
        truth.put(name + "_ns", late);
        truth.put(name, times);
    }

    private void sleep() {
        while (!over) {
            parks = true;
            LockSupport.park(this);
            long now = System.nanoTime();
            long since = unparkedAt;
            if (since != 0) {
                late += now - since;
                times++;
                unparkedAt = 0;
            }
        }
    }

    private void unpark(Thread sleeper, int rounds, Runnable then) {
        for (int i = 0; i < rounds; i++) {
            while (!parks || sleeper.getState() != Thread.State.WAITING) {
                Thread.yield();
            }
            // Long enough for an idle carrier to park.
            if (!Thread.currentThread().getName().equals("hog")) {
                LockSupport.parkNanos(2_000_000);
            }
            parks = false;
            unparkedAt = System.nanoTime();
            LockSupport.unpark(sleeper);
            then.run();
        }
        while (!parks || sleeper.getState() != Thread.State.WAITING) {
            Thread.yield();
        }
    }

    private static void spin(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    private static long timed(ThreadKind kind, String name, int rounds, Step step) throws InterruptedException {
        long[] total = new long[1];
        Thread thread = kind.unstarted(name, () -> {
            for (int i = 0; i < rounds; i++) {
                long start = System.nanoTime();
                try {
                    step.run();
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException("a method of this class cannot be called", e);
                }
                total[0] += System.nanoTime() - start;
            }
        });
        thread.start();
        thread.join();
        return total[0];
    }

    private static void park(long ns) {
        LockSupport.parkNanos(ns);
    }

    private static void held(long ns) {
        synchronized (HELD) {
            LockSupport.parkNanos(ns);
        }
    }
}
