package io.headway.diagnose;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Programs that no lock and no wait slows down. Nothing of the kind may be said of them. */
final class Harmless {
    /**
     * A statement about a lock or a wait, by its kind: what the judge compares begins with the kind of a finding, or
     * the name of a rule of Mission Control.
     */
    private static final String LOCK_OR_WAIT =
            "^(deadlock|stuck|hot-lock|shared-lock|hand-off|phase|wait-chain|straggler|waiting|JavaBlocking) ";

    private Harmless() {}

    static List<Program> programs() {
        return List.of(
                Program.harmless("healthy", 4, Healthy::new, LOCK_OR_WAIT),
                Program.harmless("idle-server", 1, Idle::new, LOCK_OR_WAIT, "own-worker", "listener"),
                Program.harmless("cpu-bound", 2, Busy::new, LOCK_OR_WAIT),
                Program.harmless("gc-bound", 2, Allocating::new, LOCK_OR_WAIT),
                Program.harmless("io-bound", 4, Reading::new, LOCK_OR_WAIT),
                Program.harmless("starved", 16, Busy::new, LOCK_OR_WAIT),
                Program.harmless("busy-but-harmless-lock", 2, Housekeeping::new, "^deadlock ",
                        LOCK_OR_WAIT + ".*request-"));
    }

    /** Requests that share nothing. */
    private static final class Healthy implements Service {
        Healthy(boolean isFixed) {}

        @Override
        public void serve(int worker) throws InterruptedException {
            Work.compute(100);
            Work.remoteCall(2);
        }
    }

    /** Pools, schedulers and a listener with next to nothing to do. */
    private static final class Idle implements Service {
        private final ExecutorService pool = Executors.newFixedThreadPool(8);
        private final ScheduledExecutorService schedule = Executors.newScheduledThreadPool(2);
        private final LinkedBlockingQueue<Runnable> own = new LinkedBlockingQueue<>();
        private final ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());

        Idle(boolean isFixed) throws IOException {
            schedule.scheduleAtFixedRate(() -> Work.compute(10), 0, 1, TimeUnit.SECONDS);
            for (int i = 0; i < 8; i++) {
                pool.execute(() -> Work.compute(10));
            }
            begin("listener", this::listen);
            begin("own-worker", this::workForEver);
        }

        private static void begin(String name, Runnable work) {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            thread.start();
        }

        private void listen() {
            try {
                listener.accept();
            } catch (IOException closed) {
                return;
            }
        }

        private void workForEver() {
            try {
                while (true) {
                    own.take().run();
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Thread.sleep(500);
            pool.execute(() -> Work.compute(100));
            own.add(() -> Work.compute(100));
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    /** Computes, and nothing else. */
    private static final class Busy implements Service {
        Busy(boolean isFixed) {}

        @Override
        public void serve(int worker) {
            Work.compute(500);
        }
    }

    /** Keeps the collector busy. */
    private static final class Allocating implements Service {
        private final ThreadLocal<List<byte[]>> kept = ThreadLocal.withInitial(ArrayList::new);

        Allocating(boolean isFixed) {}

        @Override
        public void serve(int worker) {
            List<byte[]> own = kept.get();
            for (int i = 0; i < 100; i++) {
                own.add(new byte[4096]);
            }
            if (own.size() > 10_000) {
                own.clear();
            }
        }
    }

    /** Each request reads what a slow peer sends. */
    private static final class Reading implements Service {
        private final ServerSocket peer = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        Reading(boolean isFixed) throws IOException {
            ExecutorService answering = Executors.newCachedThreadPool();
            Thread thread = new Thread(() -> accept(answering), "peer");
            thread.setDaemon(true);
            thread.start();
        }

        private void accept(ExecutorService answering) {
            try {
                while (true) {
                    Socket socket = peer.accept();
                    answering.execute(() -> answer(socket));
                }
            } catch (IOException closed) {
                answering.shutdown();
            }
        }

        private static void answer(Socket socket) {
            try (socket) {
                Work.remoteCall(5);
                socket.getOutputStream().write(1);
            } catch (IOException | InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void serve(int worker) throws IOException {
            try (Socket socket = new Socket(peer.getInetAddress(), peer.getLocalPort());
                    InputStream in = socket.getInputStream()) {
                in.read();
            }
        }

        @Override
        public void close() throws IOException {
            peer.close();
        }
    }

    /** Two housekeepers meet at a lock all the time; no request ever does. */
    private static final class Housekeeping implements Service {
        private final ReentrantLock lock = new ReentrantLock();

        Housekeeping(boolean isFixed) {
            for (int i = 0; i < 2; i++) {
                Thread thread = new Thread(this::tidyForEver, "housekeeper-" + i);
                thread.setDaemon(true);
                thread.start();
            }
        }

        private void tidyForEver() {
            try {
                while (true) {
                    lock.lock();
                    try {
                        Thread.sleep(5);
                    } finally {
                        lock.unlock();
                    }
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Work.compute(100);
            Work.remoteCall(1);
        }
    }
}
