//! The event type of causal profiling.

use super::Note::{Bare, Category, Description, Label};
use super::{event, fields, id, Field, Store, Type, NANO_SPAN, TICKS, TICK_SPAN};

/// In the order in which the metadata declares them.
pub(crate) static CAUSAL_EVENTS: &[Type] = &[event(
    id::EXPERIMENT,
    "headway.CausalExperiment",
    fields! {
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
        "visits" Inline LONG [Label("Visits"), Description("Of the progress point")];
        "kind" Inline STRING [Label("Kind"), Description("method, line or call")];
        "experimentTarget" Inline STRING [Label("Target"), Description("What was sped up")];
        "progressPoint" Inline STRING [Label("Progress Point")];
    },
    &[
        Category(&["Headway", "Causal"]),
        Label("Causal Experiment"),
        Description("What a virtual speedup did to the visits of a progress point"),
    ],
)];
