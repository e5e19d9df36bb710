package io.headway.workloads.parks;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.ThreadKind;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.Workload;
import io.headway.workloads.parks.Choreography.Waiter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * {@code parks [--rounds N] [--wait-ms N] [--virtual true] [--only NAME] [--truth FILE]}: every
 * synchronizer of {@code java.util.concurrent} in turn, with threads that park on it for a known time
 * and come back for a known reason. Prints what each waiter measured.
 *
 * <p>Waiters are called after what they wait for, {@code lock-1}; whoever holds and releases is
 * {@code holder}.
 */
public final class Parks implements Workload {
    /** Synchronizers at which waiters stand in line; on the others one waits at a time. */
    private static final int IN_LINE = 3;

    private static final List<String> WITH_LINE =
            List.of("lock", "fairlock", "readwaitswrite", "semaphore", "latch", "condition", "spurious");

    @Override
    public int run(Arguments arguments) throws Exception {
        int rounds = (int) arguments.number("rounds", 8, 1);
        long waitMs = arguments.number("wait-ms", 30, 1);
        ThreadKind kind = arguments.flag("virtual", false) ? ThreadKind.virtual() : ThreadKind.PLATFORM;
        String only = arguments.text("only", null);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();

        List<Object> rows = new ArrayList<>();
        Throwable[] failure = new Throwable[1];
        Thread holder = kind.unstarted("holder", () -> {
            try {
                for (Map.Entry<String, Act> entry : Acts.all(waitMs, 1).entrySet()) {
                    if (only == null || only.equals(entry.getKey())) {
                        play(entry.getKey(), entry.getValue(), rounds, waitMs, kind, rows);
                    }
                }
            } catch (Throwable e) {
                failure[0] = e;
            }
        });
        holder.start();
        holder.join();
        if (failure[0] != null) {
            throw new IllegalStateException("the holder failed", failure[0]);
        }
        Map<String, Object> truth = Json.object();
        truth.put("workload", "parks");
        truth.put("java", Runtime.version().toString());
        truth.put("waiters", rows);
        output.write(truth);
        return 0;
    }

    private static void play(String name, Act act, int rounds, long waitMs, ThreadKind kind, List<Object> rows)
            throws Exception {
        int count = WITH_LINE.contains(name) ? IN_LINE : 1;
        for (Waiter waiter : new Choreography(name, act, count, kind).play(rounds, waitMs)) {
            Map<String, Object> row = Json.object();
            row.put("thread", waiter.thread);
            row.put("blocker_class", waiter.blockerClass);
            row.put("parks", waiter.parks);
            row.put("parked_ns", waiter.parkedNs);
            row.put("parked_at_least_ns", waiter.atLeastNs);
            row.put("unparked", waiter.unparked);
            row.put("timed_out", waiter.timedOut);
            row.put("interrupted", waiter.interrupted);
            row.put("owner", act.owned() ? "holder" : null);
            rows.add(row);
        }
    }
}
