package io.headway.workloads.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.headway.workloads.ThreadKind;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StressorsTest {
    private static void runBriefly(Stressor stressor) throws Exception {
        stressor.plan(new Random(1));
        stressor.start();
        Thread.sleep(300);
        stressor.stop();
        assertEquals(List.of(), stressor.join(System.nanoTime() + 20_000_000_000L));
        assertNull(stressor.failure());
    }

    @Test
    void everyInvariantHoldsOnAHealthyVm() throws Exception {
        for (Stressor stressor : List.of(
                new ExactCounters(),
                new BoundedBuffer(),
                new ClassStorm(),
                new ThreadChurn("churn", ThreadKind.PLATFORM),
                new HeapPressure())) {
            runBriefly(stressor);
            assertNull(stressor.check(), stressor.name());
        }
    }

    @Test
    void aThreadThatDiesIsNoticed() throws Exception {
        Stressor dying = new Stressor() {
            @Override
            String name() {
                return "dying";
            }

            @Override
            void plan(Random random) {
                thread("1", () -> {
                    throw new IllegalStateException("on purpose");
                });
            }

            @Override
            String check() {
                return null;
            }
        };
        dying.plan(new Random(1));
        dying.start();
        dying.join(System.nanoTime() + 20_000_000_000L);
        assertNotNull(dying.failure());
    }
}
