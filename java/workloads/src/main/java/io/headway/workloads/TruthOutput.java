package io.headway.workloads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Where a workload's truth goes: one JSON line to {@code --truth FILE}, else to standard output. */
public final class TruthOutput {
    private final Path file;

    /** Reads {@code --truth}. */
    public TruthOutput(Arguments arguments) {
        String name = arguments.text("truth", null);
        file = name == null ? null : Path.of(name);
    }

    /** Writes the truth as one line. */
    public void write(Map<String, Object> truth) throws IOException {
        String line = Json.text(truth);
        if (file == null) {
            System.out.println(line);
        } else {
            Files.writeString(file, line + "\n");
        }
    }
}
