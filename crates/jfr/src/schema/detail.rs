//! What Headway knows beyond the JDK's own fields. The JDK's events and types have
//! exactly the JDK's fields, because some readers fail on more; the rest stands
//! in an event of its own right before the event that it belongs to, with the
//! same `startTime` and thread.

use super::Note::{Category, Description, Label};
use super::{
    event_types, fields, id, Field, Store, Type, BACK, CPU, HEADWAY, LOCKS, NANO_SPAN, PARK_SEQ, SEQ, TICKS, WEIGHT,
};

event_types! {
    /// In the order in which the metadata declares them.
    DETAIL_EVENTS:

    ENTER_DETAIL = 101, "headway.MonitorEnterDetail", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
        },
        &[LOCKS, Label("Monitor Enter Detail"), Description("Completes the jdk.JavaMonitorEnter that follows it")];
    WAIT_DETAIL = 102, "headway.MonitorWaitDetail", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
            "outcome" Pool WAIT_OUTCOME [Label("Outcome")];
        },
        &[LOCKS, Label("Monitor Wait Detail"), Description("Completes the jdk.JavaMonitorWait that follows it")];
    PARK_DETAIL = 103, "headway.ThreadParkDetail", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread")];
            "seqStep" Inline LONG [Label("Sequence Step"), PARK_SEQ];
            "startBack" Inline LONG [Label("Steps since Begin"), BACK];
            "unparkBack" Inline LONG [Label("Steps since Unpark"), BACK];
            "outcome" Pool PARK_OUTCOME [Label("Outcome")];
            "owner" Pool THREAD [Label("Owner"), Description("The blocker's exclusive owner when the thread parked")];
            "waker" Pool THREAD [Label("Waker"), Description("The thread that unparked it")];
        },
        &[LOCKS, Label("Thread Park Detail"), Description("Completes the jdk.ThreadPark that follows it")];
    SAMPLE_DETAIL = 104, "headway.SampleDetail", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), WEIGHT];
            "cpu" Inline INT [Label("CPU"), CPU];
        },
        &[
            Category(&["Headway", "Profiling"]),
            Label("Sample Detail"),
            Description("Completes the jdk.ExecutionSample or jdk.NativeMethodSample that follows it"),
        ];
    SERVICE_THREAD = 105, "headway.ServiceThread", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "thread" Pool THREAD [Label("Thread")];
        },
        &[
            HEADWAY,
            Label("Service Thread"),
            Description("A thread of the JVM, the JDK or the profiler, not of the application"),
        ];
}
