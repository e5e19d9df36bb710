package io.headway.eval.cassandra;

import io.headway.eval.Crew;
import io.headway.workloads.UsageException;

/** {@code java -jar headway-eval-cassandra.jar cassandra [--threads N]}: as the jar of the other programs. */
public final class Main {
    private static final String NAME = "cassandra";

    private Main() {}

    /** Runs the program; exit code 2 if another is asked for. */
    public static void main(String[] args) {
        io.headway.eval.Main.start("headway-eval-cassandra", args, Main::crew);
    }

    private static Crew crew(String name, int threads) throws Exception {
        if (!name.equals(NAME)) {
            throw new UsageException("expected " + NAME);
        }
        return new RecordMix(new Node()).crew(threads);
    }
}
