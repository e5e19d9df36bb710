//! The JDK's event types of which Headway records nothing. A recording of the JDK
//! declares those that are switched off as well, and tools (`jfr view`) fail on
//! types that are not declared.

use super::Note::{Bare, Category, Label, Unit};
use super::{
    event_types, fields, id, Field, Store, Type, COMMITTER, JAVA_APPLICATION, NANO_SPAN, STACK, TICKS, TICK_SPAN,
};

event_types! {
    /// In the order in which the metadata declares them.
    ABSENT_EVENTS:

    THREAD_SLEEP = 71, "jdk.ThreadSleep", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "time" Inline LONG [NANO_SPAN, Label("Sleep Time")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Sleep")];
    SOCKET_READ = 72, "jdk.SocketRead", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "host" Inline STRING [Label("Remote Host")];
            "address" Inline STRING [Label("Remote Address")];
            "port" Inline INT [Label("Remote Port")];
            "timeout" Inline LONG [Unit(id::TIMESPAN, "MILLISECONDS"), Label("Timeout Value")];
            "bytesRead" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Read")];
            "endOfStream" Inline BOOLEAN [Label("End of Stream")];
        },
        &[JAVA_APPLICATION, Label("Socket Read")];
    SOCKET_WRITE = 73, "jdk.SocketWrite", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "host" Inline STRING [Label("Remote Host")];
            "address" Inline STRING [Label("Remote Address")];
            "port" Inline INT [Label("Remote Port")];
            "bytesWritten" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Written")];
        },
        &[JAVA_APPLICATION, Label("Socket Write")];
    FILE_READ = 74, "jdk.FileRead", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "path" Inline STRING [Label("Path")];
            "bytesRead" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Read")];
            "endOfFile" Inline BOOLEAN [Label("End of File")];
        },
        &[JAVA_APPLICATION, Label("File Read")];
    FILE_WRITE = 75, "jdk.FileWrite", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "path" Inline STRING [Label("Path")];
            "bytesWritten" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Written")];
        },
        &[JAVA_APPLICATION, Label("File Write")];
    THREAD_STATISTICS = 77, "jdk.JavaThreadStatistics", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "activeCount" Inline LONG [Label("Active Threads")];
            "daemonCount" Inline LONG [Label("Daemon Threads")];
            "accumulatedCount" Inline LONG [Label("Accumulated Threads")];
            "peakCount" Inline LONG [Label("Peak Threads")];
        },
        &[Category(&["Java Application", "Statistics"]), Label("Java Thread Statistics")];
    THREAD_CPU_LOAD = 78, "jdk.ThreadCPULoad", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "user" Inline FLOAT [Bare(id::PERCENTAGE), Label("User Mode CPU Load")];
            "system" Inline FLOAT [Bare(id::PERCENTAGE), Label("System Mode CPU Load")];
        },
        &[Category(&["Operating System", "Processor"]), Label("Thread CPU Load")];
    SAFEPOINT_BEGIN = 79, "jdk.SafepointBegin", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
            "totalThreadCount" Inline INT [Label("Total Threads")];
            "jniCriticalThreadCount" Inline INT [Label("JNI Critical Threads")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint Begin")];
    SAFEPOINT_END = 106, "jdk.SafepointEnd", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint End")];
    SAFEPOINT_SYNCHRONIZATION = 107, "jdk.SafepointStateSynchronization", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
            "initialThreadCount" Inline INT [Label("Initial Threads")];
            "runningThreadCount" Inline INT [Label("Running Threads")];
            "iterations" Inline INT [Label("Iterations")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint State Synchronization")];
    // JDK 25 has it no longer, but 21 looks for it.
    SAFEPOINT_CLEANUP = 108, "jdk.SafepointCleanup", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint Cleanup")];
}
