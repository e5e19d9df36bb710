package jdk.internal.access;

/**
 * The part of the JDK's interface (21 and later) that {@code HeadwayParking} calls, so that it compiles
 * on JDK 17 as well. Compiled against, never packaged.
 */
public interface JavaLangAccess {
    /** Parks the current virtual thread. */
    void parkVirtualThread();

    /** Parks the current virtual thread for a time. */
    void parkVirtualThread(long nanos);

    /** Gives a virtual thread its permit. */
    void unparkVirtualThread(Thread thread);
}
