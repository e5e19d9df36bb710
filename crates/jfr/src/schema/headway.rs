//! Headway's own event types.

use super::Note::{Bare, Category, Description, Label, Unit};
use super::{
    event_types, fields, id, Field, Store, Type, BACK, CPU, HEADWAY, LOCKS, NANO_SPAN, PARK_SEQ, SEQ, TICKS, TICK_SPAN,
    WEIGHT,
};

event_types! {
    /// In the order in which the metadata declares them.
    HEADWAY_EVENTS:

    MONITOR_ENTER = 80, "headway.MonitorContendedEnter", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The contender")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The contender's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
            "owner" Pool THREAD [Label("Owner"), Description("Owner of the monitor at that moment")];
        },
        &[LOCKS, Label("Monitor Contended Enter"), Description("A thread found a monitor owned and is about to block")];
    MONITOR_EXIT = 81, "headway.MonitorContendedExit", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The owner")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The owner's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
            "holderFrame" Inline INT [Label("Owner Frame"), Description("Index into the stack trace of the frame that held the lock, 0 being the top")];
            "holderApproximate" Inline BOOLEAN [Label("Owner Approximate"), Description("More than one frame could be the owner")];
            "cause" Pool EXIT_CAUSE [Label("Cause")];
        },
        &[
            LOCKS,
            Label("Monitor Contended Exit"),
            Description("An owner released a monitor for which other threads queue"),
        ];
    MONITOR_WAIT = 82, "headway.MonitorWaitBegin", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The waiter")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The waiter's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
            "timeout" Inline LONG [NANO_SPAN, Label("Timeout"), Description("Maximum wait time, 0 if none, the largest number if unknown")];
        },
        &[LOCKS, Label("Monitor Wait Begin"), Description("A thread begins Object.wait, still owning the monitor")];
    MONITOR_NOTIFY = 83, "headway.MonitorNotify", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The notifier")];
            "waiter" Pool THREAD [Label("Waiter"), Description("The thread that was chosen")];
            "lock" Pool LOCK [Label("Lock")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
        },
        &[
            LOCKS,
            Label("Monitor Notify"),
            Description("A waiter was chosen by notify; its contended re-acquisition begins"),
        ];
    MONITOR_REENTERED = 84, "headway.MonitorReenter", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The waiter, owner again")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The call chain of its wait")];
            "lock" Pool LOCK [Label("Lock")];
            "seqStep" Inline LONG [Label("Sequence Step"), SEQ];
            "startBack" Inline LONG [Label("Steps since Start"), BACK];
            "bound" Inline BOOLEAN [Label("Bound"), Description("The end was not observed; the duration is an upper bound")];
        },
        &[LOCKS, Label("Monitor Re-enter"), Description("A contended re-acquisition of a monitor after Object.wait")];
    WALL_SAMPLE = 85, "headway.WallSample", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), WEIGHT];
            "state" Pool THREAD_STATE [Label("Thread State")];
            "cpu" Inline INT [Label("CPU"), CPU];
        },
        &[
            Category(&["Headway", "Profiling"]),
            Label("Wall Clock Sample"),
            Description("Snapshot of a thread by the wall clock, mostly of one that waits, sleeps or is blocked"),
        ];
    OWNER_SAMPLE = 114, "headway.OwnerSample", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), WEIGHT];
            "state" Pool THREAD_STATE [Label("Thread State")];
            "lock" Pool LOCK [Label("Lock"), Description("What others wait for")];
            "waiterStackTrace" Pool STACK_TRACE [Label("Waiter's Stack Trace"), Description("Call chain of a thread that waits")];
            "waiters" Inline LONG [Label("Waiters"), Description("Threads that wait for it")];
        },
        &[LOCKS, Label("Owner Sample"), Description("Snapshot of a thread while others waited for what it had or did")];
    STOP_THE_WORLD = 86, "headway.StopTheWorld", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
        },
        &[HEADWAY, Label("Stop The World"), Description("All application threads stood still")];
    LOSS = 87, "headway.Loss", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "cause" Pool LOSS_CAUSE [Label("Cause")];
            "count" Inline LONG [Label("Count"), Description("How many are missing since the previous event of this cause")];
        },
        &[HEADWAY, Label("Loss"), Description("Something is missing from the recording")];
    DEGRADED = 88, "headway.Degraded", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "mechanism" Inline STRING [Label("Mechanism")];
            "reason" Inline STRING [Label("Reason"), Description("What is lost, why, and what is used instead")];
        },
        &[HEADWAY, Label("Degraded"), Description("A mechanism that is not in force")];
    SELF_COST = 89, "headway.SelfCost", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "ownCpu" Inline LONG [NANO_SPAN, Label("Own CPU Time"), Description("CPU time of the profiler's own threads since the recording's start")];
            "attachPause" Inline LONG [NANO_SPAN, Label("Attach Pause"), Description("For how long the start of the recording paused the process at most")];
            "memory" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Memory"), Description("Memory in use for buffers and tables")];
            "attachCpu" Inline LONG [NANO_SPAN, Label("Attach CPU Time"), Description("CPU time that beginning the recording took on the thread that did")];
            "processCpu" Inline LONG [NANO_SPAN, Label("Process CPU Time"), Description("CPU time of the process since the recording's start")];
            "hookCpu" Inline LONG [NANO_SPAN, Label("Hook CPU Time"), Description("CPU time of the profiler's hooks on application threads since the recording's start, estimated from the calls that were timed")];
            "hookCpuError" Inline LONG [NANO_SPAN, Label("Hook CPU Time Error"), Description("How far the interval of 95 % around it reaches to each side")];
            "timedCalls" Inline LONG [Label("Timed Calls"), Description("Calls of hooks that were timed, one in 1,024")];
        },
        &[HEADWAY, Label("Self Cost"), Description("What the profiler itself has cost so far")];
    RECORDING = 90, "headway.Recording", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "formatVersion" Inline INT [Label("Format Version")];
            "producer" Inline STRING [Label("Producer")];
        },
        &[HEADWAY, Label("Recording"), Description("Who made this recording, and in which version of the format")];
    LOCK_DEFINITION = 92, "headway.Lock", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Lock Id"), Description("Bound to the lock object while it lives; never a real address, never used again")];
            "monitorClass" Pool CLASS [Label("Lock Class")];
            "identityHash" Inline INT [Label("Identity Hash Code"), Description("0 if unknown")];
            "name" Inline STRING [Label("Name"), Description("Field or class from which the lock was loaded where it was acquired")];
        },
        &[LOCKS, Label("Lock"), Description("Identity of a lock that events of this chunk refer to")];
    RESERVE = 93, "headway.Reserve", fields! { "startTime" Inline LONG [Label("Start Time"), TICKS]; },
        &[
            HEADWAY,
            Label("Reserve"),
            Description("Room for what would have been written next; only in recordings of processes that were killed"),
        ];
    FLUSH = 91, "headway.Flush", fields! { "startTime" Inline LONG [Label("Start Time"), TICKS, Description("No event that happened before this time follows")]; },
        &[HEADWAY, Label("Flush"), Description("End of what was written at once")];
    PARK_BEGIN = 94, "headway.ParkBegin", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that parks")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "blocker" Pool LOCK [Label("Blocker")];
            "seqStep" Inline LONG [Label("Sequence Step"), PARK_SEQ];
            "owner" Pool THREAD [Label("Owner"), Description("The blocker's exclusive owner at that moment")];
            "timeout" Inline LONG [NANO_SPAN, Label("Park Timeout"), Description("0 if none, the largest number if unknown")];
            "until" Inline LONG [Unit(id::TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"), Label("Park Until"), Description("0 if no deadline")];
        },
        &[LOCKS, Label("Park Begin"), Description("A thread is about to park")];
    UNPARK = 95, "headway.Unpark", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that gave the permit")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "seqStep" Inline LONG [Label("Sequence Step"), PARK_SEQ];
            "target" Pool THREAD [Label("Target"), Description("The thread that got the permit")];
        },
        &[LOCKS, Label("Unpark"), Description("A thread was given the permit to go on")];
    VIRTUAL_MOUNT = 115, "headway.VirtualThreadMount", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The virtual thread")];
            "carrierThread" Pool THREAD [Label("Carrier Thread")];
            "cpuWait" Inline LONG [NANO_SPAN, Label("Wait for a CPU"), Description("Of the duration, until the carrier came back from being idle; the rest is the wait for a carrier")];
            "lock" Pool LOCK [Label("Lock"), Description("What the thread had parked on")];
        },
        &[LOCKS, Label("Virtual Thread Mount"), Description("From the unpark of a virtual thread until it runs")];
    LONG_CONTENTION = 118, "headway.LongContention", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN, Description("How long the thread had been blocked when the owner was read")];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that is blocked")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "lock" Pool LOCK [Label("Lock")];
            "owner" Pool THREAD [Label("Owner"), Description("The lock's owner at that moment")];
            "older" Inline BOOLEAN [Label("Older"), Description("The thread was blocked already when the recording began")];
        },
        &[LOCKS, Label("Long Contention"), Description("A thread has been blocked on a monitor for long and still is")];
    SHORT_PARKS = 99, "headway.ShortParks", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS, Description("When the last of them ended")];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that parked")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "blocker" Pool LOCK [Label("Blocker")];
            "count" Inline LONG [Label("Count")];
            "threadTime" Inline LONG [NANO_SPAN, Label("Parking Thread Time"), Description("Their durations together")];
        },
        &[LOCKS, Label("Short Parks"), Description("Parks of one thread that were too short to be told one by one")];
    SHORT_ENTERS = 100, "headway.ShortEnters", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS, Description("When the last of them ended")];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that was blocked")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "lock" Pool LOCK [Label("Lock")];
            "count" Inline LONG [Label("Count")];
            "threadTime" Inline LONG [NANO_SPAN, Label("Blocked Thread Time"), Description("Their durations together")];
        },
        &[
            LOCKS,
            Label("Short Contended Enters"),
            Description("Contended enters of one thread that were too short to be told one by one"),
        ];
    SHORT_WAITS = 117, "headway.ShortWaits", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS, Description("When the last of them ended")];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The thread that waited")];
            "lock" Pool LOCK [Label("Lock")];
            "count" Inline LONG [Label("Count")];
            "threadTime" Inline LONG [NANO_SPAN, Label("Waiting Thread Time"), Description("Their durations together")];
        },
        &[
            LOCKS,
            Label("Short Waits"),
            Description("Waits of one thread by Object.wait in which no random instant lay"),
        ];
    SAMPLING = 116, "headway.Sampling", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS, Description("When the first window began")];
            "window" Inline LONG [NANO_SPAN, Label("Window"), Description("Length of a window, which has one random instant; 0 if everything is recorded")];
            "seed" Inline LONG [Label("Seed"), Description("What the instants are drawn from")];
            "bound" Inline STRING [Label("Bound"), Description("Option that decided the length of the window: budget, max-rate or sampling-window")];
            "thins" Inline BOOLEAN [Label("Thins"), Description("True if parks of threads that park often are counted near random instants only: sums of parks are estimates")];
        },
        &[LOCKS, Label("Sampling"), Description("From when on only those contentions and parks are recorded in which a random instant lies; others are added up")];
    PRESSURE_WINDOW = 96, "headway.PressureWindow", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "lock" Pool LOCK [Label("Lock"), Description("None for all locks together")];
            "acquiring" Inline LONG [NANO_SPAN, Label("Acquiring Time"), Description("Time that threads spent acquiring the lock within the interval")];
            "running" Inline LONG [NANO_SPAN, Label("Running Time"), Description("Life of all threads within the interval minus their condition waits")];
        },
        &[LOCKS, Label("Critical Section Pressure"), Description("How much a lock impeded progress in an interval")];
    PRESSURE_PHASE = 97, "headway.PressurePhase", fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("Call chain that spent most time acquiring the lock")];
            "lock" Pool LOCK [Label("Lock")];
            "mean" Inline FLOAT [Bare(id::PERCENTAGE), Label("Mean Pressure")];
            "peak" Inline FLOAT [Bare(id::PERCENTAGE), Label("Peak Pressure")];
            "ownerStackTrace" Pool STACK_TRACE [Label("Owner Stack Trace"), Description("Call chain that held the lock for most of that time")];
        },
        &[
            LOCKS,
            Label("Critical Section Pressure Phase"),
            Description("Consecutive intervals in which a lock's pressure was above the threshold"),
        ];
    PARK_STATISTICS = 98, "headway.ParkStatistics", fields! {
            "startTime" Inline LONG [Label("Time"), TICKS];
            "thread" Pool THREAD [Label("Thread"), Description("The thread that parked when the collection threshold was reached")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("Its call chain")];
            "blocker" Pool LOCK [Label("Blocker")];
            "timesParked" Inline LONG [Label("Times Parked")];
            "parkedNow" Inline INT [Label("Parked Now")];
            "peakParked" Inline INT [Label("Peak Parked")];
            "threadTime" Inline LONG [NANO_SPAN, Label("Parking Thread Time"), Description("Sum of the parked times of all threads")];
            "realTime" Inline LONG [NANO_SPAN, Label("Parking Real Time"), Description("Time in which at least one thread was parked")];
            "firstParked" Inline LONG [TICKS, Label("First Parked")];
            "lastAlive" Inline LONG [TICKS, Label("Last Alive"), Description("When the blocker was collected, or the time of this event")];
        },
        &[LOCKS, Label("Park Statistics"), Description("What is known of all parks on one blocker so far")];
}
