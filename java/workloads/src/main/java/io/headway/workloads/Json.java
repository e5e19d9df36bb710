package io.headway.workloads;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes maps, iterables, strings, numbers and booleans as JSON on one line.
 *
 * <p>Truths are small and written once, after the measured part, so clarity wins over speed.
 */
public final class Json {
    private Json() {}

    /** An object with fields in the order in which they are put. */
    public static Map<String, Object> object() {
        return new LinkedHashMap<>();
    }

    /**
     * The JSON text of a value.
     *
     * @param value a Map, Iterable, CharSequence, Number, Boolean or null, nested at will
     * @throws IllegalArgumentException if there is anything else inside, or a number without a value
     */
    public static String text(Object value) {
        StringBuilder out = new StringBuilder();
        append(out, value);
        return out.toString();
    }

    private static void append(StringBuilder out, Object value) {
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Number number) {
            appendNumber(out, number);
        } else if (value instanceof CharSequence text) {
            appendString(out, text);
        } else if (value instanceof Map<?, ?> map) {
            appendObject(out, map);
        } else if (value instanceof Iterable<?> items) {
            appendArray(out, items);
        } else {
            throw new IllegalArgumentException("not a JSON value: " + value.getClass().getName());
        }
    }

    private static void appendNumber(StringBuilder out, Number number) {
        double value = number.doubleValue();
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            throw new IllegalArgumentException("JSON has no number " + value);
        }
        out.append(number);
    }

    private static void appendObject(StringBuilder out, Map<?, ?> map) {
        out.append('{');
        String comma = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(comma);
            appendString(out, entry.getKey().toString());
            out.append(':');
            append(out, entry.getValue());
            comma = ",";
        }
        out.append('}');
    }

    private static void appendArray(StringBuilder out, Iterable<?> items) {
        out.append('[');
        String comma = "";
        for (Object item : items) {
            out.append(comma);
            append(out, item);
            comma = ",";
        }
        out.append(']');
    }

    private static void appendString(StringBuilder out, CharSequence text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
