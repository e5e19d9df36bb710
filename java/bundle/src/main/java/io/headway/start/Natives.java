package io.headway.start;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * The programs of the jar, unpacked into a private directory below {@code java.io.tmpdir}, which
 * {@link #close()} removes.
 */
public final class Natives implements AutoCloseable {
    private static final String COMMAND = "headway";
    private static final String AGENT = "libheadway.so";

    private final Path directory;

    private Natives(Path directory) {
        this.directory = directory;
    }

    /**
     * Unpacks the command line and the agent.
     *
     * @return where they are
     * @throws IOException with a sentence: the system is not supported, the jar has no programs, or
     *     there is no place for them
     */
    public static Natives unpacked() throws IOException {
        return unpacked(List.of(COMMAND, AGENT));
    }

    static Natives agent() throws IOException {
        return unpacked(List.of(AGENT));
    }

    private static Natives unpacked(List<String> names) throws IOException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            throw new IOException("Headway runs on Linux x86-64; " + system + " is not supported yet");
        }
        for (String name : names) {
            if (Natives.class.getResource(name) == null) {
                throw new IOException("this jar has no " + name + ": use the one of a release");
            }
        }
        // Only the owner may enter it.
        Natives natives = new Natives(Files.createTempDirectory("headway-"));
        try {
            for (String name : names) {
                natives.unpack(name);
            }
        } catch (IOException e) {
            natives.close();
            throw new IOException("cannot unpack Headway into " + natives.directory.getParent() + " (" + e.getMessage()
                    + "): name another directory with -Djava.io.tmpdir=DIRECTORY", e);
        }
        return natives;
    }

    private void unpack(String name) throws IOException {
        try (InputStream content = Natives.class.getResourceAsStream(name)) {
            Path file = directory.resolve(name);
            Files.copy(content, file);
            // Nobody writes to a library that a process has mapped.
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r-xr-xr-x"));
        }
    }

    /**
     * The command line.
     *
     * @return the program's path
     */
    public Path command() {
        return directory.resolve(COMMAND);
    }

    /**
     * The agent.
     *
     * @return the library's path
     */
    public Path library() {
        return directory.resolve(AGENT);
    }

    /** Removes the files. A library that is loaded stays mapped. */
    @Override
    public void close() {
        for (Path path : List.of(command(), library(), directory)) {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                // Somebody put other files there: they stay.
            }
        }
    }
}
