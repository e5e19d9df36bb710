package io.headway.workloads.demo;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Inventory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The running demo: a database in memory, request threads, and a scheduler that rebuilds the
 * inventory's index.
 */
public final class Shop {
    private static final int PRODUCTS = 12_000;
    private static final int PIECES_AT_FIRST = 500;
    private static final long REBUILD_PAUSE_MS = 120;
    private static final long SEED = 20_170_930;

    private final Connection keeper;
    private final Inventory inventory = new Inventory(PRODUCTS, PIECES_AT_FIRST);
    private final AtomicBoolean stop = new AtomicBoolean();
    private final List<RequestThread> requests = new ArrayList<>();
    private final ScheduledExecutorService scheduler =
            Executors.newSingleThreadScheduledExecutor(task -> new Thread(task, "scheduler-1"));
    private final AcquireTimes schedulerTimes = new AcquireTimes();
    private long rebuilds;
    private long rebuildHoldNs;

    /** Loads the database and makes the request threads, without starting them. */
    public Shop(int threads) throws SQLException {
        String url = "jdbc:h2:mem:shop;LOCK_TIMEOUT=10000";
        keeper = DriverManager.getConnection(url);
        Schema.load(keeper, SEED);
        for (int i = 1; i <= threads; i++) {
            requests.add(new RequestThread(i, DriverManager.getConnection(url), inventory, stop, SEED));
        }
    }

    /** Starts request threads and scheduler. */
    public void start() {
        scheduler.scheduleWithFixedDelay(this::rebuild, REBUILD_PAUSE_MS, REBUILD_PAUSE_MS, TimeUnit.MILLISECONDS);
        requests.forEach(Thread::start);
    }

    private void rebuild() {
        rebuildHoldNs += inventory.rebuildIndex(schedulerTimes);
        rebuilds++;
    }

    /** Requests served so far. */
    public long operations() {
        long sum = 0;
        for (RequestThread request : requests) {
            sum += request.operations();
        }
        return sum;
    }

    /** Ids of the request threads. */
    public long[] requestThreadIds() {
        return requests.stream().mapToLong(Thread::getId).toArray();
    }

    /** True once a request thread gave up. */
    public boolean failed() {
        return stop.get();
    }

    /**
     * Lets the requests in hand finish and ends all threads.
     *
     * @throws IllegalStateException if a request thread had failed
     */
    public void end() throws InterruptedException {
        stop.set(true);
        scheduler.shutdown();
        scheduler.awaitTermination(1, TimeUnit.MINUTES);
        for (RequestThread request : requests) {
            request.join();
        }
        for (RequestThread request : requests) {
            if (request.failure() != null) {
                throw new IllegalStateException(request.getName() + " failed", request.failure());
            }
        }
    }

    /**
     * Checks what must hold however the threads ran: money paid equals money booked, order numbers
     * have no gap, no piece vanished.
     *
     * @return what is wrong, or null
     */
    String checkBooks() throws SQLException {
        long paid = sum("SELECT COALESCE(SUM(amount), 0) FROM payment");
        if (sum("SELECT SUM(ytd) FROM warehouse") != paid || sum("SELECT SUM(ytd) FROM district") != paid) {
            return "payments do not add up to what warehouses and districts took in";
        }
        if (sum("SELECT SUM(next_order - 1) FROM district") != sum("SELECT COUNT(*) FROM orders")) {
            return "order numbers have gaps";
        }
        if (sum("SELECT SUM(line_count) FROM orders") != sum("SELECT COUNT(*) FROM order_line")) {
            return "orders lack lines";
        }
        return inventory.addsUp(PIECES_AT_FIRST) ? null : "the inventory lost pieces";
    }

    private long sum(String query) throws SQLException {
        try (Statement statement = keeper.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        } finally {
            keeper.commit();
        }
    }

    /** The request threads. */
    List<RequestThread> requests() {
        return requests;
    }

    /** How often the index was rebuilt; to be asked after {@link #end}. */
    long rebuilds() {
        return rebuilds;
    }

    /** How long rebuilding held the lock in all; to be asked after {@link #end}. */
    long rebuildHoldNs() {
        return rebuildHoldNs;
    }

    /** What the scheduler measured of the inventory's lock; to be asked after {@link #end}. */
    AcquireTimes schedulerTimes() {
        return schedulerTimes;
    }
}
