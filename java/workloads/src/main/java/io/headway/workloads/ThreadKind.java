package io.headway.workloads;

import java.lang.reflect.Method;

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

    /** Looked up once: the creation rate of virtual threads is measured through this. */
    private static final class Virtual {
        private static final Method OF_VIRTUAL;
        private static final Method NAME;
        private static final Method UNSTARTED;

        static {
            try {
                OF_VIRTUAL = Thread.class.getMethod("ofVirtual");
                Class<?> builder = Class.forName("java.lang.Thread$Builder");
                NAME = builder.getMethod("name", String.class);
                UNSTARTED = builder.getMethod("unstarted", Runnable.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }
}
