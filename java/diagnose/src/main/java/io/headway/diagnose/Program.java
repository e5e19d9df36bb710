package io.headway.diagnose;

import java.util.List;

/**
 * A service with one planted bottleneck, or none.
 *
 * @param name what it is called on the command line
 * @param library whose classes the bottleneck goes through, {@code jdk} if only the JDK's
 * @param workers request threads
 * @param cause regular expressions that the first finding and its details must all match; none if
 *     the program has no bottleneck that a finding may name as a lock or a wait
 * @param never regular expressions that no finding may match: its kind, a space, its text
 * @param factory makes the service, with the bottleneck removed if wanted
 */
public record Program(
        String name, String library, int workers, List<String> cause, List<String> never, Factory factory) {

    /** Makes a service. */
    public interface Factory {
        /**
         * Makes it.
         *
         * @param isFixed without the bottleneck
         * @return the service, ready
         * @throws Exception it cannot be made
         */
        Service make(boolean isFixed) throws Exception;
    }

    /** A program with a bottleneck, eight request threads. */
    static Program of(String name, String library, Factory factory, String... cause) {
        return new Program(name, library, 8, List.of(cause), List.of("^deadlock "), factory);
    }

    /** A program with nothing that could be won back at a lock or a wait. */
    static Program harmless(String name, int workers, Factory factory, String... never) {
        return new Program(name, "jdk", workers, List.of(), List.of(never), factory);
    }
}
