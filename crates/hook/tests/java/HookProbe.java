import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Installs hooks into its own JVM while its threads contend for monitors, and
 * prints what was counted, one {@code key=value} a line. The first argument is
 * the path of the native half; the second says what to do.
 */
public final class HookProbe {
    static final int EXIT = 0;
    static final int NOTIFY = 1;
    static final int REENTER = 2;
    static final int RESUME = 3;
    static final int PROBE = 4;
    static final int SIGNAL = 5;

    static native long install(int mechanism);

    static native long remove(int mechanism);

    static native long count(int mechanism);

    static native long wrong();

    static native long traps();

    static native long removeHandler();

    static native long monitorProbes();

    static native long setDebugNonSafepoints(int value);

    private HookProbe() {
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        switch (args[1]) {
            case "cycles":
                cycles(Integer.parseInt(args[2]));
                break;
            case "waiters":
                waiters(Integer.parseInt(args[2]));
                break;
            case "fallbacks":
                fallbacks();
                break;
            case "virtual":
                virtualThreads();
                break;
            case "flag":
                print("first", setDebugNonSafepoints(1));
                print("second", setDebugNonSafepoints(0));
                print("third", setDebugNonSafepoints(0));
                break;
            default:
                throw new IllegalArgumentException(args[1]);
        }
        print("wrong", wrong());
        print("done", 1);
    }

    static void print(String key, long value) {
        System.out.println(key + "=" + value);
    }

    static void must(long result) {
        if (result != 0) {
            System.out.println("failed=1");
            System.exit(3);
        }
    }

    /** Removes and installs again while eight threads hammer one monitor. */
    static void cycles(int times) throws Exception {
        Contention contention = new Contention(8);
        long inside = 0;
        long strayed = 0;
        for (int i = 0; i < times; i++) {
            for (int m : new int[] {EXIT, NOTIFY, REENTER}) {
                must(install(m));
            }
            long before = count(EXIT);
            awaitExits(before + 2);
            inside += count(EXIT) - before;
            for (int m : new int[] {EXIT, NOTIFY, REENTER}) {
                must(remove(m));
            }
            // A call that had entered the hook before the removal may count
            // a little later, on a busy machine much later.
            contention.awaitRound();
            long after = count(EXIT);
            Thread.sleep(5);
            strayed += count(EXIT) - after;
        }
        contention.stop();
        print("inside", inside);
        print("strayed", strayed);
        print("acquisitions", contention.acquisitions.get());
        print("lost", contention.acquisitions.get() - contention.guarded);
        print("traps", traps());
        must(removeHandler());
    }

