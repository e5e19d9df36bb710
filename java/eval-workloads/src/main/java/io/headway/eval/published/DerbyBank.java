package io.headway.eval.published;

import io.headway.eval.Work;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/**
 * TPC-B on Apache Derby, embedded, in memory, with a single branch: every transaction changes an
 * account, a teller and the branch, and adds a line of history. Derby makes lock objects for each row of
 * each transaction, tens of thousands in a second, and all transactions want the branch's row.
 */
public final class DerbyBank implements Work {
    private static final String URL = "jdbc:derby:memory:bank";
    private static final int TELLERS = 10;
    private static final int ACCOUNTS = 10_000;

    /** Makes the bank. */
    public DerbyBank() throws SQLException {
        System.setProperty("derby.stream.error.field", DerbyBank.class.getName() + ".NO_LOG");
        try (Connection connection = DriverManager.getConnection(URL + ";create=true");
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String table : new String[] {"branch", "teller", "account"}) {
                statement.execute("create table " + table + " (id int primary key, balance bigint not null)");
            }
            statement.execute("create table history (teller int, account int, delta bigint)");
            fill(connection, "branch", 1);
            fill(connection, "teller", TELLERS);
            fill(connection, "account", ACCOUNTS);
            connection.commit();
        }
    }

    /** Where Derby would log to. */
    public static final java.io.OutputStream NO_LOG = java.io.OutputStream.nullOutputStream();

    private static void fill(Connection connection, String table, int rows) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("insert into " + table + " values (?, 0)")) {
            for (int id = 1; id <= rows; id++) {
                insert.setInt(1, id);
                insert.executeUpdate();
            }
        }
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    @Override
    public Operation operation(int thread, int threads) throws SQLException {
        return new Transaction(thread);
    }

    /** What one connection does again and again. */
    private static final class Transaction implements Operation {
        private final Random random;
        private final Connection connection = DriverManager.getConnection(URL);
        private final PreparedStatement account = update("account");
        private final PreparedStatement balance = connection.prepareStatement("select balance from account where id = ?");
        private final PreparedStatement teller = update("teller");
        private final PreparedStatement branch = update("branch");
        private final PreparedStatement history = connection.prepareStatement("insert into history values (?, ?, ?)");

        Transaction(int thread) throws SQLException {
            random = new Random(thread);
            connection.setAutoCommit(false);
        }

        private PreparedStatement update(String table) throws SQLException {
            return connection.prepareStatement("update " + table + " set balance = balance + ? where id = ?");
        }

        @Override
        public void once() throws SQLException {
            int accountId = 1 + random.nextInt(ACCOUNTS);
            int tellerId = 1 + random.nextInt(TELLERS);
            long delta = random.nextInt(2_000_000) - 1_000_000;
            change(account, accountId, delta);
            balance.setInt(1, accountId);
            try (ResultSet rows = balance.executeQuery()) {
                if (!rows.next()) {
                    throw new IllegalStateException("account " + accountId + " is gone");
                }
            }
            change(teller, tellerId, delta);
            change(branch, 1, delta);
            history.setInt(1, tellerId);
            history.setInt(2, accountId);
            history.setLong(3, delta);
            history.executeUpdate();
            connection.commit();
        }

        private static void change(PreparedStatement update, int id, long delta) throws SQLException {
            update.setLong(1, delta);
            update.setInt(2, id);
            if (update.executeUpdate() != 1) {
                throw new IllegalStateException("there is no row " + id);
            }
        }
    }
}
