//! What a monitoring system wants: sums that only grow, by lock name and by the method
//! that owned the lock, in a bounded number of series.

use super::OwnerChain;
use headway_model::LockId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Series at most; what has none is in [`Counters::other`].
pub const MOST_SERIES: usize = 100;

/// Sums since the recording began. The totals and `other` never decrease. The series and `other` add up to the totals.
/// The number of series is limited: the pair of lock and owner method with the least blocked time can be replaced by
/// another pair. Its values are then added to `other`. If the pair comes back, its series begins at 0. Monitoring
/// systems treat this as a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counters {
    /// Time in which threads were blocked on locks.
    pub blocked_ns: u64,
    /// How often a thread was blocked on a lock.
    pub contentions: u64,
    /// Time in `Object.wait`, and in parks for anything except a lock.
    pub waited_ns: u64,
    /// Phases that have begun.
    pub phases: u64,
    /// Time in which at least one lock was in a phase.
    pub phase_ns: u64,
    /// CPU time of Headway's threads.
    pub own_cpu_ns: u64,
    /// By lock and owner method, most blocked time first.
    pub series: Vec<Series>,
    /// Locks without a series.
    pub other: Blocked,
}

/// Sums of one lock name and one owner method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Series {
    /// The lock's name, or its class if it has no name.
    pub lock: String,
    /// The owner method that had the lock longest in an interval; empty if unknown.
    pub owner_method: String,
    /// Its sums.
    #[serde(flatten)]
    pub blocked: Blocked,
}

/// Sums of some locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Blocked {
    /// Time in which threads were blocked.
    pub blocked_ns: u64,
    /// How often a thread was blocked on a lock.
    pub contentions: u64,
}

impl Blocked {
    fn add(&mut self, other: Blocked) {
        self.blocked_ns += other.blocked_ns;
        self.contentions += other.contentions;
    }
}

/// What an interval adds to a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub lock: LockId,
    pub owner: Option<OwnerChain>,
    pub blocked: Blocked,
}

/// The sums under way.
#[derive(Debug, Default)]
pub(super) struct Counting {
    /// Everything but the series.
    pub sums: Counters,
    series: FxHashMap<(String, String), Blocked>,
    /// What was not named yet.
    shares: Vec<Share>,
}

impl Counting {
    /// An interval is over. `shares` are of its locks, `all` is everything.
    pub fn interval(&mut self, shares: impl Iterator<Item = Share>, all_ns: u64) {
        let mut named = 0;
        for share in shares {
            named += share.blocked.blocked_ns;
            self.sums.contentions += share.blocked.contentions;
            self.shares.push(share);
        }
        self.sums.blocked_ns += all_ns;
        // A memory bound took away which locks these were.
        self.sums.other.blocked_ns += all_ns.saturating_sub(named);
    }

    /// Contentions of a lock that is gone.
    pub fn forgotten(&mut self, contentions: u64) {
        self.sums.contentions += contentions;
        self.sums.other.contentions += contentions;
    }

    /// Gives the intervals that are over to their series. `names` says what lock and
    /// owner of a share are called; what has no name is in the rest.
    pub fn name(&mut self, names: impl Fn(&Share) -> Option<(String, String)>) {
        let mut new: FxHashMap<(String, String), Blocked> = FxHashMap::default();
        for share in std::mem::take(&mut self.shares) {
            match names(&share) {
                Some(key) => new.entry(key).or_default().add(share.blocked),
                None => self.sums.other.add(share.blocked),
            }
        }
        new.retain(|key, blocked| match self.series.get_mut(key) {
            Some(known) => {
                known.add(*blocked);
                false
            }
            None => true,
        });
        let mut new: Vec<_> = new.into_iter().collect();
        new.sort_unstable_by(|(a, x), (b, y)| y.blocked_ns.cmp(&x.blocked_ns).then(a.cmp(b)));
        new.into_iter().for_each(|(key, blocked)| self.begin(key, blocked));
    }

    /// A new series, in place of the lightest one if there is no more room.
    fn begin(&mut self, key: (String, String), blocked: Blocked) {
        if self.series.len() >= MOST_SERIES {
            let lightest = self.series.iter().min_by(|(a, x), (b, y)| x.blocked_ns.cmp(&y.blocked_ns).then(a.cmp(b)));
            let Some((least, _)) = lightest.filter(|(_, least)| least.blocked_ns < blocked.blocked_ns) else {
                self.sums.other.add(blocked);
                return;
            };
            let least = least.clone();
            let gone = self.series.remove(&least).unwrap_or_default();
            self.sums.other.add(gone);
        }
        self.series.insert(key, blocked);
    }

    /// The sums so far.
    pub fn now(&self) -> Counters {
        let of = |((lock, owner), blocked): (&(String, String), &Blocked)| Series {
            lock: lock.clone(),
            owner_method: owner.clone(),
            blocked: *blocked,
        };
        let mut series: Vec<Series> = self.series.iter().map(of).collect();
        series.sort_unstable_by(|a, b| {
            let by_weight = b.blocked.blocked_ns.cmp(&a.blocked.blocked_ns);
            by_weight.then_with(|| (&a.lock, &a.owner_method).cmp(&(&b.lock, &b.owner_method)))
        });
        Counters { series, ..self.sums.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(lock: u64, blocked_ns: u64) -> Share {
        Share { lock: LockId(lock), owner: None, blocked: Blocked { blocked_ns, contentions: 1 } }
    }

    fn by_id(share: &Share) -> Option<(String, String)> {
        (share.lock.0 != 0).then(|| (format!("lock {}", share.lock.0), String::new()))
    }

    #[test]
    fn series_are_bounded_and_add_up() {
        let mut counting = Counting::default();
        let mut before = Counters::default();
        for round in 1..=50u64 {
            // 30 locks that nobody saw before, one that always weighs, one without a name.
            let locks = (0..30).map(|at| share(round * 100 + at, 5 + round)).chain([share(1, 1000), share(0, 7)]);
            let shares: Vec<Share> = locks.collect();
            let all: u64 = shares.iter().map(|share| share.blocked.blocked_ns).sum::<u64>() + 11;
            counting.interval(shares.into_iter(), all);
            counting.name(by_id);
            let now = counting.now();
            assert!(now.series.len() <= MOST_SERIES);
            let sum = |get: fn(&Blocked) -> u64| {
                now.series.iter().map(|series| get(&series.blocked)).sum::<u64>() + get(&now.other)
            };
            assert_eq!(sum(|blocked| blocked.blocked_ns), now.blocked_ns);
            assert_eq!(sum(|blocked| blocked.contentions), now.contentions);
            assert!(now.other.blocked_ns >= before.other.blocked_ns && now.blocked_ns > before.blocked_ns);
            let first = now.series.first().expect("a series");
            assert_eq!((first.lock.as_str(), first.blocked.blocked_ns), ("lock 1", 1000 * round));
            before = now;
        }
        assert!(before.other.contentions > 1000);
    }
}
