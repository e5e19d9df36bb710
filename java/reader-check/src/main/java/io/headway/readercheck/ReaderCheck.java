package io.headway.readercheck;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.EventStream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import one.convert.Arguments;
import one.convert.JfrToFlame;
import one.jfr.JfrReader;
import one.jfr.event.ContendedLock;
import one.jfr.event.Event;
import one.jfr.event.ExecutionSample;

/**
 * Reads a recording with a reader that programs use and prints what it sees.
 *
 * <p>{@code ReaderCheck READER FILE}, where {@code READER} is {@code recording-file} or {@code event-stream} (the
 * JDK's), or {@code converter} (async-profiler's), prints a line {@code TYPE COUNT} for each event type that has
 * events. The converter's reader knows two kinds, {@code samples} and {@code locks}; it also converts the recording
 * to collapsed stacks and a flame graph of each kind. The JDK's readers resolve every field of every event. Ends
 * with exit code 0, or with 1 and the reason if the reader refuses the file.
 */
public final class ReaderCheck {
    private ReaderCheck() {
    }

    /**
     * Runs the check.
     *
     * @param arguments the reader and the file
     */
    public static void main(String[] arguments) {
        Map<String, Long> counts = new TreeMap<>();
        try {
            Path file = Path.of(arguments[1]);
            switch (arguments[0]) {
                case "recording-file" -> recordingFile(file, counts);
                case "event-stream" -> eventStream(file, counts);
                case "converter" -> converter(file, counts);
                default -> throw new IllegalArgumentException("no such reader: " + arguments[0]);
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
        counts.forEach((type, count) -> System.out.println(type + " " + count));
    }

    private static void recordingFile(Path file, Map<String, Long> counts) throws Exception {
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                count(recording.readEvent(), counts);
            }
        }
    }

    private static void eventStream(Path file, Map<String, Long> counts) throws Exception {
        try (EventStream stream = EventStream.openFile(file)) {
            stream.onEvent(event -> count(event, counts));
            stream.onError(problem -> {
                throw new IllegalStateException(problem);
            });
            stream.start();
        }
    }

    private static void count(RecordedEvent event, Map<String, Long> counts) {
        event.getFields().forEach(field -> event.getValue(field.getName()));
        counts.merge(event.getEventType().getName(), 1L, Long::sum);
    }

    private static void converter(Path file, Map<String, Long> counts) throws Exception {
        try (JfrReader reader = new JfrReader(file.toString())) {
            for (Event event; (event = reader.readEvent()) != null; ) {
                if (event instanceof ExecutionSample) {
                    counts.merge("samples", 1L, Long::sum);
                } else if (event instanceof ContendedLock) {
                    counts.merge("locks", 1L, Long::sum);
                }
            }
        }
        for (String kind : List.of("--lock", "--cpu", "--wall")) {
            for (String format : List.of("collapsed", "html")) {
                Path result = Files.createTempFile("headway-reader-check", "." + format);
                JfrToFlame.convert(file.toString(), result.toString(), new Arguments(kind, "-o", format));
                Files.delete(result);
            }
        }
    }
}
