//! The CPU quota of the control group that the process is in, and of those
//! around it, in both versions of control groups.
//!
//! A quota lets a group run for so long in each period; when it is used up, the
//! group's threads are held back until the next period begins. The kernel adds
//! up per CPU for how long that was, so the sum can exceed the elapsed time.

use crate::root::{text_of, HostError, Root};
use procfs_core::process::{MountInfo, MountInfos};
use procfs_core::{FromBufRead, ProcessCGroups};
use std::path::{Component, Path, PathBuf};

/// Groups looked at, from the innermost outwards.
const MAX_LEVELS: usize = 16;

/// Counters of a group since it began, or their difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// CPU time allowed in a period; 0 if there is no limit.
    pub quota_ns: u64,
    /// Length of a period.
    pub period_ns: u64,
    /// Periods that began while threads of the group wanted to run.
    pub periods: u64,
    /// Periods that the quota cut short.
    pub throttled_periods: u64,
    /// For how long, all CPUs added up.
    pub throttled_ns: u64,
    /// CPU time of the group; 0 where unknown.
    pub used_ns: u64,
}

impl Quota {
    fn since(self, earlier: Quota) -> Quota {
        Quota {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_periods: self.throttled_periods.saturating_sub(earlier.throttled_periods),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
            used_ns: self.used_ns.saturating_sub(earlier.used_ns),
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where the process's control groups are.
#[derive(Clone, Debug)]
pub struct ControlGroup {
    version: Version,
    /// The group's directory and those around it that have a CPU controller,
    /// innermost first.
    levels: Vec<PathBuf>,
    /// Where version 1 reports the group's CPU time, by level.
    used: Vec<Option<PathBuf>>,
}

impl ControlGroup {
    /// Finds the process's group; `None` if no controller of CPU time is mounted
    /// where it can be seen.
    ///
    /// # Errors
    /// The lists of mounts or groups cannot be read.
    pub fn find(root: &Root) -> Result<Option<ControlGroup>, HostError> {
        const MOUNTS: &str = "/proc/self/mountinfo";
        const GROUPS: &str = "/proc/self/cgroup";
        let (mounts, groups) = (root.read(MOUNTS)?, root.read(GROUPS)?);
        let mounts =
            MountInfos::from_buf_read(mounts.as_bytes()).map_err(|_| root.garbled(MOUNTS, "list of mounts"))?;
        let groups = ProcessCGroups::from_buf_read(groups.as_bytes()).map_err(|_| root.garbled(GROUPS, "list"))?;
        let place = |version, controller: &str| {
            let named = |name: &String| name == controller;
            let group = groups.0.iter().find(|group| match version {
                Version::One => group.controllers.iter().any(named),
                Version::Two => group.hierarchy == 0,
            })?;
            let mount = mounts.0.iter().find(|mount| is_mount_of(mount, version, controller))?;
            Some(directory(root, mount, &group.pathname))
        };
        let stat = |directory: &PathBuf| directory.join("cpu.stat").is_file();
        let v1 = place(Version::One, "cpu");
        let (version, place) = match (v1, place(Version::Two, "cpu")) {
            (Some(one), _) => (Version::One, one),
            (None, Some(two)) => (Version::Two, two),
            (None, None) => return Ok(None),
        };
        let levels: Vec<PathBuf> = place.levels().filter(stat).collect();
        let used = match version {
            Version::One => used_levels(&place, self::v1_used(root, &mounts, &groups), levels.len()),
            Version::Two => vec![None; levels.len()],
        };
        Ok((!levels.is_empty()).then_some(ControlGroup { version, levels, used }))
    }

    /// The counters of every level, innermost first. A level that cannot be
    /// read any more has none.
    pub fn read(&self) -> Vec<Option<Quota>> {
        let read = |path: PathBuf| text_of(&path).unwrap_or_default();
        let level = |(directory, used): (&PathBuf, &Option<PathBuf>)| {
            let stat = read(directory.join("cpu.stat"));
            match self.version {
                Version::One => v1(&stat, &|file| read(directory.join(file)), used.as_ref().map(|p| read(p.clone()))),
                Version::Two => v2(&stat, &read(directory.join("cpu.max"))),
            }
        };
        self.levels.iter().zip(&self.used).map(level).collect()
    }
}

/// What the level that held threads back most did since `earlier`; `None` if no
/// level has a limit.
pub fn since(now: &[Option<Quota>], earlier: &[Option<Quota>]) -> Option<Quota> {
    let levels = now.iter().zip(earlier).filter_map(|(now, then)| Some((*now)?.since((*then)?)));
    let limited = levels.filter(|quota| quota.quota_ns > 0 || quota.throttled_ns > 0);
    // Of equals the innermost.
    limited.reduce(|best, level| if level.throttled_ns > best.throttled_ns { level } else { best })
}

struct GroupPath {
    mount: PathBuf,
    below: PathBuf,
}

impl GroupPath {
    /// The group's directory, and those around it up to the mount.
    fn levels(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.below.ancestors().take(MAX_LEVELS).map(|below| self.mount.join(below))
    }
}

fn is_mount_of(mount: &MountInfo, version: Version, controller: &str) -> bool {
    match version {
        Version::Two => mount.fs_type == "cgroup2",
        Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key(controller),
    }
}

/// The directory of a group. A mount may show a part of the tree only, and a
/// container's view of its own path may lie outside of it: then the mount is
/// all that can be seen of the group.
fn directory(root: &Root, mount: &MountInfo, group: &str) -> GroupPath {
    let mount_point = root.path(&mount.mount_point.to_string_lossy());
    let below = Path::new(group).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    let below = if plain && mount_point.join(below).is_dir() { below } else { Path::new("") };
    GroupPath { mount: mount_point, below: below.to_owned() }
}

fn v1_used(root: &Root, mounts: &MountInfos, groups: &ProcessCGroups) -> Option<GroupPath> {
    let group = groups.0.iter().find(|group| group.controllers.iter().any(|name| name == "cpuacct"))?;
    let mount = mounts.0.iter().find(|mount| is_mount_of(mount, Version::One, "cpuacct"))?;
    Some(directory(root, mount, &group.pathname))
}

/// The files with the CPU time of the same levels, where the two controllers
/// have the process in groups of the same path.
fn used_levels(place: &GroupPath, used: Option<GroupPath>, count: usize) -> Vec<Option<PathBuf>> {
    let same = used.filter(|used| used.below == place.below);
    match same {
        Some(used) => used.levels().take(count).map(|level| Some(level.join("cpuacct.usage"))).collect(),
        None => vec![None; count],
    }
}

fn field(stat: &str, name: &str) -> Option<u64> {
    let value = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value?.trim().parse().ok()
}

const US: u64 = 1_000;

fn v2(stat: &str, max: &str) -> Option<Quota> {
    let mut limit = max.split_ascii_whitespace();
    // `max` is no number, and no limit.
    let quota = limit.next().and_then(|quota| quota.parse::<u64>().ok()).unwrap_or(0);
    let period = limit.next().and_then(|period| period.parse::<u64>().ok()).unwrap_or(0);
    Some(Quota {
        quota_ns: quota.saturating_mul(US),
        period_ns: period.saturating_mul(US),
        // The outermost group has times only.
        periods: field(stat, "nr_periods").unwrap_or(0),
        throttled_periods: field(stat, "nr_throttled").unwrap_or(0),
        throttled_ns: field(stat, "throttled_usec").unwrap_or(0).saturating_mul(US),
        used_ns: field(stat, "usage_usec")?.saturating_mul(US),
    })
}

fn v1(stat: &str, read: &dyn Fn(&str) -> String, used: Option<String>) -> Option<Quota> {
    let number = |file: &str| read(file).trim().parse::<i64>().ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    Some(Quota {
        quota_ns: number("cpu.cfs_quota_us").saturating_mul(US),
        period_ns: number("cpu.cfs_period_us").saturating_mul(US),
        periods: field(stat, "nr_periods")?,
        throttled_periods: field(stat, "nr_throttled")?,
        throttled_ns: field(stat, "throttled_time")?,
        used_ns: used.and_then(|used| used.trim().parse().ok()).unwrap_or(0),
    })
}
