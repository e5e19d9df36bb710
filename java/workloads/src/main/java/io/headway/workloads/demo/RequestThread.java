package io.headway.workloads.demo;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Inventory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.h2.api.ErrorCode;

/** Serves requests of the mix until asked to stop; tries a transaction again when it lost a conflict. */
final class RequestThread extends Thread {
    private final Connection connection;
    private final Inventory inventory;
    private final AtomicBoolean stop;
    private final Random random;
    private final AcquireTimes inventoryTimes = new AcquireTimes();
    private final AtomicLong operations = new AtomicLong();
    private long retries;
    private Throwable failure;

    RequestThread(int number, Connection connection, Inventory inventory, AtomicBoolean stop, long seed) {
        super("request-" + number);
        this.connection = connection;
        this.inventory = inventory;
        this.stop = stop;
        this.random = new Random(seed + number);
    }

    @Override
    public void run() {
        try (Transactions transactions = new Transactions(connection, inventory, inventoryTimes, random)) {
            while (!stop.get()) {
                serve(transactions);
                operations.setOpaque(operations.getPlain() + 1);
            }
        } catch (SQLException | RuntimeException e) {
            failure = e;
            stop.set(true);
        }
    }

    private void serve(Transactions transactions) throws SQLException {
        int kind = random.nextInt(100);
        while (true) {
            try {
                serveOnce(transactions, kind);
                return;
            } catch (SQLException e) {
                connection.rollback();
                if (!isConflict(e)) {
                    throw e;
                }
                retries++;
            }
        }
    }

    private static void serveOnce(Transactions transactions, int kind) throws SQLException {
        if (kind < 45) {
            transactions.newOrder();
        } else if (kind < 88) {
            transactions.payment();
        } else if (kind < 94) {
            transactions.orderStatus();
        } else {
            transactions.stockLevel();
        }
    }

    private static boolean isConflict(SQLException e) {
        return switch (e.getErrorCode()) {
            case ErrorCode.LOCK_TIMEOUT_1, ErrorCode.DEADLOCK_1, ErrorCode.CONCURRENT_UPDATE_1 -> true;
            default -> false;
        };
    }

    /** Requests served so far; may be asked while it runs. */
    long operations() {
        return operations.getOpaque();
    }

    /** Transactions tried again. */
    long retries() {
        return retries;
    }

    /** What it measured of the inventory's lock; to be asked after it ended. */
    AcquireTimes inventoryTimes() {
        return inventoryTimes;
    }

    /** What ended it early, or null. */
    Throwable failure() {
        return failure;
    }
}
