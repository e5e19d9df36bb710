package io.headway.causes;

import com.alibaba.druid.pool.DruidDataSource;
import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.zaxxer.hikari.HikariDataSource;
import dev.failsafe.Failsafe;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.List;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.apache.commons.pool.BasePoolableObjectFactory;
import org.apache.commons.pool2.BaseKeyedPooledObjectFactory;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericKeyedObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.tomcat.jdbc.pool.PoolProperties;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.vibur.dbcp.ViburDBCPDataSource;

/** Pools of two, and limits. */
final class Pools {
    private static final String URL = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";

    private Pools() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("dbcp2-exhausted", Pools::dbcp),
                Cause.of("pool2-exhausted", Pools::pool2),
                Cause.of("pool2-keyed-exhausted", Pools::pool2Keyed),
                Cause.of("pool1-exhausted", Pools::pool1),
                Cause.of("hikari-exhausted", Pools::hikari),
                Cause.of("hikari-start", Pools::hikariStart).cold(),
                Cause.of("tomcat-jdbc-exhausted", Pools::tomcat),
                Cause.of("c3p0-exhausted", Pools::c3p0),
                Cause.of("druid-exhausted", Pools::druid),
                Cause.of("agroal-exhausted", Pools::agroal),
                Cause.of("driver-manager", Pools::driverManager),
                Cause.of("vibur-exhausted", Pools::vibur),
                Cause.of("resilience4j-bulkhead", Pools::bulkhead),
                Cause.of("failsafe-bulkhead", Pools::failsafe),
                Cause.of("bucket4j-rate-limiter", Pools::bucket),
                Cause.of("spring-throttle", Pools::throttle),
                Cause.of("resilience4j-rate-limiter", Pools::rate));
    }

    /** Each thread keeps a connection for five milliseconds. */
    private static Cause.Task using(DataSource source) {
        return worker -> {
            try (Connection connection = source.getConnection()) {
                connection.setReadOnly(false);
                Slow.pause(5);
            }
        };
    }

    private static Cause.Task dbcp() {
        BasicDataSource source = new BasicDataSource();
        source.setUrl(URL);
        source.setMaxTotal(2);
        return using(source);
    }

    private static Cause.Task pool2() {
        GenericObjectPool<Object> pool = new GenericObjectPool<>(new BasePooledObjectFactory<>() {
            @Override
            public Object create() {
                return new Object();
            }

            @Override
            public PooledObject<Object> wrap(Object one) {
                return new DefaultPooledObject<>(one);
            }
        });
        pool.setMaxTotal(2);
        return worker -> {
            Object one = pool.borrowObject();
            Slow.pause(5);
            pool.returnObject(one);
        };
    }

    private static Cause.Task pool2Keyed() {
        GenericKeyedObjectPool<String, Object> pool =
                new GenericKeyedObjectPool<>(new BaseKeyedPooledObjectFactory<>() {
                    @Override
                    public Object create(String key) {
                        return new Object();
                    }

                    @Override
                    public PooledObject<Object> wrap(Object one) {
                        return new DefaultPooledObject<>(one);
                    }
                });
        pool.setMaxTotalPerKey(2);
        return worker -> {
            Object one = pool.borrowObject("key");
            Slow.pause(5);
            pool.returnObject("key", one);
        };
    }

    private static Cause.Task pool1() {
        var pool = new org.apache.commons.pool.impl.GenericObjectPool<Object>(new BasePoolableObjectFactory<>() {
            @Override
            public Object makeObject() {
                return new Object();
            }
        });
        pool.setMaxActive(2);
        return worker -> {
            Object one = pool.borrowObject();
            Slow.pause(5);
            pool.returnObject(one);
        };
    }

    private static HikariDataSource hikariSource() {
        HikariDataSource source = new HikariDataSource();
        source.setJdbcUrl(URL);
        source.setMaximumPoolSize(2);
        return source;
    }

    private static Cause.Task hikari() throws Exception {
        HikariDataSource source = hikariSource();
        source.getConnection().close();
        return using(source);
    }

    /** The pool begins with the first connection, which takes long to open. */
    private static Cause.Task hikariStart() throws Exception {
        DriverManager.getConnection(URL)
                .createStatement()
                .execute("create alias pause for 'io.headway.causes.Databases.pause'");
        HikariDataSource source = hikariSource();
        source.setMaximumPoolSize(8);
        source.setConnectionInitSql("call pause(300)");
        return using(source);
    }

    private static Cause.Task tomcat() {
        PoolProperties properties = new PoolProperties();
        properties.setUrl(URL);
        properties.setDriverClassName("org.h2.Driver");
        properties.setMaxActive(2);
        properties.setInitialSize(2);
        return using(new org.apache.tomcat.jdbc.pool.DataSource(properties));
    }

    private static Cause.Task c3p0() throws Exception {
        ComboPooledDataSource source = new ComboPooledDataSource();
        source.setDriverClass("org.h2.Driver");
        source.setJdbcUrl(URL);
        source.setInitialPoolSize(2);
        source.setMinPoolSize(2);
        source.setMaxPoolSize(2);
        return using(source);
    }

    private static Cause.Task druid() {
        DruidDataSource source = new DruidDataSource();
        source.setUrl(URL);
        source.setMaxActive(2);
        return using(source);
    }

    private static Cause.Task agroal() throws Exception {
        var settings = new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(2)
                        .connectionFactoryConfiguration(connections -> connections.jdbcUrl(URL)));
        return using(AgroalDataSource.from(settings));
    }

    /** A connection for each use, with a driver before the one wanted that takes long to say no. */
    private static Cause.Task driverManager() throws Exception {
        DriverManager.getConnection(URL).close();
        return worker -> DriverManager.getConnection(URL).close();
    }

    private static Cause.Task bulkhead() {
        var config = BulkheadConfig.custom()
                .maxConcurrentCalls(2)
                .maxWaitDuration(Duration.ofSeconds(60))
                .build();
        Bulkhead bulkhead = Bulkhead.of("partner", config);
        return worker -> bulkhead.executeRunnable(() -> Slow.pause(5));
    }

    private static Cause.Task failsafe() {
        dev.failsafe.Bulkhead<Object> bulkhead = dev.failsafe.Bulkhead.builder(2)
                .withMaxWaitTime(Duration.ofSeconds(60))
                .build();
        return worker -> Failsafe.with(bulkhead).run(() -> Slow.pause(5));
    }

    private static Cause.Task bucket() {
        Bucket bucket = Bucket.builder()
                .addLimit(limit -> limit.capacity(4).refillGreedy(200, Duration.ofSeconds(1)))
                .build();
        return worker -> bucket.asBlocking().consume(1);
    }

    private static Cause.Task throttle() {
        SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("task-");
        executor.setConcurrencyLimit(2);
        return worker -> executor.execute(() -> Slow.pause(5));
    }

    private static Cause.Task vibur() {
        ViburDBCPDataSource source = new ViburDBCPDataSource();
        source.setJdbcUrl(URL);
        source.setUsername("sa");
        source.setPassword("");
        source.setPoolInitialSize(2);
        source.setPoolMaxSize(2);
        source.start();
        return using(source);
    }

    private static Cause.Task rate() {
        var config = RateLimiterConfig.custom()
                .limitForPeriod(4)
                .limitRefreshPeriod(Duration.ofMillis(20))
                .timeoutDuration(Duration.ofSeconds(60))
                .build();
        RateLimiter limiter = RateLimiter.of("partner", config);
        return worker -> limiter.acquirePermission();
    }
}
