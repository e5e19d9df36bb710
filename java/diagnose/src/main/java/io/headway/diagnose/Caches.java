package io.headway.diagnose;

import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.util.concurrent.Striped;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.cache2k.Cache;
import org.cache2k.Cache2kBuilder;

/** Bottlenecks at caches: one thread loads, the others wait for the same key. */
final class Caches {
    private Caches() {}

    static List<Program> programs() {
        return List.of(
                Program.of("guava-loader", "guava", Guava::new, "Caches\\.load"),
                Program.of("guava-striped", "guava", Stripes::new, "Stripes", "save"),
                Program.of("caffeine-loader", "caffeine", CaffeineCache::new, "Caches\\.load"),
                Program.of("cache2k-loader", "cache2k", Cache2k::new, "Caches\\.load"),
                Program.of("compute-if-absent", "jdk", Computing::new, "Computing", "Caches\\.load"));
    }

    private static String load(Integer key) {
        try {
            Work.remoteCall(20);
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
        return "value " + key;
    }

    /** Entries expire at once where it is broken, late where it is fixed. */
    private static long keptNanos(boolean isFixed) {
        return isFixed ? 3_600_000_000_000L : 1;
    }

    private static final class Guava implements Service {
        private final LoadingCache<Integer, String> cache;
        private final boolean isFixed;

        Guava(boolean isFixed) {
            this.isFixed = isFixed;
            cache = CacheBuilder.newBuilder().build(CacheLoader.from(Caches::load));
        }

        @Override
        public void serve(int worker) {
            cache.getUnchecked(1);
            if (!isFixed) {
                cache.invalidate(1);
            }
            Work.compute(30);
        }
    }

    private static final class Stripes implements Service {
        private final Striped<Lock> stripes;

        Stripes(boolean isFixed) {
            stripes = Striped.lock(isFixed ? 256 : 1);
        }

        @Override
        public void serve(int worker) throws InterruptedException {
            Lock lock = stripes.get(worker);
            lock.lock();
            try {
                save();
            } finally {
                lock.unlock();
            }
        }

        private void save() throws InterruptedException {
            Work.remoteCall(3);
        }
    }

    private static final class CaffeineCache implements Service {
        private final com.github.benmanes.caffeine.cache.LoadingCache<Integer, String> cache;

        CaffeineCache(boolean isFixed) {
            cache = Caffeine.newBuilder()
                    .expireAfterWrite(keptNanos(isFixed), TimeUnit.NANOSECONDS)
                    .build(Caches::load);
        }

        @Override
        public void serve(int worker) {
            cache.get(1);
            Work.compute(30);
        }
    }

    private static final class Cache2k implements Service {
        private final Cache<Integer, String> cache;

        Cache2k(boolean isFixed) {
            cache = Cache2kBuilder.of(Integer.class, String.class)
                    .name("values" + isFixed)
                    .expireAfterWrite(Math.max(1_000_000, keptNanos(isFixed)), TimeUnit.NANOSECONDS)
                    .loader(Caches::load)
                    .build();
        }

        @Override
        public void serve(int worker) {
            cache.get(1);
            Work.compute(30);
        }
    }

    private static final class Computing implements Service {
        private final ConcurrentHashMap<Integer, String> values = new ConcurrentHashMap<>();
        private final boolean isFixed;

        Computing(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) {
            values.computeIfAbsent(1, Caches::load);
            Work.compute(30);
            if (!isFixed) {
                values.remove(1);
            }
        }
    }
}
