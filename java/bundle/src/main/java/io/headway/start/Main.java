package io.headway.start;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** {@code java -jar headway.jar PID} records a running JVM; other arguments are those of {@code headway}. */
public final class Main {
    /** How long the command may take to end by the terminal's own signal. */
    private static final long PATIENCE_MS = 3000;

    private Main() {}

    /**
     * Runs the command line and ends with its exit code.
     *
     * @param arguments a pid, or the arguments of {@code headway}
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    private static int run(String[] arguments) {
        try (Natives natives = Natives.unpacked()) {
            List<String> line = new ArrayList<>();
            line.add(natives.command().toString());
            line.addAll(commandLine(arguments));
            Process headway = new ProcessBuilder(line).inheritIO().start();
            Thread ending = new Thread(() -> end(headway, natives));
            Runtime.getRuntime().addShutdownHook(ending);
            int code = headway.waitFor();
            Runtime.getRuntime().removeShutdownHook(ending);
            return code;
        } catch (IOException e) {
            System.err.println("headway: " + e.getMessage());
            return 1;
        } catch (InterruptedException | IllegalStateException e) {
            return 1; // the JVM ends, see end()
        }
    }

    /** A pid alone means that it is recorded. */
    static List<String> commandLine(String... arguments) {
        boolean isPid = arguments.length == 1 && arguments[0].matches("[0-9]+");
        return isPid ? List.of("record", arguments[0]) : List.of(arguments);
    }

    /** Ctrl-C reaches the command, too, which then ends its recording. */
    private static void end(Process headway, Natives natives) {
        try {
            if (!headway.waitFor(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
                headway.destroy();
                headway.waitFor();
            }
        } catch (InterruptedException e) {
            headway.destroy();
        }
        natives.close();
    }
}
