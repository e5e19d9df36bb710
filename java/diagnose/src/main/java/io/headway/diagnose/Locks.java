package io.headway.diagnose;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Bottlenecks at locks of the program itself. */
final class Locks {
    private Locks() {}

    static List<Program> programs() {
        return List.of(
                Program.of("compute-under-monitor", "jdk", Tariffs::new, "Tariffs", "quote"),
                Program.of("sleep-under-monitor", "jdk", Exchange::new, "Exchange", "serve|fetchRate|remoteCall"),
                Program.of("static-synchronized", "jdk", Ids::new, "Ids", "next"),
                Program.of("reentrant-lock", "jdk", Ledger::new, "Ledger", "post"),
                Program.of("write-lock-reload", "jdk", Routes::new, "Routes", "reload"),
                Program.of("stamped-write", "jdk", Stock::new, "Stock", "recount"),
                Program.of("synchronized-map", "jdk", Sessions::new, "Sessions|SynchronizedMap", "sweep"),
                Program.of("force-under-lock", "jdk", Journal::new, "Journal", "append"),
                Program.of("chain-of-two-locks", "jdk", Chain::new, "Chain", "archive"));
    }

    /** Prices are computed under the service's monitor. */
    private static final class Tariffs implements Service {
        private final boolean isFixed;
        private double total;

        Tariffs(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            if (isFixed) {
                Work.compute(300);
                add(1);
            } else {
                quote();
            }
            Work.remoteCall(1);
        }

        private synchronized void quote() {
            Work.compute(300);
            total++;
        }

        private synchronized void add(double price) {
            total += price;
        }
    }

    /** A rate is fetched from elsewhere under a monitor. */
    private static final class Exchange implements Service {
        private final Object rates = new Object();
        private final boolean isFixed;

        Exchange(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Work.compute(50);
            if (isFixed) {
                fetchRate();
            } else {
                synchronized (rates) {
                    fetchRate();
                }
            }
        }

        private void fetchRate() throws InterruptedException {
            Work.remoteCall(4);
        }
    }

    /** Numbers come from a static synchronized method that talks to somebody. */
    private static final class Ids implements Service {
        private static long last;
        private final boolean isFixed;
        private final ThreadLocal<long[]> block = ThreadLocal.withInitial(() -> new long[2]);

        Ids(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            long[] own = block.get();
            if (!isFixed || own[0] == own[1]) {
                own[0] = next();
                own[1] = own[0] + 100;
            } else {
                own[0]++;
            }
            Work.compute(100);
        }

        private static synchronized long next() throws InterruptedException {
            Work.remoteCall(2);
            last += 100;
            return last;
        }
    }

    /** One lock for all accounts. */
    private static final class Ledger implements Service {
        private final ReentrantLock[] locks = new ReentrantLock[64];
        private final boolean isFixed;

        Ledger(boolean isFixed) {
            this.isFixed = isFixed;
            for (int i = 0; i < locks.length; i++) {
                locks[i] = new ReentrantLock();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            post(isFixed ? worker : 0);
        }

        private void post(int account) throws InterruptedException {
            ReentrantLock lock = locks[account % locks.length];
            lock.lock();
            try {
                Work.remoteCall(3);
            } finally {
                lock.unlock();
            }
        }
    }

    /** Routes are computed under the write lock while everybody reads. */
    private static final class Routes implements Service {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private volatile boolean isClosed;

        Routes(boolean isFixed) {
            Thread reloader = new Thread(() -> reloadForEver(isFixed), "route-reloader");
            reloader.setDaemon(true);
            reloader.start();
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            lock.readLock().lock();
            try {
                Work.compute(30);
            } finally {
                lock.readLock().unlock();
            }
            Work.remoteCall(1);
        }

        private void reloadForEver(boolean isFixed) {
            try {
                while (!isClosed) {
                    reload(isFixed);
                    Thread.sleep(10);
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private void reload(boolean isFixed) throws InterruptedException {
            if (isFixed) {
                Work.remoteCall(60);
            }
            lock.writeLock().lock();
            try {
                if (!isFixed) {
                    Work.remoteCall(60);
                }
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Override
        public void close() {
            isClosed = true;
        }
    }

    /** The same with a stamped lock, and every request counts again. */
    private static final class Stock implements Service {
        private final StampedLock lock = new StampedLock();
        private final boolean isFixed;

        Stock(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            recount();
        }

        private void recount() throws InterruptedException {
            if (isFixed) {
                Work.remoteCall(2);
            }
            long stamp = lock.writeLock();
            try {
                if (!isFixed) {
                    Work.remoteCall(2);
                }
            } finally {
                lock.unlockWrite(stamp);
            }
        }
    }

    /** A cleaner walks a synchronized map under its monitor. */
    private static final class Sessions implements Service {
        private final Map<Integer, Long> sessions = Collections.synchronizedMap(new HashMap<>());

        Sessions(boolean isFixed) {
            for (int i = 0; i < 1000; i++) {
                sessions.put(i, 0L);
            }
            Thread cleaner = new Thread(() -> sweepForEver(isFixed), "session-cleaner");
            cleaner.setDaemon(true);
            cleaner.start();
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            sessions.merge(worker, 1L, Long::sum);
            Work.remoteCall(1);
        }

        private void sweepForEver(boolean isFixed) {
            try {
                while (true) {
                    sweep(isFixed);
                    Thread.sleep(5);
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private void sweep(boolean isFixed) throws InterruptedException {
            if (isFixed) {
                Work.remoteCall(40);
                return;
            }
            synchronized (sessions) {
                Work.remoteCall(40);
            }
        }
    }

    /** Each record is forced to the disk under the journal's monitor. */
    private static final class Journal implements Service {
        private final FileChannel file;
        private final boolean isFixed;
        private int pending;

        Journal(boolean isFixed) throws IOException {
            this.isFixed = isFixed;
            Path path = Files.createTempFile("headway-journal", ".log");
            file = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
        }

        @Override
        public void serve(int worker) throws Exception {
            append();
            Work.compute(50);
        }

        private synchronized void append() throws IOException, InterruptedException {
            file.write(ByteBuffer.wrap(new byte[256]));
            pending++;
            if (!isFixed || pending >= 100) {
                file.force(false);
                // What a disk would take at least.
                Work.remoteCall(1);
                pending = 0;
            }
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }

    /** Who has the first lock waits for the second; the cause is at the second. */
    private static final class Chain implements Service {
        private final Object orders = new Object();
        private final Object archive = new Object();

        Chain(boolean isFixed) {
            Thread archiver = new Thread(() -> archiveForEver(isFixed), "archiver");
            archiver.setDaemon(true);
            archiver.start();
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            synchronized (orders) {
                synchronized (archive) {
                    Work.compute(20);
                }
            }
            Work.remoteCall(1);
        }

        private void archiveForEver(boolean isFixed) {
            try {
                while (true) {
                    archive(isFixed);
                    Thread.sleep(2);
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private void archive(boolean isFixed) throws InterruptedException {
            if (isFixed) {
                Work.remoteCall(30);
                return;
            }
            synchronized (archive) {
                Work.remoteCall(30);
            }
        }
    }
}
