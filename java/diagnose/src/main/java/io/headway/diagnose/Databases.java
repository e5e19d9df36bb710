package io.headway.diagnose;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;

/** Bottlenecks inside databases that run in the process: everybody changes one row. */
public final class Databases {
    private static final int BRANCHES = 8;

    /** Where Derby's own log goes. */
    public static final java.io.OutputStream NO_LOG = java.io.OutputStream.nullOutputStream();

    private Databases() {}

    static List<Program> programs() {
        return List.of(
                Program.of("h2-row", "h2", fixed -> new Branch("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1", fixed), "Branch", "settle"),
                Program.of(
                        "derby-row",
                        "derby",
                        fixed -> new Branch("jdbc:derby:memory:bank;create=true", fixed),
                        "Branch|derby",
                        "settle|derby"),
                Program.of(
                        "hsqldb-table",
                        "hsqldb",
                        fixed -> new Branch(
                                "jdbc:hsqldb:mem:bank" + (fixed ? ";hsqldb.tx=mvcc" : ";hsqldb.tx=locks"), fixed),
                        "Branch|hsqldb",
                        "settle|hsqldb"));
    }

    /** Each request changes a branch's balance and talks to somebody before it commits. */
    private static final class Branch implements Service {
        private final ThreadLocal<Connection> connection;
        private final boolean isFixed;

        Branch(String url, boolean isFixed) throws SQLException {
            this.isFixed = isFixed;
            // Derby leaves a log where it runs otherwise.
            System.setProperty("derby.stream.error.field", "io.headway.diagnose.Databases.NO_LOG");
            Connection first = DriverManager.getConnection(url);
            first.createStatement().execute("create table branch(id int primary key, balance int)");
            for (int i = 0; i < BRANCHES; i++) {
                first.createStatement().execute("insert into branch values (" + i + ", 0)");
            }
            connection = ThreadLocal.withInitial(() -> open(url));
        }

        private static Connection open(String url) {
            try {
                Connection opened = DriverManager.getConnection(url);
                opened.setAutoCommit(false);
                opened.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
                return opened;
            } catch (SQLException problem) {
                throw new IllegalStateException(problem);
            }
        }

        @Override
        public void serve(int worker) throws Exception {
            settle(isFixed ? worker % BRANCHES : 0);
        }

        private void settle(int branch) throws Exception {
            Connection own = connection.get();
            try (PreparedStatement change =
                    own.prepareStatement("update branch set balance = balance + 1 where id = ?")) {
                change.setInt(1, branch);
                change.executeUpdate();
                Work.remoteCall(3);
                own.commit();
            } catch (SQLException refused) {
                // A lock that could not be had in time: the request is tried again.
                own.rollback();
            }
        }
    }
}
