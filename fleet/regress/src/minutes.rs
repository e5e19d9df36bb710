//! Minutes of JVMs, added up to slots of hosts while they are read.
//!
//! A fleet has a hundred million minutes for a few million sums. They come nearly in the order of time, as files have
//! them, so that each lock and host has one sum that grows until the next slot begins: no minute is looked up among
//! those sums that are complete. Where minutes come in another order, a slot gets several sums, which are added up in
//! the end.

use crate::rows::{At, Blocked, Load, Pair, Side, Version};
use foldhash::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

const MINUTE_US: u64 = 60_000_000;

/// Which host each JVM is on.
#[derive(Debug, Default)]
pub struct Hosts {
    /// In order.
    names: Vec<String>,
    of_jvm: HashMap<i64, usize>,
}

impl Hosts {
    /// JVMs with the names of their hosts.
    pub fn of(jvms: impl IntoIterator<Item = (i64, String)>) -> Hosts {
        let jvms: Vec<(i64, String)> = jvms.into_iter().collect();
        let names: BTreeSet<&String> = jvms.iter().map(|(_, host)| host).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let places = jvms.iter().filter_map(|(jvm, host)| Some((*jvm, names.binary_search(host).ok()?)));
        let of_jvm = places.collect();
        Hosts { names, of_jvm }
    }
}

/// Takes in minutes in any order; those of JVMs without a host are left out. Numbers below zero count as zero.
#[derive(Debug)]
pub struct Minutes {
    hosts: Arc<Hosts>,
    slots: Slots,
    sides: [Open; 2],
    /// Sums that are kept.
    kept: usize,
}

/// The sums of a version.
#[derive(Debug, Default)]
struct Open {
    load: Growing<[u64; 2]>,
    places: HashMap<i64, usize>,
    locks: Vec<(i64, Growing<u64>)>,
}

/// The sums of a lock, or of load, in the order in which their slots began.
#[derive(Debug, Default)]
struct Growing<S> {
    /// By host: where its newest sum is, if it has one.
    newest: Vec<Option<usize>>,
    sums: Vec<(At, S)>,
}

impl<S: Copy> Growing<S> {
    /// Adds to the host's newest sum, or begins one; true if it began one.
    fn add(&mut self, host: usize, at: At, more: S, sum: impl Fn(&mut S, S)) -> bool {
        if host >= self.newest.len() {
            self.newest.resize(host + 1, None);
        }
        if let Some((of, grown)) = self.newest[host].and_then(|place| self.sums.get_mut(place)) {
            if *of == at {
                sum(grown, more);
                return false;
            }
        }
        self.newest[host] = Some(self.sums.len());
        self.sums.push((at, more));
        true
    }
}

impl Open {
    /// The place of a lock's sums.
    fn place(&mut self, site: i64) -> usize {
        let next = self.locks.len();
        let place = *self.places.entry(site).or_insert(next);
        if place == next {
            self.locks.push((site, Growing::default()));
        }
        place
    }

    /// Adds its sums to those of other parts.
    fn into_side(self, side: &mut Side) {
        let load = |(at, [running_ns, operations]): (At, [u64; 2])| Load { at, running_ns, operations };
        side.load.extend(self.load.sums.into_iter().map(load));
        for (site, lock) in self.locks {
            let rows = lock.sums.into_iter().map(|(at, blocked_ns)| Blocked { at, blocked_ns });
            side.blocked.entry(site).or_default().extend(rows);
        }
    }
}

impl Minutes {
    /// None yet; slots have so many minutes.
    pub fn new(hosts: Arc<Hosts>, slot_minutes: u64) -> Minutes {
        Minutes { hosts, slots: Slots::of(slot_minutes.max(1)), sides: Default::default(), kept: 0 }
    }

    /// Memory that the sums take, in bytes.
    pub fn bytes(&self) -> usize {
        // A growing list has up to twice as much room as it needs.
        self.kept * 2 * size_of::<(At, u64)>()
    }

    /// Running time and operations of JVMs in minutes that began at these times, in microseconds since the Unix epoch.
    pub fn load(&mut self, version: Version, jvms: &[i64], times_us: &[i64], running_ns: &[i64], operations: &[i64]) {
        let side = &mut self.sides[version as usize];
        let rows = jvms.iter().zip(times_us).zip(running_ns).zip(operations);
        for (((jvm, time_us), running_ns), operations) in rows {
            let Some(host) = self.hosts.of_jvm.get(jvm) else { continue };
            let at = At::new(*host, self.slots.begin(*time_us));
            let began = side.load.add(*host, at, [count(*running_ns), count(*operations)], |sum, more| {
                sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            });
            self.kept += usize::from(began);
        }
    }

    /// Time that threads of JVMs were blocked on locks in such minutes.
    pub fn blocked(&mut self, version: Version, jvms: &[i64], times_us: &[i64], sites: &[i64], blocked_ns: &[i64]) {
        let side = &mut self.sides[version as usize];
        // Minutes of a lock stand next to each other.
        let mut last: Option<(i64, usize)> = None;
        for (((jvm, time_us), site), blocked_ns) in jvms.iter().zip(times_us).zip(sites).zip(blocked_ns) {
            let Some(host) = self.hosts.of_jvm.get(jvm) else { continue };
            let place = match last {
                Some((of, place)) if of == *site => place,
                _ => side.place(*site),
            };
            last = Some((*site, place));
            let at = At::new(*host, self.slots.begin(*time_us));
            let lock = &mut side.locks[place].1;
            let began = lock.add(*host, at, count(*blocked_ns), |sum, more| *sum = sum.saturating_add(more));
            self.kept += usize::from(began);
        }
    }

