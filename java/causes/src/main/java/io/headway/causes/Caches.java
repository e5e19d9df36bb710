package io.headway.causes;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import net.sf.ehcache.Cache;
import net.sf.ehcache.CacheManager;
import net.sf.ehcache.Element;
import net.sf.ehcache.config.CacheConfiguration;
import net.sf.ehcache.config.Configuration;
import net.sf.ehcache.constructs.blocking.BlockingCache;

/** Caches whose loaders, keys or listeners are slow. */
final class Caches {
    private Caches() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("guava-cache-load", Caches::guavaLoad),
                Cause.of("guava-cache-segment", Caches::guavaSegment),
                Cause.of("caffeine-compute", Caches::caffeine),
                Cause.of("caffeine-maintenance", Caches::caffeineMaintenance),
                Cause.of("ehcache-blocking", Caches::ehcache),
                Cause.of("hazelcast-invocation", Caches::hazelcast));
    }

    private static Cause.Task guavaLoad() {
        var cache = CacheBuilder.newBuilder()
                .build(CacheLoader.from((Integer key) -> Slow.after(20, "value " + key)));
        return worker -> {
            cache.getUnchecked(1);
            cache.invalidate(1);
        };
    }

    /** One part, whose keys take long to compare. */
    private static Cause.Task guavaSegment() {
        com.google.common.cache.Cache<Slow.Key, Integer> cache =
                CacheBuilder.newBuilder().concurrencyLevel(1).build();
        return worker -> cache.put(new Slow.Key(), worker);
    }

    private static Cause.Task caffeine() {
        var cache = Caffeine.newBuilder()
                .expireAfterWrite(1, TimeUnit.NANOSECONDS)
                .build((Integer key) -> Slow.after(20, "value " + key));
        return worker -> cache.get(1);
    }

    /** The executor is the caller, and a listener that runs during the eviction is slow. */
    private static Cause.Task caffeineMaintenance() {
        com.github.benmanes.caffeine.cache.Cache<Integer, Integer> cache = Caffeine.newBuilder()
                .maximumSize(2)
                .executor(task -> {
                    throw new java.util.concurrent.RejectedExecutionException("all threads are busy");
                })
                .evictionListener((Integer key, Integer value, com.github.benmanes.caffeine.cache.RemovalCause why) ->
                        Slow.pause(2))
                .build();
        return worker -> cache.put(ThreadLocalRandom.current().nextInt(), worker);
    }

    private static Cause.Task ehcache() {
        CacheManager manager = CacheManager.newInstance(new Configuration().name("causes"));
        Cache cache = new Cache(new CacheConfiguration("values", 100));
        manager.addCache(cache);
        BlockingCache blocking = new BlockingCache(cache);
        return worker -> {
            if (blocking.get("key") == null) {
                blocking.put(new Element("key", Slow.after(20, "value")));
            }
            blocking.remove("key");
        };
    }

    /** Two members in this process; half of the keys are the other's. */
    private static Cause.Task hazelcast() {
        System.setProperty("hazelcast.logging.type", "none");
        HazelcastInstance one = member(5701);
        member(5702);
        IMap<Integer, String> map = one.getMap("values");
        for (int key = 0; key < 100; key++) {
            map.set(key, "value " + key);
        }
        return worker -> map.executeOnKey(
                ThreadLocalRandom.current().nextInt(100), entry -> Slow.after(3, entry.getKey()));
    }

    private static HazelcastInstance member(int port) {
        Config config = new Config();
        config.setClusterName("causes-" + ProcessHandle.current().pid());
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.shutdownhook.enabled", "false");
        var network = config.getNetworkConfig();
        network.setPort(port).getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        network.getJoin().getAutoDetectionConfig().setEnabled(false);
        network.getJoin().getMulticastConfig().setEnabled(false);
        network.getJoin().getTcpIpConfig().setEnabled(true).addMember("127.0.0.1:5701").addMember("127.0.0.1:5702");
        return Hazelcast.newHazelcastInstance(config);
    }
}
