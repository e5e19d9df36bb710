package io.headway.agent;

import java.lang.management.ManagementFactory;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanOperationInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenDataException;
import javax.management.openmbean.OpenMBeanAttributeInfo;
import javax.management.openmbean.OpenMBeanAttributeInfoSupport;
import javax.management.openmbean.OpenMBeanInfoSupport;
import javax.management.openmbean.OpenMBeanOperationInfo;
import javax.management.openmbean.OpenMBeanOperationInfoSupport;
import javax.management.openmbean.OpenMBeanParameterInfo;
import javax.management.openmbean.OpenMBeanParameterInfoSupport;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import javax.management.openmbean.TabularData;
import javax.management.openmbean.TabularDataSupport;
import javax.management.openmbean.TabularType;

/**
 * The metrics of {@code headway top} for JMX clients, and operations to start, stop and dump a
 * recording. The agent defines this class in the boot loader, only with {@code --jmx}.
 *
 * <p>The values are those of the last interval. A read makes the agent update them for five more
 * minutes. The first read returns zeros.
 */
public final class HeadwayBean implements DynamicMBean {
    private static final String NAME = "headway:type=Pressure";
    private static final String[] METRICS = {
        "Csp", "ThreadsRunning", "ThreadsBlocked", "ThreadsParked", "ThreadsWaiting", "ThreadsSleeping", "Intervals",
        "IntervalNanos", "EventsLost", "BlockedNanosTotal", "ContentionsTotal", "WaitedNanosTotal", "PhasesTotal",
        "PhaseNanosTotal", "OwnCpuNanosTotal"
    };
    private static final String[] MEANINGS = {
        "Pressure of all locks in the last interval: blocked time divided by running time, 0 to 1",
        "Threads that execute code, are ready to run, or are in I/O",
        "Threads that are blocked on a lock",
        "Threads that are parked, but not for a lock",
        "Threads in Object.wait",
        "Threads in Thread.sleep, or waiting for a task of the JVM",
        "Intervals measured since the start of the recording",
        "Length of an interval in nanoseconds",
        "Events that were not recorded (dropped)",
        "Blocked time on locks, added up over all threads, in nanoseconds since the start of the recording",
        "Contentions: how often a thread was blocked on a lock",
        "Time in waits, in nanoseconds: Object.wait, and parks for anything except a lock",
        "Phases that have begun",
        "Time in which at least one lock was in a phase, in nanoseconds",
        "CPU time of Headway's threads in nanoseconds"
    };
    private static final String[] COLUMNS = {"id", "name", "class", "csp", "cspMax", "contender", "owner"};

    private static final String[] TOTALS = {"lock", "ownerMethod", "blockedNanos", "contentions"};

    private final CompositeType lockType;
    private final TabularType locksType;
    private final CompositeType totalType;
    private final TabularType totalsType;

    private HeadwayBean() throws OpenDataException {
        OpenType<?>[] types = {
            SimpleType.STRING, SimpleType.STRING, SimpleType.STRING, SimpleType.DOUBLE, SimpleType.DOUBLE,
            SimpleType.STRING, SimpleType.STRING
        };
        String[] lockColumns = {
            "Number in this recording", "Name of the lock", "Class of the lock",
            "Pressure in the last interval, 0 to 1", "Highest pressure of all intervals so far",
            "Method in which threads are blocked on it", "Method in which its owner acquired it"
        };
        lockType = new CompositeType("Lock", "A lock", COLUMNS, lockColumns, types);
        locksType = new TabularType("Locks", "Locks by number", lockType, new String[] {"id"});
        OpenType<?>[] totalColumnTypes = {SimpleType.STRING, SimpleType.STRING, SimpleType.LONG, SimpleType.LONG};
        String[] totalColumns = {
            "Name of the locks, or their class; other: all pairs without a row",
            "Method in which the owner acquired the lock; empty if unknown",
            "Blocked time in nanoseconds", "Number of contentions"
        };
        totalType = new CompositeType(
                "LockTotal", "Sums of one lock name and one owner method", TOTALS, totalColumns, totalColumnTypes);
        totalsType = new TabularType(
                "LockTotals", "Sums by lock name and owner method", totalType, new String[] {"lock", "ownerMethod"});
    }

    /** Called by the agent: registers the bean (1) or removes it (0); returns 0, or 1 if refused. */
    static int register(int on) {
        try {
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            ObjectName name = new ObjectName(NAME);
            if (server.isRegistered(name)) {
                server.unregisterMBean(name);
            }
            if (on == 1) {
                server.registerMBean(new HeadwayBean(), name);
            }
            return 0;
        } catch (JMException refused) {
            return 1;
        }
    }

