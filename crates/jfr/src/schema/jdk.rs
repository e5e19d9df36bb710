//! The JDK's event types.

use super::Note::{Bare, Category, Description, Label, Unit};
use super::{
    event_types, fields, id, Field, Store, Type, COMMITTER, JAVA_APPLICATION, NANO_SPAN, PROFILING, STACK, TICKS,
    TICK_SPAN,
};

event_types! {
    /// The JDK's event types that Headway writes.
    JDK_EVENTS:

    THREAD_START = 60, "jdk.ThreadStart", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "thread" Pool THREAD [Label("New Java Thread")];
            "parentThread" Pool THREAD [Label("Parent Java Thread")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Start")];
    THREAD_END = 61, "jdk.ThreadEnd", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "thread" Pool THREAD [Label("Java Thread")];
        },
        &[JAVA_APPLICATION, Label("Java Thread End")];
    MONITOR_ENTERED = 62, "jdk.JavaMonitorEnter", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "monitorClass" Pool CLASS [Label("Monitor Class")];
            "previousOwner" Pool THREAD [Label("Previous Monitor Owner")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Monitor Address"), Description("The lock's id, which unlike an address stays the same while the lock lives")];
        },
        &[JAVA_APPLICATION, Label("Java Monitor Blocked")];
    MONITOR_WAITED = 63, "jdk.JavaMonitorWait", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "monitorClass" Pool CLASS [Label("Monitor Class"), Description("Class of object waited on")];
            "notifier" Pool THREAD [Label("Notifier Thread"), Description("Notifying Thread")];
            "timeout" Inline LONG [Unit(id::TIMESPAN, "MILLISECONDS"), Label("Timeout"), Description("Maximum wait time")];
            "timedOut" Inline BOOLEAN [Label("Timed Out"), Description("Wait has been timed out")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Monitor Address"), Description("The lock's id, which unlike an address stays the same while the lock lives")];
        },
        &[JAVA_APPLICATION, Label("Java Monitor Wait"), Description("Waiting on a Java monitor")];
    THREAD_PARK = 64, "jdk.ThreadPark", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "parkedClass" Pool CLASS [Label("Class Parked On")];
            "timeout" Inline LONG [NANO_SPAN, Label("Park Timeout")];
            "until" Inline LONG [Unit(id::TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"), Label("Park Until")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Address of Object Parked"), Description("The blocker's id, which unlike an address stays the same while the blocker lives")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Park")];
    THREAD_PINNED = 76, "jdk.VirtualThreadPinned", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "blockingOperation" Inline STRING [Label("Blocking Operation")];
            "pinnedReason" Inline STRING [Label("Pinned Reason")];
            "carrierThread" Pool THREAD [Label("Carrier Thread")];
        },
        &[JAVA_APPLICATION, Label("Virtual Thread Pinned")];
    EXECUTION_SAMPLE = 65, "jdk.ExecutionSample", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "state" Pool THREAD_STATE [Label("Thread State")];
        },
        &[PROFILING, Label("Java Execution Sample"), Description("Snapshot of a thread executing Java code")];
    NATIVE_SAMPLE = 66, "jdk.NativeMethodSample", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "state" Pool THREAD_STATE [Label("Thread State")];
        },
        &[PROFILING, Label("Native Sample"), Description("Snapshot of a thread executing native code")];
    CPU_LOAD = 67, "jdk.CPULoad", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "jvmUser" Inline FLOAT [Bare(id::PERCENTAGE), Label("JVM User")];
            "jvmSystem" Inline FLOAT [Bare(id::PERCENTAGE), Label("JVM System")];
            "machineTotal" Inline FLOAT [Bare(id::PERCENTAGE), Label("Machine Total")];
        },
        &[
            Category(&["Operating System", "Processor"]),
            Label("CPU Load"),
            Description("Information about the recent CPU usage of the JVM process"),
        ];
    GC_PAUSE = 70, "jdk.GCPhasePause", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "gcId" Inline INT [Bare(id::UNSIGNED), Label("GC Identifier")];
            "name" Inline STRING [Label("Name")];
        },
        &[Category(&["Java Virtual Machine", "GC", "Phases"]), Label("GC Phase Pause")];
    JVM_INFORMATION = 68, "jdk.JVMInformation", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "jvmName" Inline STRING [Label("JVM Name")];
            "jvmVersion" Inline STRING [Label("JVM Version")];
            "jvmArguments" Inline STRING [Label("JVM Command Line Arguments")];
            "jvmFlags" Inline STRING [Label("JVM Settings File Arguments")];
            "javaArguments" Inline STRING [Label("Java Application Arguments")];
            "jvmStartTime" Inline LONG [Unit(id::TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"), Label("JVM Start Time")];
            "pid" Inline LONG [Label("Process Identifier")];
        },
        &[
            Category(&["Java Virtual Machine"]),
            Label("JVM Information"),
            Description("Description of JVM and the Java application"),
        ];
    ACTIVE_SETTING = 69, "jdk.ActiveSetting", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "id" Inline LONG [Label("Event Id")];
            "name" Inline STRING [Label("Setting Name")];
            "value" Inline STRING [Label("Setting Value")];
        },
        &[Category(&["Flight Recorder"]), Label("Recording Setting")];
}
