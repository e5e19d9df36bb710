package io.headway.workloads.predict;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Json;
import io.headway.workloads.predict.Ledger.Hold;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who blocked whom, computed by the program from its own clock.
 *
 * <p>For each contention from request to acquisition, the overlap with each hold of the same lock by
 * another thread is time that this hold caused. A contention that overlaps no hold was not blocked and
 * counts apart. What no hold covers of a contention is {@code gap}: hand-off, wake-up, and
 * owners that were descheduled between their last stamp and the release. Because of the latter, a
 * program cannot say whose such a gap is: {@code caused_at_most} of a hold counts the gaps on both its
 * sides as well. What is blamed on a hold beyond that is certainly wrong.
 *
 * <p>All times are nanoseconds. The contention includes what the thread spent spinning, which no
 * profiler of contended enters sees; contentions of a millisecond and more are therefore also summed
 * apart.
 */
final class Truth {
    private final Catalog catalog;
    private final Sums all = new Sums();
    private final Sums longOnes = new Sums();
    private final Map<Cell, CellSums> cells = new LinkedHashMap<>();
    private final Map<Owner, HoldSums> owners = new LinkedHashMap<>();
    private long holds;
    private long unblockedNs;
    private long waits;
    private long waitedNs;
    private int locks;

    private Truth(Catalog catalog) {
        this.catalog = catalog;
    }

    /** Computes the truth of all threads' ledgers. */
    static Truth of(Catalog catalog, Collection<Ledger> ledgers) {
        Map<Long, List<Hold>> byLock = new HashMap<>();
        for (Ledger ledger : ledgers) {
            for (Hold hold : ledger.holds()) {
                byLock.computeIfAbsent(hold.lock(), lock -> new ArrayList<>()).add(hold);
            }
        }
        Truth truth = new Truth(catalog);
        truth.waits = ledgers.stream().mapToLong(Ledger::waits).sum();
        truth.waitedNs = ledgers.stream().mapToLong(Ledger::waitedNs).sum();
        truth.locks = byLock.size();
        for (List<Hold> holdsOfLock : byLock.values()) {
            truth.addLock(holdsOfLock);
        }
        return truth;
    }

    private void addLock(List<Hold> ofLock) {
        ofLock.sort(Comparator.comparingLong(Hold::acquired));
        for (int i = 0; i < ofLock.size(); i++) {
            Hold hold = ofLock.get(i);
            if (i > 0 && ofLock.get(i - 1).release() > hold.acquired()) {
                throw new IllegalStateException("two threads hold one lock: " + ofLock.get(i - 1) + ", " + hold);
            }
            holds++;
            ownerSums(hold).add(hold.release() - hold.acquired());
            addContention(ofLock, i);
        }
    }

    private HoldSums ownerSums(Hold hold) {
        return owners.computeIfAbsent(new Owner(catalog.familyOf(hold.lock()), hold.site()), key -> new HoldSums());
    }

    /** Holds are disjoint and sorted, so those that a contention overlaps are right in front of it. */
    private void addContention(List<Hold> ofLock, int index) {
        Hold blocked = ofLock.get(index);
        long length = blocked.acquired() - blocked.request();
        long blamed = 0;
        for (int i = index - 1; i >= 0 && ofLock.get(i + 1).acquired() > blocked.request(); i--) {
            Hold cause = ofLock.get(i);
            if (cause.thread().equals(blocked.thread())) {
                continue;
            }
            long overlap = Math.max(0, cause.release() - Math.max(cause.acquired(), blocked.request()));
            blamed += overlap;
            cells.computeIfAbsent(cellOf(blocked, cause), key -> new CellSums())
                    .add(overlap, overlapAtMost(ofLock, i, blocked));
            if (overlap > 0) {
                ownerSums(cause).addCaused(overlap, length);
            }
        }
        if (blamed == 0) {
            unblockedNs += length;
            return;
        }
        all.addContention(length, blamed);
        if (length >= AcquireTimes.LONG_CONTENTION_NS) {
            longOnes.addContention(length, blamed);
        }
    }

    /** From the release before the hold, or its own request, to the acquisition after it. */
    private static long overlapAtMost(List<Hold> ofLock, int index, Hold blocked) {
        Hold cause = ofLock.get(index);
        long before = index == 0 ? cause.request() : Math.max(ofLock.get(index - 1).release(), cause.request());
        return ofLock.get(index + 1).acquired() - Math.max(before, blocked.request());
    }

    private Cell cellOf(Hold blocked, Hold cause) {
        return new Cell(catalog.familyOf(blocked.lock()), blocked.thread(), blocked.site(), cause.thread(), cause.site());
    }

