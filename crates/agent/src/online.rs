//! The same analysis that the command line runs over a file, fed with the
//! events of the recording under way, so that `status` can say what has been
//! found so far. Bounded in memory, on the draining thread.

use crate::core::Core;
use headway_analysis::monitor::StretchSink;
use headway_analysis::{Analysis, Bounds, Options};
use headway_model::{Event, Loss};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Findings that `status` tells.
const FINDINGS_TOLD: usize = 3;

/// See the module.
pub struct Online {
    core: &'static Core,
    /// `None` once it has failed: the recording goes on without it.
    analysis: Option<Box<Analysis>>,
}

impl Online {
    /// Begins with a recording.
    pub fn new(core: &'static Core) -> Online {
        // Pressure has an analysis of its own, which closes its intervals.
        let options = Options { by: Vec::new(), pressure: None, bounds: Bounds::online(), ..Options::default() };
        Online { core, analysis: Some(Box::new(Analysis::new(options))) }
    }

    /// Takes in an event; `also` takes in the blocked stretches it completes.
    pub fn feed(&mut self, event: &Event, also: &mut dyn StretchSink) {
        self.guarded(|analysis| analysis.feed_to(event, also));
    }

    /// What has been found so far, most costly first.
    pub fn findings(&mut self) -> Vec<String> {
        let report = self.guarded(Analysis::snapshot);
        let findings = report.map(|report| report.findings).unwrap_or_default();
        findings.into_iter().take(FINDINGS_TOLD).map(|finding| finding.text).collect()
    }

    fn guarded<T>(&mut self, work: impl FnOnce(&mut Analysis) -> T) -> Option<T> {
        let analysis = self.analysis.as_deref_mut()?;
        let done = catch_unwind(AssertUnwindSafe(|| work(analysis)));
        if done.is_err() {
            self.analysis = None;
            self.core.losses.add(Loss::Panic, 1);
        }
        done.ok()
    }
}
