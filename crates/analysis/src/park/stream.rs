//! The replay of parks on its own.

use super::replay::{ParkCounts, ParkReplay};
use super::wait::ParkWait;
use crate::monitor::going::ReadOwners;
use crate::monitor::{Holders, OpenContention, StretchSink};
use crate::names::Names;
use crate::options::Bounds;
use headway_model::{Event, LockId, ThreadId, TimeNs};

/// Replays parks without the rest of an analysis: stretches go to a sink,
/// conditional waits are taken out.
#[derive(Debug)]
pub struct ParkStream {
    names: Names,
    holders: Holders,
    replay: ParkReplay,
}

impl ParkStream {
    /// A replay that keeps to `bounds`.
    pub fn new(bounds: Bounds) -> ParkStream {
        ParkStream { names: Names::default(), holders: Holders::new(bounds.leaves), replay: ParkReplay::new(bounds) }
    }

    /// Takes in an event: definitions, parks, unparks, pauses, watermarks.
    pub fn feed(&mut self, event: &Event, sink: &mut impl StretchSink) {
        self.names.feed(event);
        let prepared = self.replay.prepare(event, LockId::NONE, self.names.dictionary());
        self.replay.take(&prepared, &mut self.holders, sink);
    }

    /// The stream is over; see [`MonitorReplay::finish`](crate::monitor::MonitorReplay::finish).
    pub fn finish(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        sink: &mut impl StretchSink,
    ) -> Vec<OpenContention> {
        self.replay.finish(end, active, &ReadOwners::default(), &mut self.holders, sink)
    }

    /// The conditional waits that are over since this was called last.
    pub fn take_waits(&mut self) -> Vec<ParkWait> {
        self.replay.take_waits()
    }

    /// What was counted so far.
    pub fn counts(&self) -> ParkCounts {
        self.replay.counts()
    }
}
