package io.headway.workloads.toggle;

import io.headway.workloads.Arguments;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.Workload;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * {@code many monitors|reentrantlocks|vparks [--number N] [--operations N] [--lanes N] [--truth FILE]}:
 * so many operations on so many short-lived locks or virtual threads, each used equally often, then
 * never again. Prints {@code DONE} before the JVM begins to exit, and writes how many operations
 * there were and how long they took.
 */
public final class Many implements Workload {
    @Override
    public int run(Arguments arguments) throws Exception {
        String what = arguments.word();
        long number = arguments.number("number", 100_000, 1);
        long operations = arguments.number("operations", number, 1);
        int lanes = (int) arguments.number("lanes", 32, 1);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();
        long uses = Math.max(1, operations / number);
        long each = Math.max(uses, operations / lanes / uses * uses);
        ShortLived work = new ShortLived(what == null ? "" : what, lanes, each, uses);

        long start = System.nanoTime();
        work.start();
        work.join();
        long elapsed = System.nanoTime() - start;
        Map<String, Object> truth = new LinkedHashMap<>();
        truth.put("what", what);
        truth.put("number", work.operations() / uses);
        truth.put("operations", work.operations());
        truth.put("elapsed_ns", elapsed);
        output.write(truth);
        System.out.println("DONE " + System.nanoTime());
        System.out.flush();
        return 0;
    }
}
