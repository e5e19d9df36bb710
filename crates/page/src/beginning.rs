//! First results of a recording that takes long to read: what its beginning says.
//!
//! Its first events are gathered a second time, apart. Nothing of that is used afterwards, so
//! that what the whole recording says does not depend on it.

use crate::contract::Facts;
use crate::gather::Gather;
use crate::recording::Recording;
use headway_model::Event;
use std::fmt;

/// What is wanted of a recording's beginning.
pub struct First {
    /// Events that the beginning has. A recording that has no more has no first results.
    pub events: u64,
    /// Rows that are kept.
    pub rows: usize,
    /// Takes what the beginning says, in a separate thread.
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

impl Beginning {
    pub fn new(first: First) -> Beginning {
        Beginning { gather: Gather::new(first.rows), seen: 0, first }
    }

    /// Takes in an event; true once the beginning is complete.
    pub fn feed(&mut self, event: &Event) -> bool {
        self.gather.feed(event);
        self.seen += 1;
        self.seen >= self.first.events
    }

    /// Hands out what the beginning says. `facts` already has what is known of the file.
    pub fn hand_out(self, facts: Facts) {
        (self.first.take)(self.gather.finish(facts));
    }
}
