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

/// What ran on a host in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Load {
    /// Index in [`Pair::hosts`].
    pub host: usize,
    /// When the slot begins, in minutes since the Unix epoch.
    pub minute: u64,
    pub running_ns: u64,
    pub operations: u64,
}

/// Blocked time on a lock, on a host, in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Blocked {
    pub site: i64,
    pub host: usize,
    pub minute: u64,
    pub blocked_ns: u64,
}

/// What one version did; rows in order, each key once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub load: Vec<Load>,
    pub blocked: Vec<Blocked>,
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
                sums[load.host][0] += u128::from(load.running_ns);
                sums[load.host][1] += u128::from(load.operations);
            }
            for blocked in &side.blocked {
                sums[blocked.host][2] += u128::from(blocked.blocked_ns);
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
        self.sides[version as usize].load.push(Load { host, minute, running_ns, operations });
    }

    /// Time that threads were blocked on a lock there.
    pub fn blocked(&mut self, version: Version, host: &str, minute: u64, site: i64, blocked_ns: u64) {
        let host = self.host(host);
        self.sides[version as usize].blocked.push(Blocked { site, host, minute, blocked_ns });
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
        let sides = self.sides.map(|side| side.in_order(&places));
        let (old_version, new_version) = (old_version.to_owned(), new_version.to_owned());
        Pair { service: service.to_owned(), old_version, new_version, hosts: self.hosts.into_keys().collect(), sides }
    }
}

impl Side {
    /// Sorts rows by the places of their hosts, adds up those of one key, and leaves out blocked time without load.
    fn in_order(mut self, places: &[usize]) -> Side {
        self.load.iter_mut().for_each(|row| row.host = places[row.host]);
        self.blocked.iter_mut().for_each(|row| row.host = places[row.host]);
        self.load.sort_unstable();
        self.blocked.sort_unstable();
        self.load.dedup_by(|row, kept| {
            let is_same = (row.host, row.minute) == (kept.host, kept.minute);
            if is_same {
                kept.running_ns = kept.running_ns.saturating_add(row.running_ns);
                kept.operations = kept.operations.saturating_add(row.operations);
            }
            is_same
        });
        self.blocked.dedup_by(|row, kept| {
            let is_same = (row.site, row.host, row.minute) == (kept.site, kept.host, kept.minute);
            if is_same {
                kept.blocked_ns = kept.blocked_ns.saturating_add(row.blocked_ns);
            }
            is_same
        });
        let load = &self.load;
        let has_load =
            |row: &Blocked| load.binary_search_by_key(&(row.host, row.minute), |load| (load.host, load.minute)).is_ok();
        self.blocked.retain(has_load);
        self
    }
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
        assert_eq!(side.blocked.iter().map(|row| row.blocked_ns).collect::<Vec<_>>(), [7, 1, 8]);
        let mut changed = one.clone();
        changed.sides[1].load[0].running_ns += 1;
        assert_ne!(changed.hash(), one.hash());
    }
}
