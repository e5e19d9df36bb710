package io.headway.workloads;

import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;

/**
 * Makes platform or virtual threads. Virtual ones by reflection, because this is compiled for Java 17.
 */
public final class ThreadKind {
    /** Ordinary threads. */
    public static final ThreadKind PLATFORM = new ThreadKind(false);

    private final boolean virtual;

    private ThreadKind(boolean virtual) {
        this.virtual = virtual;
    }

    /**
     * Virtual threads.
     *
     * @throws UsageException if this JVM has none
     */
    public static ThreadKind virtual() {
        if (!virtualAvailable()) {
            throw new UsageException("virtual threads need Java 21 or later, this is " + Runtime.version().feature());
        }
        return new ThreadKind(true);
    }

    /** True if this JVM has virtual threads. */
    public static boolean virtualAvailable() {
        return Runtime.version().feature() >= 21;
    }

    /** A thread that is not yet started. */
    public Thread unstarted(String name, Runnable body) {
        if (!virtual) {
            return new Thread(body, name);
        }
        try {
            Object builder = Virtual.OF_VIRTUAL.invoke(null);
            builder = Virtual.NAME.invoke(builder, name);
            return (Thread) Virtual.UNSTARTED.invoke(builder, body);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("virtual threads cannot be made", e);
        }
    }

    /** Makes threads without a name, and without reflection for each of them. */
    public ThreadFactory factory() {
        if (!virtual) {
            return Thread::new;
        }
        try {
            Object builder = Virtual.OF_VIRTUAL.invoke(null);
            return (ThreadFactory) Virtual.FACTORY.invoke(builder);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("virtual threads cannot be made", e);
        }
    }

    /** Looked up only where there are virtual threads. */
    private static final class Virtual {
        private static final Method OF_VIRTUAL;
        private static final Method NAME;
        private static final Method UNSTARTED;
        private static final Method FACTORY;

        static {
            try {
                OF_VIRTUAL = Thread.class.getMethod("ofVirtual");
                Class<?> builder = Class.forName("java.lang.Thread$Builder");
                NAME = builder.getMethod("name", String.class);
                UNSTARTED = builder.getMethod("unstarted", Runnable.class);
                FACTORY = builder.getMethod("factory");
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }
}
