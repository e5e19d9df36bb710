/**
 * Threads that block each other in a way that is known beforehand: readers
 * want a lock that {@code rebuild} holds for most of the time. They use little CPU
 * time, so that a busy machine seldom stops one of them while it has the lock itself.
 *
 * <p>Usage: {@code Contended SECONDS [EXIT_CODE]}. Echoes standard input when
 * a third argument is given.
 */
public class Contended {
    private static final Object lock = new Object();
    private static long reads;

    private static void rebuild() throws InterruptedException {
        synchronized (lock) {
            Thread.sleep(40);
        }
    }

    private static void read() {
        synchronized (lock) {
            reads++;
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Math.round(Double.parseDouble(arguments[0]) * 1e9);
        Thread[] threads = new Thread[3];
        threads[0] = new Thread(() -> {
            try {
                while (System.nanoTime() < end) {
                    rebuild();
                    Thread.sleep(1);
                }
            } catch (InterruptedException e) {
                return;
            }
        }, "rebuilder");
        for (int i = 1; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        read();
                        Thread.sleep(1);
                    }
                } catch (InterruptedException e) {
                    return;
                }
            }, "reader-" + i);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        if (arguments.length > 2) {
            System.in.transferTo(System.out);
            System.out.flush();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (arguments.length > 1) {
            System.exit(Integer.parseInt(arguments[1]));
        }
    }
}

/** Threads that contend for their own monitor when they end, because somebody holds it. */
class Ending {
    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < 50; round++) {
            Thread thread = new Thread(() -> { }, "ending-" + round);
            synchronized (thread) {
                thread.start();
                Thread.sleep(10);
            }
            thread.join();
        }
    }
}
