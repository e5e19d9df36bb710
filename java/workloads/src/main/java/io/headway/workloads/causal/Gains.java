package io.headway.workloads.causal;

import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Programs in which what causal profiling predicts can be done: {@code causal SCENARIO --seconds N
 * --faster PERCENT}. With {@code --faster} the part in question really takes so much less time.
 *
 * <ul>
 *   <li>{@code backoff}: transactions on few rows of an H2 database; one that fails, because an account is
 *       empty or a row is locked, sleeps in {@link #backOff} before another one is tried.
 *   <li>{@code stock}: threads that spend most of their time in {@link #critical}, under one lock.
 *   <li>{@code halves}: each round is half {@link #serial}, on one thread, and half on two at once.
 *   <li>{@code pause}: runs 4 ms, sleeps 4 ms in {@link #pause}: whole milliseconds before and
 *       after the change, because JDK 17 rounds.
 *   <li>{@code pipe}, {@code full}, {@code socket}, {@code accept}, {@code selector}: one thread prepares
 *       for 2 ms, hands over, and
 *       another one works for 2 ms in {@link #serve}, while the first waits.
 *   <li>{@code remote}: runs 3 ms, then waits in {@link #answer} for a process that listens on
 *       {@code --port} and answers a byte by a byte.
 * </ul>
 *
 * <p>Each piece of work is a call of {@link #done}. In the end it is printed how many there were.
 */
final class Gains {
    static final List<String> SCENARIOS =
            List.of("backoff", "stock", "halves", "pause", "pipe", "full", "socket", "accept", "selector", "remote");

    private static final AtomicLong DONE = new AtomicLong();
    private static final Object STOCK = new Object();
    private static final int ROWS = 16;
    private static final int CLERKS = 4;

    private static volatile boolean running = true;
    /** What is left of the time of the part in question. */
    private static double left;

    private Gains() {}

    static int run(String scenario, Arguments arguments) throws Exception {
        long nanos = arguments.secondsAsNanos("seconds", 20);
        long faster = arguments.number("faster", 0, 0);
        int port = (int) arguments.number("port", 0, 0);
        arguments.refuseUnknown();
        if (faster > 99) {
            throw new UsageException("--faster takes a number of percent below 100, not '" + faster + "'");
        }
        left = 1 - faster / 100.0;
        Work.calibrate();
        Thread[] threads = threads(scenario, port);
        for (Thread thread : threads) {
            thread.setDaemon(true);
            thread.start();
        }
        // The first part warms up.
        Thread.sleep(nanos / 4 / 1_000_000);
        long before = DONE.get();
        long begun = System.nanoTime();
        Thread.sleep(nanos * 3 / 4 / 1_000_000);
        long done = DONE.get() - before;
        double seconds = (System.nanoTime() - begun) / 1e9;
        running = false;
        System.out.printf(Locale.ROOT, "{\"done\": %d, \"seconds\": %.3f}%n", done, seconds);
        return 0;
    }

    private static Thread[] threads(String scenario, int port) throws SQLException, IOException {
        return switch (scenario) {
            case "backoff" -> clerks();
            case "stock" -> new Thread[] {thread(Gains::locked), thread(Gains::locked), thread(Gains::locked)};
            case "halves" -> halves();
            case "pipe" -> inTurn(Exchange.pipes());
            case "full" -> inTurn(Exchange.fullPipes());
            case "accept" -> inTurn(Exchange.connections());
            case "socket" -> inTurn(Exchange.sockets());
            case "selector" -> inTurn(Exchange.selectors());
            case "remote" -> client(Exchange.remote(port));
            default -> new Thread[] {thread(() -> {
                Work.millis(4);
                pause(4);
                done();
            })};
        };
    }

    private static Thread thread(Runnable round) {
        return new Thread(() -> {
            while (running) {
                round.run();
            }
        });
    }

    private static void locked() {
        Work.millis(0.6);
        synchronized (STOCK) {
            critical();
        }
        done();
    }

    /** What the lock is held for. */
    static void critical() {
        Work.millis(1.5 * left);
    }

    private static Thread[] halves() {
        CyclicBarrier barrier = new CyclicBarrier(2);
        return new Thread[] {
            thread(() -> {
                serial();
                meet(barrier);
                Work.millis(4);
                meet(barrier);
                done();
            }),
            thread(() -> {
                meet(barrier);
                Work.millis(4);
                meet(barrier);
            })
        };
    }

    /** What one thread does while the other one waits. */
    static void serial() {
        Work.millis(4 * left);
    }

    private static Thread[] inTurn(Exchange exchange) {
        return new Thread[] {
            thread(() -> {
                Work.millis(2);
                exchanged(() -> exchange.hand(1));
                exchanged(() -> exchange.await(0));
                done();
            }),
            thread(() -> {
                exchanged(() -> exchange.await(1));
                serve();
                exchanged(() -> exchange.hand(0));
            })
        };
    }

    /** What one thread does for another one. */
    static void serve() {
        Work.millis(2 * left);
    }

    private static Thread[] client(Exchange exchange) {
        return new Thread[] {thread(() -> {
            Work.millis(3);
            answer(exchange);
            done();
        })};
    }

    /** Asks another process. */
    static void answer(Exchange exchange) {
        exchanged(() -> {
            exchange.hand(1);
            exchange.await(0);
        });
    }

    private interface Step {
        void run() throws IOException;
    }

    private static void exchanged(Step step) {
        try {
            step.run();
        } catch (IOException e) {
            running = false;
        }
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            running = false;
        }
    }

    private static Thread[] clerks() throws SQLException {
        String url = "jdbc:h2:mem:gains;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=1";
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.createStatement()
                    .execute("CREATE TABLE account (id INT PRIMARY KEY, balance INT CHECK (balance >= 0))");
            for (int row = 0; row < ROWS; row++) {
                connection.createStatement().execute("INSERT INTO account VALUES (" + row + ", " + row % 2 * 2 + ")");
            }
        }
        Thread[] clerks = new Thread[CLERKS];
        for (int number = 0; number < CLERKS; number++) {
            long seed = number;
            clerks[number] = new Thread(() -> transfer(url, new Random(seed)), "clerk-" + number);
        }
        return clerks;
    }

    private static void transfer(String url, Random random) {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            try (PreparedStatement update =
                    connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?")) {
                while (running) {
                    if (attempt(connection, update, random)) {
                        done();
                    } else {
                        backOff();
                    }
                }
            }
        } catch (SQLException e) {
            throw new IllegalStateException("the database failed", e);
        }
    }

    /** Moves money between two accounts; false if there is none, or somebody else had one of them locked. */
    private static boolean attempt(Connection connection, PreparedStatement update, Random random)
            throws SQLException {
        try {
            int first = random.nextInt(ROWS);
            change(update, first, -1);
            Work.millis(0.5);
            change(update, (first + 1) % ROWS, 1);
            connection.commit();
            return true;
        } catch (SQLException failed) {
            connection.rollback();
            return false;
        }
    }

    private static void change(PreparedStatement update, int row, int amount) throws SQLException {
        update.setInt(1, amount);
        update.setInt(2, row);
        update.executeUpdate();
    }

    /** Waits a while after a transaction that failed. */
    static void backOff() {
        pause(8);
    }

    static void pause(double millis) {
        long nanos = (long) (millis * left * 1e6);
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException e) {
            running = false;
        }
    }

    /** A piece of work is done. */
    static void done() {
        DONE.incrementAndGet();
    }
}
