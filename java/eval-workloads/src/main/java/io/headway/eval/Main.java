package io.headway.eval;

import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import java.io.PrintStream;

/**
 * {@code java -jar headway-eval-workloads.jar NAME [--threads N]}: runs one program of the evaluation until
 * standard input ends. {@link Session} tells what can be asked meanwhile.
 */
public final class Main {
    private Main() {}

    /** Runs a program; exit code 2 if there is no such one. */
    public static void main(String[] args) throws Exception {
        int code = 0;
        try {
            run(new Arguments(args, 0));
        } catch (UsageException e) {
            System.err.println("headway-eval-workloads: " + e.getMessage());
            code = 2;
        }
        System.out.flush();
        System.exit(code);
    }

    private static void run(Arguments arguments) throws Exception {
        String name = arguments.word();
        int threads = (int) arguments.number("threads", 4, 1);
        arguments.refuseUnknown();
        PrintStream out = System.out; // before a suite's output is taken away
        new Session(crew(name == null ? "" : name, threads), out).run();
    }

    private static Crew crew(String name, int threads) throws Exception {
        return name.equals(SuiteCrew.NAME) ? new SuiteCrew() : Catalog.make(name).crew(threads);
    }
}
