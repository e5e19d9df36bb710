package io.headway.jmccheck;

import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.item.IAccessorKey;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.util.FormatToolkit;
import org.openjdk.jmc.common.util.IPreferenceValueProvider;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.ResultToolkit;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.TypedResult;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/**
 * Opens a recording with the parser of JDK Mission Control and prints what it sees.
 *
 * <p>{@code JmcCheck FILE} prints a line {@code TYPE COUNT} for each event type that has events.
 * {@code JmcCheck FILE TYPE} prints for each event of that type a line per field, {@code NAME = VALUE}, in the
 * order of the names; quantities with their units, stack traces as methods joined by {@code <}, leaf first.
 * {@code JmcCheck FILE --rules} evaluates every rule and prints for each a line {@code RULE SEVERITY SCORE SUMMARY
 * EXPLANATION}; the severity is {@code NA} where a rule is not applicable, the score {@code -} where there is none.
 * Ends with exit code 0, or with 1 and the reason if the parser refuses the file.
 */
public final class JmcCheck {
    private JmcCheck() {
    }

    /**
     * Runs the check.
     *
     * @param arguments the file, and optionally an event type
     */
    public static void main(String[] arguments) {
        try {
            IItemCollection items = JfrLoaderToolkit.loadEvents(new File(arguments[0]));
            if (arguments.length > 1 && arguments[1].equals("--rules")) {
                printRules(items);
            } else if (arguments.length > 1) {
                printFields(items, arguments[1]);
            } else {
                printCounts(items);
            }
        } catch (Exception e) {
            System.err.println("the parser refuses " + arguments[0] + ": " + e);
            System.exit(1);
        }
    }

    private static void printCounts(IItemCollection items) {
        Map<String, Long> counts = new TreeMap<>();
        for (IItemIterable events : items) {
            counts.merge(events.getType().getIdentifier(), events.getItemCount(), Long::sum);
        }
        counts.forEach((type, count) -> System.out.println(type + " " + count));
    }

    private static void printRules(IItemCollection items) throws Exception {
        Map<String, String> results = new TreeMap<>();
        Map<IRule, Future<IResult>> futures =
                RulesToolkit.evaluateParallel(RuleRegistry.getRules(), items, IPreferenceValueProvider.DEFAULT_VALUES, 1);
        for (Map.Entry<IRule, Future<IResult>> entry : futures.entrySet()) {
            IResult result = entry.getValue().get();
            String text = message(result, result.getSummary()) + " " + message(result, result.getExplanation());
            results.put(entry.getKey().getId(), result.getSeverity() + " " + score(result) + " " + text.strip());
        }
        results.forEach((rule, result) -> System.out.println(rule + " " + result));
    }

    /** From 0 to 100, by which Mission Control orders results; a dash if a rule gives none. */
    private static String score(IResult result) {
        IQuantity score = result.getResult(TypedResult.SCORE);
        return score == null ? "-" : String.valueOf(score.doubleValue());
    }

    /** A text of a result in one line; empty if there is none. */
    private static String message(IResult result, String template) {
        String text = template == null ? null : ResultToolkit.populateMessage(result, template, false);
        return text == null ? "" : text.replace('\n', ' ');
    }

    private static void printFields(IItemCollection items, String type) {
        for (IItemIterable events : items) {
            if (events.getType().getIdentifier().equals(type)) {
                for (IItem event : events) {
                    printEvent(events.getType(), event);
                }
            }
        }
    }

    private static void printEvent(IType<IItem> type, IItem event) {
        Map<String, String> fields = new TreeMap<>();
        for (IAccessorKey<?> key : type.getAccessorKeys().keySet()) {
            IMemberAccessor<?, IItem> accessor = type.getAccessor(key);
            fields.put(key.getIdentifier(), show(accessor.getMember(event)));
        }
        fields.forEach((name, value) -> System.out.println(name + " = " + value));
        System.out.println();
    }

    private static String show(Object value) {
        if (value instanceof IMCStackTrace) {
            StringBuilder text = new StringBuilder();
            ((IMCStackTrace) value).getFrames().forEach(frame -> text
                    .append(text.length() == 0 ? "" : " < ")
                    .append(FormatToolkit.getHumanReadable(frame.getMethod()))
                    .append(':').append(frame.getFrameLineNumber())
                    .append(' ').append(frame.getType().getName()));
            return text.toString();
        }
        if (value instanceof IQuantity) {
            return ((IQuantity) value).persistableString();
        }
        return String.valueOf(value);
    }
}
