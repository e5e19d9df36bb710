package io.headway.workloads.predict;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.headway.workloads.ThreadKind;
import org.junit.jupiter.api.Test;

class StageTest {
    private static final long CONTENDED_NS = 1_000_000;

    /** Rounds that two threads make of which each takes no time. */
    private static int rounds(long acquireNs, int most) throws InterruptedException {
        Stage stage = new Stage(ThreadKind.PLATFORM);
        for (String name : new String[] {"one", "two"}) {
            stage.thread(name, ledger -> {
                for (int i = 0; i < most && stage.running(); i++) {
                    ledger.add(0, 0, 0, acquireNs, acquireNs + 1);
                }
            });
        }
        stage.open(0);
        return stage.ledgers().stream().mapToInt(ledger -> ledger.holds().size()).sum();
    }

    @Test
    void threadsThatWereLateGoOnUntilTheyHaveContended() throws InterruptedException {
        // The other thread may be a round further than it has said.
        int rounds = rounds(CONTENDED_NS, 10_000);
        assertEquals(40, rounds, 1);
    }

    @Test
    void whatIsAcquiredAtOnceWasNotContended() throws InterruptedException {
        assertEquals(2_000, rounds(1, 1_000));
    }
}
