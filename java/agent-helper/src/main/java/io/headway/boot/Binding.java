package io.headway.boot;

/**
 * Binds natives of the platform's classes for the agent.
 *
 * <p>The VM prints a warning to the program's standard output when code from outside the boot loader binds
 * natives of a class in one of the platform's modules. This class is in the boot loader, so what it asks for
 * is bound in silence; and it is in no module, so its own native is, too, by address.
 */
public final class Binding {
    private Binding() {}

    /**
     * Has the agent bind natives.
     *
     * @param step which ones, a number that the agent knows
     * @return 0, or JNI's error
     */
    static int bind(int step) {
        return carryOut(step);
    }

    private static native int carryOut(int step);
}
