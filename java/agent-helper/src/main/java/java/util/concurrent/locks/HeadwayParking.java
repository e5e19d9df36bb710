package java.util.concurrent.locks;

import jdk.internal.access.JavaLangAccess;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the agent defines in the boot loader while it records parks.
 *
 * <p>The JDK parks a virtual thread by calling {@code JavaLangAccess.parkVirtualThread}; the agent lets
 * these calls lead here instead. Each method does what the call did, and the agent hears of it before and,
 * for parks, after. The natives return before the thread parks, so they never pin it. An agent that records
 * nothing answers 0, and is then not called a second time. Where the natives of {@code Unsafe.park} cannot be
 * bound, {@code LockSupport}'s calls of it lead here as well.
 *
 * <p>Nothing here allocates, and nothing is kept: a park that was begun is known by a number on the
 * parked thread's own stack.
 */
public final class HeadwayParking {
    /**
     * Where the table of the process's one agent is, 0 until it is known. The VM defines this class once
     * only: the copy of the agent that did is the one that works, and later copies hand their commands to
     * it by this table.
     */
    private static volatile long table;

    private HeadwayParking() {}

    /** Parks the current virtual thread. */
    @Hidden
    public static void park(JavaLangAccess access) {
        long park = begin(0, false);
        try {
            access.parkVirtualThread();
        } finally {
            if (park != 0) {
                end(park);
            }
        }
    }

    /** Parks the current virtual thread for a time. */
    @Hidden
    public static void park(JavaLangAccess access, long nanos) {
        long park = begin(nanos, true);
        try {
            access.parkVirtualThread(nanos);
        } finally {
            if (park != 0) {
                end(park);
            }
        }
    }

    /** Gives a virtual thread its permit. */
    @Hidden
    public static void unpark(JavaLangAccess access, Thread thread) {
        unparking(thread);
        access.unparkVirtualThread(thread);
    }

    /** Parks the current platform thread. */
    @Hidden
    public static void park(Unsafe unsafe, boolean absolute, long time) {
        boolean begun = beginPlatform(absolute, time);
        try {
            unsafe.park(absolute, time);
        } finally {
            if (begun) {
                endPlatform();
            }
        }
    }

    /** Gives a platform thread its permit. */
    @Hidden
    public static void unpark(Unsafe unsafe, Object thread) {
        unparkingPlatform(thread);
        unsafe.unpark(thread);
    }

    private static native long begin(long nanos, boolean timed);

    private static native void end(long park);

    private static native void unparking(Thread thread);

    private static native boolean beginPlatform(boolean absolute, long time);

    private static native void endPlatform();

    private static native void unparkingPlatform(Object thread);
}
