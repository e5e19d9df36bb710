package io.headway.jmh;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;
import org.openjdk.jmh.results.TextResult;

/**
 * What the JSON of a report says about a benchmark.
 *
 * @param blockedNs sum of all contentions
 * @param waitsNs sum of all waits of threads that are not idle
 * @param shares the most contended locks with their share of the blocked time, largest first
 * @param findings the verdict, then the findings
 */
record Summary(double blockedNs, double waitsNs, Map<String, Double> shares, List<String> findings) {
    private static final int MOST_LOCKS = 3;

    static Summary of(String json) throws IOException {
        try {
            JsonObject report = JsonParser.parseString(json).getAsJsonObject();
            Map<String, Double> shares = new LinkedHashMap<>();
            objects(report, "rows").limit(MOST_LOCKS).forEach(
                    row -> shares.merge(named(row), row.get("share").getAsDouble(), Double::sum));
            double waits = objects(report, "waits")
                    .filter(wait -> !wait.get("idle").getAsBoolean())
                    .mapToDouble(wait -> wait.get("total_ns").getAsDouble())
                    .sum();
            List<String> findings = new ArrayList<>(List.of(report.get("verdict").getAsString()));
            objects(report, "findings").forEach(finding -> findings.add(finding.get("text").getAsString()));
            return new Summary(report.get("blocked_ns").getAsDouble(), waits, shares, findings);
        } catch (RuntimeException e) {
            throw new IOException("the report of this Headway is not understood; use jars of one version", e);
        }
    }

    /** {@code Shop.lock} of {@code Shop.lock (java.lang.Object@1f)}, whose number changes with every fork. */
    private static String named(JsonObject row) {
        return row.get("value").getAsString().replaceFirst(" \\([^()]*@[0-9a-f]+\\)$", "");
    }

    private static java.util.stream.Stream<JsonObject> objects(JsonObject report, String key) {
        JsonElement array = report.get(key);
        JsonArray elements = array == null || array.isJsonNull() ? new JsonArray() : array.getAsJsonArray();
        return StreamSupport.stream(elements.spliterator(), false).map(JsonElement::getAsJsonObject);
    }

    /**
     * Results for JMH.
     *
     * @param operations of the measurement iterations; 0 if not known, then times are totals
     */
    List<Result<?>> results(long operations, Path folder) {
        List<Result<?>> results = new ArrayList<>();
        double per = operations > 0 ? operations : 1;
        String unit = operations > 0 ? "ns/op" : "ns";
        results.add(new ScalarResult("headway.blocked", blockedNs / per, unit, AggregationPolicy.AVG));
        results.add(new ScalarResult("headway.waits", waitsNs / per, unit, AggregationPolicy.AVG));
        shares.forEach((lock, share) -> results.add(
                new ScalarResult("headway.blocked:" + lock, 100 * share, "%", AggregationPolicy.AVG)));
        String text = String.join("\n", findings) + "\nRecording and flame graphs: " + folder + "\n";
        results.add(new TextResult(text, "headway.findings"));
        return results;
    }
}
