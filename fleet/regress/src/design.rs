//! What is compared with what, before anything is known of any lock.
//!
//! Everything here is decided from load alone (hosts, times, operations, running time), so that no choice
//! can favour a result.

use crate::rows::{At, Load, Pair, Version};
use foldhash::{HashMap, HashMapExt};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Fewer hosts than this in a version are no sample.
pub const FEWEST_HOSTS: usize = 3;
/// Fewer blocks of time than this are none either.
pub const FEWEST_BLOCKS: usize = 3;
/// Blocks are as long as possible while there are so many in each version.
const ENOUGH_BLOCKS: usize = 4;
/// A day in minutes.
const DAY: u64 = 24 * 60;
/// Lengths of a block in minutes, longest first.
const BLOCKS: [u64; 5] = [DAY, 6 * 60, 60, 10, 1];
/// Part of a version's exposure that a choice may leave out at most.
const MAJORITY: f64 = 0.5;
/// Part of the running time whose operations must be recorded to divide by them.
const RECORDED: f64 = 0.95;
/// Part of the newer version's exposure in hours that both versions have.
const MATCHED: f64 = 0.8;
/// The same of the older version, which may have run much longer.
const MATCHED_OLD: f64 = 0.2;

/// What blocked time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// An operation.
    Operation,
    /// A second of running time, because operations are not recorded in both versions.
    RunningSecond,
}

/// When the versions ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// At the same time, on different hosts or processes: what changes load changes both.
    SameTime,
    /// One after the other: a change of load that lasts as long as a version looks like the version.
    InTurn,
}

/// Which hours are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    /// Each slot of time with itself.
    Slot,
    /// Equal hours of the day (UTC), weekends apart.
    HourOfWeek,
    /// Equal hours of the day (UTC).
    HourOfDay,
    /// Any time with any time: the versions have too few hours in common.
    Nothing,
}

/// Why versions cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Unusable {
    /// No running time is recorded in one of them.
    NoRunningTime,
    /// One of them ran on too few hosts.
    TooFewHosts {
        /// Hosts of the older version.
        old: usize,
        /// Hosts of the newer version.
        new: usize,
    },
    /// One of them ran for too short a time.
    TooShort,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::NoRunningTime => f.write_str("a version has no recorded running time"),
            Unusable::TooFewHosts { old, new } => {
                write!(
                    f,
                    "too few hosts: {old} with the old version, {new} with the new one; each needs {FEWEST_HOSTS}"
                )
            }
            Unusable::TooShort => write!(f, "a version ran for less than {FEWEST_BLOCKS} minutes"),
        }
    }
}

/// What was compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// What blocked time is divided by.
    pub unit: Unit,
    /// When the versions ran.
    pub timing: Timing,
    /// Which hours are compared with each other.
    pub matched: Matched,
    /// True if every host ran both versions.
    pub paired_hosts: bool,
    /// Hosts of the older version that count.
    pub old_hosts: usize,
    /// Hosts of the newer version that count.
    pub new_hosts: usize,
    /// Hosts that do not count: most hosts ran both versions, and these did not.
    pub hosts_left_out: usize,
    /// Length of a block of time.
    pub block_minutes: u64,
    /// Blocks of the older version.
    pub old_blocks: usize,
    /// Blocks of the newer version.
    pub new_blocks: usize,
}

/// Exposure of a version by host and block.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub hosts: usize,
    pub blocks: usize,
    /// Exposure, one row of blocks after the other for each host, weighted so that both versions have the
    /// same exposure in each matched hour.
    pub exposure: Vec<f64>,
    /// Sum of it.
    pub total: f64,
    /// Running time in nanoseconds, weighted likewise.
    pub running: f64,
    /// Blocks that are drawn together: see [`classes`].
    pub classes: Vec<Vec<usize>>,
    host_of: Vec<Option<usize>>,
    /// Block and weight of each slot that the version ran in, if it counts.
    slots: HashMap<u64, (usize, f64)>,
}

