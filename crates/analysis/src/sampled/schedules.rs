//! The schedules of a recording, one after the other.

use headway_model::event::Sampling;
use headway_model::schedule::Schedule;
use headway_model::{DurationNs, TimeNs};

/// Schedules kept; a governor changes them at most every few seconds.
const MOST: usize = 1 << 14;

/// The shortest window that there is.
const SHORTEST: DurationNs = DurationNs(if cfg!(test) { 1 } else { 100_000 });

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    /// By when they begin.
    all: Vec<Schedule>,
}

impl Schedules {
    /// Another schedule; the later one of two that begin at once is valid.
    pub fn add(&mut self, sampling: Sampling) {
        if sampling.window > DurationNs::ZERO && sampling.window < SHORTEST {
            // No agent writes that: the recording is damaged.
            return;
        }
        let schedule = Schedule::new(sampling);
        match self.all.iter().position(|known| known.from() == schedule.from()) {
            Some(at) => self.all[at] = schedule,
            None if self.all.len() < MOST => {
                let at = self.all.partition_point(|known| known.from() < schedule.from());
                self.all.insert(at, schedule);
            }
            None => {}
        }
    }

    /// All of them.
    pub fn all(&self) -> &[Schedule] {
        &self.all
    }

    /// True if any of them samples.
    pub fn any_samples(&self) -> bool {
        self.all.iter().any(Schedule::samples)
    }

    /// The schedule by which something that began and ended then was chosen; `None` if it
    /// would have been recorded in any case: nothing is sampled, it began under another
    /// schedule, or it contains a whole window.
    pub fn chose(&self, start: TimeNs, end: TimeNs) -> Option<&Schedule> {
        self.sampling(start, end).filter(|schedule| end.since(start).0 < 2 * schedule.window().0)
    }

    /// The schedule under which something began and ended, if it samples: of the lock's
    /// other events only those next to its instants were recorded then.
    pub fn sampling(&self, start: TimeNs, end: TimeNs) -> Option<&Schedule> {
        let at = self.all.partition_point(|schedule| schedule.from() <= end).checked_sub(1)?;
        self.all.get(at).filter(|schedule| schedule.samples() && start >= schedule.from())
    }

    /// From when on a lock's events are still needed, if everything up to `watermark` was
    /// fed: what is chosen by chance is known only when it is over.
    pub fn needed_from(&self, watermark: TimeNs) -> TimeNs {
        let at = self.all.partition_point(|schedule| schedule.from() <= watermark);
        let window = at.checked_sub(1).map_or(0, |at| self.all[at].window().0);
        if window > 0 {
            watermark - DurationNs(window.saturating_mul(4))
        } else {
            TimeNs(u64::MAX)
        }
    }
}
