package io.headway.workloads;

import io.headway.workloads.causal.Known;
import io.headway.workloads.demo.Demo;
import io.headway.workloads.faults.Target;
import io.headway.workloads.parks.Mounts;
import io.headway.workloads.parks.Parks;
import io.headway.workloads.parks.Products;
import io.headway.workloads.parks.Queues;
import io.headway.workloads.predict.Predict;
import io.headway.workloads.pressure.Pressure;
import io.headway.workloads.samples.Samples;
import io.headway.workloads.steal.Steal;
import io.headway.workloads.stress.Stress;
import io.headway.workloads.toggle.Many;
import io.headway.workloads.toggle.Toggle;
import java.util.Map;
import java.util.TreeMap;

/** The workloads jar: {@code java -jar headway-workloads.jar SUBCOMMAND [--option value]...}. */
public final class Main {
    private static final Map<String, Workload> WORKLOADS = new TreeMap<>(Map.ofEntries(
            Map.entry("causal", new Known()),
            Map.entry("demo", new Demo()),
            Map.entry("faults", new Target()),
            Map.entry("many", new Many()),
            Map.entry("mounts", new Mounts()),
            Map.entry("parks", new Parks()),
            Map.entry("predict", new Predict()),
            Map.entry("pressure", new Pressure()),
            Map.entry("products", new Products()),
            Map.entry("queues", new Queues()),
            Map.entry("samples", new Samples()),
            Map.entry("steal", new Steal()),
            Map.entry("stress", new Stress()),
            Map.entry("toggle", new Toggle())));

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
