import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that contend for a monitor and a lock, wait and park, for so many milliseconds, and long
 * enough for each of them to contend, however late a busy machine lets them begin.
 */
public class Contended {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final int THREADS = 4;
    static final int LEAST_ROUNDS = 40;
    static final CyclicBarrier BEGIN = new CyclicBarrier(THREADS);
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
            BEGIN.await();
            for (int round = 0; round < LEAST_ROUNDS || System.nanoTime() < end; round++) {
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
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        Thread[] threads = new Thread[THREADS];
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