    /** Waits for so many exits, as long as even a busy machine takes for them. */
    static void awaitExits(long number) throws InterruptedException {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (count(EXIT) < number && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
    }

    /**
     * Threads that hold one monitor over and over, mostly for some 20 us.
     * Every tenth holder sleeps, so that others queue however few processors
     * there are.
     */
    static final class Contention {
        final Object lock = new Object();
        final AtomicLong acquisitions = new AtomicLong();
        /** Rounds of each thread: it is outside of the monitor when it counts one. */
        final AtomicLongArray rounds;
        final Thread[] threads;
        volatile boolean stop;
        /** Guarded by lock. */
        long guarded;

        Contention(int count) {
            threads = new Thread[count];
            rounds = new AtomicLongArray(count);
            for (int i = 0; i < count; i++) {
                int number = i;
                threads[i] = new Thread(() -> run(number), "contender-" + i);
                threads[i].start();
            }
        }

        void run(int number) {
            while (!stop) {
                synchronized (lock) {
                    guarded++;
                    hold(guarded);
                }
                acquisitions.incrementAndGet();
                rounds.incrementAndGet(number);
                spin(5_000);
            }
        }

        /** Ends when each thread was outside of the monitor since it began. */
        void awaitRound() throws InterruptedException {
            for (int i = 0; i < threads.length; i++) {
                long seen = rounds.get(i);
                while (rounds.get(i) == seen) {
                    Thread.sleep(1);
                }
            }
        }

        static void hold(long number) {
            if (number % 10 != 0) {
                spin(20_000);
                return;
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        void stop() throws InterruptedException {
            stop = true;
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    static void spin(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    /** One waiter and one notifier: each notify finds exactly one waiter. */
    static void waiters(int rounds) throws Exception {
        for (int m : new int[] {EXIT, NOTIFY, REENTER}) {
            must(install(m));
        }
        long exits = count(EXIT);
        long notifies = count(NOTIFY);
        long reenters = count(REENTER);
        Object lock = new Object();
        boolean[] waiting = new boolean[1];
        Thread waiter = new Thread(() -> wait(lock, waiting, rounds), "waiter");
        waiter.start();
        for (int i = 0; i < rounds; ) {
            synchronized (lock) {
                if (waiting[0]) {
                    waiting[0] = false;
                    lock.notify();
                    spin(10_000);
                    i++;
                }
            }
            Thread.yield();
        }
        // Not join: it waits for the thread's own notification at its end,
        // which would be counted.
        while (waiter.isAlive()) {
            Thread.sleep(1);
        }
        for (int m : new int[] {EXIT, NOTIFY, REENTER}) {
            must(remove(m));
        }
        print("rounds", rounds);
        print("notifies", count(NOTIFY) - notifies);
        print("reenters", count(REENTER) - reenters);
        print("exits", count(EXIT) - exits);
    }

    static void wait(Object lock, boolean[] waiting, int rounds) {
        for (int i = 0; i < rounds; i++) {
            synchronized (lock) {
                waiting[0] = true;
                while (waiting[0]) {
                    try {
                        lock.wait();
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }
    }

    /**
     * The probe must see what the detour sees; the signal hook about that. They are installed and
     * removed while threads contend, and their counts are read while nobody does: between two readings
     * a busy machine may run others for long.
     */
    static void fallbacks() throws Exception {
        Contention during = new Contention(4);
        must(install(EXIT));
        must(install(PROBE));
        must(install(SIGNAL));
        print("flagDuring", monitorProbes());
        during.stop();
        long exits = count(EXIT);
        long probed = count(PROBE);
        long signalled = count(SIGNAL);
        Contention counted = new Contention(4);
        awaitExits(exits + 500);
        counted.stop();
        exits = count(EXIT) - exits;
        probed = count(PROBE) - probed;
        signalled = count(SIGNAL) - signalled;
        Contention after = new Contention(4);
        must(remove(EXIT));
        must(remove(PROBE));
        must(remove(SIGNAL));
        print("flagAfter", monitorProbes());
        // Without the hooks nothing is counted any more.
        after.awaitRound();
        long before = count(PROBE) + count(SIGNAL);
        for (int round = 0; round < 20; round++) {
            after.awaitRound();
        }
        after.stop();
        print("exits", exits);
        print("probed", probed);
        print("signalled", signalled);
        print("strayed", count(PROBE) + count(SIGNAL) - before);
        must(removeHandler());
    }

    /** Virtual threads (JDK 24 and later) that contend and wait. */
    static void virtualThreads() throws Exception {
        must(install(RESUME));
        must(install(EXIT));
        Object lock = new Object();
        int count = 200;
        CountDownLatch done = new CountDownLatch(count);
        AtomicLong inside = new AtomicLong();
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        for (int i = 0; i < count; i++) {
            start.invoke(null, (Runnable) () -> {
                for (int n = 0; n < 20; n++) {
                    synchronized (lock) {
                        inside.incrementAndGet();
                        spin(10_000);
                    }
                }
                done.countDown();
            });
        }
        done.await();
        must(remove(RESUME));
        must(remove(EXIT));
        print("entered", inside.get());
        print("resumed", count(RESUME));
        print("exits", count(EXIT));
    }
}
