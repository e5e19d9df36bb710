package io.headway.workloads;

import io.headway.workloads.causal.Known;
import io.headway.workloads.demo.Demo;
import io.headway.workloads.parks.Parks;
import io.headway.workloads.parks.Queues;
import io.headway.workloads.predict.Predict;
import io.headway.workloads.pressure.Pressure;
import io.headway.workloads.samples.Samples;
import io.headway.workloads.steal.Steal;
import io.headway.workloads.stress.Stress;
import io.headway.workloads.toggle.Toggle;
import java.util.Map;
import java.util.TreeMap;

/** The workloads jar: {@code java -jar headway-workloads.jar SUBCOMMAND [--option value]...}. */
public final class Main {
    private static final Map<String, Workload> WORKLOADS = new TreeMap<>(Map.of(
            "causal", new Known(),
            "demo", new Demo(),
            "parks", new Parks(),
            "predict", new Predict(),
            "pressure", new Pressure(),
            "queues", new Queues(),
            "samples", new Samples(),
            "steal", new Steal(),
            "stress", new Stress(),
            "toggle", new Toggle()));

    private Main() {}

    /** Runs a subcommand; exit code 2 if there is no such thing. */
    public static void main(String[] args) throws Exception {
        int code;
        try {
            code = dispatch(args);
        } catch (UsageException e) {
            System.err.println("headway-workloads: " + e.getMessage());
            code = 2;
        }
        System.out.flush();
        System.exit(code);
    }

    private static int dispatch(String[] args) throws Exception {
        Workload workload = args.length == 0 ? null : WORKLOADS.get(args[0]);
        if (workload == null) {
            throw new UsageException("expected one of " + String.join(", ", WORKLOADS.keySet()));
        }
        return workload.run(new Arguments(args, 1));
    }
}
