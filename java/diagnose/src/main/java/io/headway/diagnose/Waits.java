package io.headway.diagnose;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/** Bottlenecks where threads wait for something that is no lock. */
final class Waits {
    private Waits() {}

    static List<Program> programs() {
        return List.of(
                Program.of("executor-too-small", "jdk", Reports::new, "Reports", "render"),
                Program.of("queue-full", "jdk", Mails::new, "Mails", "send|offer"),
                Program.of("semaphore", "jdk", Gate::new, "Gate", "pass"),
                Program.of("pool-of-permits", "jdk", Handles::new, "Handles", "use"),
                Program.of("wait-notify-pool", "jdk", Licences::new, "Licences", "use"),
                Program.of("lost-notify", "jdk", Letters::new, "Letters", "nobody may be left to wake them"),
                Program.of("pool-shared-with-job", "jdk", Sessions::new, "Sessions", "nightly-job"),
                Program.of("latch-for-the-slowest", "jdk", Fan::new, "Fan", "slowest"),
                Program.of("barrier", "jdk", Rounds::new, "Rounds", "straggle"),
                Program.of("future-of-one-thread", "jdk", Quotes::new, "Quotes", "compute"),
                Program.of("timer-thread", "jdk", Reminders::new, "Reminders", "remind"),
                Program.of("common-pool", "jdk", Thumbnails::new, "Thumbnails", "scale"));
    }

