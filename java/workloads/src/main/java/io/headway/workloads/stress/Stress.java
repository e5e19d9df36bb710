package io.headway.workloads.stress;

import io.headway.workloads.Arguments;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * {@code stress [--minutes N | --seconds N] [--seed S]}: everything that makes a profiler's life hard,
 * at once, for a while. Prints {@code READY} when all threads run. Exit code 0 only if every
 * stressor's invariant holds and every thread ended.
 */
public final class Stress implements Workload {
    private static final long END_WITHIN_NS = 60_000_000_000L;

    @Override
    public int run(Arguments arguments) throws Exception {
        long minutes = arguments.number("minutes", 1, 1);
        long runNs = arguments.secondsAsNanos("seconds", minutes * 60.0);
        long seed = arguments.number("seed", 1, Long.MIN_VALUE);
        arguments.refuseUnknown();

        List<Stressor> stressors = stressors();
        Random random = new Random(seed);
        for (Stressor stressor : stressors) {
            stressor.plan(random);
        }
        stressors.forEach(Stressor::start);
        System.out.println("READY");
        sleepUnlessFailed(stressors, runNs);
        stressors.forEach(Stressor::stop);
        return verdict(stressors) ? 0 : 1;
    }

    private static List<Stressor> stressors() {
        List<Stressor> stressors = new ArrayList<>(List.of(
                new ExactCounters(),
                new BoundedBuffer(),
                new ClassStorm(),
                new ThreadChurn("churn", ThreadKind.PLATFORM),
                new ParkTraffic("parks", ThreadKind.PLATFORM),
                new HeapPressure()));
        if (ThreadKind.virtualAvailable()) {
            stressors.add(new ThreadChurn("virtual", ThreadKind.virtual()));
            stressors.add(new ParkTraffic("virtualparks", ThreadKind.virtual()));
        }
        return stressors;
    }

    private static void sleepUnlessFailed(List<Stressor> stressors, long runNs) throws InterruptedException {
        long end = System.nanoTime() + runNs;
        while (System.nanoTime() < end && stressors.stream().allMatch(s -> s.failure() == null)) {
            Thread.sleep(50);
        }
    }

    private static boolean verdict(List<Stressor> stressors) throws InterruptedException {
        boolean good = true;
        long deadline = System.nanoTime() + END_WITHIN_NS;
        for (Stressor stressor : stressors) {
            List<String> hanging = stressor.join(deadline);
            String wrong = hanging.isEmpty() ? stressor.check() : "still running: " + String.join(", ", hanging);
            if (stressor.failure() != null) {
                wrong = "failed: " + stressor.failure();
                stressor.failure().printStackTrace();
            }
            if (!hanging.isEmpty()) {
                printStacks(hanging);
            }
            System.out.println("stress: " + stressor.name() + ": " + (wrong == null ? "holds" : wrong));
            good &= wrong == null;
        }
        return good;
    }

    private static void printStacks(List<String> names) {
        for (Map.Entry<Thread, StackTraceElement[]> entry : Thread.getAllStackTraces().entrySet()) {
            if (names.contains(entry.getKey().getName())) {
                System.err.println(entry.getKey() + " " + entry.getKey().getState());
                for (StackTraceElement element : entry.getValue()) {
                    System.err.println("    at " + element);
                }
            }
        }
    }
}
