package io.headway.workloads.predict;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headway.workloads.ThreadKind;
import java.util.function.Function;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every scenario contends, ends, and computes a truth that is consistent in itself. */
class ScenariosTest {
    private static final Settings SETTINGS = new Settings(4, 3, 500_000, 200_000);

    enum Each {
        CHAINS(Chains::new),
        BARGING(Barging::new),
        FAIR(TakingTurns::new),
        EXCEPTIONS(Unwinding::new),
        INLINED(InlinedCallees::new),
        RECURSION(Recursion::new),
        DEEPWAIT(DeepWait::new),
        TIMEDWAIT(TimedWait::new),
        MANYLOCKS(ManyLocks::new),
        DYINGLOCKS(DyingLocks::new),
        NAMES(NamedLocks::new);

        private final Function<Settings, Scenario> make;

        Each(Function<Settings, Scenario> make) {
            this.make = make;
        }
    }

    @ParameterizedTest
    @EnumSource(Each.class)
    void contendsAndAddsUp(Each each) throws Exception {
        each.make.apply(Settings.WARM_UP).warmUp(new Ledger("warm-up"));
        Stage stage = new Stage(ThreadKind.PLATFORM);
        each.make.apply(SETTINGS).plan(stage);
        stage.open(400_000_000);
        Truth truth = Truth.of(stage.catalog(), stage.ledgers());
        assertTrue(truth.contentions() > 0, "no contention");
        assertTrue(truth.gapNs() >= 0, "more blame than blocked time");
        assertTrue(truth.gapNs() < truth.blockedNs(), "nothing was blamed on anybody");
    }
}