    /// All minutes are in these parts, which have the same hosts. Blocked time on a host and slot without load is left
    /// out, as by [`crate::PairBuilder::finish`].
    pub fn finish(parts: Vec<Minutes>, service: &str, old_version: &str, new_version: &str) -> Pair {
        let hosts = parts.first().map(|part| part.hosts.clone()).unwrap_or_default();
        let mut sides = [Side::default(), Side::default()];
        for part in parts {
            sides.iter_mut().zip(part.sides).for_each(|(side, open)| open.into_side(side));
        }
        // Only hosts that have minutes.
        let mut is_there = vec![false; hosts.names.len()];
        for side in &sides {
            side.load.iter().for_each(|row| is_there[row.at.host()] = true);
            side.blocked.values().flatten().for_each(|row| is_there[row.at.host()] = true);
        }
        let (mut places, mut names) = (vec![0; is_there.len()], Vec::new());
        for (number, name) in hosts.names.iter().enumerate().filter(|(number, _)| is_there[*number]) {
            places[number] = names.len();
            names.push(name.clone());
        }
        Pair::of([service, old_version, new_version], names, sides, &places)
    }
}

/// The slot of a time. Many minutes of one time stand next to each other, and a division takes longer than a sum.
#[derive(Clone, Copy, Debug)]
struct Slots {
    minutes: u64,
    last_us: i64,
    last: u64,
}

impl Slots {
    fn of(minutes: u64) -> Slots {
        Slots { minutes, last_us: 0, last: 0 }
    }

    /// When it begins, in minutes since the Unix epoch.
    fn begin(&mut self, time_us: i64) -> u64 {
        if time_us != self.last_us {
            let minute = count(time_us) / MINUTE_US;
            (self.last_us, self.last) = (time_us, minute - minute % self.minutes);
        }
        self.last
    }
}

/// Sums and times in a store are never negative.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PairBuilder;

    const HOUR: u64 = 60;

    /// Minute, JVM, lock, and what was blocked there. JVM 3 is on no known host.
    const ROWS: [(u64, i64, i64, i64); 9] = [
        (0, 1, 7, 5),
        (1, 1, 7, 6),
        (1, 2, 7, 1),
        (1, 3, 7, 100),
        (59, 1, 8, 4),
        (60, 2, 7, 9),
        (61, 1, 7, 2),
        (119, 2, 9, 0),
        (120, 1, 8, -3),
    ];

    fn hosts() -> Arc<Hosts> {
        // Of a host without minutes, nothing is kept.
        Arc::new(Hosts::of([(1, "b".into()), (2, "a".into()), (4, "c".into()), (5, "aa".into())]))
    }

    fn part(rows: &[(u64, i64, i64, i64)], slot_minutes: u64) -> Minutes {
        let mut part = Minutes::new(hosts(), slot_minutes);
        for (minute, jvm, site, ns) in rows {
            let time = [(*minute * MINUTE_US) as i64 + 1];
            part.blocked(Version::New, &[*jvm], &time, &[*site], &[*ns]);
            // Without load, blocked time on JVM 2 after the first hour does not count.
            if *jvm == 1 || *minute < HOUR {
                part.load(Version::New, &[*jvm], &time, &[10 + *ns], &[1]);
            }
        }
        part
    }

    #[test]
    fn sums_do_not_depend_on_order_or_parts() {
        for slot_minutes in [1, HOUR] {
            let mut builder = PairBuilder::default();
            for (minute, jvm, site, ns) in ROWS.into_iter().filter(|row| row.1 != 3) {
                let (host, slot) = (if jvm == 1 { "b" } else { "a" }, minute - minute % slot_minutes);
                builder.blocked(Version::New, host, slot, site, count(ns));
                if jvm == 1 || minute < HOUR {
                    builder.load(Version::New, host, slot, count(10 + ns), 1);
                }
            }
            let expected = builder.finish("shop", "1", "2");
            let mut backwards = ROWS;
            backwards.reverse();
            let mixed: Vec<_> = (0..ROWS.len()).map(|row| ROWS[row * 4 % ROWS.len()]).collect();
            let parts = [
                vec![part(&ROWS, slot_minutes)],
                vec![part(&backwards, slot_minutes)],
                vec![part(&mixed, slot_minutes)],
                vec![part(&ROWS[3..], slot_minutes), part(&ROWS[..3], slot_minutes)],
            ];
            for parts in parts {
                let pair = Minutes::finish(parts, "shop", "1", "2");
                assert_eq!(format!("{pair:?}"), format!("{expected:?}"));
                assert_eq!(pair.hash(), expected.hash());
            }
        }
        assert_eq!(Minutes::finish(Vec::new(), "shop", "1", "2").hosts, Vec::<String>::new());
    }

    #[test]
    fn an_hour_is_one_sum() {
        let pair = Minutes::finish(vec![part(&ROWS, HOUR)], "shop", "1", "2");
        let side = pair.side(Version::New);
        let sums = |site: i64| side.blocked[&site].iter().map(|row| (row.at.host(), row.at.minute(), row.blocked_ns));
        assert_eq!(sums(7).collect::<Vec<_>>(), [(0, 0, 1), (1, 0, 11), (1, 60, 2)]);
        assert_eq!(sums(8).collect::<Vec<_>>(), [(1, 0, 4), (1, 120, 0)]);
        assert!(!side.blocked.contains_key(&9), "{side:?}");
        assert_eq!(pair.hosts, ["a", "b"]);
    }
}
