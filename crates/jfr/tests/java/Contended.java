import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that contend for a monitor and a lock, wait and park, for so many milliseconds. */
public class Contended {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile long work;

    static void hold(long micros) throws InterruptedException {
        synchronized (MONITOR) {
            long end = System.nanoTime() + micros * 1000;
            while (System.nanoTime() < end) {
                work++;
            }
            // However few processors there are, the others come and block.
            Thread.sleep(2);
        }
    }

    static void contend(int number, long end) {
        try {
            while (System.nanoTime() < end) {
                hold(number * 300L);
                LOCK.lock();
                try {
                    Thread.sleep(1);
                } finally {
                    LOCK.unlock();
                }
                synchronized (MONITOR) {
                    if (number == 1) {
                        MONITOR.wait(3);
                    } else if (number == 3) {
                        MONITOR.notifyAll();
                    }
                }
                LockSupport.parkNanos(200_000);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int number = i + 1;
            threads[i] = new Thread(() -> contend(number, end), "contender-" + number);
            threads[i].start();
        }
        System.gc();
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
