package io.headway.workloads.demo;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Inventory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Random;

/**
 * The transactions of the mix on one connection. Rows are written in one order everywhere
 * (warehouse, district, customer, stock by item), so that conflicts wait rather than deadlock.
 *
 * <p>A method either commits or throws; whoever calls it rolls back and tries again.
 */
final class Transactions implements AutoCloseable {
    private final Connection connection;
    private final Inventory inventory;
    private final AcquireTimes inventoryTimes;
    private final Random random;

    private final PreparedStatement payWarehouse;
    private final PreparedStatement payDistrict;
    private final PreparedStatement payCustomer;
    private final PreparedStatement insertPayment;
    private final PreparedStatement takeOrderNumber;
    private final PreparedStatement readOrderNumber;
    private final PreparedStatement readPrice;
    private final PreparedStatement takeStock;
    private final PreparedStatement insertOrder;
    private final PreparedStatement insertLine;
    private final PreparedStatement lastOrder;
    private final PreparedStatement lowStock;

    Transactions(Connection connection, Inventory inventory, AcquireTimes inventoryTimes, Random random)
            throws SQLException {
        this.connection = connection;
        this.inventory = inventory;
        this.inventoryTimes = inventoryTimes;
        this.random = random;
        connection.setAutoCommit(false);
        payWarehouse = connection.prepareStatement("UPDATE warehouse SET ytd = ytd + ? WHERE w_id = ?");
        payDistrict = connection.prepareStatement("UPDATE district SET ytd = ytd + ? WHERE w_id = ? AND d_id = ?");
        payCustomer = connection.prepareStatement("UPDATE customer SET balance = balance - ?, payments = payments + 1"
                + " WHERE w_id = ? AND d_id = ? AND c_id = ?");
        insertPayment =
                connection.prepareStatement("INSERT INTO payment (w_id, d_id, c_id, amount) VALUES (?, ?, ?, ?)");
        takeOrderNumber = connection.prepareStatement(
                "UPDATE district SET next_order = next_order + 1 WHERE w_id = ? AND d_id = ?");
        readOrderNumber =
                connection.prepareStatement("SELECT next_order - 1 FROM district WHERE w_id = ? AND d_id = ?");
        readPrice = connection.prepareStatement("SELECT price FROM item WHERE i_id = ?");
        takeStock = connection.prepareStatement("UPDATE stock SET sold = sold + ?, quantity = CASE"
                + " WHEN quantity >= ? + 10 THEN quantity - ? ELSE quantity - ? + 91 END WHERE w_id = ? AND i_id = ?");
        insertOrder = connection.prepareStatement("INSERT INTO orders VALUES (?, ?, ?, ?, ?)");
        insertLine = connection.prepareStatement("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, ?)");
        lastOrder = connection.prepareStatement("SELECT o.o_id, SUM(l.amount) FROM orders o JOIN order_line l"
                + " ON l.w_id = o.w_id AND l.d_id = o.d_id AND l.o_id = o.o_id"
                + " WHERE o.w_id = ? AND o.d_id = ? AND o.o_id = (SELECT next_order - 1 FROM district"
                + " WHERE w_id = ? AND d_id = ?) GROUP BY o.o_id");
        lowStock = connection.prepareStatement("SELECT COUNT(DISTINCT s.i_id) FROM order_line l JOIN stock s"
                + " ON s.w_id = l.w_id AND s.i_id = l.i_id WHERE l.w_id = ? AND l.d_id = ? AND l.o_id > ?"
                + " AND s.quantity < ?");
    }

    /** A customer orders 5 to 10 items of a district's warehouse; they are reserved in the inventory. */
    void newOrder() throws SQLException {
        int w = warehouse();
        int d = district();
        int[] items = sortedItems(5 + random.nextInt(6));
        update(takeOrderNumber, w, d);
        int order = readInt(readOrderNumber, w, d);
        update(insertOrder, w, d, order, customer(), items.length);
        for (int line = 0; line < items.length; line++) {
            int quantity = 1 + random.nextInt(10);
            int price = readInt(readPrice, items[line]);
            update(takeStock, quantity, quantity, quantity, quantity, w, items[line]);
            update(insertLine, w, d, order, line, items[line], quantity, quantity * price);
        }
        connection.commit();
        for (int item : items) {
            inventory.reserve(item % inventory.products(), 1, inventoryTimes);
        }
    }

    /** A customer pays: writes the warehouse row, the hottest of all, and keeps it until the commit. */
    void payment() throws SQLException {
        int w = warehouse();
        int d = district();
        int c = customer();
        int amount = 1 + random.nextInt(5000);
        update(payWarehouse, amount, w);
        update(payDistrict, amount, w, d);
        update(payCustomer, amount, w, d, c);
        update(insertPayment, w, d, c, amount);
        connection.commit();
    }

    /** Reads a district's last order, then looks up a product by name. */
    void orderStatus() throws SQLException {
        int w = warehouse();
        int d = district();
        readInt(lastOrder, w, d, w, d);
        connection.commit();
        inventory.lookup(Inventory.wordNumber(random.nextInt(1000)), inventoryTimes);
    }

    /** Counts what of a district's last twenty orders runs short. */
    void stockLevel() throws SQLException {
        int w = warehouse();
        int d = district();
        int next = readInt(readOrderNumber, w, d);
        readInt(lowStock, w, d, next - 20, 10 + random.nextInt(11));
        connection.commit();
    }

    private int warehouse() {
        return 1 + random.nextInt(Schema.WAREHOUSES);
    }

    private int district() {
        return 1 + random.nextInt(Schema.DISTRICTS);
    }

    private int customer() {
        return 1 + random.nextInt(Schema.CUSTOMERS);
    }

    private int[] sortedItems(int count) {
        int[] items = new int[count];
        for (int i = 0; i < count; i++) {
            items[i] = 1 + random.nextInt(Schema.ITEMS);
        }
        Arrays.sort(items);
        return items;
    }

    private static void update(PreparedStatement statement, int... values) throws SQLException {
        set(statement, values);
        if (statement.executeUpdate() != 1) {
            throw new SQLException("expected to change one row");
        }
    }

    private static int readInt(PreparedStatement statement, int... values) throws SQLException {
        set(statement, values);
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? row.getInt(1) : 0;
        }
    }

    private static void set(PreparedStatement statement, int... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setInt(i + 1, values[i]);
        }
    }

    /** Closes the connection, and with it its statements. */
    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