impl Arm {
    /// Where a row belongs, and its weight; `None` if it does not count.
    pub fn place(&self, at: At) -> Option<(usize, usize, f64)> {
        let (block, factor) = self.slots.get(&at.minute())?;
        Some(((*self.host_of.get(at.host())?)?, *block, *factor))
    }
}

/// The design with both versions' exposure.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub design: Design,
    pub arms: [Arm; 2],
}

impl Plan {
    /// What the variance of blocks is multiplied by where versions ran in turn, because times that follow each other
    /// are alike: a third of a day's deviation is taken to be there on the next day, which doubles the variance of a
    /// mean of many days. Shorter blocks share their day, which no block shows.
    pub fn persistence(&self) -> f64 {
        match (self.design.timing, self.design.block_minutes) {
            (Timing::SameTime, _) => 1.0,
            (Timing::InTurn, DAY..) => 2.0,
            (Timing::InTurn, 360..) => 8.0,
            (Timing::InTurn, _) => 16.0,
        }
    }
}

impl Matched {
    /// Slots that are compared with each other have the same number.
    fn stratum(self, minute: u64) -> u64 {
        let hour = minute / 60 % 24;
        match self {
            Matched::Slot => minute,
            Matched::HourOfWeek => hour + if is_weekend(minute) { 24 } else { 0 },
            Matched::HourOfDay => hour,
            Matched::Nothing => 0,
        }
    }
}

/// Saturday or Sunday (UTC); the first of January 1970 was a Thursday.
fn is_weekend(minute: u64) -> bool {
    (minute / DAY + 3) % 7 >= 5
}

impl Unit {
    fn exposure(self, load: &Load) -> f64 {
        match self {
            Unit::Operation => load.operations as f64,
            Unit::RunningSecond => load.running_ns as f64,
        }
    }

    /// Operations, if nearly all running time of both versions is on hosts that record them.
    fn of(pair: &Pair) -> Unit {
        let is_recorded = |version| {
            let load = &pair.side(version).load;
            let hosts: BTreeSet<usize> =
                load.iter().filter(|row| row.operations > 0).map(|row| row.at.host()).collect();
            let sum = |rows: &mut dyn Iterator<Item = &Load>| rows.map(|row| row.running_ns as f64).sum::<f64>();
            let covered = sum(&mut load.iter().filter(|row| hosts.contains(&row.at.host())));
            !hosts.is_empty() && covered >= RECORDED * sum(&mut load.iter())
        };
        match Version::BOTH.into_iter().all(is_recorded) {
            true => Unit::Operation,
            false => Unit::RunningSecond,
        }
    }
}

/// Rows of both versions that still count.
type Rows<'a> = [Vec<&'a Load>; 2];

/// Decides what is compared with what.
///
/// # Errors
/// The versions cannot be compared.
pub(crate) fn plan(pair: &Pair) -> Result<Plan, Unusable> {
    let unit = Unit::of(pair);
    let exposed = |version| pair.side(version).load.iter().filter(|row| unit.exposure(row) > 0.0).collect();
    let rows: Rows<'_> = Version::BOTH.map(exposed);
    if rows.iter().any(Vec::is_empty) {
        return Err(Unusable::NoRunningTime);
    }
    let before = hosts(&rows[0]).union(&hosts(&rows[1])).count();
    let (timing, matched, rows) = matched_hours(rows, unit);
    let (paired_hosts, rows) = paired(rows, unit);
    let [old_hosts, new_hosts] = [hosts(&rows[0]), hosts(&rows[1])];
    if old_hosts.len().min(new_hosts.len()) < FEWEST_HOSTS {
        return Err(Unusable::TooFewHosts { old: old_hosts.len(), new: new_hosts.len() });
    }
    let hosts_left_out = before - old_hosts.union(&new_hosts).count();
    let block_minutes = block_minutes(&rows, timing)?;
    let factors = factors(&rows, unit, matched);
    let arm = |version: Version| {
        let ran = &pair.side(version).load;
        arm(&rows, version, ran, unit, matched, block_minutes, &factors[version as usize], timing)
    };
    let arms = Version::BOTH.map(arm);
    let design = Design {
        unit,
        timing,
        matched,
        paired_hosts,
        old_hosts: arms[0].hosts,
        new_hosts: arms[1].hosts,
        hosts_left_out,
        block_minutes,
        old_blocks: arms[0].blocks,
        new_blocks: arms[1].blocks,
    };
    Ok(Plan { design, arms })
}

