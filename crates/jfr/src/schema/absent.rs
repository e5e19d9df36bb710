//! The JDK's event types of which Headway records nothing. A recording of the JDK
//! declares those that are switched off as well, and tools (`jfr view`) fail on
//! types that are not declared.

use super::Note::{Bare, Category, Label, Unit};
use super::{event, fields, id, Field, Store, Type, COMMITTER, JAVA_APPLICATION, NANO_SPAN, STACK, TICKS, TICK_SPAN};

/// In the order in which the metadata declares them.
pub(crate) static ABSENT_EVENTS: &[Type] = &[
    event(
        id::THREAD_SLEEP,
        "jdk.ThreadSleep",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "time" Inline LONG [NANO_SPAN, Label("Sleep Time")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Sleep")],
    ),
    event(
        id::SOCKET_READ,
        "jdk.SocketRead",
        fields! {
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
        &[JAVA_APPLICATION, Label("Socket Read")],
    ),
    event(
        id::SOCKET_WRITE,
        "jdk.SocketWrite",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "host" Inline STRING [Label("Remote Host")];
            "address" Inline STRING [Label("Remote Address")];
            "port" Inline INT [Label("Remote Port")];
            "bytesWritten" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Written")];
        },
        &[JAVA_APPLICATION, Label("Socket Write")],
    ),
    event(
        id::FILE_READ,
        "jdk.FileRead",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "path" Inline STRING [Label("Path")];
            "bytesRead" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Read")];
            "endOfFile" Inline BOOLEAN [Label("End of File")];
        },
        &[JAVA_APPLICATION, Label("File Read")],
    ),
    event(
        id::FILE_WRITE,
        "jdk.FileWrite",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "path" Inline STRING [Label("Path")];
            "bytesWritten" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Bytes Written")];
        },
        &[JAVA_APPLICATION, Label("File Write")],
    ),
    event(
        id::THREAD_PINNED,
        "jdk.VirtualThreadPinned",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "blockingOperation" Inline STRING [Label("Blocking Operation")];
            "pinnedReason" Inline STRING [Label("Pinned Reason")];
            "carrierThread" Pool THREAD [Label("Carrier Thread")];
        },
        &[JAVA_APPLICATION, Label("Virtual Thread Pinned")],
    ),
    event(
        id::THREAD_STATISTICS,
        "jdk.JavaThreadStatistics",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "activeCount" Inline LONG [Label("Active Threads")];
            "daemonCount" Inline LONG [Label("Daemon Threads")];
            "accumulatedCount" Inline LONG [Label("Accumulated Threads")];
            "peakCount" Inline LONG [Label("Peak Threads")];
        },
        &[Category(&["Java Application", "Statistics"]), Label("Java Thread Statistics")],
    ),
    event(
        id::THREAD_CPU_LOAD,
        "jdk.ThreadCPULoad",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "user" Inline FLOAT [Bare(id::PERCENTAGE), Label("User Mode CPU Load")];
            "system" Inline FLOAT [Bare(id::PERCENTAGE), Label("System Mode CPU Load")];
        },
        &[Category(&["Operating System", "Processor"]), Label("Thread CPU Load")],
    ),
    event(
        id::SAFEPOINT_BEGIN,
        "jdk.SafepointBegin",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
            "totalThreadCount" Inline INT [Label("Total Threads")];
            "jniCriticalThreadCount" Inline INT [Label("JNI Critical Threads")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint Begin")],
    ),
    event(
        id::SAFEPOINT_END,
        "jdk.SafepointEnd",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint End")],
    ),
    event(
        id::SAFEPOINT_SYNCHRONIZATION,
        "jdk.SafepointStateSynchronization",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
            "initialThreadCount" Inline INT [Label("Initial Threads")];
            "runningThreadCount" Inline INT [Label("Running Threads")];
            "iterations" Inline INT [Label("Iterations")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint State Synchronization")],
    ),
    // JDK 25 has it no longer, but 21 looks for it.
    event(
        id::SAFEPOINT_CLEANUP,
        "jdk.SafepointCleanup",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "safepointId" Inline LONG [Bare(id::UNSIGNED), Label("Safepoint Identifier")];
        },
        &[Category(&["Java Virtual Machine", "Runtime", "Safepoint"]), Label("Safepoint Cleanup")],
    ),
];
