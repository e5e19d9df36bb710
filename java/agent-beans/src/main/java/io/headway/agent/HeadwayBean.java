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
 * The figures of {@code headway top} for JMX collectors, and operations to start, stop and dump a
 * recording. Defined by the agent in the boot loader, and only when it is asked for.
 *
 * <p>The figures are those of the last interval. Reading them makes the agent go on keeping them; the
 * first read finds none yet.
 */
public final class HeadwayBean implements DynamicMBean {
    private static final String NAME = "headway:type=Pressure";
    private static final String[] FIGURES = {
        "Csp", "ThreadsRunning", "ThreadsBlocked", "ThreadsParked", "ThreadsWaiting", "ThreadsSleeping", "Intervals",
        "IntervalNanos", "EventsLost", "BlockedNanosTotal", "ContentionsTotal", "WaitedNanosTotal", "PhasesTotal",
        "PhaseNanosTotal", "OwnCpuNanosTotal"
    };
    private static final String[] MEANINGS = {
        "Critical section pressure of all locks together in the last interval, 0 to 1",
        "Threads that run, are ready to, or are in native code",
        "Threads that acquire a lock",
        "Threads that are parked, waiting for something",
        "Threads in Object.wait",
        "Threads that sleep",
        "Intervals measured so far",
        "Length of an interval",
        "Events lost so far",
        "Time that threads were blocked on locks; as all totals it only grows while a recording is under way",
        "Acquisitions of locks that had to block",
        "Time in Object.wait and in parks that acquire no lock",
        "Phases of high pressure that began",
        "Time in which some lock was in a phase of high pressure",
        "CPU time of Headway's threads"
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
        String[] says = {
            "Number in this recording", "What a developer calls it", "Class of the lock object",
            "Pressure in the last interval, 0 to 1", "Highest pressure of an interval so far",
            "Method that acquires it", "Method that holds it"
        };
        lockType = new CompositeType("Lock", "A lock", COLUMNS, says, types);
        locksType = new TabularType("Locks", "Locks by their number", lockType, new String[] {"id"});
        OpenType<?>[] ofTotals = {SimpleType.STRING, SimpleType.STRING, SimpleType.LONG, SimpleType.LONG};
        String[] saysOfTotals = {
            "Name of the locks, or their class; other: locks without a row",
            "Method that owned them for most of an interval; empty if unknown",
            "Time that threads were blocked on them", "Acquisitions that had to block"
        };
        totalType = new CompositeType("LockTotal", "Sums of the locks of one name", TOTALS, saysOfTotals, ofTotals);
        totalsType = new TabularType(
                "LockTotals", "Sums by lock name and owner", totalType, new String[] {"lock", "ownerMethod"});
    }

    /** Called by the agent: registers the bean (1) or takes it out again (0); gives 0, or 1 if refused. */
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
        for (int i = 0; i < FIGURES.length; i++) {
            if (FIGURES[i].equals(attribute)) {
                return figure(i, figuresNow());
            }
        }
        throw new AttributeNotFoundException(attribute);
    }

    private static Object figure(int index, double[] figures) {
        double value = figures == null ? 0 : figures[index];
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
                // Left out, as the interface asks.
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
        OpenMBeanAttributeInfo[] attributes = new OpenMBeanAttributeInfo[FIGURES.length + 3];
        for (int i = 0; i < FIGURES.length; i++) {
            OpenType<?> type = i == 0 ? SimpleType.DOUBLE : SimpleType.LONG;
            attributes[i] = new OpenMBeanAttributeInfoSupport(FIGURES[i], MEANINGS[i], type, true, false, false);
        }
        attributes[FIGURES.length] = new OpenMBeanAttributeInfoSupport(
                "Locks", "Locks, highest pressure first", locksType, true, false, false);
        attributes[FIGURES.length + 1] = new OpenMBeanAttributeInfoSupport(
                "Recording", "The recording under way, empty if there is none", SimpleType.STRING, true, false, false);
        attributes[FIGURES.length + 2] = new OpenMBeanAttributeInfoSupport(
                "LockTotals", "Sums by lock name and owner; a bounded number of rows", totalsType, true, false, false);
        OpenMBeanParameterInfo file = parameter("file", "Recording; %p, %t as on the command line; empty: the default");
        OpenMBeanParameterInfo events = parameter("events", "Features joined by +, such as monitor+park; empty: the default");
        OpenMBeanOperationInfo[] operations = {
            operation("start", "Begins a recording", file, events),
            operation("stop", "Ends the recording"),
            operation("dump", "Copies the last minutes of the recording into a file", file)
        };
        return new OpenMBeanInfoSupport(
                HeadwayBean.class.getName(), "What keeps threads from making headway", attributes, null, operations, null);
    }

    private static OpenMBeanParameterInfo parameter(String name, String meaning) {
        return new OpenMBeanParameterInfoSupport(name, meaning, SimpleType.STRING);
    }

    private static OpenMBeanOperationInfo operation(
            String name, String meaning, OpenMBeanParameterInfo... parameters) {
        return new OpenMBeanOperationInfoSupport(
                name, meaning, parameters, SimpleType.VOID, MBeanOperationInfo.ACTION);
    }

    // Bound by the agent. A sentence says what it cannot do.

    private static native double[] figuresNow();

    private static native String[] locksNow();

    private static native String[] totalsNow();

    private static native String recording();

    private static native String start(String file, String events);

    private static native String stop();

    private static native String dump(String file);
}
