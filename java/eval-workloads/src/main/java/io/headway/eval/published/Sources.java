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

/** The sources of Apache Commons Lang, which lie beside this program's jar as they were published. */
final class Sources {
    private static final String PATTERN = "commons-lang3-*-sources.jar";

    private Sources() {}

    /** The jar. */
    static Path jar() throws IOException, URISyntaxException {
        Path own = Path.of(Sources.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (DirectoryStream<Path> found = Files.newDirectoryStream(own.resolveSibling("lib"), PATTERN)) {
            for (Path jar : found) {
                return jar;
            }
        }
        throw new IOException("no " + PATTERN + " in lib beside " + own);
    }

    /** Text of all files by name. */
    static Map<String, String> read() throws IOException, URISyntaxException {
        Map<String, String> texts = new TreeMap<>();
        try (ZipFile jar = new ZipFile(jar().toFile())) {
            Enumeration<? extends ZipEntry> entries = jar.entries();
            for (ZipEntry entry : Collections.list(entries)) {
                if (entry.getName().endsWith(".java") && !entry.getName().endsWith("-info.java")) {
                    byte[] text = jar.getInputStream(entry).readAllBytes();
                    texts.put(entry.getName(), new String(text, StandardCharsets.UTF_8));
                }
            }
        }
        return texts;
    }
}
