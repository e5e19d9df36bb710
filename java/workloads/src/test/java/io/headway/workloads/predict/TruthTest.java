package io.headway.workloads.predict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Truths of drawn timelines. One character is one microsecond: {@code ~} asking for the lock,
 * a letter holding it in that method, {@code .} neither. A letter right after another thread's is a
 * hand-off.
 */
class TruthTest {
    private static final int ONE_COLUMN_NS = 1_000;

    private final Catalog catalog = new Catalog();
    private final Map<Character, Integer> sites = new TreeMap<>();
    private final long lock = catalog.lock("lock", new Object());

    private TruthTest() {
        for (String method : List.of("a", "b", "c")) {
            sites.put(method.charAt(0), catalog.site(Methods.class, method));
        }
    }

    @SuppressWarnings("unused")
    private static final class Methods {
        void a() {}

        void b() {}

        void c() {}
    }

    private Truth draw(long lockOfOddThreads, String... timelines) {
        List<Ledger> ledgers = new ArrayList<>();
        for (int i = 0; i < timelines.length; i++) {
            ledgers.add(read("T" + (i + 1), i % 2 == 1 ? lockOfOddThreads : lock, timelines[i]));
        }
        return Truth.of(catalog, ledgers);
    }

    private Truth draw(String... timelines) {
        return draw(lock, timelines);
    }

    private Ledger read(String thread, long lockId, String timeline) {
        Ledger ledger = new Ledger(thread);
        int at = 0;
        while (at < timeline.length()) {
            if (timeline.charAt(at) == '.') {
                at++;
                continue;
            }
            int request = at;
            while (timeline.charAt(at) == '~') {
                at++;
            }
            int acquired = at;
            char method = timeline.charAt(at);
            while (at < timeline.length() && timeline.charAt(at) == method) {
                at++;
            }
            ledger.add(lockId, sites.get(method), column(request), column(acquired), column(at));
        }
        return ledger;
    }

    private static long column(int column) {
        return (long) column * ONE_COLUMN_NS;
    }

    private void assertBlame(Truth truth, String expected) {
        StringBuilder found = new StringBuilder();
        for (char method : sites.keySet()) {
            long ns = truth.causedNs(Methods.class.getName() + "." + method);
            if (ns > 0) {
                found.append(method).append(ns / ONE_COLUMN_NS).append(' ');
            }
        }
        String totals = String.format(
                Locale.ROOT, "gap%d blocked%d in %d", truth.gapNs() / ONE_COLUMN_NS, truth.blockedNs() / ONE_COLUMN_NS,
                truth.contentions());
        assertEquals(expected, found + totals);
    }

    @Test
    void aContentionIsBlamedOnTheHoldThatItOverlaps() {
        assertBlame(
                draw(
                        "aaaaa.....",
                        "..~~~bb..."),
                "a3 gap0 blocked3 in 1");
    }

    @Test
    void whatNoHoldCoversIsGap() {
        assertBlame(
                draw(
                        "aaaaa.......",
                        "..~~~~~bb..."),
                "a3 gap2 blocked5 in 1");
    }

    @Test
    void aBargerTakesItsShare() {
        assertBlame(
                draw(
                        "aaaa.ccc.....",
                        "..~~~~~~~bb.."),
                "a2 c3 gap2 blocked7 in 1");
    }

    private void assertAtMost(Truth truth, String expected) {
        StringBuilder found = new StringBuilder();
        for (char method : sites.keySet()) {
            long ns = truth.causedAtMostNs(Methods.class.getName() + "." + method);
            found.append(method).append(ns / ONE_COLUMN_NS).append(' ');
        }
        assertEquals(expected, found.toString().trim());
    }

    @Test
    void aGapMayBelongToTheHoldOnEitherSide() {
        assertAtMost(
                draw(
                        "aaaa..~~ccc......",
                        "..~~~~~~~~~~~bb.."),
                "a6 b0 c7");
    }

    @Test
    void anOwnerIsNotBlamedForTheTimeBeforeItsRequest() {
        assertAtMost(
                draw(
                        "aaaa....ccc......",
                        "..~~~~~~~~~~~bb.."),
                "a6 b0 c5");
    }

    @Test
    void aRequestRightAfterAReleaseMayStillBeBlockedByIt() {
        assertAtMost(
                draw(
                        "aaaa......",
                        ".....~~~bb"),
                "a3 b0 c0");
    }

    @Test
    void twoWaitersAreTwoContentions() {
        assertBlame(
                draw(
                        "aaaaaa.......",
                        ".~~~~~bbb....",
                        "...~~~~~~ccc."),
                "a8 b3 gap0 blocked11 in 2");
    }

    @Test
    void anUncontendedAcquisitionIsNoContention() {
        assertBlame(
                draw(
                        "aaa.........",
                        ".....~~bb..."),
                "gap0 blocked0 in 0");
    }

    @Test
    void aHoldOfAnotherLockBlocksNobody() {
        assertBlame(
                draw(
                        catalog.lock("other", new Object()),
                        "aaaaa.....",
                        "..~~~bb..."),
                "gap0 blocked0 in 0");
    }

    @Test
    void membersOfAFamilyAreDifferentLocks() {
        long family = catalog.family("family", Object.class);
        Ledger one = read("T1", Catalog.member(family, 1), "aaaaa");
        Ledger two = read("T2", Catalog.member(family, 2), ".~~~b");
        Ledger three = read("T3", Catalog.member(family, 1), "..~~~c");
        assertBlame(Truth.of(catalog, List.of(one, two, three)), "a3 gap0 blocked3 in 1");
    }

    @Test
    void overlappingHoldsAreAnErrorOfTheProgram() {
        assertThrows(IllegalStateException.class, () -> draw("aaaa..", "..bbbb"));
    }

    @Test
    void moreRecordsThanOneBlock() {
        Ledger ledger = new Ledger("T1");
        for (int i = 0; i < 3000; i++) {
            ledger.add(lock, 0, i, i, i + 1);
        }
        assertEquals(3000, ledger.holds().size());
        assertEquals(2999, ledger.holds().get(2999).acquired());
    }

    @Test
    void aTruthCannotNameAMethodThatDoesNotExist() {
        assertThrows(IllegalArgumentException.class, () -> catalog.site(Methods.class, "missing"));
    }
}
