package io.headway.workloads.predict;

import java.util.ArrayList;
import java.util.List;

/**
 * What one thread wrote down of its own acquisitions: when it asked for a lock, when it had it, and
 * when it was about to release it, all by {@link System#nanoTime}.
 *
 * <p>Written by its thread alone and read after the thread ended. Memory comes in blocks, and only
 * outside the measured contention, because {@link #add} is called after the release.
 */
final class Ledger {
    private static final int FIELDS = 5;
    private static final int RECORDS_PER_BLOCK = 1024;
    /** Longer than it takes to get a lock that nobody has. */
    private static final long DELAYED_NS = 10_000;

    private final String thread;
    private final List<long[]> full = new ArrayList<>();
    private long[] block = new long[FIELDS * RECORDS_PER_BLOCK];
    private int used;
    private long waits;
    private long waitedNs;
    /** Written by this thread alone, read by all. */
    private volatile int delayed;

    Ledger(String thread) {
        this.thread = thread;
    }

    /** Name of the thread that writes here. */
    String thread() {
        return thread;
    }

    /**
     * Writes down one acquisition.
     *
     * @param lock which lock, as numbered by {@link Catalog}
     * @param site which method holds (and releases) it, as numbered by {@link Catalog}
     * @param request just before asking; after a wait: when it was notified, interrupted or timed out
     * @param acquired just after having it
     * @param release just before giving it up, by leaving or by waiting
     */
    void add(long lock, int site, long request, long acquired, long release) {
        if (used == block.length) {
            full.add(block);
            block = new long[FIELDS * RECORDS_PER_BLOCK];
            used = 0;
        }
        block[used] = lock;
        block[used + 1] = site;
        block[used + 2] = request;
        block[used + 3] = acquired;
        block[used + 4] = release;
        used += FIELDS;
        if (acquired - request > DELAYED_NS) {
            delayed = delayed + 1;
        }
    }

    /**
     * Writes down one wait.
     *
     * @param from just before waiting
     * @param to when the thread was notified
     */
    void addWait(long from, long to) {
        waits++;
        waitedNs += to - from;
    }

    /** Waits that were written down. */
    long waits() {
        return waits;
    }

    /** Time in them. */
    long waitedNs() {
        return waitedNs;
    }

    /** Acquisitions that took so long that most of them must have been contended; any thread may ask. */
    int delayed() {
        return delayed;
    }

    /** All acquisitions, in the order in which they were written down. */
    List<Hold> holds() {
        List<Hold> holds = new ArrayList<>();
        for (long[] each : full) {
            read(each, each.length, holds);
        }
        read(block, used, holds);
        return holds;
    }

    private void read(long[] from, int length, List<Hold> into) {
        for (int i = 0; i < length; i += FIELDS) {
            into.add(new Hold(thread, from[i], (int) from[i + 1], from[i + 2], from[i + 3], from[i + 4]));
        }
    }

    /**
     * One acquisition: the contention from {@code request} to {@code acquired}, in which the thread may
     * have been blocked, and the hold from {@code acquired} to {@code release}.
     */
    record Hold(String thread, long lock, int site, long request, long acquired, long release) {}
}
