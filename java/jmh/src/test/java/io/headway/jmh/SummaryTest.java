package io.headway.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.Result;

class SummaryTest {
    private static final String REPORT = """
            {"blocked_ns": 6000, "verdict": "Much is blocked.",
             "rows": [{"value": "Shop.lock (java.lang.Object@1f)", "share": 0.75},
                      {"value": "java.lang.String@2a", "share": 0.25}],
             "waits": [{"idle": false, "total_ns": 400}, {"idle": true, "total_ns": 9000}],
             "findings": [{"text": "Threads waited 6.00 us."}]}""";

    @Test
    void aReportBecomesResultsPerOperation() throws IOException {
        Summary summary = Summary.of(REPORT);
        assertEquals(Map.of("Shop.lock", 0.75, "java.lang.String@2a", 0.25), summary.shares());
        List<String> lines = summary.results(10, Path.of("profiles")).stream().map(SummaryTest::line).toList();
        assertEquals(
                List.of("headway.blocked 600 ns/op", "headway.waits 40 ns/op", "headway.blocked:Shop.lock 75 %",
                        "headway.blocked:java.lang.String@2a 25 %"),
                lines.subList(0, 4));
        assertEquals("headway.findings", lines.get(4).split(" ")[0]);
        assertEquals("headway.blocked 6000 ns", line(summary.results(0, Path.of("profiles")).get(0)));
    }

    private static String line(Result<?> result) {
        return result.getLabel() + " " + Math.round(result.getScore()) + " " + result.getScoreUnit();
    }

    @Test
    void aReportOfAnotherVersionIsRefused() {
        assertThrows(IOException.class, () -> Summary.of("{}"));
        assertThrows(IOException.class, () -> Summary.of("no JSON"));
    }

    @Test
    void optionsAreKnownOrRefused() throws ProfilerException {
        assertEquals(new Options(Path.of("a"), "monitor+cpu"), Options.of("dir=a;events=monitor+cpu"));
        assertEquals(new Options(Path.of(""), ""), Options.of(""));
        assertThrows(ProfilerException.class, () -> Options.of("folder=a"));
    }
}
