package io.headway.eval.cassandra;

import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.ResultSetFuture;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.Statement;
import com.datastax.driver.core.exceptions.DriverException;
import io.headway.eval.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/**
 * The update-heavy mix of the Yahoo cloud serving benchmark: records of ten fields of a hundred characters, by keys
 * of which some are asked for much more often than others; half of the operations read a record, the others write
 * one field of one. An operation is one query, sent by the driver over the loopback and waited for.
 */
final class RecordMix implements Work {
    private static final int RECORDS = 10_000;
    private static final int FIELDS = 10;
    private static final int LENGTH = 100;
    private static final double EXPONENT = 0.99;
    private static final int LOADED_AT_ONCE = 100;

    private final Session session;
    private final PreparedStatement read;
    private final List<PreparedStatement> updates = new ArrayList<>();
    private final String text = text();
    private volatile boolean ending;

    /** Makes the table and fills it. */
    RecordMix(Node node) {
        session = node.cluster(() -> ending = true).connect();
        session.execute("CREATE KEYSPACE eval WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE eval.records (id text PRIMARY KEY" + fields(", field%d text") + ")");
        read = session.prepare("SELECT * FROM eval.records WHERE id = ?");
        for (int field = 0; field < FIELDS; field++) {
            updates.add(session.prepare("UPDATE eval.records SET field" + field + " = ? WHERE id = ?"));
        }
        fill(new Zipf(1, EXPONENT, 1));
    }

    private void fill(Zipf chance) {
        PreparedStatement insert = session.prepare(
                "INSERT INTO eval.records (id" + fields(", field%d") + ") VALUES (?" + fields(", ?") + ")");
        List<ResultSetFuture> loading = new ArrayList<>();
        for (int record = 0; record < RECORDS; record++) {
            Object[] values = new Object[FIELDS + 1];
            values[0] = id(record);
            for (int field = 1; field <= FIELDS; field++) {
                values[field] = value(chance);
            }
            loading.add(session.executeAsync(insert.bind(values)));
            if (loading.size() == LOADED_AT_ONCE) {
                loading.forEach(ResultSetFuture::getUninterruptibly);
                loading.clear();
            }
        }
        loading.forEach(ResultSetFuture::getUninterruptibly);
    }

    @Override
    public Operation operation(int thread, int threads) {
        Zipf chance = new Zipf(RECORDS, EXPONENT, thread + 2L);
        return () -> {
            String id = id(chance.next());
            if (chance.below(2) == 0) {
                read(id);
            } else {
                execute(updates.get(chance.below(FIELDS)).bind(value(chance), id));
            }
        };
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    private void read(String id) throws InterruptedException {
        int length = execute(read.bind(id)).getString(FIELDS).length();
        if (length != LENGTH) {
            throw new IllegalStateException(id + " has a field of " + length + " characters");
        }
    }

    /** The row that a query gives, or null. */
    private Row execute(Statement query) throws InterruptedException {
        try {
            return session.execute(query).one();
        } catch (DriverException e) {
            if (ending) {
                new CountDownLatch(1).await(); // the node is going, and this thread with it
            }
            throw e;
        }
    }

    private static String id(int record) {
        return "user" + record;
    }

    /** A field's content: a piece of the text from anywhere in it. */
    private String value(Zipf chance) {
        int start = chance.below(text.length() - LENGTH);
        return text.substring(start, start + LENGTH);
    }

    private static String text() {
        Zipf chance = new Zipf(1, EXPONENT, 1);
        return IntStream.range(0, 1 << 16)
                .map(i -> ' ' + chance.below('~' - ' '))
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private static String fields(String pattern) {
        StringBuilder fields = new StringBuilder();
        IntStream.range(0, FIELDS).forEach(field -> fields.append(pattern.formatted(field)));
        return fields.toString();
    }
}