    private static ExecutorService daemons(int threads, String name) {
        return Executors.newFixedThreadPool(threads, work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Requests wait for results of a pool that is too small. */
    private static final class Reports implements Service {
        private final ExecutorService pool;

        Reports(boolean isFixed) {
            pool = daemons(isFixed ? 8 : 1, "renderer");
        }

        @Override
        public void serve(int worker) throws Exception {
            pool.submit(this::render).get();
        }

        private Integer render() throws InterruptedException {
            Work.remoteCall(4);
            return 1;
        }
    }

    /** Requests wait for room in a queue that one slow consumer empties. */
    private static final class Mails implements Service {
        private final BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(16);

        Mails(boolean isFixed) {
            for (int i = 0; i < (isFixed ? 8 : 1); i++) {
                Thread sender = new Thread(this::sendForEver, "mail-sender-" + i);
                sender.setDaemon(true);
                sender.start();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Work.compute(50);
            offer(worker);
        }

        private void offer(int mail) throws InterruptedException {
            queue.put(mail);
        }

        private void sendForEver() {
            try {
                while (true) {
                    send(queue.take());
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private void send(Integer mail) throws InterruptedException {
            Work.remoteCall(3);
        }
    }

    /** Two may pass at a time, and stay long. */
    private static final class Gate implements Service {
        private final Semaphore permits;

        Gate(boolean isFixed) {
            permits = new Semaphore(isFixed ? 8 : 2);
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            pass();
        }

        private void pass() throws InterruptedException {
            permits.acquire();
            try {
                Work.remoteCall(5);
            } finally {
                permits.release();
            }
        }
    }

    /** A pool made of a blocking queue. */
    private static final class Handles implements Service {
        private final BlockingQueue<Object> free = new LinkedBlockingQueue<>();

        Handles(boolean isFixed) {
            for (int i = 0; i < (isFixed ? 8 : 2); i++) {
                free.add(new Object());
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            use();
        }

        private void use() throws InterruptedException {
            Object handle = free.take();
            try {
                Work.remoteCall(5);
            } finally {
                free.add(handle);
            }
        }
    }

    /** The same with wait and notify. */
    private static final class Licences implements Service {
        private final Queue<Object> free = new ArrayDeque<>();

        Licences(boolean isFixed) {
            for (int i = 0; i < (isFixed ? 8 : 2); i++) {
                free.add(new Object());
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            use();
        }

        private void use() throws InterruptedException {
            Object licence = take();
            Work.remoteCall(5);
            giveBack(licence);
        }

        private Object take() throws InterruptedException {
            synchronized (free) {
                while (free.isEmpty()) {
                    free.wait();
                }
                return free.remove();
            }
        }

        private void giveBack(Object licence) {
            synchronized (free) {
                free.add(licence);
                free.notify();
            }
        }
    }

    /** Givers and takers wait on one monitor: a notify can wake one that cannot go on. */
    private static final class Letters implements Service {
        private final Queue<Integer> box = new ArrayDeque<>();
        private final boolean isFixed;

        Letters(boolean isFixed) {
            this.isFixed = isFixed;
            for (int i = 0; i < 8; i++) {
                Thread carrier = new Thread(this::carry, "carrier-" + i);
                carrier.setDaemon(true);
                carrier.start();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Work.compute(20);
            post(worker);
        }

        private void post(int letter) throws InterruptedException {
            synchronized (box) {
                while (!box.isEmpty()) {
                    box.wait();
                }
                box.add(letter);
                wake();
            }
        }

        private void collect() throws InterruptedException {
            synchronized (box) {
                while (box.isEmpty()) {
                    box.wait();
                }
                box.remove();
                wake();
            }
        }

        private void wake() {
            if (isFixed) {
                box.notifyAll();
            } else {
                box.notify();
            }
        }

        private void carry() {
            try {
                while (true) {
                    collect();
                    Work.compute(20);
                }
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A job has the sessions that requests need for most of the time, and seldom returns one. */
    private static final class Sessions implements Service {
        private final Queue<Object> free = new ArrayDeque<>();
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition returned = lock.newCondition();

        Sessions(boolean isFixed) {
            for (int i = 0; i < 3; i++) {
                free.add(new Object());
                Thread job = new Thread(() -> work(isFixed ? 2 : 300), "nightly-job-" + i);
                job.setDaemon(true);
                job.start();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            use(2);
        }

        private void work(int millis) {
            try {
                while (true) {
                    use(millis);
                    Work.remoteCall(20);
                }
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }

        private void use(int millis) throws InterruptedException {
            Object session = take();
            try {
                Work.remoteCall(millis);
            } finally {
                giveBack(session);
            }
        }

        private Object take() throws InterruptedException {
            lock.lock();
            try {
                while (free.isEmpty()) {
                    returned.await();
                }
                return free.remove();
            } finally {
                lock.unlock();
            }
        }

        private void giveBack(Object session) {
            lock.lock();
            try {
                free.add(session);
                returned.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Each request waits for the slowest of four parts. */
    private static final class Fan implements Service {
        private final ExecutorService pool = daemons(32, "part");
        private final boolean isFixed;

        Fan(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            CountDownLatch parts = new CountDownLatch(4);
            for (int i = 0; i < 3; i++) {
                pool.execute(() -> quick(parts));
            }
            pool.execute(() -> slowest(parts));
            parts.await();
        }

        private void quick(CountDownLatch parts) {
            Work.compute(20);
            parts.countDown();
        }

        private void slowest(CountDownLatch parts) {
            try {
                Work.remoteCall(isFixed ? 1 : 12);
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
            parts.countDown();
        }
    }

    /** All wait for one at a barrier. */
    private static final class Rounds implements Service {
        private final CyclicBarrier barrier = new CyclicBarrier(8);
        private final boolean isFixed;

        Rounds(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws Exception {
            Work.compute(50);
            if (worker == 3) {
                straggle();
            }
            barrier.await();
        }

        private void straggle() throws InterruptedException {
            Work.remoteCall(isFixed ? 1 : 10);
        }
    }

    /** Futures that one thread completes. */
    private static final class Quotes implements Service {
        private final ExecutorService pool;

        Quotes(boolean isFixed) {
            pool = daemons(isFixed ? 8 : 1, "quoter");
        }

        @Override
        public void serve(int worker) {
            CompletableFuture.supplyAsync(this::compute, pool).join();
        }

        private int compute() {
            try {
                Work.remoteCall(3);
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
            return 1;
        }
    }

    /** Requests wait for tasks of one timer thread. */
    private static final class Reminders implements Service {
        private final Timer[] timers;

        Reminders(boolean isFixed) {
            timers = new Timer[isFixed ? 8 : 1];
            for (int i = 0; i < timers.length; i++) {
                timers[i] = new Timer("reminder-" + i, true);
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            CountDownLatch done = new CountDownLatch(1);
            TimerTask task = new TimerTask() {
                @Override
                public void run() {
                    remind(done);
                }
            };
            timers[worker % timers.length].schedule(task, 0);
            done.await();
        }

        private static void remind(CountDownLatch done) {
            try {
                Work.remoteCall(3);
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
            done.countDown();
        }
    }

    /** Blocking work in the common pool, which has only a few threads. */
    private static final class Thumbnails implements Service {
        private final ExecutorService own = daemons(32, "scaler");
        private final boolean isFixed;

        Thumbnails(boolean isFixed) {
            this.isFixed = isFixed;
            // Where there are only two processors the pool would have one thread, and JDK 17 would then start
            // a thread for each task instead. Read when the pool is used first.
            System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "3");
        }

        @Override
        public void serve(int worker) {
            if (isFixed) {
                var all = IntStream.range(0, 4).mapToObj(i -> CompletableFuture.runAsync(this::scale, own));
                CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
            } else {
                var all = IntStream.range(0, 4).mapToObj(i -> CompletableFuture.runAsync(this::scale));
                CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
            }
        }

        private void scale() {
            try {
                Work.remoteCall(4);
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