    @Override
    public Object getAttribute(String attribute) throws AttributeNotFoundException {
        if (attribute.equals("Recording")) {
            String file = recording();
            return file == null ? "" : file;
        }
        if (attribute.equals("Locks")) {
            return locks(locksNow());
        }
        if (attribute.equals("LockTotals")) {
            return totals(totalsNow());
        }
        for (int i = 0; i < METRICS.length; i++) {
            if (METRICS[i].equals(attribute)) {
                return metric(i, metricsNow());
            }
        }
        throw new AttributeNotFoundException(attribute);
    }

    private static Object metric(int index, double[] metrics) {
        double value = metrics == null ? 0 : metrics[index];
        return index == 0 ? (Object) value : (Object) (long) value;
    }

    private TabularData locks(String[] texts) {
        TabularDataSupport table = new TabularDataSupport(locksType);
        int width = COLUMNS.length;
        for (int at = 0; texts != null && at + width <= texts.length; at += width) {
            Object[] values = new Object[width];
            System.arraycopy(texts, at, values, 0, width);
            values[3] = Double.valueOf(texts[at + 3]);
            values[4] = Double.valueOf(texts[at + 4]);
            table.put(row(lockType, COLUMNS, values));
        }
        return table;
    }

    private TabularData totals(String[] texts) {
        TabularDataSupport table = new TabularDataSupport(totalsType);
        int width = TOTALS.length;
        for (int at = 0; texts != null && at + width <= texts.length; at += width) {
            Object[] values = {
                texts[at], texts[at + 1], Long.valueOf(texts[at + 2]), Long.valueOf(texts[at + 3])
            };
            table.put(row(totalType, TOTALS, values));
        }
        return table;
    }

    private static CompositeData row(CompositeType type, String[] columns, Object[] values) {
        try {
            return new CompositeDataSupport(type, columns, values);
        } catch (OpenDataException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException("cannot be set: " + attribute.getName());
    }

    @Override
    public AttributeList getAttributes(String[] attributes) {
        AttributeList list = new AttributeList();
        for (String attribute : attributes) {
            try {
                list.add(new Attribute(attribute, getAttribute(attribute)));
            } catch (AttributeNotFoundException unknown) {
                // The interface requires this.
                continue;
            }
        }
        return list;
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String operation, Object[] arguments, String[] signature) throws MBeanException {
        String problem;
        if (operation.equals("start") && arguments.length == 2) {
            problem = start((String) arguments[0], (String) arguments[1]);
        } else if (operation.equals("dump") && arguments.length == 1) {
            problem = dump((String) arguments[0]);
        } else if (operation.equals("stop") && arguments.length == 0) {
            problem = stop();
        } else {
            problem = "there is no operation " + operation + " with " + arguments.length + " arguments";
        }
        if (problem != null) {
            throw new MBeanException(new IllegalStateException(problem));
        }
        return null;
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        OpenMBeanAttributeInfo[] attributes = new OpenMBeanAttributeInfo[METRICS.length + 3];
        for (int i = 0; i < METRICS.length; i++) {
            OpenType<?> type = i == 0 ? SimpleType.DOUBLE : SimpleType.LONG;
            attributes[i] = new OpenMBeanAttributeInfoSupport(METRICS[i], MEANINGS[i], type, true, false, false);
        }
        attributes[METRICS.length] = new OpenMBeanAttributeInfoSupport(
                "Locks", "Locks, highest pressure first", locksType, true, false, false);
        attributes[METRICS.length + 1] = new OpenMBeanAttributeInfoSupport(
                "Recording", "Path of the current recording; empty if there is none", SimpleType.STRING, true, false, false);
        attributes[METRICS.length + 2] = new OpenMBeanAttributeInfoSupport(
                "LockTotals", "Sums by lock name and owner method; a limited number of rows", totalsType, true, false, false);
        OpenMBeanParameterInfo file = parameter("file", "File; may contain %p and %t, as on the command line; empty: the default");
        OpenMBeanParameterInfo events = parameter("events", "Features of the agent protocol joined by +, such as monitor+park; empty: the default");
        OpenMBeanOperationInfo[] operations = {
            operation("start", "Starts a recording", file, events),
            operation("stop", "Stops the recording"),
            operation("dump", "Copies what the recording contains so far into a file", file)
        };
        return new OpenMBeanInfoSupport(
                HeadwayBean.class.getName(), "Locks on which threads are blocked, and recordings", attributes, null, operations, null);
    }

    private static OpenMBeanParameterInfo parameter(String name, String meaning) {
        return new OpenMBeanParameterInfoSupport(name, meaning, SimpleType.STRING);
    }

    private static OpenMBeanOperationInfo operation(
            String name, String meaning, OpenMBeanParameterInfo... parameters) {
        return new OpenMBeanOperationInfoSupport(
                name, meaning, parameters, SimpleType.VOID, MBeanOperationInfo.ACTION);
    }

    // Registered by the agent. A returned sentence says what failed.

    private static native double[] metricsNow();

    private static native String[] locksNow();

    private static native String[] totalsNow();

    private static native String recording();

    private static native String start(String file, String events);

    private static native String stop();

    private static native String dump(String file);
}
