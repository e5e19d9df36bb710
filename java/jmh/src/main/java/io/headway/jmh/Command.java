package io.headway.jmh;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command line {@code headway}. */
record Command(Path program) {
    /** What it prints. */
    String output(List<String> arguments) throws IOException {
        Process process = start(arguments, ProcessBuilder.Redirect.INHERIT);
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int code = ended(process);
        if (code != 0) {
            throw new IOException("headway " + arguments.get(0) + " ended with exit code " + code);
        }
        return text;
    }

    /** True if it did what it was asked for; it says nothing. */
    boolean tried(List<String> arguments) throws IOException {
        Process process = start(arguments, ProcessBuilder.Redirect.DISCARD);
        process.getInputStream().readAllBytes();
        return ended(process) == 0;
    }

    private Process start(List<String> arguments, ProcessBuilder.Redirect errors) throws IOException {
        List<String> line = new ArrayList<>();
        line.add(program.toString());
        line.addAll(arguments);
        return new ProcessBuilder(line).redirectError(errors).start();
    }

    private static int ended(Process process) throws IOException {
        try {
            return process.waitFor();
        } catch (InterruptedException e) {
            process.destroy();
            throw new IOException("interrupted", e);
        }
    }
}
