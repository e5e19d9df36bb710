//! How much one lock changed, and how well that is known.

use crate::design::{Arm, Plan, Timing};
use crate::resample::Random;
use crate::rows::{Blocked, Pair, Version};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Added to both rates, as a part of the smallest share that counts: a lock that one version does not
/// have at all has a logarithm, too.
const FLOOR: f64 = 0.01;
/// The same where every share counts.
const LEAST_SHARE: f64 = 1e-9;
/// A standard error of the logarithm below this is taken for this: no two hosts are so equal.
const LEAST_ERROR: f64 = 1e-6;
/// The pigeonhole bootstrap counts three times what belongs neither to hosts nor to blocks (Owen, section 4): so
/// often too much.
const SURPLUS: f64 = 2.0;
/// The power that a detectable change has.
const POWER: f64 = 0.8;

/// Draws that are computed side by side: a sum of fractions is a chain in which each addition waits for the one before,
/// and several chains fit into the same time. Each sum keeps its order, and so its last digit.
const LANES: usize = 8;

/// A number for each of some draws.
type Lanes = [f64; LANES];

/// How often hosts and blocks are drawn in each replicate, and the exposure that comes of it.
pub struct Replicates {
    groups: Vec<Group>,
    count: usize,
}

/// Some replicates: counts of each host and block of both versions. The last group may have fewer; those that it does
/// not have count nothing.
struct Group {
    hosts: [Vec<Lanes>; 2],
    blocks: [Vec<Lanes>; 2],
    exposure: [Lanes; 2],
}

/// One replicate: counts of both versions.
struct Draw {
    hosts: [Vec<f64>; 2],
    blocks: [Vec<f64>; 2],
    exposure: [f64; 2],
}

impl Replicates {
    /// Draws hosts and blocks. A replicate without exposure in a version is left out.
    pub fn draw(plan: &Plan, count: usize, seed: u64) -> Replicates {
        let mut random = Random::new(seed);
        let [old, new] = &plan.arms;
        let hosts_of = |arm: &Arm| vec![(0..arm.hosts).collect::<Vec<usize>>()];
        let host_classes = [hosts_of(old), hosts_of(new)];
        let host_classes = [&host_classes[0][..], &host_classes[1]];
        let is_shared = plan.design.timing == Timing::SameTime;
        let draw = |_| {
            let sizes = [old.hosts, new.hosts];
            let hosts = random.counts_of_both(host_classes, sizes, plan.design.paired_hosts);
            let sizes = [old.blocks, new.blocks];
            let blocks = random.counts_of_both([&old.classes, &new.classes], sizes, is_shared);
            let exposure = [exposure(old, &hosts[0], &blocks[0]), exposure(new, &hosts[1], &blocks[1])];
            Draw { hosts, blocks, exposure }
        };
        let mut draws = (0..count).map(draw).filter(|draw| draw.exposure.iter().all(|sum| *sum > 0.0));
        let mut replicates = Replicates { groups: Vec::new(), count: 0 };
        loop {
            let group: Vec<Draw> = draws.by_ref().take(LANES).collect();
            if group.is_empty() {
                return replicates;
            }
            replicates.count += group.len();
            replicates.groups.push(Group::of(plan, &group));
        }
    }
}

impl Group {
    fn of(plan: &Plan, draws: &[Draw]) -> Group {
        let empty = |units: fn(&Arm) -> usize| [0, 1].map(|v: usize| vec![[0.0; LANES]; units(&plan.arms[v])]);
        let mut group =
            Group { hosts: empty(|arm| arm.hosts), blocks: empty(|arm| arm.blocks), exposure: [[0.0; LANES]; 2] };
        for (lane, draw) in draws.iter().enumerate() {
            for version in 0..2 {
                let into = |lanes: &mut [Lanes], counts: &[f64]| {
                    lanes.iter_mut().zip(counts).for_each(|(lanes, count)| lanes[lane] = *count);
                };
                into(&mut group.hosts[version], &draw.hosts[version]);
                into(&mut group.blocks[version], &draw.blocks[version]);
                group.exposure[version][lane] = draw.exposure[version];
            }
        }
        group
    }
}

