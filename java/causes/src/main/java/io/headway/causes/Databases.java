package io.headway.causes;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** Databases: rows that all change, and connections that all share. */
public final class Databases {
    /** Where Derby's log goes. */
    public static final java.io.OutputStream NO_LOG = java.io.OutputStream.nullOutputStream();

    private Databases() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("derby-row-lock", () -> row("jdbc:derby:memory:bank;create=true")),
                Cause.of("derby-connection", Databases::derbyShared),
                Cause.of("h2-row-lock", () -> row("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1")),
                Cause.of("h2-session", Databases::h2Shared),
                Cause.of("hsqldb-locks", () -> row("jdbc:hsqldb:mem:bank;hsqldb.tx=locks")),
                Cause.of("hsqldb-session", Databases::hsqldbShared),
                Cause.of("sqlite-db", Databases::sqlite),
                Cause.of("postgres-connection", Databases::postgres),
                Cause.of("mariadb-connection", Databases::mariadb),
                Cause.of("sqlserver-connection", Databases::sqlserver));
    }

    /** What SQL calls to take time. */
    public static int pause(int millis) {
        return Slow.after(millis, millis);
    }

    /** Each thread changes the one row, and talks to somebody before it commits. */
    private static Cause.Task row(String url) throws SQLException {
        System.setProperty("derby.stream.error.field", "io.headway.causes.Databases.NO_LOG");
        try (Connection first = DriverManager.getConnection(url)) {
            first.createStatement().execute("create table branch(id int primary key, balance int)");
            first.createStatement().execute("insert into branch values (1, 0)");
        }
        ThreadLocal<Connection> connection = ThreadLocal.withInitial(() -> open(url));
        return worker -> {
            Connection own = connection.get();
            try (PreparedStatement change = own.prepareStatement("update branch set balance = balance + 1")) {
                change.executeUpdate();
                Slow.pause(3);
                own.commit();
            } catch (SQLException refused) {
                own.rollback();
            }
        };
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

    /** All threads execute this on one connection. */
    private static Cause.Task shared(Connection connection, String sql) {
        return worker -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        };
    }

    private static Cause.Task derbyShared() throws SQLException {
        System.setProperty("derby.stream.error.field", "io.headway.causes.Databases.NO_LOG");
        Connection connection = DriverManager.getConnection("jdbc:derby:memory:bank;create=true");
        connection
                .createStatement()
                .execute("create function pause(millis int) returns int language java parameter style java no sql"
                        + " external name 'io.headway.causes.Databases.pause'");
        return shared(connection, "values pause(3)");
    }

    private static Cause.Task h2Shared() throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1");
        connection.createStatement().execute("create alias pause for 'io.headway.causes.Databases.pause'");
        return shared(connection, "call pause(3)");
    }

    private static Cause.Task hsqldbShared() throws SQLException {
        System.setProperty("hsqldb.method_class_names", "io.headway.causes.*");
        Connection connection = DriverManager.getConnection("jdbc:hsqldb:mem:bank");
        connection
                .createStatement()
                .execute("create function pause(millis int) returns int language java deterministic no sql"
                        + " external name 'CLASSPATH:io.headway.causes.Databases.pause'");
        return shared(connection, "call pause(3)");
    }

    private static Cause.Task sqlite() throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:");
        org.sqlite.Function.create(connection, "pause", new org.sqlite.Function() {
            @Override
            protected void xFunc() throws SQLException {
                result(pause(3));
            }
        });
        return shared(connection, "select pause(3)");
    }

    /** The driver of PostgreSQL, and a peer that says yes to everything, slowly. */
    private static Cause.Task postgres() throws Exception {
        int port = Peer.listen((in, out) -> {
            in.readFully(new byte[in.readInt() - 4]);
            answer(out, 'R', new byte[4]);
            for (String parameter : List.of("server_version\00016.0", "client_encoding\000UTF8", "DateStyle\000ISO",
                    "integer_datetimes\000on", "standard_conforming_strings\000on", "TimeZone\000UTC")) {
                answer(out, 'S', (parameter + "\0").getBytes(StandardCharsets.US_ASCII));
            }
            answer(out, 'Z', new byte[] {'I'});
            while (in.readUnsignedByte() == 'Q') {
                in.readFully(new byte[in.readInt() - 4]);
                Slow.pause(3);
                answer(out, 'C', "SET\0".getBytes(StandardCharsets.US_ASCII));
                answer(out, 'Z', new byte[] {'I'});
            }
        });
        String url = "jdbc:postgresql://127.0.0.1:" + port
                + "/bank?user=sa&password=sa&preferQueryMode=simple&sslmode=disable&gssEncMode=disable";
        return shared(DriverManager.getConnection(url), "set pause to 3");
    }

    /** A message of PostgreSQL's protocol. */
    private static void answer(DataOutputStream out, char type, byte[] message) throws IOException {
        out.writeByte(type);
        out.writeInt(message.length + 4);
        out.write(message);
        out.flush();
    }

    /** The driver of SQL Server, and a peer that says yes to everything, slowly. */
    private static Cause.Task sqlserver() throws Exception {
        // Version 16, and no encryption.
        byte[] prelogin = {0, 0, 11, 0, 6, 1, 0, 17, 0, 1, -1, 16, 0, 0, 0, 0, 0, 2};
        byte[] done = {(byte) 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        byte[] accepted = {(byte) 0xad, 12, 0, 1, 0x74, 0, 0, 4, 1, 'S', 0, 16, 0, 0, 0};
        int port = Peer.listen((in, out) -> {
            while (true) {
                int type = in.readUnsignedByte();
                in.readUnsignedByte();
                in.readFully(new byte[in.readUnsignedShort() - 4]);
                ByteArrayOutputStream answer = new ByteArrayOutputStream();
                if (type == 0x12) {
                    answer.writeBytes(prelogin);
                } else {
                    answer.writeBytes(type == 0x10 ? accepted : new byte[0]);
                    answer.writeBytes(done);
                }
                Slow.pause(3);
                out.write(new byte[] {4, 1, 0, (byte) (answer.size() + 8), 0, 0, 1, 0});
                out.write(answer.toByteArray());
                out.flush();
            }
        });
        String url = "jdbc:sqlserver://127.0.0.1:" + port + ";user=sa;password=sa;encrypt=false";
        return shared(DriverManager.getConnection(url), "print 1");
    }

    /** The driver of MariaDB, and a peer that says yes to everything, slowly. */
    private static Cause.Task mariadb() throws Exception {
        int port = Peer.listen((in, out) -> {
            ByteArrayOutputStream hello = new ByteArrayOutputStream();
            DataOutputStream packet = new DataOutputStream(hello);
            packet.writeByte(10);
            packet.writeBytes("5.5.5-10.6.0-MariaDB\0");
            packet.writeInt(0x01000000);
            packet.writeBytes("12345678\0");
            // Protocol 4.1, secure passwords, plugins; UTF-8; autocommit.
            packet.write(new byte[] {0x08, (byte) 0xa2, 45, 2, 0, 0x08, 0, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
            packet.writeBytes("123456789012\0mysql_native_password\0");
            send(out, 0, hello.toByteArray());
            receive(in);
            send(out, 2, new byte[] {0, 0, 0, 2, 0, 0, 0});
            while (true) {
                String command = new String(receive(in), StandardCharsets.UTF_8);
                if (command.contains("pause")) {
                    Slow.pause(3);
                }
                send(out, 1, new byte[] {0, 0, 0, 2, 0, 0, 0});
            }
        });
        String url = "jdbc:mariadb://127.0.0.1:" + port + "/bank?user=sa&password=sa&sslMode=disable"
                + "&useServerPrepStmts=false&initSql=&connectionCollation=&serverTimezone=&autocommit=&useReadAheadInput=false"
                + "&returnMultiValuesGeneratedIds=false&cachePrepStmts=false&disablePipeline=true";
        return shared(DriverManager.getConnection(url), "do pause(3)");
    }

    /** A packet of MySQL's protocol: its length in three bytes, its number. */
    private static void send(DataOutputStream out, int number, byte[] packet) throws IOException {
        out.write(new byte[] {(byte) packet.length, (byte) (packet.length >> 8), (byte) (packet.length >> 16)});
        out.write(number);
        out.write(packet);
        out.flush();
    }

    private static byte[] receive(java.io.DataInputStream in) throws IOException {
        int length = in.readUnsignedByte() | in.readUnsignedByte() << 8 | in.readUnsignedByte() << 16;
        in.readUnsignedByte();
        byte[] packet = new byte[length];
        in.readFully(packet);
        return packet;
    }
}
