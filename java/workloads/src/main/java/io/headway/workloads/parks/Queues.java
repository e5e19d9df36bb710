package io.headway.workloads.parks;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code queues turns|frequency|fresh|monitors|permits}: many threads queue for a few {@link
 * ReentrantLock}s, two patterns from the literature on park statistics, for monitors, or for permits.
 * Virtual threads with {@code --virtual true}, which wait for an answer from a socket in place of sleeping.
 *
 * <ul>
 *   <li>{@code turns}: each thread takes three locks in turn and holds them for 4, 16 and 64 ms.
 *   <li>{@code frequency}: two locks are held for 32 ms each; one is taken three times as often.
 *   <li>{@code fresh}: each hold is of a monitor that nobody had before, the bin of a {@link ConcurrentHashMap},
 *       for 24 ms. Whoever waits for it inflates it.
 *   <li>{@code monitors}: one monitor, held for 16 ms.
 *   <li>{@code permits}: two permits, had for 16 ms.
 * </ul>
 *
 * Only one lock at a time limits what the program achieves, and halving the others' hold time
 * ({@code --halve NAME}) changes nothing.
 */
public final class Queues implements Workload {
    @Override
    public int run(Arguments arguments) throws Exception {
        List<Held> locks = locks(arguments.word());
        boolean isVirtual = arguments.flag("virtual", false);
        int threads = (int) arguments.number("threads", 64, 1);
        long length = arguments.secondsAsNanos("seconds", 20);
        long warmUp = arguments.secondsAsNanos("warm-up", 0);
        String halved = arguments.text("halve", null);
        ThreadKind kind = isVirtual ? ThreadKind.virtual() : ThreadKind.PLATFORM;
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();
        if (isVirtual) {
            Remote remote = new Remote();
            locks.forEach(lock -> lock.remote = remote);
        }
        if (halved != null) {
            named(locks, halved).holdMillis /= 2;
        }
        LongAdder rounds = new LongAdder();
        long end = System.nanoTime() + warmUp + length;
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int first = i;
            Thread thread = kind.unstarted("queue-" + (i + 1), () -> takeAll(locks, first, end, rounds));
            thread.setDaemon(true);
            thread.start();
            all.add(thread);
        }
        Thread.sleep(warmUp / 1_000_000);
        long before = rounds.sum();
        Thread.sleep(length / 1_000_000);
        Map<String, Object> truth = Json.object();
        truth.put("rounds", rounds.sum() - before);
        List<Object> told = new ArrayList<>();
        locks.forEach(lock -> told.add(lock.truth()));
        truth.put("locks", told);
        output.write(truth);
        return 0;
    }

    private static List<Held> locks(String pattern) {
        return switch (pattern == null ? "turns" : pattern) {
            case "turns" -> List.of(new Held("short", 4, 1), new Held("medium", 16, 1), new Held("long", 64, 1));
            case "frequency" -> List.of(new Held("often", 32, 3), new Held("seldom", 32, 1));
            case "fresh" -> List.of(new Fresh("fresh", 24));
            case "monitors" -> List.of(new Guarded("guarded", 16));
            case "permits" -> List.of(new Permits("permits", 16));
            default -> throw new UsageException("there are the patterns turns, frequency, fresh, monitors and"
                    + " permits, not '" + pattern + "'");
        };
    }

    private static Held named(List<Held> locks, String name) {
        return locks.stream().filter(lock -> lock.name.equals(name)).findFirst().orElseThrow(
                () -> new UsageException("no lock of this pattern is called '" + name + "'"));
    }

    private static void takeAll(List<Held> locks, int first, long end, LongAdder rounds) {
        try {
            for (int i = first; System.nanoTime() < end; i++) {
                Held lock = locks.get(i % locks.size());
                for (int time = 0; time < lock.times; time++) {
                    lock.hold();
                }
                if (i % locks.size() == locks.size() - 1) {
                    rounds.increment();
                }
            }
        } catch (InterruptedException ended) {
            // Nobody interrupts it but the end of the program.
        }
    }

    /** Answers after the time that it is asked for. */
    private static final class Remote {
        private final ServerSocket server;
        private final ThreadLocal<Socket> connection = ThreadLocal.withInitial(this::connect);

        Remote() throws IOException {
            server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
            daemon("remote-accept", () -> {
                while (true) {
                    Socket accepted = server.accept();
                    daemon("remote", () -> answer(accepted));
                }
            });
        }

        void ask(long millis) {
            try {
                connection.get().getOutputStream().write((int) millis);
                connection.get().getInputStream().read();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        private Socket connect() {
            try {
                return new Socket(server.getInetAddress(), server.getLocalPort());
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        private static Void answer(Socket accepted) throws IOException, InterruptedException {
            try (accepted) {
                for (int millis; (millis = accepted.getInputStream().read()) >= 0; ) {
                    Thread.sleep(millis);
                    accepted.getOutputStream().write(0);
                }
            }
            return null;
        }

        /** Ends with the program. */
        private static void daemon(String name, Callable<Void> body) {
            FutureTask<Void> task = new FutureTask<>(body);
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** A lock and for how long it is held. */
    private static class Held {
        private final ReentrantLock lock = new ReentrantLock();
        private final String name;
        private final int times;
        private long holdMillis;
        private Remote remote;
        /** Written by whoever holds the lock; read at the end, without queueing for it. */
        private volatile long holds;
        private volatile long heldNanos;

        Held(String name, long holdMillis, int times) {
            this.name = name;
            this.holdMillis = holdMillis;
            this.times = times;
        }

        void hold() throws InterruptedException {
            lock.lock();
            try {
                sleep();
            } finally {
                lock.unlock();
            }
        }

        final void sleep() throws InterruptedException {
            long before = System.nanoTime();
            if (remote == null) {
                Thread.sleep(holdMillis);
            } else {
                remote.ask(holdMillis);
            }
            heldNanos += System.nanoTime() - before;
            holds++;
        }

        Map<String, Object> truth() {
            Map<String, Object> truth = Json.object();
            truth.put("name", name);
            truth.put("holds", holds);
            truth.put("held_ns", heldNanos);
            return truth;
        }
    }

    /** A monitor. */
    private static final class Guarded extends Held {
        private final Object guard = new Object();

        Guarded(String name, long holdMillis) {
            super(name, holdMillis, 1);
        }

        @Override
        void hold() throws InterruptedException {
            synchronized (guard) {
                sleep();
            }
        }
    }

    /** Two permits. */
    private static final class Permits extends Held {
        private final Semaphore permits = new Semaphore(2);

        Permits(String name, long holdMillis) {
            super(name, holdMillis, 1);
        }

        @Override
        void hold() throws InterruptedException {
            permits.acquire();
            try {
                sleep();
            } finally {
                permits.release();
            }
        }
    }

    /** A map's bin, which is locked while a value for it is computed that comes to nothing. */
    private static final class Fresh extends Held {
        private final ConcurrentHashMap<String, String> map = new ConcurrentHashMap<>();

        Fresh(String name, long holdMillis) {
            super(name, holdMillis, 1);
        }

        @Override
        void hold() {
            map.computeIfAbsent("key", key -> slowly());
        }

        private String slowly() {
            try {
                sleep();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
            return null;
        }
    }
}
