package io.headway.workloads.steal;

import io.headway.Headway;
import io.headway.Transaction;
import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Transactions that lie inside each other, block, wait, are forgotten, run on virtual threads, and
 * one kind of which there are many; with the number of each and, where it is fixed, its length.
 */
@SuppressWarnings("try") // what is between begin and end does not need the transaction
final class Requests {
    private static final long MILLI = 1_000_000;
    private static final Object LOCK = new Object();
    private static final ReentrantLock QUEUE = new ReentrantLock();

    private Requests() {}

    static Map<String, Object> run(Arguments arguments) throws InterruptedException {
        int count = (int) arguments.number("count", 20, 1);
        int many = (int) arguments.number("many", 20_000, 1);
        arguments.refuseUnknown();
        double unit = Burner.calibrate();
        useOnce();
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(() -> nested(count, unit), "requests"));
        threads.add(new Thread(() -> forgetful(count), "forgetful"));
        threads.add(new Thread(() -> tiny(many), "tiny"));
        threads.add(new Thread(() -> blocking(count), "blocking"));
        threads.add(new Thread(() -> queueing(count), "queueing"));
        boolean virtual = addVirtual(threads, count, unit);
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        Map<String, Object> truth = Json.object();
        truth.put("outer", count);
        truth.put("inner", 2 * count);
        truth.put("forgotten", count);
        truth.put("tiny", many);
        truth.put("blocked", count);
        truth.put("blocked_ns", acquiring);
        truth.put("queued_ns", queueing);
        truth.put("virtual", virtual ? count : 0);
        truth.put("mounted_cpu_ns", (long) (count * 4 * (long) (MILLI / unit) * unit));
        truth.put("cpu_ns", (long) (count * 2 * (long) (5 * MILLI / unit) * unit));
        return truth;
    }

    /**
     * Calls once what the transactions call. The first use of a class loads and initializes it,
     * under locks of the JDK; threads that met there inside their transactions would be blocked for
     * longer than they know of.
     */
    private static void useOnce() {
        try (Transaction first = Headway.transaction("first")) {
            long before = System.nanoTime();
            QUEUE.lock();
            QUEUE.unlock();
            LockSupport.parkNanos(System.nanoTime() - before);
            Thread.onSpinWait();
            Thread.yield();
            sleep(1);
        }
    }

    /** An outer transaction with two inner ones, which use 5 ms of CPU time each, and 5 ms of sleep. */
    private static void nested(int count, double unit) {
        for (int i = 0; i < count; i++) {
            try (Transaction outer = Headway.transaction("outer")) {
                for (int part = 0; part < 2; part++) {
                    try (Transaction inner = Headway.transaction("inner")) {
                        Burner.burn((long) (5 * MILLI / unit));
                    }
                }
                sleep(5);
            }
        }
    }

    @SuppressWarnings({"resource", "try"}) // forgetting is what it is about
    private static void forgetful(int count) {
        for (int i = 0; i < count; i++) {
            try (Transaction outer = Headway.transaction("careful")) {
                Headway.transaction("forgotten");
            }
        }
    }

    private static void tiny(int many) {
        for (int i = 0; i < many; i++) {
            try (Transaction tiny = Headway.transaction("tiny")) {
                Thread.onSpinWait();
            }
        }
    }

    /** Each finds the lock of {@code java.util.concurrent} taken for 10 ms, and then parks for 5 ms. */
    private static void queueing(int count) {
        for (int i = 0; i < count; i++) {
            Thread owner = new Thread(Requests::ownQueue, "queue-owner");
            owner.start();
            while (!queueOwned) {
                Thread.onSpinWait();
            }
            try (Transaction queued = Headway.transaction("queued")) {
                long before = System.nanoTime();
                QUEUE.lock();
                queueing += System.nanoTime() - before;
                QUEUE.unlock();
                queueOwned = false;
                LockSupport.parkNanos(5 * MILLI);
            }
            join(owner);
        }
    }

    private static volatile boolean queueOwned;

    /** How long it took to get that lock. */
    private static long queueing;

    private static void ownQueue() {
        QUEUE.lock();
        queueOwned = true;
        sleep(10);
        QUEUE.unlock();
    }

    /** Each finds the lock taken for 10 ms, and then parks for 5 ms. */
    private static void blocking(int count) {
        for (int i = 0; i < count; i++) {
            Thread owner = new Thread(Requests::own, "owner");
            owner.start();
            awaitOwner();
            try (Transaction blocked = Headway.transaction("blocked")) {
                long before = System.nanoTime();
                synchronized (LOCK) {
                    acquiring += System.nanoTime() - before;
                    owned = false;
                }
                LockSupport.parkNanos(5 * MILLI);
            }
            join(owner);
        }
    }

    private static volatile boolean owned;

    /** How long it took to get the lock; of the one thread that asks for it. */
    private static long acquiring;

    private static void own() {
        synchronized (LOCK) {
            owned = true;
            sleep(10);
        }
    }

    private static void awaitOwner() {
        while (!owned) {
            Thread.onSpinWait();
        }
    }

    /** From Java 21 on; the method is not there before. */
    private static boolean addVirtual(List<Thread> threads, int count, double unit) {
        try {
            threads.add(unstartedVirtual(() -> parking(count)));
            threads.add(unstartedVirtual(() -> mounted(count, unit)));
            for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
                threads.add(unstartedVirtual(() -> intrude(unit)));
            }
            return true;
        } catch (ReflectiveOperationException older) {
            return false;
        }
    }

    private static Thread unstartedVirtual(Runnable work) throws ReflectiveOperationException {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, work);
    }

    private static void parking(int count) {
        for (int i = 0; i < count; i++) {
            try (Transaction virtual = Headway.transaction("virtual")) {
                LockSupport.parkNanos(2 * MILLI);
            }
        }
    }

    /** Each uses 4 ms of CPU time and lets go of its carrier in between, in every way there is. */
    private static void mounted(int count, double unit) {
        long milli = (long) (MILLI / unit);
        for (int i = 0; i < count; i++) {
            try (Transaction mounted = Headway.transaction("mounted")) {
                Burner.burn(milli);
                LockSupport.parkNanos(MILLI);
                Burner.burn(milli);
                sleep(1);
                Burner.burn(milli);
                Thread.yield();
                try (Transaction inner = Headway.transaction("mounted-inner")) {
                    Burner.burn(milli);
                }
            }
        }
        mountedIsOver = true;
    }

    private static volatile boolean mountedIsOver;

    /**
     * Has the carriers whenever they are free, and no transaction. Parks, because one that yields
     * keeps those who were woken waiting for ever on Java 25.
     */
    private static void intrude(double unit) {
        while (!mountedIsOver) {
            Burner.burn((long) (10 * MILLI / unit));
            LockSupport.parkNanos(MILLI / 10);
        }
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
    }
}
