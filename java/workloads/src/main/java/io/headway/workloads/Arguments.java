package io.headway.workloads;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * An optional word followed by options of the form {@code --name value}, with defaults, where an
 * unknown or malformed one is an error that names it.
 */
public final class Arguments {
    private final Map<String, String> values = new LinkedHashMap<>();
    private final Set<String> known = new TreeSet<>();
    private final String word;
    private boolean wordUsed;

    /**
     * Reads options.
     *
     * @param args the command line
     * @param from index of the first option, or of the word in front of the options
     * @throws UsageException if something is not of the form {@code --name value}
     */
    public Arguments(String[] args, int from) {
        boolean hasWord = from < args.length && !args[from].startsWith("--");
        word = hasWord ? args[from] : null;
        for (int i = hasWord ? from + 1 : from; i < args.length; i += 2) {
            if (!args[i].startsWith("--")) {
                throw new UsageException("expected an option, found '" + args[i] + "'");
            }
            if (i + 1 == args.length) {
                throw new UsageException("option " + args[i] + " needs a value");
            }
            values.put(args[i].substring(2), args[i + 1]);
        }
    }

    /** The word in front of the options, or null. */
    public String word() {
        wordUsed = true;
        return word;
    }

    /** The text given for an option, or {@code otherwise}. */
    public String text(String name, String otherwise) {
        known.add(name);
        return values.getOrDefault(name, otherwise);
    }

    /** The whole number given for an option, at least {@code least}, or {@code otherwise}. */
    public long number(String name, long otherwise, long least) {
        String text = text(name, null);
        if (text == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(text);
            if (number >= least) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, with the same words as for a number that is too small.
        }
        throw new UsageException("--" + name + " takes a whole number of at least " + least + ", not '" + text + "'");
    }

    /** What was said for an option that is either {@code true} or {@code false}. */
    public boolean flag(String name, boolean otherwise) {
        String text = text(name, String.valueOf(otherwise));
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new UsageException("--" + name + " takes true or false, not '" + text + "'");
        };
    }

    /** The length of time given in seconds (fractions allowed) for an option, in nanoseconds. */
    public long secondsAsNanos(String name, double otherwise) {
        String text = text(name, null);
        if (text == null) {
            return (long) (otherwise * 1e9);
        }
        try {
            double seconds = Double.parseDouble(text);
            if (seconds >= 0 && seconds < 1e9) {
                return (long) (seconds * 1e9);
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new UsageException("--" + name + " takes a number of seconds, not '" + text + "'");
    }

    /**
     * To be called when all options were asked for.
     *
     * @throws UsageException if one was given that nobody asked for
     */
    public void refuseUnknown() {
        if (word != null && !wordUsed) {
            throw new UsageException("expected an option, found '" + word + "'");
        }
        for (String name : values.keySet()) {
            if (!known.contains(name)) {
                throw new UsageException("unknown option --" + name + "; there are: --" + String.join(" --", known));
            }
        }
    }
}
