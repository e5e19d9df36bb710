package io.headway.workloads.demo;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/**
 * Tables and first contents of the wholesale shop: warehouses with districts, customers, items,
 * stock, orders. The shape is that of the well-known order-entry mix, cut down to what makes
 * transactions conflict: few warehouse and district rows that every transaction writes.
 */
final class Schema {
    /** Few, so that their rows are hot. */
    static final int WAREHOUSES = 2;

    static final int DISTRICTS = 5;
    static final int CUSTOMERS = 200;
    static final int ITEMS = 2000;
    static final int STOCK_AT_FIRST = 50;

    private static final String[] TABLES = {
        "CREATE TABLE warehouse (w_id INT PRIMARY KEY, ytd BIGINT NOT NULL)",
        "CREATE TABLE district (w_id INT, d_id INT, next_order INT NOT NULL, ytd BIGINT NOT NULL,"
                + " PRIMARY KEY (w_id, d_id))",
        "CREATE TABLE customer (w_id INT, d_id INT, c_id INT, name VARCHAR(40) NOT NULL, balance BIGINT NOT NULL,"
                + " payments INT NOT NULL, PRIMARY KEY (w_id, d_id, c_id))",
        "CREATE TABLE item (i_id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, price INT NOT NULL)",
        "CREATE TABLE stock (w_id INT, i_id INT, quantity INT NOT NULL, sold BIGINT NOT NULL,"
                + " PRIMARY KEY (w_id, i_id))",
        "CREATE TABLE orders (w_id INT, d_id INT, o_id INT, c_id INT NOT NULL, line_count INT NOT NULL,"
                + " PRIMARY KEY (w_id, d_id, o_id))",
        "CREATE TABLE order_line (w_id INT, d_id INT, o_id INT, line INT, i_id INT NOT NULL, quantity INT NOT NULL,"
                + " amount INT NOT NULL, PRIMARY KEY (w_id, d_id, o_id, line))",
        "CREATE TABLE payment (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, w_id INT NOT NULL,"
                + " d_id INT NOT NULL, c_id INT NOT NULL, amount INT NOT NULL)",
    };

    private Schema() {}

    /** Creates and fills the tables; the same seed gives the same contents. */
    static void load(Connection connection, long seed) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (String table : TABLES) {
                statement.execute(table);
            }
        }
        Random random = new Random(seed);
        loadItems(connection, random);
        for (int w = 1; w <= WAREHOUSES; w++) {
            loadWarehouse(connection, w);
        }
        connection.commit();
    }

    private static void loadItems(Connection connection, Random random) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?, ?)")) {
            for (int i = 1; i <= ITEMS; i++) {
                addRow(insert, i, "item " + i, 100 + random.nextInt(9900));
            }
            insert.executeBatch();
        }
    }

    private static void loadWarehouse(Connection connection, int w) throws SQLException {
        try (PreparedStatement warehouse = connection.prepareStatement("INSERT INTO warehouse VALUES (?, 0)");
                PreparedStatement stock = connection.prepareStatement("INSERT INTO stock VALUES (?, ?, ?, 0)");
                PreparedStatement district = connection.prepareStatement("INSERT INTO district VALUES (?, ?, 1, 0)");
                PreparedStatement customer =
                        connection.prepareStatement("INSERT INTO customer VALUES (?, ?, ?, ?, 0, 0)")) {
            addRow(warehouse, w);
            warehouse.executeBatch();
            for (int i = 1; i <= ITEMS; i++) {
                addRow(stock, w, i, STOCK_AT_FIRST);
            }
            stock.executeBatch();
            for (int d = 1; d <= DISTRICTS; d++) {
                addRow(district, w, d);
                for (int c = 1; c <= CUSTOMERS; c++) {
                    addRow(customer, w, d, c, "customer " + w + "/" + d + "/" + c);
                }
            }
            district.executeBatch();
            customer.executeBatch();
        }
    }

    private static void addRow(PreparedStatement insert, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            insert.setObject(i + 1, values[i]);
        }
        insert.addBatch();
    }
}
