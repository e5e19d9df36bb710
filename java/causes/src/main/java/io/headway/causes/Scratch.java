package io.headway.causes;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that are gone when the program has ended. */
final class Scratch {
    private Scratch() {}

    /** A new folder. */
    static Path folder() throws IOException {
        Path folder = Files.createTempDirectory("headway-causes");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder.toFile())));
        return folder;
    }

    private static void delete(File file) {
        File[] below = file.listFiles();
        if (below != null) {
            for (File one : below) {
                delete(one);
            }
        }
        if (!file.delete()) {
            System.err.println("headway-causes: " + file + " stays");
        }
    }
}
