package io.headway.eval;

import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import java.io.PrintStream;

/**
 * {@code java -jar headway-eval-workloads.jar NAME [--threads N]}: runs one program of the evaluation until
 * standard input ends. {@link Session} says what can be asked meanwhile.
 */
public final class Main {
    private Main() {}

    /** Runs a program; exit code 2 if there is no such one. */
    public static void main(String[] args) {
        start("headway-eval-workloads", args, Main::crew);
    }

    /**
     * What the main class of a jar of programs does: reads the command line, makes the program's crew, runs it until
     * standard input ends, and ends the JVM, whatever threads the program has left in it.
     */
    public static void start(String jar, String[] args, Crews crews) {
        int code = 0;
        try {
            run(new Arguments(args, 0), crews);
        } catch (UsageException e) {
            System.err.println(jar + ": " + e.getMessage());
            code = 2;
        } catch (Exception e) {
            e.printStackTrace();
            code = 1;
        }
        System.out.flush();
        System.exit(code);
    }

    private static void run(Arguments arguments, Crews crews) throws Exception {
        String name = arguments.word();
        int threads = (int) arguments.number("threads", 4, 1);
        arguments.refuseUnknown();
        PrintStream out = System.out; // before a suite's output is taken away
        new Session(crews.make(name == null ? "" : name, threads), out).run();
    }

    private static Crew crew(String name, int threads) throws Exception {
        return name.equals(SuiteCrew.NAME) ? new SuiteCrew() : Catalog.make(name).crew(threads);
    }

    /** Makes the crew of a program by its name. */
    public interface Crews {
        /**
         * Makes it.
         *
         * @throws UsageException if there is no such program
         */
        Crew make(String name, int threads) throws Exception;
    }
}