fn exposure(arm: &Arm, hosts: &[f64], blocks: &[f64]) -> f64 {
    let rows = arm.exposure.chunks(arm.blocks).zip(hosts).filter(|(_, count)| **count > 0.0);
    rows.map(|(row, count)| count * row.iter().zip(blocks).map(|(sum, count)| sum * count).sum::<f64>()).sum()
}

/// A lock's blocked time in one version: only hosts and blocks that have some.
#[derive(Debug, Default)]
struct Cells {
    cells: Vec<(usize, usize, f64)>,
    total: f64,
}

impl Cells {
    fn of(arm: &Arm, rows: &[Blocked]) -> Cells {
        let mut sums: Vec<(usize, usize, f64)> = Vec::new();
        for row in rows.iter().filter(|row| row.blocked_ns > 0) {
            let Some((host, block, factor)) = arm.place(row.at) else { continue };
            let blocked = factor * row.blocked_ns as f64;
            match sums.last_mut() {
                Some(last) if (last.0, last.1) == (host, block) => last.2 += blocked,
                _ => sums.push((host, block, blocked)),
            }
        }
        let total = sums.iter().map(|cell| cell.2).sum();
        Cells { cells: sums, total }
    }

    /// The blocked time in each of some draws.
    fn drawn(&self, hosts: &[Lanes], blocks: &[Lanes]) -> Lanes {
        let mut sums = [0.0; LANES];
        for (host, block, blocked) in &self.cells {
            let (hosts, blocks) = (&hosts[*host], &blocks[*block]);
            for lane in 0..LANES {
                sums[lane] += hosts[lane] * blocks[lane] * blocked;
            }
        }
        sums
    }
}

/// Rates of both versions on one lock.
#[derive(Debug)]
pub struct Lock<'a> {
    plan: &'a Plan,
    cells: [Cells; 2],
    /// Blocked nanoseconds per unit of exposure.
    pub rates: [f64; 2],
    /// Blocked time per running time.
    pub shares: [f64; 2],
}

