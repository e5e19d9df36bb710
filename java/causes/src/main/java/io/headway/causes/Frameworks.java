package io.headway.causes;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.ResolvableDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.ResolvableSerializer;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.codahale.metrics.Clock;
import com.codahale.metrics.ExponentiallyDecayingReservoir;
import freemarker.cache.MruCacheStorage;
import freemarker.cache.TemplateLoader;
import freemarker.template.Configuration;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.xml.bind.JAXBContext;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.TimeUnit;
import org.hibernate.internal.util.collections.BoundedConcurrentHashMap;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.TriggerBuilder;
import org.quartz.impl.DirectSchedulerFactory;
import org.quartz.impl.matchers.GroupMatcher;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.util.ConcurrentReferenceHashMap;

/** Frameworks that programs are made with. */
final class Frameworks {
    private Frameworks() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("spring-singletons", Frameworks::springSingletons),
                Cause.of("spring-reference-map", Frameworks::springMap),
                Cause.of("hibernate-query-plans", Frameworks::hibernate),
                Cause.of("jackson-deserializers", Frameworks::deserializers),
                Cause.of("jackson-serializers", Frameworks::serializers),
                Cause.of("jackson-intern", Frameworks::intern).byChance(),
                Cause.of("jaxb-context", Frameworks::jaxb),
                Cause.of("freemarker-templates", Frameworks::freemarker),
                Cause.of("quartz-ram-store", Frameworks::quartz),
                Cause.of("micrometer-registry", Frameworks::micrometer),
                Cause.of("dropwizard-reservoir", Frameworks::dropwizard),
                Cause.of("aws-credentials", Frameworks::aws));
    }

    /** Lazy beans that take long to create, looked up by all threads. */
    private static Cause.Task springSingletons() {
        DefaultListableBeanFactory factory = new DefaultListableBeanFactory();
        for (int i = 0; i < 100; i++) {
            RootBeanDefinition bean = new RootBeanDefinition(Object.class, () -> Slow.after(20, new Object()));
            bean.setLazyInit(true);
            factory.registerBeanDefinition("bean-" + i, bean);
        }
        AtomicLong next = new AtomicLong();
        return worker -> factory.getBean("bean-" + next.getAndIncrement() / 6 % 100);
    }

    private static Cause.Task springMap() {
        ConcurrentReferenceHashMap<Slow.Key, Integer> map = new ConcurrentReferenceHashMap<>(16, 1);
        return worker -> map.put(new Slow.Key(), worker);
    }

    /** The map of its query plans, with keys that take long to compare. */
    private static Cause.Task hibernate() {
        BoundedConcurrentHashMap<Slow.Key, Integer> plans = new BoundedConcurrentHashMap<>(64, 1);
        return worker -> plans.put(new Slow.Key(), worker);
    }

    /** What is read. */
    public static final class Order {
        /** Something. */
        public int number;
    }

    /** A deserializer that takes long to resolve. */
    private static final class SlowDeserializer extends JsonDeserializer<Order> implements ResolvableDeserializer {
        @Override
        public Order deserialize(
                com.fasterxml.jackson.core.JsonParser parser,
                com.fasterxml.jackson.databind.DeserializationContext context)
                throws IOException {
            parser.skipChildren();
            return new Order();
        }

        @Override
        public void resolve(com.fasterxml.jackson.databind.DeserializationContext context) {
            Slow.pause(3);
        }
    }

    private static Cause.Task deserializers() {
        SimpleModule module = new SimpleModule("slow", Version.unknownVersion());
        module.setDeserializers(new com.fasterxml.jackson.databind.module.SimpleDeserializers() {
            private static final long serialVersionUID = 1;

            @Override
            public JsonDeserializer<?> findBeanDeserializer(
                    JavaType type, DeserializationConfig config, BeanDescription bean) {
                return type.hasRawClass(Order.class) ? new SlowDeserializer() : null;
            }
        });
        AtomicReference<ObjectMapper> shared = new AtomicReference<>(new ObjectMapper().registerModule(module));
        return worker -> {
            ObjectMapper mapper = shared.get();
            mapper.readValue("{\"number\": 1}", Order.class);
            shared.compareAndSet(mapper, new ObjectMapper().registerModule(module));
        };
    }

    /** A serializer that takes long to resolve. */
    private static final class SlowSerializer extends StdSerializer<Order> implements ResolvableSerializer {
        private static final long serialVersionUID = 1;

        SlowSerializer() {
            super(Order.class);
        }

        @Override
        public void serialize(Order order, JsonGenerator generator, SerializerProvider provider) throws IOException {
            generator.writeNull();
        }

        @Override
        public void resolve(SerializerProvider provider) {
            Slow.pause(3);
        }
    }

    private static Cause.Task serializers() {
        SimpleModule module = new SimpleModule("slow", Version.unknownVersion());
        module.addSerializer(new SlowSerializer());
        ObjectMapper mapper = new ObjectMapper().registerModule(module);
        return worker -> {
            // Forgotten, as if each request had types that are new.
            ((com.fasterxml.jackson.databind.ser.DefaultSerializerProvider) mapper.getSerializerProvider())
                    .flushCachedSerializers();
            mapper.writeValueAsString(new Order());
        };
    }

    /** Each document has other field names. */
    private static Cause.Task intern() {
        ObjectMapper mapper = new ObjectMapper();
        return worker -> {
            StringBuilder text = new StringBuilder("{");
            for (int i = 0; i < 1000; i++) {
                text.append('"').append(ThreadLocalRandom.current().nextLong()).append("\": 1, ");
            }
            mapper.readTree(text.append("\"end\": 1}").toString());
        };
    }

    private static Cause.Task jaxb() {
        return worker -> JAXBContext.newInstance(Order.class);
    }

    private static Cause.Task freemarker() {
        Configuration configuration = new Configuration(Configuration.VERSION_2_3_34);
        configuration.setTemplateUpdateDelayMilliseconds(0);
        configuration.setLocalizedLookup(false);
        // One lock is for all lookups in this storage, and they take a while.
        configuration.setCacheStorage(new MruCacheStorage(20, 250) {
            @Override
            public Object get(Object key) {
                return Slow.after(2, super.get(key));
            }
        });
        configuration.setTemplateLoader(new TemplateLoader() {
            @Override
            public Object findTemplateSource(String name) {
                return name;
            }

            @Override
            public long getLastModified(Object source) {
                return System.nanoTime();
            }

            @Override
            public Reader getReader(Object source, String encoding) {
                return new StringReader("template");
            }

            @Override
            public void closeTemplateSource(Object source) {}
        });
        return worker -> configuration.getTemplate("page");
    }

    /** What is scheduled. */
    public static final class Nothing implements Job {
        @Override
        public void execute(JobExecutionContext context) {}
    }

    /** Thousands of triggers, listed again and again. */
    private static Cause.Task quartz() throws Exception {
        DirectSchedulerFactory factory = DirectSchedulerFactory.getInstance();
        factory.createVolatileScheduler(2);
        Scheduler scheduler = factory.getScheduler();
        for (int i = 0; i < 3000; i++) {
            var trigger = TriggerBuilder.newTrigger()
                    .withSchedule(SimpleScheduleBuilder.repeatHourlyForever())
                    .startAt(new java.util.Date(System.currentTimeMillis() + 3_600_000))
                    .build();
            scheduler.scheduleJob(JobBuilder.newJob(Nothing.class).withIdentity("job-" + i).build(), trigger);
        }
        return worker -> scheduler.getJobKeys(GroupMatcher.anyJobGroup());
    }

    private static Cause.Task micrometer() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        registry.config().onMeterAdded(meter -> Slow.pause(2));
        AtomicLong user = new AtomicLong();
        return worker -> Counter.builder("requests")
                .tag("user", "user-" + user.getAndIncrement())
                .register(registry)
                .increment();
    }

    /** An hour passes between two updates, so that each one rescales. */
    private static Cause.Task dropwizard() {
        AtomicLong hours = new AtomicLong();
        Clock clock = new Clock() {
            @Override
            public long getTick() {
                return TimeUnit.HOURS.toNanos(2 * hours.getAndIncrement());
            }
        };
        var reservoir = new ExponentiallyDecayingReservoir(20_000, 0.015, clock);
        return worker -> reservoir.update(worker);
    }

    private static Cause.Task aws() {
        var credentials = software.amazon.awssdk.utils.cache.CachedSupplier.builder(() -> {
                    Slow.pause(50);
                    return software.amazon.awssdk.utils.cache.RefreshResult.builder("secret")
                            .staleTime(java.time.Instant.now().plusMillis(50))
                            .build();
                })
                .build();
        return worker -> credentials.get();
    }
}
