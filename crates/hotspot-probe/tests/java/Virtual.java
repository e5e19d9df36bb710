import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads: fresh, unparked with the rest in chunks, contended, pinned. */
public final class Virtual {
    static volatile int sink;

    private Virtual() {}

    public static void main(String[] args) throws Exception {
        int rounds = Integer.getInteger("rounds", 300);
        List<Thread> threads = new ArrayList<>();
        Object lock = new Object();
        for (int t = 0; t < 8; t++) {
            int number = t;
            threads.add(start(() -> {
                for (int i = 0; i < rounds; i++) {
                    down(number * 7, i, lock);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Without the API of 21, so that it compiles for 17. */
    static Thread start(Runnable body) throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        return (Thread) Class.forName("java.lang.Thread$Builder")
                .getMethod("start", Runnable.class).invoke(builder, body);
    }

    static int down(int depth, int i, Object lock) {
        if (depth > 0) {
            int r = down(depth - 1, i, lock) + 1;
            if ((depth & 7) == 0) {
                Probe.check();
            }
            return r;
        }
        Probe.thread(Thread.currentThread().getId());
        LockSupport.parkNanos(1000);
        Probe.check();
        Thread.yield();
        Probe.check();
        synchronized (lock) {
            sink++;
            if ((i & 31) == 0) {
                LockSupport.parkNanos(1000);
                Probe.check();
            }
        }
        if ((i & 15) == 0) {
            Probe.call(() -> {
                LockSupport.parkNanos(1000);
                Probe.check();
            });
        }
        return i;
    }
}
