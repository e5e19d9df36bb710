package io.headway.eval.published;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The sources of Apache Commons Lang, which lie beside this program's jar as they were published. Only those
 * of a middling length: a second of work should be many files, and any second's files like another's.
 */
final class Sources {
    private static final String SOURCES = "commons-lang3-*-sources.jar";
    private static final String CLASSES = "commons-lang3-*[0-9].jar";
    private static final int SHORTEST = 4_000;
    private static final int LONGEST = 12_000;

    private Sources() {}

    /** The same library, compiled. */
    static Path classes() throws IOException, URISyntaxException {
        return beside(CLASSES);
    }

    private static Path beside(String pattern) throws IOException, URISyntaxException {
        Path own = Path.of(Sources.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (DirectoryStream<Path> found = Files.newDirectoryStream(own.resolveSibling("lib"), pattern)) {
            for (Path jar : found) {
                return jar;
            }
        }
        throw new IOException("no " + pattern + " in lib beside " + own);
    }

    /** Text of the files by name. */
    static Map<String, String> read() throws IOException, URISyntaxException {
        Map<String, String> texts = new TreeMap<>();
        try (ZipFile jar = new ZipFile(beside(SOURCES).toFile())) {
            Enumeration<? extends ZipEntry> entries = jar.entries();
            for (ZipEntry entry : Collections.list(entries)) {
                if (entry.getName().endsWith(".java") && !entry.getName().endsWith("-info.java")) {
                    String text = new String(jar.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8);
                    if (text.length() >= SHORTEST && text.length() <= LONGEST) {
                        texts.put(entry.getName(), text);
                    }
                }
            }
        }
        return texts;
    }
}
