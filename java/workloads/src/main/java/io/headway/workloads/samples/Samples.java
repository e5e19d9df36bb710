package io.headway.workloads.samples;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * {@code samples [--seconds N] [--depth N] [--turns N] [--truth FILE]}: threads that know their own stacks. Each runs
 * one shape for the whole time; a shape's name is its thread's. The truth says which methods of {@link
 * Shapes} may call which, how deep the recursion is, and how much CPU time each thread used. Before, virtual
 * threads take turns for {@code --turns} seconds (none by default); the truth says how deep each was.
 */
public final class Samples implements Workload {
    @Override
    public int run(Arguments arguments) throws Exception {
        long seconds = arguments.number("seconds", 4, 1);
        long turns = arguments.number("turns", 0, 0);
        int depth = (int) arguments.number("depth", 40, 1);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();

        Map<String, Object> truth = Json.object();
        if (turns > 0) {
            ShapesInTurn inTurn = new ShapesInTurn(System.nanoTime() + turns * 1_000_000_000L);
            inTurn.run();
            truth.put("turns", inTurn.depths());
        }
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Shapes shapes = new Shapes(depth, end);
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, Runnable> shape : shapes.all().entrySet()) {
            Thread thread = new Thread(shape.getValue(), shape.getKey());
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        truth.put("workload", "samples");
        truth.put("java", Runtime.version().toString());
        truth.put("depth", depth);
        truth.put("calls", Shapes.CALLS);
        truth.put("heavy", shapes.heavyRounds());
        truth.put("light", shapes.lightRounds());
        output.write(truth);
        return 0;
    }
}
