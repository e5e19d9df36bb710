import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import sun.misc.Unsafe;

/** Owners release contended locks in every way; each writes down who it is. */
public final class Exits {
    static final Unsafe UNSAFE = unsafe();
    /** Contended exits that a run is good for at least, on a machine where threads seldom meet, too. */
    static final long WANTED = 2_000;
    /** A program whose locks nobody contends for ends all the same. */
    static final int MOST = 50;
    static volatile int sink;
    static int shared;
    static final String[] NAMES = {"Blue kettle 12", "small Lamp 7", "GREEN CHAIR 90", "old spoon 3"};
    final Object lock = new Object();

    public static void main(String[] args) throws Exception {
        int rounds = Integer.getInteger("rounds", 20_000);
        Exits exits = new Exits();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            int number = t;
            Thread thread = new Thread(() -> exits.run(rounds, number));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    void run(int rounds, int number) {
        long slot = Probe.slot();
        for (int i = 0; i < rounds || (i < MOST * rounds && Probe.exits() < WANTED); i++) {
            sink = dispatch(slot, i + number);
        }
    }

    /** Small enough that C2 inlines the sites, each with its own unlock. */
    int dispatch(long slot, int i) {
        int r = site1(slot, i);
        r += site2(slot, i);
        if ((i & 1) == 0) {
            r += site3(slot, i);
        } else {
            r += site4(slot, i);
        }
        if ((i & 15) == 0) {
            r += site5(slot, i);
            r += site6(slot, i);
        }
        if ((i & 31) == 0) {
            try {
                site7(slot, i);
            } catch (IllegalStateException e) {
                r++;
            }
        }
        if ((i & 63) == 0) {
            site8(slot, i);
        }
        if ((i & 15) == 9) {
            sink = (int) site9(slot, i);
        }
        return r;
    }

    static void own(long slot, int site) {
        UNSAFE.putInt(slot, site);
    }

    static int hold(int i) {
        int sum = shared;
        if ((i & 31) == 7) {
            // Lets the others queue, however few cores there are.
            Thread.yield();
        }
        for (int k = 0; k < 300; k++) {
            sum = sum * 31 + (k ^ i);
        }
        shared = sum;
        return sum;
    }

    int site1(long slot, int i) {
        synchronized (lock) {
            own(slot, 1);
            return hold(i);
        }
    }

    int site2(long slot, int i) {
        synchronized (lock) {
            own(slot, 2);
            return hold(i) + 1;
        }
    }

    int site3(long slot, int i) {
        int r;
        synchronized (lock) {
            own(slot, 3);
            r = i;
        }
        return r;
    }

    int site4(long slot, int i) {
        synchronized (lock) {
            int r = hold(i);
            own(slot, 4);
            return r;
        }
    }

    synchronized int site5(long slot, int i) {
        own(slot, 5);
        return hold(i);
    }

    static synchronized int site6(long slot, int i) {
        own(slot, 6);
        return hold(i);
    }

    void site7(long slot, int i) {
        synchronized (lock) {
            own(slot, 7);
            if (hold(i) != i || i >= 0) {
                throw new IllegalStateException();
            }
        }
    }

    /** Holds the lock while a deeper method waits on it. */
    void site8(long slot, int i) {
        synchronized (lock) {
            own(slot, 8);
            deeper(i);
            own(slot, 8);
        }
    }

    /** Callees with loops and slow paths of their own are compiled into the lock; the clock is read before the release. */
    long site9(long slot, int i) {
        synchronized (lock) {
            long acquired = System.nanoTime();
            TreeMap<String, Integer> index = new TreeMap<>();
            for (String name : NAMES) {
                for (String word : name.toUpperCase(Locale.ROOT).split(" ")) {
                    index.merge(word, i, Integer::sum);
                }
            }
            shared += index.size();
            own(slot, 9);
            return System.nanoTime() - acquired;
        }
    }

    void deeper(int i) {
        synchronized (lock) {
            try {
                lock.wait(0, 1000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
