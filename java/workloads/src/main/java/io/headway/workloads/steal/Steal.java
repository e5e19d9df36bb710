package io.headway.workloads.steal;

import io.headway.workloads.Arguments;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.util.Map;

/**
 * Programs with known demand for CPU time, for stolen, throttled and run-queue time and for
 * transactions: {@code steal patterns|crowd|transactions|pairs}.
 */
public final class Steal implements Workload {
    @Override
    public int run(Arguments arguments) throws Exception {
        String scenario = arguments.word();
        TruthOutput output = new TruthOutput(arguments);
        Map<String, Object> truth = switch (scenario == null ? "" : scenario) {
            case "patterns" -> Patterns.run(arguments);
            case "crowd" -> Crowd.run(arguments);
            case "transactions" -> Requests.run(arguments);
            case "pairs" -> Pairs.run(arguments);
            default -> throw new UsageException("steal takes patterns, crowd, transactions or pairs");
        };
        output.write(truth);
        return 0;
    }
}
