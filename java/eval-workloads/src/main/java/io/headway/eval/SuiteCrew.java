package io.headway.eval;

import io.headway.workloads.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import java.util.jar.JarFile;
import java.util.regex.Pattern;

/**
 * A benchmark of somebody's suite: its main class is called in a thread of its own, and each line with which
 * it reports an iteration as done counts as an operation. DaCapo says {@code ... completed warmup 3 in 512
 * msec ...} and {@code ... PASSED in 498 msec ...}, Renaissance {@code ..., iteration 3 completed (512.0 ms)
 * ...}. The jar and the arguments are the properties {@code headway.suite.jar} and {@code
 * headway.suite.arguments}; the jar is on the class path.
 */
final class SuiteCrew implements Crew {
    static final String NAME = "suite";
    private static final Pattern ITERATION = Pattern.compile("completed warmup|PASSED in|iteration \\d+ completed");

    private final AtomicLong iterations = new AtomicLong();
    private final Thread runner;

    SuiteCrew() throws Exception {
        String jar = System.getProperty("headway.suite.jar");
        if (jar == null) {
            throw new UsageException("the property headway.suite.jar must name the suite");
        }
        String[] arguments = System.getProperty("headway.suite.arguments", "").split(" +");
        Method main = mainClass(jar).getMethod("main", String[].class);
        runner = new Thread(() -> call(main, arguments), NAME);
        PrintStream counting = new PrintStream(new Lines(System.err), true, StandardCharsets.UTF_8);
        System.setOut(counting);
        System.setErr(counting);
    }

    private static Class<?> mainClass(String jar) throws Exception {
        try (JarFile file = new JarFile(jar)) {
            String name = file.getManifest().getMainAttributes().getValue("Main-Class");
            if (name == null) {
                throw new UsageException(jar + " names no main class");
            }
            return Class.forName(name);
        }
    }

    private static void call(Method main, String[] arguments) {
        try {
            main.invoke(null, (Object) arguments);
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
        }
        System.err.println("The benchmark is over; give it more iterations than will be needed.");
        Runtime.getRuntime().halt(1);
    }

    @Override
    public void start() {
        runner.start();
    }

    @Override
    public long operations() {
        return iterations.get();
    }

    @Override
    public long[] threadIds() {
        return new long[] {runner.getId()};
    }

    @Override
    public long[] takeLatencies() {
        return null;
    }

    /** Counts lines that report an iteration; whatever is printed goes on to where errors go. */
    private final class Lines extends OutputStream {
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();
        private final PrintStream on;

        Lines(PrintStream on) {
            this.on = on;
        }

        @Override
        public synchronized void write(int b) {
            on.write(b);
            if (b != '\n') {
                line.write(b);
                return;
            }
            if (ITERATION.matcher(line.toString(StandardCharsets.UTF_8)).find()) {
                iterations.incrementAndGet();
            }
            line.reset();
        }
    }
}
