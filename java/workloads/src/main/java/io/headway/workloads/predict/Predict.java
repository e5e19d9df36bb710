package io.headway.workloads.predict;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * {@code predict SCENARIO [--seconds N] [--warmup N] [--threads N] [--depth N] [--hold-us N]
 * [--pause-us N] [--virtual true] [--await FILE] [--truth FILE]}: a program whose contention is known.
 *
 * <p>It warms up without contention, then, if asked to, prints {@code READY} and waits until
 * {@code FILE} exists (so that a profiler can be attached to code that is already compiled), then
 * measures, and prints its truth (see {@link Truth}).
 */
public final class Predict implements Workload {
    private static final Map<String, Function<Settings, Scenario>> SCENARIOS = new TreeMap<>(Map.ofEntries(
            Map.entry("chains", Chains::new),
            Map.entry("barging", Barging::new),
            Map.entry("fair", TakingTurns::new),
            Map.entry("exceptions", Unwinding::new),
            Map.entry("inlined", InlinedCallees::new),
            Map.entry("recursion", Recursion::new),
            Map.entry("deepwait", DeepWait::new),
            Map.entry("timedwait", TimedWait::new),
            Map.entry("jni", NativeLocks::new),
            Map.entry("manylocks", ManyLocks::new),
            Map.entry("dyinglocks", DyingLocks::new),
            Map.entry("names", NamedLocks::new)));

    @Override
    public int run(Arguments arguments) throws Exception {
        String name = arguments.word();
        if (name == null || !SCENARIOS.containsKey(name)) {
            throw new UsageException("predict takes one of " + String.join(", ", SCENARIOS.keySet()));
        }
        Function<Settings, Scenario> scenario = SCENARIOS.get(name);
        Settings settings = Settings.from(arguments);
        long runNs = arguments.secondsAsNanos("seconds", 5);
        long warmUpNs = arguments.secondsAsNanos("warmup", 1);
        ThreadKind kind = arguments.flag("virtual", false) ? ThreadKind.virtual() : ThreadKind.PLATFORM;
        String await = arguments.text("await", null);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();

        warmUp(scenario, warmUpNs);
        awaitFile(await);
        Stage stage = new Stage(kind);
        scenario.apply(settings).plan(stage);
        long start = System.nanoTime();
        stage.open(runNs);
        long duration = System.nanoTime() - start;
        Map<String, Object> truth = Json.object();
        truth.put("workload", name);
        truth.put("java", Runtime.version().toString());
        truth.put("threads", stage.threads());
        truth.put("duration_ns", duration);
        truth.putAll(Truth.of(stage.catalog(), stage.ledgers()).toJson());
        output.write(truth);
        return 0;
    }

    /** Fresh instances, so that nothing of the warm-up is contended or in the truth. */
    private static void warmUp(Function<Settings, Scenario> scenario, long ns) throws Exception {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() - end < 0) {
            Scenario instance = scenario.apply(Settings.WARM_UP);
            Ledger scratch = new Ledger("warm-up");
            for (int i = 0; i < 1000 && System.nanoTime() - end < 0; i++) {
                instance.warmUp(scratch);
            }
        }
    }

    private static void awaitFile(String name) throws InterruptedException {
        if (name == null) {
            return;
        }
        System.out.println("READY");
        System.out.flush();
        while (!Files.exists(Path.of(name))) {
            Thread.sleep(10);
        }
    }
}
