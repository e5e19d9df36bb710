//! Fleets made up at the level of hours, for measuring how often the comparison is wrong.
//!
//! Hosts are not independent of each other. All share the hour of the day, the weekend and shocks of
//! whole days and of hours that follow each other; hosts of a zone share shocks of days. Every host has
//! its speed, its own rate on each lock, days, and another rate after each start of a JVM. On top of that
//! hours vary, and a few have an incident.

use headway_regress::{Pair, PairBuilder, Version};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, Normal};

/// How the newer version came to the hosts.
#[allow(dead_code)] // tests do not have all of them
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rollout {
    /// All hosts run the older version, then the newer one.
    InTurn,
    /// As `InTurn`, but every host has another name afterwards, and is another host.
    Replaced,
    /// This part of the hosts runs the newer version, while the others run the older one.
    Canary(f64),
}

/// A fleet of one service. Deviations are those of logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    pub rollout: Rollout,
    pub hosts: usize,
    /// Days of each version.
    pub days: u64,
    /// Of a host's rate on a lock.
    pub host: f64,
    /// Of the same from one JVM to the next on that host.
    pub start: f64,
    /// Of a day, the same for all hosts and locks.
    pub day: f64,
    /// What the newer version's blocked time on one lock is multiplied by.
    pub planted: f64,
}

/// Blocked time on each lock as a part of running time.
pub const SHARES: [f64; 10] = [0.05, 0.02, 0.01, 0.005, 0.004, 0.003, 0.002, 0.002, 0.002, 0.0015];
/// The planted regression is on one of the first locks: 20 % of the others is hardly more than what is reported.
const PLANTED: usize = 2;
const ZONES: usize = 4;
const ZONE_DAY: f64 = 0.03;
const LOCK_DAY: f64 = 0.02;
const HOST_DAY: f64 = 0.1;
const HOUR: f64 = 0.05;
/// How much of a shock is still there in the next hour, and on the next day.
const NEXT_HOUR: f64 = 0.8;
const NEXT_DAY: f64 = 0.3;
/// One hour of a host and lock in so many has an incident, in which threads are blocked so much longer.
const INCIDENT: (f64, f64) = (1.0 / 1_000.0, 20.0);
/// 2026-11-02, a Monday, in days since 1970.
const FIRST_DAY: u64 = 20_759;

struct Chance(StdRng);

impl Chance {
    fn normal(&mut self, deviation: f64) -> f64 {
        Normal::new(0.0, deviation).expect("a deviation").sample(&mut self.0)
    }

    /// So many logarithms, each with its own deviation.
    fn normals(&mut self, count: usize, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| self.normal(deviation)).collect()
    }

    /// A series in which each value keeps a part of the one before.
    fn series(&mut self, count: usize, deviation: f64, kept: f64) -> Vec<f64> {
        let mut last = self.normal(deviation);
        let fresh = (1.0 - kept * kept).sqrt() * deviation;
        let mut next = || {
            let value = last;
            last = kept * value + self.normal(fresh);
            value
        };
        (0..count).map(|_| next()).collect()
    }
}

/// What all hosts and locks share.
struct Common {
    day: Vec<f64>,
    hour: Vec<f64>,
    zone_day: Vec<Vec<f64>>,
    lock_day: Vec<Vec<f64>>,
}

