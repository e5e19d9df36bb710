//! First results of a recording that takes long to read: what its beginning says.
//!
//! Its first events are gathered a second time, apart. Nothing of that is used afterwards, so
//! that what the whole recording says does not depend on it.

use crate::contract::Facts;
use crate::gather::Gather;
use crate::recording::Recording;
use headway_jfr::Progress;
use headway_model::Event;
use std::fmt;

/// Only a part of the recording as small as this is a beginning: gathering it twice costs little.
const LEAST_PARTS: u64 = 8;
/// A part of the beginning's events, after which it is estimated how many there are in all.
const ESTIMATED_AFTER: u64 = 16;

/// What is wanted of a recording's beginning.
pub struct First {
    /// Events that the beginning has. One that has fewer than eight times as many has no beginning.
    pub events: u64,
    /// Rows that are kept.
    pub rows: usize,
    /// Takes what the beginning says, in a thread of its own.
    pub take: Box<dyn FnOnce(Recording) + Send>,
}

impl fmt::Debug for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("First").field("events", &self.events).field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The beginning of a recording that is being read.
pub(crate) struct Beginning {
    gather: Gather,
    seen: u64,
    first: First,
}

/// What became of a beginning with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    /// There is more of it.
    GoesOn,
    /// It is complete.
    Complete,
    /// It would be too much of the recording.
    TooLarge,
}

impl Beginning {
    pub fn new(first: First) -> Beginning {
        Beginning { gather: Gather::new(first.rows), seen: 0, first }
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event, progress: &Progress) -> Grown {
        self.gather.feed(event);
        self.seen += 1;
        if self.seen >= self.first.events {
            return Grown::Complete;
        }
        let is_estimated = self.seen == self.first.events / ESTIMATED_AFTER;
        let all = u128::from(self.seen) * u128::from(progress.len()) / u128::from(progress.read().max(1));
        match is_estimated && all < u128::from(self.first.events * LEAST_PARTS) {
            true => Grown::TooLarge,
            false => Grown::GoesOn,
        }
    }

    /// Hands out what the beginning says. `facts` already has what is known of the file.
    pub fn hand_out(self, facts: Facts) {
        (self.first.take)(self.gather.finish(facts));
    }
}
