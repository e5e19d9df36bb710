package io.headway.workloads.steal;

import io.headway.Headway;
import io.headway.Transaction;
import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import java.util.Arrays;
import java.util.Map;

/** What beginning and ending a transaction costs: the median over rounds of CPU time per pair. */
@SuppressWarnings("try") // what is between begin and end does not matter
final class Pairs {
    private static long done;

    private Pairs() {}

    static Map<String, Object> run(Arguments arguments) {
        int rounds = (int) arguments.number("rounds", 51, 1);
        int pairs = (int) arguments.number("pairs", 20_000, 1);
        arguments.refuseUnknown();
        double[] perPair = new double[rounds];
        for (int round = -5; round < rounds; round++) {
            long before = Burner.cpuNanos();
            for (int i = 0; i < pairs; i++) {
                try (Transaction pair = Headway.transaction("pair")) {
                    done++;
                }
            }
            if (round >= 0) {
                perPair[round] = (Burner.cpuNanos() - before) / (double) pairs;
            }
        }
        Arrays.sort(perPair);
        Map<String, Object> truth = Json.object();
        truth.put("pair_ns", perPair[rounds / 2]);
        return truth;
    }
}
