package io.headway.jmh;

import io.headway.start.Natives;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.BenchmarkResultMetaData;
import org.openjdk.jmh.results.Result;

/**
 * Records every fork of a benchmark: {@code -prof io.headway.jmh.HeadwayProfiler[:OPTIONS]}.
 *
 * <p>Secondary results: {@code headway.blocked} and {@code headway.waits} (ns per operation, idle
 * waits left out), the share of the most contended locks in the blocked time, and the findings as
 * text. Only the measurement iterations count. The recording and flame graphs are written to a
 * folder for each benchmark.
 *
 * <p>Options, separated by {@code ;}: {@code dir=DIRECTORY} for the folders (default: the working
 * directory), {@code events=A+B} as of the agent (default: its own).
 */
public final class HeadwayProfiler implements ExternalProfiler {
    private final Options options;
    private Natives natives;
    private Path recording;
    private int fork;

    /**
     * For JMH.
     *
     * @param line the options
     * @throws ProfilerException an option is not known
     */
    public HeadwayProfiler(String line) throws ProfilerException {
        options = Options.of(line);
    }

    /**
     * For JMH: without options.
     *
     * @throws ProfilerException never
     */
    public HeadwayProfiler() throws ProfilerException {
        this("");
    }

    @Override
    public Collection<String> addJVMInvokeOptions(BenchmarkParams params) {
        return List.of();
    }

    @Override
    public Collection<String> addJVMOptions(BenchmarkParams params) {
        try {
            natives = Natives.unpacked();
            Path folder = options.directory().resolve(params.id().replaceAll("[^A-Za-z0-9._-]", "_"));
            Files.createDirectories(folder);
            recording = folder.resolve("fork-" + ++fork + ".jfr").toAbsolutePath();
            String events = options.events().isEmpty() ? "" : ",events=" + options.events();
            // A % stands for what the agent puts in, and , and = separate options.
            String file = recording.toString().replace("%", "%25%25").replace(",", "%2C").replace("=", "%3D");
            return List.of("-agentpath:" + natives.library() + "=start,force,file=" + file + events);
        } catch (IOException e) {
            throw new IllegalStateException("headway: " + e.getMessage(), e);
        }
    }

    @Override
    public void beforeTrial(BenchmarkParams params) {
        // The agent begins with the JVM.
    }

    @Override
    public Collection<? extends Result<?>> afterTrial(BenchmarkResult result, long pid, File out, File err) {
        try (Natives used = natives) {
            if (!Files.isRegularFile(recording)) {
                throw new IOException("the fork wrote no recording; its output says why");
            }
            Command headway = new Command(used.command());
            BenchmarkResultMetaData times = result.getMetadata();
            List<String> measured = times == null ? List.of() : measurementOnly(times);
            List<String> report = new ArrayList<>(List.of("report", "--json", recording.toString()));
            report.addAll(measured);
            Summary summary = Summary.of(headway.output(report));
            flameGraph(headway, measured, "cpu");
            flameGraph(headway, measured, "contender");
            flameGraph(headway, measured, "owner");
            return summary.results(times == null ? 0 : times.getMeasurementOps(), recording.getParent());
        } catch (IOException e) {
            throw new IllegalStateException("headway: " + e.getMessage(), e);
        }
    }

    /** The recording ends with the fork, and the last iteration shortly before it. */
    private static List<String> measurementOnly(BenchmarkResultMetaData times) {
        long length = times.getStopTime() - times.getMeasurementTime();
        return length > 0 ? List.of("--from=-" + length + "ms") : List.of();
    }

    private void flameGraph(Command headway, List<String> measured, String measure) throws IOException {
        String name = recording.getFileName().toString().replace(".jfr", "-" + measure + ".html");
        Path page = recording.resolveSibling(name);
        Files.deleteIfExists(page);
        List<String> flame = new ArrayList<>(List.of("flame", "--of", measure, "-o", page.toString()));
        flame.addAll(measured);
        flame.add(recording.toString());
        headway.tried(flame); // a recording without blocked time has no such graph
    }

    @Override
    public boolean allowPrintOut() {
        return true;
    }

    @Override
    public boolean allowPrintErr() {
        return true;
    }

    @Override
    public String getDescription() {
        return "Headway: blocked time, waits and findings";
    }
}