fn hosts(rows: &[&Load]) -> BTreeSet<usize> {
    rows.iter().map(|row| row.at.host()).collect()
}

fn exposure(rows: &[&Load], unit: Unit) -> f64 {
    rows.iter().map(|row| unit.exposure(row)).sum()
}

/// The part of each version's exposure that rows of the same version keep.
fn kept(some: &Rows<'_>, all: &Rows<'_>, unit: Unit) -> [f64; 2] {
    [0, 1].map(|version| exposure(&some[version], unit) / exposure(&all[version], unit))
}

/// Rows in hours that both versions have.
fn common<'a>(rows: &Rows<'a>, matched: Matched) -> Rows<'a> {
    let strata =
        |rows: &[&Load]| -> BTreeSet<u64> { rows.iter().map(|row| matched.stratum(row.at.minute())).collect() };
    let [old, new] = [strata(&rows[0]), strata(&rows[1])];
    let is_common = |row: &&&Load| {
        let stratum = matched.stratum(row.at.minute());
        old.contains(&stratum) && new.contains(&stratum)
    };
    [0, 1].map(|version: usize| rows[version].iter().filter(is_common).copied().collect())
}

/// The same time if the versions have enough of it in common, else equal hours.
fn matched_hours(rows: Rows<'_>, unit: Unit) -> (Timing, Matched, Rows<'_>) {
    let at_once = common(&rows, Matched::Slot);
    let is_long = block_minutes(&at_once, Timing::SameTime).is_ok_and(|length| {
        blocks(&at_once[0], length).len() >= ENOUGH_BLOCKS // of both versions, which have the same slots
    });
    if is_long && kept(&at_once, &rows, unit)[1] >= MAJORITY {
        return (Timing::SameTime, Matched::Slot, at_once);
    }
    for matched in [Matched::HourOfWeek, Matched::HourOfDay] {
        let equal = common(&rows, matched);
        let [old, new] = kept(&equal, &rows, unit);
        if new >= MATCHED && old >= MATCHED_OLD {
            return (Timing::InTurn, matched, equal);
        }
    }
    (Timing::InTurn, Matched::Nothing, rows)
}

/// Only hosts that ran both versions, if they are the larger part of both.
fn paired(rows: Rows<'_>, unit: Unit) -> (bool, Rows<'_>) {
    let [old, new] = [hosts(&rows[0]), hosts(&rows[1])];
    let both: BTreeSet<usize> = old.intersection(&new).copied().collect();
    let of_both = [0, 1]
        .map(|version: usize| rows[version].iter().filter(|row| both.contains(&row.at.host())).copied().collect());
    let is_majority = kept(&of_both, &rows, unit).iter().all(|part| *part >= MAJORITY);
    match both.len() >= FEWEST_HOSTS && is_majority {
        true => (true, of_both),
        false => (false, rows),
    }
}

fn blocks(rows: &[&Load], length: u64) -> BTreeSet<u64> {
    rows.iter().map(|row| row.at.minute() / length).collect()
}

/// The longest blocks of which there are enough in each version.
fn block_minutes(rows: &Rows<'_>, timing: Timing) -> Result<u64, Unusable> {
    let fewest = |length: u64| match timing {
        Timing::SameTime => blocks(&rows[0], length).union(&blocks(&rows[1], length)).count(),
        Timing::InTurn => blocks(&rows[0], length).len().min(blocks(&rows[1], length).len()),
    };
    let enough = BLOCKS.into_iter().find(|length| fewest(*length) >= ENOUGH_BLOCKS);
    let length = enough.or_else(|| BLOCKS.into_iter().find(|length| fewest(*length) >= FEWEST_BLOCKS));
    length.ok_or(Unusable::TooShort)
}

