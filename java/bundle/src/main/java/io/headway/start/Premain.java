package io.headway.start;

import java.io.IOException;

/**
 * {@code -javaagent:headway.jar[=OPTIONS]}: records from the start of the program to its end. The
 * options are those of the agent ({@code docs/agent-protocol.md}), such as
 * {@code start,file=/srv/app.jfr}. JDK 24 and later warn about native code, unless the program is
 * started with {@code --enable-native-access=ALL-UNNAMED}.
 */
public final class Premain {
    private Premain() {}

    /**
     * Called by the JVM before the program's {@code main}. A failure is one line on standard error:
     * a profiler must not keep a program from starting.
     *
     * @param options the agent's options, {@code null} for {@code start}
     */
    public static void premain(String options) {
        // The library stays mapped without its file.
        try (Natives natives = Natives.agent()) {
            int code = Native.load(natives.library().toString(), options == null ? "start" : options);
            if (code != 0) {
                complain("the agent refused to start");
            }
        } catch (IOException | LinkageError e) {
            complain(e.getMessage());
        }
    }

    private static void complain(String reason) {
        System.err.println("headway: " + reason + "; the program runs without a recording");
    }
}
