//! Minutes of JVMs, added up to slots of hosts while they are read.
//!
//! A fleet has a hundred million minutes for a few million sums. Within a file they come in the order of time, so that
//! each lock and host has one sum that grows until the next slot begins: no minute is looked up among those sums that
//! are complete. Where minutes come in another order, as those of many small files do, a slot gets several sums. These
//! are added up whenever a list has doubled, so that it never has more than twice as many as there are slots and hosts.

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
    here: HostsHere,
    slots: Slots,
    sides: [Open; 2],
    /// Memory of the sums, in bytes.
    bytes: usize,
}

/// A number for each host that has minutes here: a service has few of the fleet's hosts.
#[derive(Debug, Default)]
struct HostsHere {
    /// By the host's place in [`Hosts`]; [`NONE`] for those without minutes.
    numbers: Vec<u32>,
    next: u32,
}

/// No place yet.
const NONE: u32 = u32::MAX;

impl HostsHere {
    fn number(&mut self, host: usize) -> usize {
        if host >= self.numbers.len() {
            self.numbers.resize(host + 1, NONE);
        }
        if self.numbers[host] == NONE {
            self.numbers[host] = self.next;
            self.next += 1;
        }
        self.numbers[host] as usize
    }
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
    /// By the number of a host: where its newest sum is, or [`NONE`].
    newest: Vec<u32>,
    sums: Vec<(At, S)>,
    /// True if a slot may have several sums.
    is_mixed: bool,
    /// How many sums there were when those of one slot were last added up.
    merged: usize,
}

/// Lists with fewer sums are not worth adding up.
const FEW: usize = 1_024;

impl<S: Copy> Growing<S> {
    /// Adds to the newest sum of a host, or begins one. Gives by how many bytes of memory it grew.
    fn add(&mut self, host: usize, at: At, more: S, sum: impl Fn(&mut S, S)) -> usize {
        let bytes = self.bytes();
        if host >= self.newest.len() {
            self.newest.resize(host + 1, NONE);
        }
        if let Some((of, grown)) = self.sums.get_mut(self.newest[host] as usize) {
            if *of == at {
                sum(grown, more);
                return 0;
            }
            self.is_mixed |= at < *of;
        }
        if self.is_mixed && self.sums.len() >= FEW.max(2 * self.merged) {
            self.merge(sum);
        }
        self.newest[host] = u32::try_from(self.sums.len()).unwrap_or(NONE);
        self.sums.push((at, more));
        self.bytes().saturating_sub(bytes)
    }

    /// Adds up the sums of one host and slot. The next minute of each host begins a sum.
    fn merge(&mut self, sum: impl Fn(&mut S, S)) {
        self.sums.sort_unstable_by_key(|(at, _)| *at);
        self.sums.dedup_by(|(at, more), (of, grown)| {
            let is_same = at == of;
            if is_same {
                sum(grown, *more);
            }
            is_same
        });
        self.newest.fill(NONE);
        self.merged = self.sums.len();
    }

    fn bytes(&self) -> usize {
        self.newest.capacity() * size_of::<u32>() + self.sums.capacity() * size_of::<(At, S)>()
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
        let (here, sides) = (HostsHere::default(), Default::default());
        Minutes { hosts, here, slots: Slots::of(slot_minutes.max(1)), sides, bytes: 0 }
    }

    /// Memory that the sums take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.here.numbers.capacity() * size_of::<u32>()
    }

    /// Running time and operations of JVMs in minutes that began at these times, in microseconds since the Unix epoch.
    pub fn load(&mut self, version: Version, jvms: &[i64], times_us: &[i64], running_ns: &[i64], operations: &[i64]) {
        let side = &mut self.sides[version as usize];
        let rows = jvms.iter().zip(times_us).zip(running_ns).zip(operations);
        for (((jvm, time_us), running_ns), operations) in rows {
            let Some(host) = self.hosts.of_jvm.get(jvm) else { continue };
            let at = At::new(*host, self.slots.begin(*time_us));
            let more = [count(*running_ns), count(*operations)];
            self.bytes += side.load.add(self.here.number(*host), at, more, |sum, more| {
                sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            });
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
            let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
            self.bytes += lock.add(self.here.number(*host), at, count(*blocked_ns), add);
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
    fn many_small_files_take_no_more_memory_than_their_slots() {
        // Each row is of another moment than the one before, back and forth between 5 slots.
        let hosts = Arc::new(Hosts::of([(1, "a".to_owned()), (2, "b".to_owned())]));
        let mut minutes = Minutes::new(hosts, 1);
        for row in 0..200_000_i64 {
            let time_us = (row * 3 % 5) * 60_000_000;
            minutes.blocked(Version::New, &[1 + row % 2], &[time_us], &[7], &[1]);
            minutes.load(Version::New, &[1 + row % 2], &[time_us], &[10], &[1]);
        }
        assert!(minutes.bytes() < 200_000, "{}", minutes.bytes());
        let pair = Minutes::finish(vec![minutes], "shop", "1", "2");
        let blocked = &pair.side(Version::New).blocked[&7];
        assert_eq!((blocked.len(), blocked.iter().map(|row| row.blocked_ns).sum::<u64>()), (10, 200_000));
    }

    #[test]
    fn other_hosts_of_the_fleet_take_no_memory_for_each_lock() {
        let hosts = Arc::new(Hosts::of((0..100_000).map(|jvm| (jvm, format!("host-{jvm:06}")))));
        let mut minutes = Minutes::new(hosts, 60);
        for site in 0..1_000 {
            minutes.blocked(Version::Old, &[99_999], &[0], &[site], &[5]);
        }
        // A list of the hosts, and a little for each lock.
        assert!(minutes.bytes() < 1_000_000, "{}", minutes.bytes());
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
