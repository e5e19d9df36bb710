//! The input: what two versions of a service did, by host and slot of time.

use headway_rollup::identity::Hash;
use std::collections::BTreeMap;

/// One of the two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// What the newer one is compared with.
    Old,
    /// The newer one.
    New,
}

impl Version {
    pub(crate) const BOTH: [Version; 2] = [Version::Old, Version::New];
}

/// A host and a slot as one number, in the order of hosts and then of minutes: what rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At(u64);

/// Bits of the minute: enough for two million years.
const MINUTE_BITS: u32 = 40;

impl At {
    pub fn new(host: usize, minute: u64) -> At {
        At(((host as u64) << MINUTE_BITS) | minute.min((1 << MINUTE_BITS) - 1))
    }

    /// Index in [`Pair::hosts`].
    pub fn host(self) -> usize {
        (self.0 >> MINUTE_BITS) as usize
    }

    /// When the slot begins, in minutes since the Unix epoch.
    pub fn minute(self) -> u64 {
        self.0 & ((1 << MINUTE_BITS) - 1)
    }

    fn moved(self, places: &[usize]) -> At {
        At::new(places[self.host()], self.minute())
    }
}

/// What ran on a host in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub at: At,
    pub running_ns: u64,
    pub operations: u64,
}

/// Time that threads were blocked on a lock on a host in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub at: At,
    pub blocked_ns: u64,
}

/// What one version did; once it is in order, each key is there once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub load: Vec<Load>,
    /// By lock.
    pub blocked: BTreeMap<i64, Vec<Blocked>>,
}

/// Two versions of a service.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The service.
    pub service: String,
    /// The version that is compared with.
    pub old_version: String,
    /// The version that may have become worse.
    pub new_version: String,
    /// In order.
    pub(crate) hosts: Vec<String>,
    pub(crate) sides: [Side; 2],
}

impl Pair {
    pub(crate) fn side(&self, version: Version) -> &Side {
        &self.sides[version as usize]
    }

    /// A hash of the input: names of service, versions and hosts, and the sums of every host.
    pub(crate) fn hash(&self) -> u64 {
        let mut hash = Hash::of("regression").name(&self.service).name(&self.old_version).name(&self.new_version);
        for side in &self.sides {
            let mut sums: Vec<[u128; 3]> = vec![[0; 3]; self.hosts.len()];
            for load in &side.load {
                sums[load.at.host()][0] += u128::from(load.running_ns);
                sums[load.at.host()][1] += u128::from(load.operations);
            }
            for blocked in side.blocked.values().flatten() {
                sums[blocked.at.host()][2] += u128::from(blocked.blocked_ns);
            }
            for (host, sums) in self.hosts.iter().zip(sums) {
                hash = sums.iter().fold(hash.name(host), |hash, sum| hash.name(&sum.to_string()));
            }
        }
        hash.id() as u64
    }
}

/// Takes in rows in any order. Rows of one key are added up.
#[derive(Clone, Debug, Default)]
pub struct PairBuilder {
    /// Numbers in the order in which hosts came.
    hosts: BTreeMap<String, usize>,
    sides: [Side; 2],
}

impl PairBuilder {
    /// What ran on a host in the slot that begins in this minute since the Unix epoch.
    pub fn load(&mut self, version: Version, host: &str, minute: u64, running_ns: u64, operations: u64) {
        let host = self.host(host);
        self.sides[version as usize].load.push(Load { at: At::new(host, minute), running_ns, operations });
    }

    /// Time that threads were blocked on a lock there.
    pub fn blocked(&mut self, version: Version, host: &str, minute: u64, site: i64, blocked_ns: u64) {
        let host = self.host(host);
        let rows = self.sides[version as usize].blocked.entry(site).or_default();
        rows.push(Blocked { at: At::new(host, minute), blocked_ns });
    }

    fn host(&mut self, name: &str) -> usize {
        match self.hosts.get(name) {
            Some(number) => *number,
            None => {
                let number = self.hosts.len();
                self.hosts.insert(name.to_owned(), number);
                number
            }
        }
    }

    /// All rows are in. Blocked time on a host and slot without load is left out: there is nothing that
    /// it could be divided by.
    pub fn finish(self, service: &str, old_version: &str, new_version: &str) -> Pair {
        let mut places = vec![0; self.hosts.len()];
        self.hosts.values().enumerate().for_each(|(place, number)| places[*number] = place);
        let hosts = self.hosts.into_keys().collect();
        Pair::of([service, old_version, new_version], hosts, self.sides, &places)
    }
}

impl Pair {
    /// Service and versions, the hosts in order, and rows whose hosts have these places there.
    pub(crate) fn of(names: [&str; 3], hosts: Vec<String>, sides: [Side; 2], places: &[usize]) -> Pair {
        let [service, old_version, new_version] = names.map(str::to_owned);
        Pair { service, old_version, new_version, hosts, sides: sides.map(|side| side.in_order(places)) }
    }
}

impl Side {
    /// Sorts rows by the places of their hosts, adds up those of one key, and leaves out blocked time without load.
    fn in_order(mut self, places: &[usize]) -> Side {
        self.load.iter_mut().for_each(|row| row.at = row.at.moved(places));
        self.load.sort_unstable_by_key(|row| row.at);
        self.load.dedup_by(|row, kept| {
            let is_same = row.at == kept.at;
            if is_same {
                kept.running_ns = kept.running_ns.saturating_add(row.running_ns);
                kept.operations = kept.operations.saturating_add(row.operations);
            }
            is_same
        });
        self.blocked.values_mut().for_each(|rows| in_order(rows, &self.load, places));
        self.blocked.retain(|_, rows| !rows.is_empty());
        self
    }
}

/// The same for the blocked time of a lock.
fn in_order(rows: &mut Vec<Blocked>, load: &[Load], places: &[usize]) {
    rows.iter_mut().for_each(|row| row.at = row.at.moved(places));
    rows.sort_unstable_by_key(|row| row.at);
    rows.dedup_by(|row, kept| {
        let is_same = row.at == kept.at;
        if is_same {
            kept.blocked_ns = kept.blocked_ns.saturating_add(row.blocked_ns);
        }
        is_same
    });
    // Both are in order.
    let mut load = load.iter().map(|load| load.at).peekable();
    rows.retain(|row| {
        while load.next_if(|at| *at < row.at).is_some() {}
        load.peek() == Some(&row.at)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let rows = [("b", 60, 5, 1), ("a", 0, 7, 2), ("b", 60, 3, 1), ("a", 60, 1, 0)];
        let pair = |order: [usize; 4]| {
            let mut builder = PairBuilder::default();
            for row in order {
                let (host, minute, running_ns, operations) = rows[row];
                builder.load(Version::New, host, minute, running_ns, operations);
                builder.blocked(Version::New, host, minute, 9, running_ns);
                builder.blocked(Version::New, host, 999, 9, 1);
            }
            builder.finish("shop", "1", "2")
        };
        let (one, other) = (pair([0, 1, 2, 3]), pair([3, 2, 1, 0]));
        assert_eq!((one.hash(), format!("{one:?}")), (other.hash(), format!("{other:?}")));
        let side = one.side(Version::New);
        assert_eq!(side.load.iter().map(|row| row.running_ns).collect::<Vec<_>>(), [7, 1, 8]);
        assert_eq!(side.blocked[&9].iter().map(|row| row.blocked_ns).collect::<Vec<_>>(), [7, 1, 8]);
        let mut changed = one.clone();
        changed.sides[1].load[0].running_ns += 1;
        assert_ne!(changed.hash(), one.hash());
    }
}
