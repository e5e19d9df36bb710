package io.headway.diagnose;

import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariDataSource;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.tomcat.jdbc.pool.PoolProperties;

/** Bottlenecks at pools of connections and objects, and at limiters. */
final class Pools {
    private static final String URL = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";

    private Pools() {}

    static List<Program> programs() {
        return List.of(
                Program.of("hikari", "HikariCP", isFixed -> new Orders(hikari(size(isFixed)), false), "Orders", "audit"),
                Program.of(
                        "hikari-audit-inside", "HikariCP", isFixed -> new Orders(hikari(2), isFixed), "Orders", "audit"),
                Program.of("dbcp", "commons-dbcp2", isFixed -> new Orders(dbcp(size(isFixed)), false), "Orders", "audit"),
                Program.of(
                        "tomcat-jdbc",
                        "tomcat-jdbc",
                        isFixed -> new Orders(tomcat(size(isFixed)), false),
                        "Orders",
                        "audit"),
                Program.of("c3p0", "c3p0", isFixed -> new Orders(c3p0(size(isFixed)), false), "Orders", "audit"),
                Program.of("commons-pool", "commons-pool2", Parsers::new, "Parsers", "parse"),
                Program.of("http-connections", "httpclient5", Weather::new, "Weather|http", "ask|execute|answer"),
                Program.of("bulkhead", "resilience4j", Partner::new, "Partner", "call"),
                Program.of("rate-limiter", "resilience4j", Throttled::new, "Throttled", "send"));
    }

    private static int size(boolean isFixed) {
        return isFixed ? 8 : 2;
    }

    private static DataSource hikari(int size) {
        HikariDataSource source = new HikariDataSource();
        source.setJdbcUrl(URL);
        source.setMaximumPoolSize(size);
        return source;
    }

    private static DataSource dbcp(int size) {
        BasicDataSource source = new BasicDataSource();
        source.setUrl(URL);
        source.setMaxTotal(size);
        return source;
    }

    private static DataSource tomcat(int size) {
        PoolProperties properties = new PoolProperties();
        properties.setUrl(URL);
        properties.setDriverClassName("org.h2.Driver");
        properties.setMaxActive(size);
        properties.setInitialSize(size);
        return new org.apache.tomcat.jdbc.pool.DataSource(properties);
    }

    private static DataSource c3p0(int size) throws Exception {
        ComboPooledDataSource source = new ComboPooledDataSource();
        source.setDriverClass("org.h2.Driver");
        source.setJdbcUrl(URL);
        source.setMinPoolSize(size);
        source.setMaxPoolSize(size);
        return source;
    }

    /** An order needs a connection, and is audited elsewhere before the connection is returned. */
    private static final class Orders implements Service {
        private final DataSource source;
        private final boolean auditsAfter;

        Orders(DataSource source, boolean auditsAfter) throws Exception {
            this.source = source;
            this.auditsAfter = auditsAfter;
            try (Connection connection = source.getConnection()) {
                connection.createStatement().execute("create table if not exists item(id int primary key, n int)");
                connection.createStatement().execute("merge into item values (1, 0)");
            }
        }

        @Override
        public void serve(int worker) throws Exception {
            order();
        }

        private void order() throws Exception {
            try (Connection connection = source.getConnection()) {
                try (var rows = connection.createStatement().executeQuery("select n from item where id = 1")) {
                    rows.next();
                }
                if (!auditsAfter) {
                    audit();
                }
            }
            if (auditsAfter) {
                audit();
            }
        }

        private static void audit() throws InterruptedException {
            Work.remoteCall(5);
        }
    }

    /** Parsers are few, and parsing is slow. */
    private static final class Parsers implements Service {
        private final GenericObjectPool<Object> pool;

        Parsers(boolean isFixed) {
            pool = new GenericObjectPool<>(new BasePooledObjectFactory<>() {
                @Override
                public Object create() {
                    return new Object();
                }

                @Override
                public PooledObject<Object> wrap(Object parser) {
                    return new DefaultPooledObject<>(parser);
                }
            });
            pool.setMaxTotal(size(isFixed));
        }

        @Override
        public void serve(int worker) throws Exception {
            Object parser = pool.borrowObject();
            try {
                parse();
            } finally {
                pool.returnObject(parser);
            }
        }

        private void parse() throws InterruptedException {
            Work.remoteCall(5);
        }
    }

    /** Two connections per peer, and a peer that answers slowly. */
    private static final class Weather implements Service {
        private final HttpServer peer;
        private final CloseableHttpClient client;

        Weather(boolean isFixed) throws Exception {
            peer = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
            peer.setExecutor(Executors.newFixedThreadPool(16));
            peer.createContext("/", exchange -> {
                answer();
                exchange.sendResponseHeaders(204, -1);
                exchange.close();
            });
            peer.start();
            var connections = PoolingHttpClientConnectionManagerBuilder.create()
                    .setMaxConnPerRoute(size(isFixed))
                    .setMaxConnTotal(size(isFixed))
                    .build();
            client = HttpClients.custom().setConnectionManager(connections).build();
        }

        private static void answer() {
            try {
                Work.remoteCall(5);
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void serve(int worker) throws Exception {
            ask();
        }

        private void ask() throws Exception {
            int port = peer.getAddress().getPort();
            client.execute(new HttpGet("http://127.0.0.1:" + port + "/"), answer -> answer.getCode());
        }

        @Override
        public void close() throws Exception {
            client.close();
            peer.stop(0);
        }
    }

    /** A bulkhead that lets two through. */
    private static final class Partner implements Service {
        private final Bulkhead bulkhead;

        Partner(boolean isFixed) {
            var config = BulkheadConfig.custom()
                    .maxConcurrentCalls(size(isFixed))
                    .maxWaitDuration(Duration.ofSeconds(60))
                    .build();
            bulkhead = Bulkhead.of("partner", config);
        }

        @Override
        public void serve(int worker) throws Exception {
            bulkhead.executeCallable(this::call);
        }

        private int call() throws InterruptedException {
            Work.remoteCall(5);
            return 1;
        }
    }

    /** A limit on the rate, and a lock that is none of the causes. */
    private static final class Throttled implements Service {
        private final ReentrantLock statistics = new ReentrantLock();
        private final RateLimiter limiter;
        private long sent;

        Throttled(boolean isFixed) {
            var config = RateLimiterConfig.custom()
                    .limitForPeriod(isFixed ? 1_000_000 : 10)
                    .limitRefreshPeriod(Duration.ofMillis(20))
                    .timeoutDuration(Duration.ofSeconds(60))
                    .build();
            limiter = RateLimiter.of("throttled", config);
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            send();
        }

        private void send() throws InterruptedException {
            limiter.acquirePermission();
            Work.remoteCall(1);
            statistics.lock();
            try {
                sent++;
            } finally {
                statistics.unlock();
            }
        }
    }
}
