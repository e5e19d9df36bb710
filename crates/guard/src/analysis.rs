//! Analyses: what an event takes on its way to a report.

use crate::simulation::{play, Play};
use crate::{check, measured, story, Done};
use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Aspect, Options};

/// Who blocked whom: each lock's events replayed, blocked time added up by lock and by both methods.
pub fn monitors() -> Done {
    analyse(None)
}

/// The same with critical section pressure.
pub fn pressure() -> Done {
    analyse(Some(PressureOptions::default()))
}

fn analyse(pressure: Option<PressureOptions>) -> Done {
    let events = play(Play {
        threads: 8,
        locks: 4,
        acquisitions: 20_000,
        hold_ns: 20_000,
        think_ns: 100_000,
        wake_ns: 20_000,
        missed_percent: 2,
        wait_percent: 5,
        seed: 1,
    })
    .events;
    let by = vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod];
    let mut analysis = Some(Analysis::new(Options { by, pressure, ..Options::default() }));
    let definitions = story::definitions();
    let mut contentions = 0;
    measured(&mut || {
        let Some(mut analysis) = analysis.take() else { return };
        definitions.iter().chain(&events).for_each(|event| analysis.feed(event));
        contentions = analysis.finish().contentions;
    });
    check(|| contentions > 1_000, "hardly any contention: this measures nothing");
    Done { operations: events.len() as u64, bytes: 0 }
}
