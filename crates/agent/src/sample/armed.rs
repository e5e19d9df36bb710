//! Threads that have an event of the kernel because others wait for them, and those
//! that had one and rest.
//!
//! An event costs its thread some time whenever it gets or leaves a CPU, much more
//! than its samples where threads hand work to each other thousands of times a
//! second. So a thread that was switched often rests until that cost is
//! [`PART_OF_TIME`] of the time since it got its event.

use std::collections::HashMap;

/// What an event costs a thread each time it is switched. Measured: a round trip between two threads, which is four
/// switches, took 13.6 us of CPU time without events and 21.4 us with them.
const SWITCH_NS: u64 = 2_000;
/// At most this part of the time of one CPU goes into the switches of a thread with an event: 0.1 %.
const PART_OF_TIME: u64 = 1_000;
/// How long a thread keeps its event at least: for a few samples even if it is seldom on a CPU.
const AT_LEAST_NS: u64 = 500_000_000;
/// No thread rests for longer.
const LONGEST_REST_NS: u64 = 20_000_000_000;
/// Threads that rest are forgotten if there are more.
const MAX_RESTING: usize = 64;

/// A thread with an event.
#[derive(Clone, Copy, Debug)]
struct Armed<T> {
    /// What others were last seen to wait for, and when.
    waited: (T, u64),
    /// When it got its event, and how often it had been on a CPU.
    since: (u64, u64),
    /// When its switches are counted next.
    due: u64,
}

/// See the module. `T` is what others wait for.
#[derive(Debug)]
pub(super) struct ArmedThreads<T> {
    armed: HashMap<u32, Armed<T>>,
    /// Until when.
    resting: HashMap<u32, u64>,
}

impl<T: Copy> ArmedThreads<T> {
    /// None yet.
    pub fn new() -> ArmedThreads<T> {
        ArmedThreads { armed: HashMap::new(), resting: HashMap::new() }
    }

    /// How many have an event.
    pub fn len(&self) -> usize {
        self.armed.len()
    }

    /// True if this thread has one.
    pub fn has(&self, os_id: u32) -> bool {
        self.armed.contains_key(&os_id)
    }

    /// True if this thread had one and costs too much to have it again now.
    pub fn rests(&self, os_id: u32, now: u64) -> bool {
        self.resting.get(&os_id).is_some_and(|until| *until > now)
    }

    /// What others were last seen to wait for of this thread, and when.
    pub fn get(&self, os_id: u32) -> Option<(&T, u64)> {
        self.armed.get(&os_id).map(|armed| (&armed.waited.0, armed.waited.1))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T, u64)> {
        self.armed.iter().map(|(os_id, armed)| (*os_id, &armed.waited.0, armed.waited.1))
    }

    /// A thread has an event from now on. It had been on a CPU so often.
    pub fn insert(&mut self, os_id: u32, waited: T, now: u64, slices: u64) {
        self.resting.remove(&os_id);
        self.armed.insert(os_id, Armed { waited: (waited, now), since: (now, slices), due: now + AT_LEAST_NS });
    }

    /// Others wait for it still.
    pub fn see(&mut self, os_id: u32, waited: T, now: u64) {
        if let Some(armed) = self.armed.get_mut(&os_id) {
            armed.waited = (waited, now);
        }
    }

    /// It has none any more.
    pub fn remove(&mut self, os_id: u32) {
        self.armed.remove(&os_id);
    }

    /// Takes away the events of threads nobody has waited for of late, and of those that were switched too
    /// often. `slices` says how often a thread has been on a CPU. True if there were any.
    pub fn release(&mut self, now: u64, keeps: impl Fn(&T, u64) -> bool, slices: impl Fn(u32) -> Option<u64>) -> bool {
        let before = self.armed.len();
        self.armed.retain(|_, armed| keeps(&armed.waited.0, armed.waited.1));
        let mut tired = Vec::new();
        for (os_id, armed) in self.armed.iter_mut().filter(|(_, armed)| armed.due <= now) {
            armed.due = now + AT_LEAST_NS;
            let (since, at) = armed.since;
            let cost = slices(*os_id).map_or(0, |slices| slices.saturating_sub(at).saturating_mul(SWITCH_NS));
            let until = since.saturating_add(cost.saturating_mul(PART_OF_TIME)).min(now + LONGEST_REST_NS);
            if until > now {
                tired.push((*os_id, until));
            }
        }
        for (os_id, until) in tired {
            self.armed.remove(&os_id);
            self.rest(os_id, now, until);
        }
        self.armed.len() < before
    }

