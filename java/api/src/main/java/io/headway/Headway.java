package io.headway;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Lets Headway know what the application is doing.
 *
 * <p>Without an agent, and while nothing is recorded, every method returns at once: what it costs
 * is reading one field. The agent may come at any time; nothing needs to be configured.
 */
public final class Headway {
    /** Set by the agent when a recording begins and ends. */
    private static volatile boolean active;

    /** Numbers of the kinds of transactions, by name; the agent bounds how many are distinguished. */
    private static final ConcurrentMap<String, Integer> KINDS = new ConcurrentHashMap<>();

    /** Numbers of progress points, by name. */
    private static final ConcurrentMap<String, Integer> POINTS = new ConcurrentHashMap<>();

    /** Names that are remembered; an application that makes up names forever must not fill the heap. */
    private static final int MAX_KINDS = 4096;

    static {
        try {
            active = register();
        } catch (UnsatisfiedLinkError noAgent) {
            // An agent that comes later finds this class and sets `active`.
        }
    }

    private Headway() {}

    /**
     * Begins a transaction: a unit of work whose time is of interest, such as a request. It ends
     * with {@link Transaction#close()}, best by
     *
     * <pre>{@code
     * try (Transaction checkout = Headway.transaction("checkout")) {
     *     ...
     * }
     * }</pre>
     *
     * <p>Transactions may lie inside each other; an outer one contains the time of its inner ones.
     * One that ends on another thread than it began on is reported without CPU time. One that is never
     * ended is reported as such when the transaction around it or its thread ends.
     *
     * @param kind what the transaction is called in reports; a few names, not one per request
     * @return the transaction, never {@code null}
     */
    public static Transaction transaction(String kind) {
        Objects.requireNonNull(kind, "kind");
        return active ? begun(kind) : Transaction.NONE;
    }

    private static Transaction begun(String name) {
        try {
            Integer known = KINDS.get(name);
            int kind = known != null ? known : newKind(name);
            Thread thread = Thread.currentThread();
            long number = begin(kind, thread, idOf(thread));
            return number == 0 ? Transaction.NONE : new Transaction(number);
        } catch (UnsatisfiedLinkError gone) {
            active = false;
            return Transaction.NONE;
        }
    }

    private static int newKind(String name) {
        int kind = kind(name);
        if (KINDS.size() < MAX_KINDS) {
            KINDS.put(name, kind);
        }
        return kind;
    }

    /** Ends a transaction; called once for each. */
    static void ended(long number) {
        if (!active) {
            return;
        }
        try {
            Thread thread = Thread.currentThread();
            end(number, thread, idOf(thread));
        } catch (UnsatisfiedLinkError gone) {
            active = false;
        }
    }

    /**
     * Says that the program made progress: an order was handled, a frame was drawn. Causal profiling
     * finds out what would make this happen more often.
     *
     * @param point what the progress is called; a few names, not one per order
     */
    public static void progress(String point) {
        Objects.requireNonNull(point, "point");
        if (active) {
            visited(point);
        }
    }

    private static void visited(String name) {
        try {
            Integer known = POINTS.get(name);
            visit(known != null ? known : newPoint(name));
        } catch (UnsatisfiedLinkError gone) {
            active = false;
        }
    }

    private static int newPoint(String name) {
        int point = point(name);
        if (POINTS.size() < MAX_KINDS) {
            POINTS.put(name, point);
        }
        return point;
    }

    @SuppressWarnings("deprecation") // its successor is not in Java 17
    private static long idOf(Thread thread) {
        return thread.getId();
    }

    // Bound to the agent's functions by the VM itself, when an agent is there.

    private static native boolean register();

    private static native int kind(String name);

    private static native long begin(int kind, Thread thread, long threadId);

    private static native int point(String name);

    private static native void visit(int point);

    private static native void end(long transaction, Thread thread, long threadId);
}
