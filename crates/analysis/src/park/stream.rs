//! The replay of parks on its own.

use super::replay::{ParkCounts, ParkReplay};
use super::wait::ParkWait;
use crate::monitor::going::ReadOwners;
use crate::monitor::{ContentionSink, OpenContention, OwnersById};
use crate::names::Names;
use crate::options::Bounds;
use headway_model::{Event, LockId, ThreadId, TimeNs};

/// Replays parks without the rest of an analysis: contentions go to a sink,
/// conditional waits are taken out.
#[derive(Debug)]
pub struct ParkStream {
    names: Names,
    owners: OwnersById,
    replay: ParkReplay,
}

impl ParkStream {
    /// A replay that keeps to `bounds`.
    pub fn new(bounds: Bounds) -> ParkStream {
        ParkStream { names: Names::default(), owners: OwnersById::new(bounds.leaves), replay: ParkReplay::new(bounds) }
    }

    /// Takes in an event: definitions, parks, unparks, pauses, watermarks.
    pub fn feed(&mut self, event: &Event, sink: &mut impl ContentionSink) {
        self.names.feed(event);
        let prepared = self.replay.prepare(event, LockId::NONE, self.names.dictionary());
        self.replay.take(&prepared, &mut self.owners, sink);
    }

    /// The stream is over; see [`MonitorReplay::finish`](crate::monitor::MonitorReplay::finish).
    pub fn finish(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        sink: &mut impl ContentionSink,
    ) -> Vec<OpenContention> {
        self.replay.finish(end, active, &ReadOwners::default(), &mut self.owners, sink)
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
