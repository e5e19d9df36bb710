/** The agent's native methods. The library is the agent itself. */
public final class Probe {
    static {
        System.load(System.getProperty("probe.library"));
    }

    private Probe() {}

    /** Compares the current stack, taken by JVMTI and by the walker. */
    public static native void check();

    /** Runs {@code body} from native code. */
    public static native void call(Runnable body);

    /** Runs {@code body} from native code that entered {@code lock} through JNI. */
    public static native void locked(Object lock, Runnable body);

    /** As {@link #check}, in a synchronized native method. */
    public static native synchronized void synchronizedCheck();

    /**
     * The address of an int in which the current thread writes, while it holds
     * a lock, the number of the method {@code siteN} that will release it, or
     * that holds it while it waits.
     */
    public static native long slot();

    /** How many contended exits were checked so far. */
    public static native long exits();

    /** Compares what is known of the current thread, whose id this is. */
    public static native void thread(long id);

    /** Measures walks of the current stack. */
    public static native void bench();

    /** Records stacks of the current thread, which writes down at {@code area} what is on it; see {@link Truth}. */
    public static native void record(long area);
}