    fn rest(&mut self, os_id: u32, now: u64, until: u64) {
        if self.resting.len() >= MAX_RESTING {
            self.resting.retain(|_, until| *until > now);
        }
        if self.resting.len() >= MAX_RESTING {
            let first = self.resting.iter().min_by_key(|(_, until)| **until).map(|(os_id, _)| *os_id);
            first.and_then(|first| self.resting.remove(&first));
        }
        self.resting.insert(os_id, until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Armed at second 1; the thread gets a CPU so often a second.
    fn armed(a_second: u64) -> (ArmedThreads<char>, impl Fn(u64) -> u64) {
        let mut threads = ArmedThreads::new();
        let slices = move |now: u64| 7 + now / 1_000_000 * a_second / 1_000;
        threads.insert(5, 'a', SECOND, slices(SECOND));
        (threads, slices)
    }

    /// For how many of ten seconds it has an event, in looks of 20 ms; it gets one whenever it may.
    fn part_with_an_event(a_second: u64) -> f64 {
        let (mut threads, slices) = armed(a_second);
        let (mut with, mut looks) = (0, 0);
        for look in 0..500 {
            let now = SECOND + look * 20_000_000;
            threads.release(now, |_, _| true, |_| Some(slices(now)));
            if !threads.has(5) && !threads.rests(5, now) {
                threads.insert(5, 'a', now, slices(now));
            }
            with += u32::from(threads.has(5));
            looks += 1;
        }
        f64::from(with) / f64::from(looks)
    }

    #[test]
    fn a_thread_that_is_seldom_switched_keeps_its_event() {
        assert_eq!(part_with_an_event(0), 1.0);
        assert_eq!(part_with_an_event(400), 1.0);
    }

    #[test]
    fn a_thread_that_is_switched_often_rests_until_its_events_cost_a_thousandth() {
        for a_second in [2_000, 5_000, 10_000] {
            let part = part_with_an_event(a_second);
            let cost = part * a_second as f64 * SWITCH_NS as f64 / SECOND as f64;
            assert!((0.0005..=0.0013).contains(&cost), "{a_second} switches: an event for {part}, which costs {cost}");
        }
    }

    #[test]
    fn where_switches_are_not_counted_it_keeps_its_event() {
        let (mut threads, _) = armed(10_000);
        assert!(!threads.release(9 * SECOND, |_, _| true, |_| None));
        assert!(threads.has(5) && !threads.rests(5, 9 * SECOND));
    }

    #[test]
    fn it_is_released_when_nobody_waits_for_it_and_may_have_an_event_again_at_once() {
        let (mut threads, _) = armed(1);
        threads.see(5, 'b', 2 * SECOND);
        assert_eq!(threads.get(5), Some((&'b', 2 * SECOND)));
        assert!(!threads.release(3 * SECOND, |_, seen| seen + 2 * SECOND > 3 * SECOND, |_| None));
        assert!(threads.release(4 * SECOND, |_, seen| seen + 2 * SECOND > 4 * SECOND, |_| None));
        assert!(!threads.has(5) && !threads.rests(5, 4 * SECOND) && threads.len() == 0);
    }

    #[test]
    fn of_a_million_that_rest_few_are_kept() {
        let mut threads = ArmedThreads::<char>::new();
        for os_id in 0..1_000_000 {
            threads.rest(os_id, 1, 10 + u64::from(os_id));
        }
        assert_eq!(threads.resting.len(), MAX_RESTING);
        assert!(threads.rests(999_999, 1) && !threads.rests(3, 1));
    }
}
