package io.headway.workloads.pressure;

import io.headway.workloads.Json;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Map;
import javax.management.JMException;
import javax.management.MBeanException;
import javax.management.MBeanServer;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXServiceURL;

/** A JMX client of Headway's management bean, in the program that is measured, over a real connection. */
final class Beans {
    private static final long PATIENCE_NS = 60_000_000_000L;

    private Beans() {}

    /** What a collector would see, and what the operations do. */
    static Map<String, Object> seen(String dumpTo) throws IOException, JMException, InterruptedException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        JMXServiceURL anywhere = new JMXServiceURL("rmi", "localhost", 0);
        JMXConnectorServer connectors = JMXConnectorServerFactory.newJMXConnectorServer(anywhere, null, server);
        connectors.start();
        try (JMXConnector connector = JMXConnectorFactory.connect(connectors.getAddress())) {
            return read(connector.getMBeanServerConnection(), dumpTo);
        } finally {
            connectors.stop();
        }
    }

    private static Map<String, Object> read(MBeanServerConnection beans, String dumpTo)
            throws IOException, JMException, InterruptedException {
        ObjectName name = new ObjectName("headway:type=Pressure");
        Map<String, Object> seen = Json.object();
        CompositeData lock = hottest(beans, name);
        seen.put("lock", lock == null ? "" : lock.get("name"));
        seen.put("lock_csp_max", lock == null ? 0.0 : lock.get("cspMax"));
        seen.put("owner", lock == null ? "" : lock.get("owner"));
        seen.put("contender", lock == null ? "" : lock.get("contender"));
        seen.put("csp", beans.getAttribute(name, "Csp"));
        seen.put("running", beans.getAttribute(name, "ThreadsRunning"));
        seen.put("blocked", beans.getAttribute(name, "ThreadsBlocked"));
        seen.put("sleeping", beans.getAttribute(name, "ThreadsSleeping"));
        seen.put("blocked_total_ns", beans.getAttribute(name, "BlockedNanosTotal"));
        seen.put("contentions_total", beans.getAttribute(name, "ContentionsTotal"));
        putTotals(beans, name, seen);
        seen.put("operations", beans.getMBeanInfo(name).getOperations().length);
        String recording = (String) beans.getAttribute(name, "Recording");
        seen.put("recording", recording);
        act(beans, name, "dump", dumpTo);
        act(beans, name, "stop");
        seen.put("stopped", beans.getAttribute(name, "Recording"));
        seen.put("stop_again", problem(beans, name, "stop"));
        act(beans, name, "start", recording + ".second.jfr", "pressure");
        seen.put("second", beans.getAttribute(name, "Recording"));
        return seen;
    }

    /** What the rows by lock and owner add up to, and those of the lock. */
    private static void putTotals(MBeanServerConnection beans, ObjectName name, Map<String, Object> seen)
            throws IOException, JMException {
        long ofAll = 0;
        long ofLock = 0;
        for (Object row : ((TabularData) beans.getAttribute(name, "LockTotals")).values()) {
            CompositeData total = (CompositeData) row;
            long blocked = (Long) total.get("blockedNanos");
            ofAll += blocked;
            ofLock += "Meter.lock".equals(total.get("lock")) ? blocked : 0;
        }
        seen.put("rows_ns", ofAll);
        seen.put("rows_of_lock_ns", ofLock);
    }

    /** The lock of highest pressure, once there is one that is held. */
    private static CompositeData hottest(MBeanServerConnection beans, ObjectName name)
            throws IOException, JMException, InterruptedException {
        long end = System.nanoTime() + PATIENCE_NS;
        while (System.nanoTime() < end) {
            TabularData locks = (TabularData) beans.getAttribute(name, "Locks");
            for (Object row : locks.values()) {
                CompositeData lock = (CompositeData) row;
                if ((Double) lock.get("cspMax") > 0.05 && !((String) lock.get("owner")).isEmpty()) {
                    return lock;
                }
            }
            Thread.sleep(100);
        }
        return null;
    }

    private static void act(MBeanServerConnection beans, ObjectName name, String operation, String... arguments)
            throws IOException, JMException {
        String[] signature = new String[arguments.length];
        java.util.Arrays.fill(signature, String.class.getName());
        beans.invoke(name, operation, arguments, signature);
    }

    private static String problem(MBeanServerConnection beans, ObjectName name, String operation)
            throws IOException, JMException {
        try {
            act(beans, name, operation);
            return "";
        } catch (MBeanException refused) {
            return refused.getCause().getMessage();
        }
    }
}
