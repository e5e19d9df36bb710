//! The replays of monitors and of parks together.

use crate::by_id::ById;
use crate::monitor::{ContentionSink, MonitorReplay, Placing};
use crate::options::Bounds;
use crate::park::{ParkReplay, Prepared};
use headway_model::event::{MonitorExit, RecordingInfo, Unpark};
use headway_model::{Dictionary, DurationNs, Event, LockId, ThreadId};

/// Finds contentions in events, and waits that park.
#[derive(Debug)]
pub(crate) struct Replays {
    pub(crate) monitors: MonitorReplay,
    pub(crate) parks: ParkReplay,
    /// What each thread was last blocked on.
    blocked_on: ById<ThreadId, LockId>,
    /// Threads that are remembered at most.
    threads: usize,
    /// What the replay of parks made of the event that was looked at.
    prepared: Prepared,
}

impl Replays {
    /// Replays that keep to `bounds`.
    pub(crate) fn new(bounds: Bounds) -> Replays {
        Replays {
            monitors: MonitorReplay::new(bounds),
            parks: ParkReplay::new(bounds),
            blocked_on: ById::default(),
            threads: bounds.threads,
            prepared: Prepared::Nothing,
        }
    }

    /// Says what the recording leaves out on purpose.
    pub(crate) fn recorded_as(&mut self, info: &RecordingInfo) {
        self.monitors.expect_gaps(leaves_out_short(info, "min_duration"));
        self.parks.expect_gaps(leaves_out_short(info, "park_floor"));
    }

    /// Looks at an event; what is left to do is for [`Self::take`]. Two steps, because who takes contentions in
    /// may change the names.
    #[inline(always)]
    pub(crate) fn look(&mut self, event: &Event, names: &Dictionary) -> Placing {
        let last_blocked = self.last_blocked(event);
        self.monitors.was_blocked_on(last_blocked);
        // Most events are of monitors, say nothing about parks, and hand nothing over.
        if is_about_parks(event) {
            self.prepared = self.parks.prepare(event, last_blocked, names);
            return Placing::Without;
        }
        self.monitors.place(event)
    }

    /// Takes in the event that was looked at. True if it may have ended waits that parked.
    #[inline(always)]
    pub(crate) fn take(&mut self, placing: Placing, event: &Event, sink: &mut impl ContentionSink) -> bool {
        match placing {
            Placing::Done => {}
            Placing::Rest(rest) => self.monitors.make_up(rest, sink),
            Placing::Without => self.monitors.feed_without_place(event, sink),
        }
        let about_parks = is_about_parks(event);
        if about_parks {
            self.parks.take(&self.prepared, self.monitors.owners_mut(), sink);
        }
        about_parks
    }

    /// What an event's thread was last blocked on, for exits; notes it for
    /// everything that ends being blocked.
    #[inline(always)]
    fn last_blocked(&mut self, event: &Event) -> LockId {
        let (thread, lock) = match event {
            Event::MonitorExit(MonitorExit { thread, .. }) | Event::Unpark(Unpark { thread, .. }) => {
                return self.blocked_on.get(*thread).copied().unwrap_or(LockId::NONE);
            }
            Event::MonitorEntered(e) => (e.thread, e.lock),
            Event::MonitorReentered(e) => (e.thread, e.lock),
            Event::Park(e) => (e.thread, e.blocker),
            _ => return LockId::NONE,
        };
        if self.blocked_on.len() >= self.threads {
            // Only links across this moment are forgotten.
            self.blocked_on.clear();
        }
        if let Some(known) = self.blocked_on.get_or_add(thread, usize::MAX, LockId::default) {
            *known = lock;
        }
        LockId::NONE
    }
}

/// True if the replay of parks makes anything of the event.
fn is_about_parks(event: &Event) -> bool {
    use Event::{Park, ParkBegin, Sampling, StopTheWorld, Unpark, Watermark};
    matches!(event, ParkBegin(_) | Park(_) | Unpark(_) | Sampling(_) | StopTheWorld(_) | Watermark(_))
}

/// True if the recording leaves out events of short contentions on purpose, as this
/// setting says.
fn leaves_out_short(info: &RecordingInfo, setting: &str) -> bool {
    info.settings.iter().any(|(name, value)| {
        let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
        name == setting && digits.parse::<u64>().is_ok_and(|ns| DurationNs(ns) > DurationNs::ZERO)
    })
}

/// Contentions alone, without the rest of an [`Analysis`](crate::Analysis).
#[derive(Debug)]
pub(crate) struct Contentions(Replays);

impl Contentions {
    /// Nothing was fed yet; memory stays within `bounds`.
    pub(crate) fn new(bounds: Bounds) -> Contentions {
        Contentions(Replays::new(bounds))
    }

    /// Takes in an event, and gives `sink` the contentions and waits that it completes. `names` has the
    /// definitions that the event refers to.
    pub(crate) fn feed(&mut self, event: &Event, names: &Dictionary, sink: &mut impl ContentionSink) {
        if let Event::Recording(info) = event {
            return self.0.recorded_as(info);
        }
        let placing = self.0.look(event, names);
        if !matches!(placing, Placing::Done) && self.0.take(placing, event, sink) {
            self.0.parks.forget_waits();
        }
    }
}