/// The versions' rows, and the lock that is blocked longer in the newer one.
pub fn pair(fleet: &Fleet, seed: u64) -> (Pair, i64) {
    let mut chance = Chance(StdRng::seed_from_u64(seed));
    let days = match fleet.rollout {
        Rollout::Canary(_) => fleet.days,
        _ => 2 * fleet.days,
    } as usize;
    let common = Common {
        day: chance.series(days, fleet.day, NEXT_DAY),
        hour: chance.series(days * 24, HOUR, NEXT_HOUR),
        zone_day: (0..ZONES).map(|_| chance.normals(days, ZONE_DAY)).collect(),
        lock_day: SHARES.iter().map(|_| chance.normals(days, LOCK_DAY)).collect(),
    };
    let planted = chance.0.random_range(0..PLANTED);
    let mut rows = PairBuilder::default();
    let half = fleet.days as usize;
    for host in 0..fleet.hosts {
        match fleet.rollout {
            Rollout::InTurn => {
                let habits = Habits::new(&mut chance, fleet);
                let name = format!("host-{host}");
                of_host(&mut rows, &mut chance, fleet, &common, (host, &name, &habits), 0..half, None);
                of_host(&mut rows, &mut chance, fleet, &common, (host, &name, &habits), half..days, Some(planted));
            }
            Rollout::Replaced => {
                for (name, range, planted) in [("old", 0..half, None), ("new", half..days, Some(planted))] {
                    let habits = Habits::new(&mut chance, fleet);
                    let name = format!("{name}-{host}");
                    of_host(&mut rows, &mut chance, fleet, &common, (host, &name, &habits), range, planted);
                }
            }
            Rollout::Canary(part) => {
                let planted = ((host as f64) < part * fleet.hosts as f64).then_some(planted);
                let habits = Habits::new(&mut chance, fleet);
                let name = format!("host-{host}");
                of_host(&mut rows, &mut chance, fleet, &common, (host, &name, &habits), 0..days, planted);
            }
        }
    }
    (rows.finish("shop", "1", "2"), planted as i64 + 1)
}

/// How a host differs from others, whatever it runs.
struct Habits {
    speed: f64,
    locks: Vec<f64>,
}

impl Habits {
    fn new(chance: &mut Chance, fleet: &Fleet) -> Habits {
        Habits { speed: chance.normal(0.3).exp(), locks: chance.normals(SHARES.len(), fleet.host) }
    }
}

/// Days of one JVM: of the newer version, if a lock is planted in it.
fn of_host(
    rows: &mut PairBuilder,
    chance: &mut Chance,
    fleet: &Fleet,
    common: &Common,
    (host, name, habits): (usize, &str, &Habits),
    days: std::ops::Range<usize>,
    planted: Option<usize>,
) {
    let version = if planted.is_some() { Version::New } else { Version::Old };
    let starts = chance.normals(SHARES.len(), fleet.start);
    let hourly = Gamma::new(4.0, 0.25).expect("a shape");
    for day in days {
        let host_day = chance.normal(HOST_DAY);
        for hour in 0..24 {
            let slot = day * 24 + hour;
            let minute = ((FIRST_DAY + day as u64) * 24 + hour as u64) * 60;
            let weekend = if (FIRST_DAY + day as u64 + 3) % 7 >= 5 { 0.5 } else { 1.0 };
            let daily = 1.0 - 0.6 * (std::f64::consts::TAU * (hour as f64 - 2.0) / 24.0).cos();
            let load = habits.speed * weekend * daily * chance.normal(0.05).exp();
            let running = 3.6e12 * (5.0 + 10.0 * load);
            rows.load(version, name, minute, running as u64, (360_000.0 * load) as u64);
            let shared = common.day[day] + common.hour[slot] + common.zone_day[host % ZONES][day] + host_day;
            // More load makes every operation wait longer.
            let busy = 3.6e13 * load * load.sqrt();
            for (lock, share) in SHARES.iter().enumerate() {
                let own = habits.locks[lock] + starts[lock] + common.lock_day[lock][day];
                let mut blocked = share * busy * (shared + own).exp() * hourly.sample(&mut chance.0);
                blocked *= if planted == Some(lock) { fleet.planted } else { 1.0 };
                blocked *= if chance.0.random_bool(INCIDENT.0) { INCIDENT.1 } else { 1.0 };
                rows.blocked(version, name, minute, lock as i64 + 1, blocked as u64);
            }
        }
    }
}