/// The logarithm of new over old.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The logarithm.
    pub log_ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl<'a> Lock<'a> {
    pub fn new(pair: &Pair, plan: &'a Plan, site: i64) -> Lock<'a> {
        let cells = Version::BOTH.map(|version| {
            let rows = pair.side(version).blocked.get(&site).map_or(&[][..], Vec::as_slice);
            Cells::of(&plan.arms[version as usize], rows)
        });
        let over = |divisor: fn(&Arm) -> f64| [0, 1].map(|v: usize| ratio(cells[v].total, divisor(&plan.arms[v])));
        let (rates, shares) = (over(|arm| arm.total), over(|arm| arm.running));
        Lock { plan, cells, rates, shares }
    }

    /// What both rates are raised by before their logarithms are taken.
    fn floor(&self, min_share: f64) -> f64 {
        let share = (FLOOR * min_share).max(LEAST_SHARE);
        let [old, new] = &self.plan.arms;
        share * ratio(old.running + new.running, old.total + new.total)
    }

    /// The change with its standard error, from the replicates.
    pub fn estimate(&self, replicates: &Replicates, min_share: f64) -> Estimate {
        let floor = self.floor(min_share);
        let log_ratio = ((self.rates[1] + floor) / (self.rates[0] + floor)).ln();
        let mut logs: Vec<f64> = Vec::with_capacity(replicates.count);
        for group in &replicates.groups {
            let drawn = [0, 1].map(|v: usize| self.cells[v].drawn(&group.hosts[v], &group.blocks[v]));
            let rate = |version: usize, lane: usize| drawn[version][lane] / group.exposure[version][lane];
            let lanes = LANES.min(replicates.count - logs.len());
            logs.extend((0..lanes).map(|lane| ((rate(1, lane) + floor) / (rate(0, lane) + floor)).ln()));
        }
        let [hosts, blocks] = self.parts(floor);
        let of_blocks: f64 = blocks.iter().map(|part| part.variance).sum();
        let all = variance_of(&logs);
        let drawn = (all - SURPLUS * self.chance(floor)).max(all / (1.0 + SURPLUS));
        let error = (drawn + (self.plan.persistence() - 1.0) * of_blocks).sqrt();
        let freedom =
            freedom(hosts.into_iter().chain(blocks.into_iter().map(|part| part.times(self.plan.persistence()))));
        Estimate { log_ratio, error: error.max(LEAST_ERROR), freedom }
    }

    /// The variances of hosts and of blocks.
    fn parts(&self, floor: f64) -> [Vec<Part>; 2] {
        let arms = &self.plan.arms;
        let hosts = [0, 1].map(|version: usize| self.units(version, floor, |cell| cell.0, arms[version].hosts));
        let blocks = [0, 1].map(|version: usize| self.units(version, floor, |cell| cell.1, arms[version].blocks));
        let all = |version: usize| vec![(0..arms[version].hosts).collect::<Vec<usize>>()];
        let is_shared = self.plan.design.timing == Timing::SameTime;
        [
            variances(&hosts, [&all(0), &all(1)], self.plan.design.paired_hosts),
            variances(&blocks, [&arms[0].classes, &arms[1].classes], is_shared),
        ]
    }

    /// The part of the variance that belongs neither to hosts nor to blocks: influences of cells without the means
    /// of their host and block.
    fn chance(&self, floor: f64) -> f64 {
        (0..2).map(|version| self.chance_of(version, floor)).sum()
    }

    fn chance_of(&self, version: usize, floor: f64) -> f64 {
        let (arm, cells) = (&self.plan.arms[version], &self.cells[version]);
        let mut influences: Vec<f64> = arm.exposure.iter().map(|exposure| -self.rates[version] * exposure).collect();
        for (host, block, blocked) in &cells.cells {
            influences[host * arm.blocks + block] += blocked;
        }
        let (hosts, blocks) = (arm.hosts as f64, arm.blocks as f64);
        let mut of_block = vec![0.0; arm.blocks];
        let mut squares = 0.0;
        for row in influences.chunks(arm.blocks) {
            let mean = row.iter().sum::<f64>() / blocks;
            of_block.iter_mut().zip(row).for_each(|(sum, influence)| *sum += (influence - mean) / hosts);
        }
        for row in influences.chunks(arm.blocks) {
            let mean = row.iter().sum::<f64>() / blocks;
            squares +=
                row.iter().zip(&of_block).map(|(influence, block)| (influence - mean - block).powi(2)).sum::<f64>();
        }
        let bessel = hosts * blocks / ((hosts - 1.0) * (blocks - 1.0)).max(1.0);
        ratio(squares * bessel, (arm.total * (self.rates[version] + floor)).powi(2))
    }

    /// Blocked time of each host or block, and its influence on the logarithm of the version's rate.
    fn units(&self, version: usize, floor: f64, unit: fn((usize, usize)) -> usize, count: usize) -> Units {
        let (arm, cells) = (&self.plan.arms[version], &self.cells[version]);
        let mut sums = vec![(0.0, 0.0); count];
        for (index, exposure) in arm.exposure.iter().enumerate() {
            sums[unit((index / arm.blocks, index % arm.blocks))].1 -= self.rates[version] * exposure;
        }
        for (host, block, blocked) in &cells.cells {
            let sum = &mut sums[unit((*host, *block))];
            sum.0 += blocked;
            sum.1 += blocked;
        }
        let scale = arm.total * (self.rates[version] + floor);
        sums.into_iter().map(|(blocked, influence)| (ratio(blocked, cells.total), ratio(influence, scale))).collect()
    }
}

/// A variance and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    variance: f64,
    freedom: f64,
}

impl Part {
    fn times(self, factor: f64) -> Part {
        Part { variance: factor * self.variance, ..self }
    }
}

/// Degrees of freedom of a sum of variances (Satterthwaite). Without variance, the smallest counts.
fn freedom(parts: impl Iterator<Item = Part>) -> f64 {
    let (mut sum, mut weighted, mut least) = (0.0, 0.0, f64::INFINITY);
    for Part { variance, freedom } in parts {
        sum += variance;
        weighted += variance * variance / freedom;
        least = freedom.min(least);
    }
    match weighted > 0.0 {
        true => sum * sum / weighted,
        false => least,
    }
}

