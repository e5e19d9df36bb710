//! Event types of stolen time and transactions.

use super::Note::{Category, Description, Label};
use super::{event_types, fields, id, Field, Store, Type, CPU, NANO_SPAN, TICKS, TICK_SPAN};

const ENVIRONMENT: super::Note = Category(&["Headway", "Environment"]);

event_types! {
    /// In the order in which the metadata declares them.
    STEAL_EVENTS:

    MACHINE_TIME = 110, "headway.Steal", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "cpu" Inline INT [Label("CPU"), CPU];
            "busy" Inline LONG [NANO_SPAN, Label("Busy Time"), Description("Time spent running something, stolen time left out")];
            "stolen" Inline LONG [NANO_SPAN, Label("Stolen Time"), Description("Time in which the hypervisor ran something else although something here was ready")];
            "idle" Inline LONG [NANO_SPAN, Label("Idle Time")];
            "accounting" Inline INT [Label("Accounting"), Description("Stolen time in thread times: 0 unknown, 1 left out, 2 included")];
        },
        &[ENVIRONMENT, Label("Stolen Time"), Description("CPU time of the machine, or of one CPU, in an interval")];
    THREAD_TIME = 111, "headway.ThreadTime", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Thread"), Description("None for the whole process")];
            "cpuTime" Inline LONG [NANO_SPAN, Label("CPU Time")];
            "runQueue" Inline LONG [NANO_SPAN, Label("Run-Queue Wait"), Description("Time ready to run but waiting for a CPU")];
            "runQueueKnown" Inline BOOLEAN [Label("Run-Queue Wait Known")];
        },
        &[ENVIRONMENT, Label("Thread Time"), Description("CPU time of a thread that ran in an interval")];
    THROTTLING = 112, "headway.Throttling", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "throttled" Inline LONG [NANO_SPAN, Label("Throttled Time"), Description("Time for which the quota held threads back, all CPUs added up")];
            "periods" Inline LONG [Label("Periods")];
            "throttledPeriods" Inline LONG [Label("Throttled Periods")];
            "quota" Inline LONG [NANO_SPAN, Label("Quota"), Description("CPU time allowed in a period, 0 if there is no limit")];
            "period" Inline LONG [NANO_SPAN, Label("Period")];
            "used" Inline LONG [NANO_SPAN, Label("Used"), Description("CPU time of the control group, 0 if unknown")];
        },
        &[ENVIRONMENT, Label("CPU Throttling"), Description("How the container's CPU quota held threads back")];
    TRANSACTION = 113, "headway.Transaction", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Thread"), Description("The thread on which it began; none for several")];
            "count" Inline LONG [Label("Count"), Description("How many transactions of this length are told together")];
            "id" Inline LONG [Label("Id"), Description("0 for several")];
            "parent" Inline LONG [Label("Parent"), Description("Id of the transaction around it, 0 if there is none")];
            "cpuTime" Inline LONG [NANO_SPAN, Label("CPU Time")];
            "cpuTimeKnown" Inline BOOLEAN [Label("CPU Time Known")];
            "blocked" Inline LONG [NANO_SPAN, Label("Blocked Time"), Description("Acquiring monitors")];
            "parked" Inline LONG [NANO_SPAN, Label("Parked Time")];
            "waited" Inline LONG [NANO_SPAN, Label("Waited Time"), Description("In Object.wait")];
            "forgotten" Inline BOOLEAN [Label("Forgotten"), Description("Its end was never seen")];
            "kind" Inline STRING [Label("Kind"), Description("What the application calls it")];
        },
        &[
            Category(&["Headway", "Transactions"]),
            Label("Transaction"),
            Description("A unit of work that the application named"),
        ];
}
