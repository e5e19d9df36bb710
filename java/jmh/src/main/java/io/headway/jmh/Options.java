package io.headway.jmh;

import java.nio.file.Path;
import org.openjdk.jmh.profile.ProfilerException;

/** What stands behind the colon of {@code -prof}. */
record Options(Path directory, String events) {
    static Options of(String line) throws ProfilerException {
        Path directory = Path.of("");
        String events = "";
        for (String option : line.split(";")) {
            String value = option.substring(option.indexOf('=') + 1).trim();
            if (option.isBlank()) {
                continue;
            } else if (option.trim().startsWith("dir=")) {
                directory = Path.of(value);
            } else if (option.trim().startsWith("events=")) {
                events = value;
            } else {
                throw new ProfilerException("takes dir=DIRECTORY and events=A+B, not \"" + option + "\"");
            }
        }
        return new Options(directory, events);
    }
}
