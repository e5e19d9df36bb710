package io.headway.workloads;

import java.util.Map;

/**
 * What one thread measured of its own acquisitions of one lock: the time from just before
 * {@code synchronized} to just after it.
 *
 * <p>Not thread-safe: each thread has its own and only others' totals are read after it ended.
 */
public final class AcquireTimes {
    /** Contentions from this length on are also summed apart; shorter ones may be spent spinning. */
    public static final long LONG_CONTENTION_NS = 1_000_000;

    private long acquisitions;
    private long totalNs;
    private long longContentions;
    private long longNs;
    private long maxNs;

    /** Adds an acquisition that took from {@code requestNs} to {@code acquiredNs}. */
    public void add(long requestNs, long acquiredNs) {
        long ns = acquiredNs - requestNs;
        acquisitions++;
        totalNs += ns;
        maxNs = Math.max(maxNs, ns);
        if (ns >= LONG_CONTENTION_NS) {
            longContentions++;
            longNs += ns;
        }
    }

    /** Adds all that another thread measured. */
    public void addAll(AcquireTimes other) {
        acquisitions += other.acquisitions;
        totalNs += other.totalNs;
        longContentions += other.longContentions;
        longNs += other.longNs;
        maxNs = Math.max(maxNs, other.maxNs);
    }

    /** Sum over all acquisitions. */
    public long totalNs() {
        return totalNs;
    }

    /** Sum over the acquisitions of {@link #LONG_CONTENTION_NS} and more. */
    public long longNs() {
        return longNs;
    }

    /** As part of a truth. */
    public Map<String, Object> toJson() {
        Map<String, Object> json = Json.object();
        json.put("acquisitions", acquisitions);
        json.put("blocked_ns", totalNs);
        json.put("blocked_ge_1ms_ns", longNs);
        json.put("contentions_ge_1ms", longContentions);
        json.put("max_ns", maxNs);
        return json;
    }
}