/// One variance where units are shared by both versions, else one for each.
fn variances(units: &[Units; 2], classes: [&[Vec<usize>]; 2], is_shared: bool) -> Vec<Part> {
    match is_shared {
        true => {
            let both = units[0].iter().zip(&units[1]).map(|(old, new)| (old.0 + new.0, new.1 - old.1)).collect();
            vec![part(&both, classes[0])]
        }
        false => [0, 1].map(|version: usize| part(&units[version], classes[version])).to_vec(),
    }
}

/// The variance of a sum of influences, from their deviations within classes. As many units count for its degrees
/// of freedom as share the blocked time if they had equal parts of it.
fn part(units: &Units, classes: &[Vec<usize>]) -> Part {
    let mut variance = 0.0;
    for members in classes {
        let count = members.len() as f64;
        let mean = members.iter().map(|unit| units[*unit].1).sum::<f64>() / count.max(1.0);
        let squares: f64 = members.iter().map(|unit| (units[*unit].1 - mean).powi(2)).sum();
        variance += squares * count / (count - 1.0).max(1.0);
    }
    let (sum, squares) =
        units.iter().fold((0.0, 0.0), |(sum, squares), unit| (sum + unit.0, squares + unit.0 * unit.0));
    let carrying = if squares > 0.0 { sum * sum / squares } else { units.len() as f64 };
    Part { variance, freedom: (carrying - classes.len() as f64).max(1.0) }
}

/// Shares of blocked time and influences of hosts or blocks.
type Units = Vec<(f64, f64)>;

impl Estimate {
    /// Student's t for the error.
    fn t(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }

    /// Probability of so large a change, in either direction, if there is none.
    pub fn p(&self) -> f64 {
        let t = (self.log_ratio / self.error).abs();
        self.t().map_or(1.0, |distribution| (2.0 * distribution.sf(t)).min(1.0))
    }

    /// The interval that covers the logarithm 95 times of 100.
    pub fn ci95(&self) -> [f64; 2] {
        let wide = self.t().map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(0.975) * self.error);
        [self.log_ratio - wide, self.log_ratio + wide]
    }

    /// The smallest logarithm that would have been called a regression with a probability of 80 %, if its
    /// p-value has to be below `threshold` and its estimate above `least`.
    pub fn detectable(&self, threshold: f64, least: f64) -> f64 {
        let Some(distribution) = self.t() else { return f64::INFINITY };
        let quantile = |p: f64| distribution.inverse_cdf(p) * self.error;
        let significant = quantile(1.0 - threshold / 2.0);
        significant.max(least) + quantile(POWER)
    }
}

fn ratio(value: f64, divisor: f64) -> f64 {
    if divisor > 0.0 {
        value / divisor
    } else {
        0.0
    }
}

fn variance_of(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::INFINITY;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let estimate = Estimate { log_ratio: 0.5, error: 0.1, freedom: 10.0 };
        // t(10): 97.5 % 2.228, 99.95 % 4.587, 80 % 0.879.
        let [low, high] = estimate.ci95();
        assert!((low - (0.5 - 0.2228)).abs() < 1e-4 && (high - (0.5 + 0.2228)).abs() < 1e-4, "{low} {high}");
        assert!((estimate.p() - 0.000_537).abs() < 2e-6, "{}", estimate.p());
        assert!((estimate.detectable(0.001, 0.0) - 0.5466).abs() < 1e-3, "{}", estimate.detectable(0.001, 0.0));
        assert!((estimate.detectable(0.001, 0.6) - 0.6879).abs() < 1e-3);
        let far = Estimate { log_ratio: 3.0, ..estimate };
        assert!(far.p() > 0.0 && far.p() < 1e-9, "{}", far.p());
        let none = Estimate { log_ratio: 0.0, ..estimate };
        assert!((none.p() - 1.0).abs() < 1e-12);
    }
}
