//! The park statistics of a recording.

use super::park_statistics_report::ParkStatisticsReport;
use super::tally::{ParkTally, TallyOptions};
use headway_model::{Dictionary, Event, TimeNs};

/// Takes in a recording's events and ends in its park statistics.
#[derive(Debug)]
pub struct ParkSummary {
    tally: ParkTally,
    names: Dictionary,
    start: Option<TimeNs>,
    end: TimeNs,
}

impl ParkSummary {
    /// Nothing seen yet.
    pub fn new(options: TallyOptions) -> ParkSummary {
        ParkSummary { tally: ParkTally::new(options), names: Dictionary::default(), start: None, end: TimeNs(0) }
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event) {
        self.names.feed(event);
        self.tally.feed(event);
        let told = match event {
            Event::Recording(info) if info.start > TimeNs(0) => Some(info.start),
            _ => event.time(),
        };
        if let Some(time) = told {
            self.start.get_or_insert(time);
            self.end = self.end.max(time);
        }
    }

    /// The recording is over.
    pub fn finish(mut self) -> ParkStatisticsReport {
        self.tally.settle(TimeNs(u64::MAX));
        ParkStatisticsReport::new(&self.tally, self.start.unwrap_or(self.end), self.end, &self.names)
    }
}
