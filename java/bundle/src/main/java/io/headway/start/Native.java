package io.headway.start;

/** The agent's entry for Java code. */
final class Native {
    private Native() {}

    /** Loads the library and carries out a command; 0 if that was done. */
    static int load(String library, String options) {
        System.load(library);
        return command(options);
    }

    private static native int command(String options);
}
