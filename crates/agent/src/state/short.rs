//! Parks that are too short to be recorded one by one: summed up for each blocker
//! and chain, so that a flood costs little and no total is dropped.

use crate::exclusive::Exclusive;
use headway_model::event::ShortParks;
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};

/// Sums kept at once; one more sends the oldest on its way.
const KEPT: usize = 8;
/// A sum is sent on its way after this time.
const SENT_AFTER_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Default)]
struct ParkSum {
    /// None if `count` is 0.
    parks: ShortParks,
    since: TimeNs,
}

/// The sums of the parks on one platform thread. The thread adds, the draining
/// thread takes; whoever finds the other inside goes without.
#[derive(Default)]
pub struct Sums(Exclusive<[ParkSum; KEPT]>);

/// A park that ended.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    /// When it ended.
    pub time: TimeNs,
    /// The thread that parked.
    pub thread: ThreadId,
    /// On what.
    pub blocker: LockId,
    /// Where.
    pub chain: ChainId,
    /// For how long.
    pub duration: DurationNs,
    /// How many such parks there are.
    pub count: u64,
}

impl Short {
    fn total(&self) -> DurationNs {
        DurationNs(self.duration.0.saturating_mul(self.count))
    }
}

impl Sums {
    /// Adds a park. What is returned is to be recorded now.
    pub fn add(&self, park: Short) -> Option<ShortParks> {
        self.0.enter(|sums| add(sums, park)).unwrap_or(Some(alone(park)))
    }

    /// Takes everything: it is to be recorded.
    pub fn take(&self) -> impl Iterator<Item = ShortParks> {
        let all = self.0.enter(std::mem::take).unwrap_or_default();
        all.into_iter().map(|sum| sum.parks).filter(|parks| parks.count > 0)
    }
}

fn alone(park: Short) -> ShortParks {
    let Short { time, thread, blocker, chain, count, .. } = park;
    ShortParks { time, thread, blocker, chain, count, total: park.total() }
}

fn add(sums: &mut [ParkSum; KEPT], park: Short) -> Option<ShortParks> {
    let same = |sum: &&mut ParkSum| {
        let parks = &sum.parks;
        parks.count > 0 && (parks.thread, parks.blocker, parks.chain) == (park.thread, park.blocker, park.chain)
    };
    if let Some(sum) = sums.iter_mut().find(same) {
        sum.parks.time = park.time;
        sum.parks.count += park.count;
        sum.parks.total += park.total();
        let is_due = park.time.since(sum.since).0 >= SENT_AFTER_NS;
        return is_due.then(|| std::mem::take(sum).parks);
    }
    // An unused one has been there since ever.
    let oldest = sums.iter_mut().min_by_key(|sum| sum.since)?;
    let sent = std::mem::replace(oldest, ParkSum { parks: alone(park), since: park.time });
    (sent.parks.count > 0).then_some(sent.parks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn park(time: u64, chain: u64) -> Short {
        Short {
            time: TimeNs(time),
            thread: ThreadId(1),
            blocker: LockId(2),
            chain: ChainId(chain),
            duration: DurationNs(10),
            count: 1,
        }
    }

    #[test]
    fn no_park_is_dropped_however_many_chains_there_are() {
        let sums = Sums::default();
        let mut sent = Vec::new();
        for time in 1..=1000 {
            sent.extend(sums.add(park(time, time % 20)));
        }
        sent.extend(sums.take());
        assert_eq!(sent.iter().map(|parks| parks.count).sum::<u64>(), 1000);
        assert_eq!(sent.iter().map(|parks| parks.total.0).sum::<u64>(), 10_000);
        assert_eq!(sums.take().count(), 0);
    }

    #[test]
    fn a_park_may_stand_for_many() {
        let sums = Sums::default();
        assert!(sums.add(park(1, 5)).is_none() && sums.add(Short { count: 400, ..park(2, 5) }).is_none());
        let sums: Vec<ShortParks> = sums.take().collect();
        assert_eq!(sums.iter().map(|parks| (parks.count, parks.total.0)).collect::<Vec<_>>(), [(401, 4_010)]);
    }

    #[test]
    fn one_chain_is_sent_once_a_second() {
        let sums = Sums::default();
        let sent: Vec<ShortParks> = (0..50).filter_map(|i| sums.add(park(1 + i * 100_000_000, 5))).collect();
        let counts: Vec<u64> = sent.iter().map(|parks| parks.count).collect();
        assert_eq!(counts, [11, 11, 11, 11]);
        assert_eq!(sums.take().map(|parks| parks.count).sum::<u64>(), 6);
    }

    #[test]
    fn a_park_that_finds_the_sums_taken_is_sent_alone() {
        let sums = Sums::default();
        let sent = sums.0.enter(|_| sums.add(park(1, 5)));
        assert_eq!(sent.unwrap().map(|parks| parks.count), Some(1));
    }
}
