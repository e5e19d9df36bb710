//! The event type of causal profiling.

use super::Note::{Bare, Category, Description, Label};
use super::{event_types, fields, id, Field, Store, Type, NANO_SPAN, TICKS, TICK_SPAN};

event_types! {
    /// In the order in which the metadata declares them.
    CAUSAL_EVENTS:

    EXPERIMENT = 120, "headway.CausalExperiment", fields! {
        "startTime" Inline LONG [Label("Start Time"), TICKS];
        "duration" Inline LONG [Label("Duration"), TICK_SPAN];
        "experiment" Inline LONG [Label("Number"), Description("Place in the order of all windows; several progress points share it")];
        "speedup" Inline FLOAT [Bare(id::PERCENTAGE), Label("Virtual Speedup"), Description("0 for a window without delays")];
        "delay" Inline LONG [NANO_SPAN, Label("Delay"), Description("Delay that every thread was to have had")];
        "stopped" Inline LONG [NANO_SPAN, Label("Stopped"), Description("Time within the window in which the whole VM stood still")];
        "selected" Inline LONG [Label("Samples in Target")];
        "samples" Inline LONG [Label("Samples")];
        "period" Inline LONG [NANO_SPAN, Label("Sampling Period"), Description("CPU time between two samples of a thread")];
        "cpus" Inline INT [Label("CPUs"), Description("That the process may use")];
        "offCpu" Inline LONG [Label("Samples off CPU"), Description("Samples' worth of time in the target that was slept or waited for the world outside")];
        "interpreted" Inline LONG [Label("Samples Interpreted"), Description("Samples in the target whose own method was not yet compiled")];
        "wakes" Inline LONG [Label("Wake-ups"), Description("Times that a thread was woken by another one")];
        "runQueue" Inline LONG [NANO_SPAN, Label("Run Queue"), Description("Time that application threads waited for a CPU")];
        "inFlight" Inline FLOAT [Label("Under Way"), Description("Mean number of pieces of work under way, of a latency point")];
        "visits" Inline LONG [Label("Visits"), Description("Of the progress point")];
        "kind" Inline STRING [Label("Kind"), Description("method, line, call or lock")];
        "experimentTarget" Inline STRING [Label("Target"), Description("What was sped up")];
        "progressPoint" Inline STRING [Label("Progress Point")];
    },
    &[
        Category(&["Headway", "Causal"]),
        Label("Causal Experiment"),
        Description("What a virtual speedup did to the visits of a progress point"),
    ];
}