/// By version and stratum, what exposure is multiplied by so that both versions have the same in each
/// stratum: the harmonic mean of both, which lets hours count in which both versions have much.
fn factors(rows: &Rows<'_>, unit: Unit, matched: Matched) -> [BTreeMap<u64, f64>; 2] {
    let sums: [BTreeMap<u64, f64>; 2] = [0, 1].map(|version: usize| {
        let mut sums = BTreeMap::new();
        for row in &rows[version] {
            *sums.entry(matched.stratum(row.at.minute())).or_default() += unit.exposure(row);
        }
        sums
    });
    let mut factors = [BTreeMap::new(), BTreeMap::new()];
    for (stratum, old) in &sums[0] {
        if let Some(new) = sums[1].get(stratum) {
            factors[0].insert(*stratum, new / (old + new));
            factors[1].insert(*stratum, old / (old + new));
        }
    }
    factors
}

/// Divides blocks into classes within which they are drawn: workdays and weekends, times of the day. What
/// differs between these by habit is no chance, since both versions have the same part of each. Versions that
/// ran at the same time share their blocks, and habits with them. A class of one block is joined to others.
fn classes(block_of: &BTreeMap<u64, usize>, matched: Matched, block_minutes: u64) -> Vec<Vec<usize>> {
    let mut classes: BTreeMap<(bool, u64), Vec<usize>> = BTreeMap::new();
    for (number, index) in block_of {
        let minute = number * block_minutes;
        let class = match matched {
            Matched::HourOfWeek => (is_weekend(minute), minute % DAY),
            Matched::HourOfDay => (false, minute % DAY),
            Matched::Slot | Matched::Nothing => (false, 0),
        };
        classes.entry(class).or_default().push(*index);
    }
    let (mut classes, single): (Vec<_>, Vec<_>) = classes.into_values().partition(|blocks| blocks.len() > 1);
    let rest: Vec<usize> = single.into_iter().flatten().collect();
    match (rest.len(), classes.last_mut()) {
        (0, _) => {}
        (1, Some(last)) => last.extend(rest),
        _ => classes.push(rest),
    }
    classes
}

/// Adds up a version's exposure. Hosts and blocks that both versions share have the same index in both.
#[allow(clippy::too_many_arguments)] // each decides something else
fn arm(
    rows: &Rows<'_>,
    version: Version,
    ran: &[Load],
    unit: Unit,
    matched: Matched,
    block_minutes: u64,
    factor: &BTreeMap<u64, f64>,
    timing: Timing,
) -> Arm {
    let own = &rows[version as usize];
    let own_blocks: BTreeSet<u64> = match timing {
        Timing::SameTime => blocks(&rows[0], block_minutes).union(&blocks(&rows[1], block_minutes)).copied().collect(),
        Timing::InTurn => blocks(own, block_minutes),
    };
    let own_hosts = hosts(own);
    let mut host_of = vec![None; own_hosts.last().map_or(0, |last| last + 1)];
    own_hosts.iter().enumerate().for_each(|(index, host)| host_of[*host] = Some(index));
    let block_of: BTreeMap<u64, usize> = own_blocks.into_iter().zip(0..).collect();
    let (hosts, blocks) = (own_hosts.len(), block_of.len());
    let classes = classes(&block_of, matched, block_minutes);
    // Found once for each slot, not for each row.
    let mut slots = HashMap::new();
    for minute in ran.iter().map(|row| row.at.minute()) {
        if let (Some(block), Some(factor)) =
            (block_of.get(&(minute / block_minutes)), factor.get(&matched.stratum(minute)))
        {
            slots.entry(minute).or_insert((*block, *factor));
        }
    }
    let exposure = vec![0.0; hosts * blocks];
    let (total, running) = (0.0, 0.0);
    let mut arm = Arm { hosts, blocks, exposure, total, running, classes, host_of, slots };
    for row in own {
        if let Some((host, block, factor)) = arm.place(row.at) {
            let exposure = factor * unit.exposure(row);
            arm.exposure[host * blocks + block] += exposure;
            arm.total += exposure;
            arm.running += factor * row.running_ns as f64;
        }
    }
    arm
}