    /** Time blocked in all, over all threads. */
    long blockedNs() {
        return all.ns;
    }

    /** Part of {@link #blockedNs} that no hold covers. */
    long gapNs() {
        return all.ns - all.blamedNs;
    }

    /** Contentions that overlap at least one hold. */
    long contentions() {
        return all.count;
    }

    /** Time that a method caused to others by holding a lock. */
    long causedNs(String ownerMethod) {
        return owners.entrySet().stream()
                .filter(e -> catalog.siteOf(e.getKey().site).method().equals(ownerMethod))
                .mapToLong(e -> e.getValue().causedNs)
                .sum();
    }

    /** Like {@link #causedNs}, with the gaps beside its holds. */
    long causedAtMostNs(String ownerMethod) {
        return cells.entrySet().stream()
                .filter(e -> catalog.siteOf(e.getKey().ownerSite).method().equals(ownerMethod))
                .mapToLong(e -> e.getValue().causedAtMostNs)
                .sum();
    }

    /** As JSON: totals, owners (lock and method), cells (who caused whom how much). */
    Map<String, Object> toJson() {
        Map<String, Object> json = Json.object();
        json.put("locks", locks);
        json.put("holds", holds);
        json.put("contentions", all.count);
        json.put("blocked_ns", all.ns);
        json.put("gap_ns", all.ns - all.blamedNs);
        json.put("contentions_ge_1ms", longOnes.count);
        json.put("blocked_ge_1ms_ns", longOnes.ns);
        json.put("gap_ge_1ms_ns", longOnes.ns - longOnes.blamedNs);
        json.put("blocked_lt_1ms_ns", all.ns - longOnes.ns);
        json.put("unblocked_acquire_ns", unblockedNs);
        json.put("waits", waits);
        json.put("waited_ns", waitedNs);
        List<Object> ownerRows = new ArrayList<>();
        owners.forEach((owner, sums) -> ownerRows.add(ownerJson(owner, sums)));
        json.put("owners", ownerRows);
        List<Object> cellRows = new ArrayList<>();
        cells.forEach((cell, sums) -> cellRows.add(cellJson(cell, sums)));
        json.put("cells", cellRows);
        return json;
    }

    private Map<String, Object> ownerJson(Owner owner, HoldSums sums) {
        Map<String, Object> json = Json.object();
        putLock(json, owner.lock);
        putSite(json, "owner", owner.site);
        json.put("caused_ns", sums.causedNs);
        json.put("caused_ge_1ms_ns", sums.causedLongNs);
        json.put("holds", sums.holds);
        json.put("hold_ns", sums.holdNs);
        return json;
    }

    private Map<String, Object> cellJson(Cell cell, CellSums sums) {
        Map<String, Object> json = Json.object();
        putLock(json, cell.lock);
        json.put("contender_thread", cell.contender);
        putSite(json, "contender", cell.contenderSite);
        json.put("owner_thread", cell.owner);
        putSite(json, "owner", cell.ownerSite);
        json.put("caused_ns", sums.causedNs);
        json.put("caused_at_most_ns", sums.causedAtMostNs);
        return json;
    }

    private static void putLock(Map<String, Object> json, Catalog.LockFamily lock) {
        json.put("lock", lock.name());
        json.put("lock_class", lock.type());
        if (lock.object() != null) {
            // Asked only now: an identity hash taken before the run would change how the VM locks.
            json.put("lock_hash", Integer.toHexString(System.identityHashCode(lock.object())));
        }
    }

    private void putSite(Map<String, Object> json, String role, int site) {
        json.put(role + "_method", catalog.siteOf(site).method());
        if (catalog.siteOf(site).via() != null) {
            json.put(role + "_via", catalog.siteOf(site).via());
        }
    }

    private record Owner(Catalog.LockFamily lock, int site) {}

    private record Cell(Catalog.LockFamily lock, String contender, int contenderSite, String owner, int ownerSite) {}

    private static final class HoldSums {
        private long holds;
        private long holdNs;
        private long causedNs;
        private long causedLongNs;

        void add(long ns) {
            holds++;
            holdNs += ns;
        }

        void addCaused(long overlap, long contention) {
            causedNs += overlap;
            if (contention >= AcquireTimes.LONG_CONTENTION_NS) {
                causedLongNs += overlap;
            }
        }
    }

    private static final class CellSums {
        private long causedNs;
        private long causedAtMostNs;

        void add(long overlap, long atMost) {
            causedNs += overlap;
            causedAtMostNs += atMost;
        }
    }

    private static final class Sums {
        private long count;
        private long ns;
        private long blamedNs;

        void addContention(long length, long blamed) {
            count++;
            ns += length;
            blamedNs += blamed;
        }
    }
}
