package io.headway.eval;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Switches profilers from inside: runs diagnostic commands of this JVM (what {@code jcmd} runs, under
 * their names as operations of the DiagnosticCommand bean: {@code jvmtiAgentLoad}, {@code jfrStart}, ...)
 * without a second process, which would take processor time itself. The answer is
 * {@code done NS ANSWER} or {@code failed NS REASON}, with the time that it took.
 */
final class Switchboard {
    private static final String BEAN = "com.sun.management:type=DiagnosticCommand";

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

    /** Runs a command: the name of an operation, and arguments for it. */
    String obey(String[] words) {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        String[] signature = {String[].class.getName()};
        long begin = System.nanoTime();
        try {
            Object answer = server.invoke(new ObjectName(BEAN), words[0], new Object[] {arguments}, signature);
            return "done " + (System.nanoTime() - begin) + " " + oneLine(answer);
        } catch (JMException | RuntimeException e) {
            return "failed " + (System.nanoTime() - begin) + " " + oneLine(e);
        }
    }

    private static String oneLine(Object answer) {
        return String.valueOf(answer).strip().replaceAll("\\s+", " ");
    }
}
