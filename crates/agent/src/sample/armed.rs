//! Threads that have an event of the kernel because others wait for them, and those
//! that had one and rest.
//!
//! An event costs its thread some time whenever it gets and leaves a CPU, much more
//! than its samples where threads hand work to each other thousands of times a
//! second. So a thread that was on a CPU often rests until that cost is
//! [`PART_OF_TIME`] of the time since it got its event; and while all of them have cost
//! more than [`PART_FOR_ALL`], no other thread gets one.

use std::collections::HashMap;

/// What an event costs a thread each time it is on a CPU. Measured: a round trip between two threads, each of which is
/// on a CPU once, took 13.6 us of CPU time without events and 21.4 us with them.
const SLICE_NS: u64 = 4_000;
/// At most this part of the time of one CPU goes into the event of a thread: 0.1 %.
const PART_OF_TIME: u64 = 1_000;
/// And this part into those of all threads: 0.2 %.
const PART_FOR_ALL: u64 = 500;
/// What was not spent is saved up to this.
const MOST_SAVED_NS: i64 = 20_000_000;
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
    /// How often it had been on a CPU when that was last paid for.
    paid: u64,
    /// When that is counted next.
    due: u64,
}

/// See the module. `T` is what others wait for.
#[derive(Debug)]
pub(super) struct ArmedThreads<T> {
    armed: HashMap<u32, Armed<T>>,
    /// Until when.
    resting: HashMap<u32, u64>,
    /// What may still be spent, and when that was so.
    saved: (i64, u64),
}

impl<T: Copy> ArmedThreads<T> {
    /// None yet.
    pub fn new(now: u64) -> ArmedThreads<T> {
        ArmedThreads { armed: HashMap::new(), resting: HashMap::new(), saved: (MOST_SAVED_NS, now) }
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

    /// True if another thread may have one: those so far have not cost too much.
    pub fn can_be_more(&mut self, now: u64) -> bool {
        let (saved, at) = self.saved;
        let earned = i64::try_from(now.saturating_sub(at) / PART_FOR_ALL).unwrap_or(MOST_SAVED_NS);
        self.saved = (saved.saturating_add(earned).min(MOST_SAVED_NS), now);
        self.saved.0 > 0
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
        let (waited, since) = ((waited, now), (now, slices));
        self.armed.insert(os_id, Armed { waited, since, paid: slices, due: now + AT_LEAST_NS });
    }

    /// Others wait for it still.
    pub fn see(&mut self, os_id: u32, waited: T, now: u64) {
        if let Some(armed) = self.armed.get_mut(&os_id) {
            armed.waited = (waited, now);
        }
    }

    /// It has none any more. `slices` says how often it has been on a CPU.
    pub fn remove(&mut self, os_id: u32, slices: Option<u64>) {
        if let Some(mut armed) = self.armed.remove(&os_id) {
            self.saved.0 = self.saved.0.saturating_sub(armed.pay(slices));
        }
    }

    /// Takes away the events of threads nobody has waited for of late, and of those that were on a CPU too
    /// often. `slices` says how often a thread has been on a CPU. True if there were any.
    pub fn release(&mut self, now: u64, keeps: impl Fn(&T, u64) -> bool, slices: impl Fn(u32) -> Option<u64>) -> bool {
        let mut left = Vec::new();
        let mut paid = 0_i64;
        for (os_id, armed) in &mut self.armed {
            let is_kept = keeps(&armed.waited.0, armed.waited.1);
            if is_kept && armed.due > now {
                continue;
            }
            armed.due = now + AT_LEAST_NS;
            let slices = slices(*os_id);
            paid = paid.saturating_add(armed.pay(slices));
            let until = armed.rests_until(slices).min(now + LONGEST_REST_NS);
            if !is_kept || until > now {
                left.push((*os_id, until));
            }
        }
        self.saved.0 = self.saved.0.saturating_sub(paid);
        for (os_id, until) in &left {
            self.armed.remove(os_id);
            if *until > now {
                self.rest(*os_id, now, *until);
            }
        }
        !left.is_empty()
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

impl<T> Armed<T> {
    /// What it has cost since that was last asked; 0 where it is not known.
    fn pay(&mut self, slices: Option<u64>) -> i64 {
        let slices = slices.unwrap_or(self.paid).max(self.paid);
        let cost = (slices - self.paid).saturating_mul(SLICE_NS);
        self.paid = slices;
        i64::try_from(cost).unwrap_or(i64::MAX)
    }

    /// When its event has cost no more than it may, if it has none until then.
    fn rests_until(&self, slices: Option<u64>) -> u64 {
        let (since, at) = self.since;
        let cost = slices.map_or(0, |slices| slices.saturating_sub(at).saturating_mul(SLICE_NS));
        since.saturating_add(cost.saturating_mul(PART_OF_TIME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Armed at second 1; the thread gets a CPU so often a second.
    fn armed(a_second: u64) -> (ArmedThreads<char>, impl Fn(u64) -> u64) {
        let mut threads = ArmedThreads::new(SECOND);
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
        assert_eq!(part_with_an_event(200), 1.0);
    }

    #[test]
    fn a_thread_that_is_on_a_cpu_often_rests_until_its_event_costs_a_thousandth() {
        for a_second in [2_000, 5_000, 10_000] {
            let part = part_with_an_event(a_second);
            // 4 us each time.
            let cost = part * a_second as f64 * 4e-6;
            assert!((0.0005..=0.0021).contains(&cost), "{a_second} a second: an event for {part}, which costs {cost}");
        }
        assert!(part_with_an_event(2_000) < 0.2);
    }

    /// For how much of a minute 64 threads, each as often on a CPU, have an event, four at a time.
    #[test]
    fn however_many_threads_there_are_all_events_together_cost_a_five_hundredth() {
        let a_second = 2_000;
        let slices = |now: u64| Some(now / 1_000_000 * a_second / 1_000);
        let mut threads = ArmedThreads::new(0);
        let mut with = 0;
        for look in 0..3_000 {
            let now = look * 20_000_000;
            threads.release(now, |_, _| true, |_| slices(now));
            for os_id in 0..64 {
                if threads.len() < 4 && !threads.rests(os_id, now) && threads.can_be_more(now) {
                    threads.insert(os_id, 'a', now, slices(now).unwrap());
                }
            }
            with += threads.len();
        }
        let cost = with as f64 / 3_000.0 * a_second as f64 * 4e-6;
        assert!((0.001..=0.0035).contains(&cost), "{cost}");
    }

    #[test]
    fn who_gives_its_event_up_has_paid_for_it() {
        let mut threads = ArmedThreads::new(0);
        threads.insert(1, 'a', 0, 100);
        threads.remove(1, Some(100 + 5_000));
        assert!(!threads.can_be_more(0), "20 ms are spent");
        assert!(threads.can_be_more(SECOND));
        threads.insert(2, 'a', SECOND, 0);
        assert!(threads.release(SECOND + 1, |_, _| false, |_| Some(10_000)), "nobody waits for it");
        assert!(!threads.can_be_more(2 * SECOND));
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
    fn of_very_many_that_rest_few_are_kept() {
        let mut threads = ArmedThreads::<char>::new(0);
        for os_id in 0..100_000 {
            threads.rest(os_id, 1, 10 + u64::from(os_id));
        }
        assert_eq!(threads.resting.len(), MAX_RESTING);
        assert!(threads.rests(99_999, 1) && !threads.rests(3, 1));
    }
}
