//! Days, buckets and names of files.

use headway_rollup::identity::Hash;
use headway_rollup::rows::Rolled;
use object_store::path::Path;
use std::fmt;
use std::str::FromStr;

/// Services are kept apart in so many buckets, so that a query for one service, or its
/// deletion, need not touch the others.
pub(crate) const BUCKETS: u64 = 16;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// A day in UTC: so many since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub u32);

impl Day {
    /// The day of a time since the Unix epoch.
    pub fn of_ns(ns: u64) -> Day {
        Day((ns / DAY_NS) as u32)
    }

    /// So many days earlier.
    #[must_use]
    pub fn before(self, days: u32) -> Day {
        Day(self.0.saturating_sub(days))
    }

    /// Year, month and day (Howard Hinnant, chrono-compatible low-level date algorithms).
    fn civil(self) -> (u32, u32, u32) {
        let z = self.0 + 719_468;
        let (era, of_era) = (z / 146_097, z % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (era * 400 + year + u32::from(month <= 2), month, day)
    }

    fn from_civil(year: u32, month: u32, day: u32) -> Option<Day> {
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let y = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (y / 400, y % 400);
        let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
        let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        let found = Day(era * 146_097 + of_era - 719_468);
        // There is no 30th of February.
        (found.civil() == (year, month, day)).then_some(found)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Day {
    type Err = ();

    fn from_str(text: &str) -> Result<Day, ()> {
        let mut parts = text.split('-').map(|part| part.parse::<u32>().map_err(|_| ()));
        let mut next = || parts.next().ok_or(())?;
        let (year, month, day) = (next()?, next()?, next()?);
        Day::from_civil(year, month, day).filter(|found| found.to_string() == text).ok_or(())
    }
}

/// The bucket of a service: files of a day whose bucket is another one have no rows of it.
pub fn bucket(service: &str) -> u64 {
    Hash::of("bucket").name(service).id() as u64 % BUCKETS
}

/// `day=2026-11-25`.
pub(crate) fn day_path(day: Day) -> Path {
    Path::from(format!("day={day}"))
}

/// The day of `day=2026-11-25`.
pub(crate) fn day_of(part: &str) -> Option<Day> {
    part.strip_prefix("day=")?.parse().ok()
}

pub(crate) fn commits_path(day: Day) -> Path {
    day_path(day).join("commits")
}

pub(crate) fn commit_path(day: Day, batch: &str) -> Path {
    commits_path(day).join(format!("{batch}.json"))
}

pub(crate) fn manifests_path(day: Day) -> Path {
    day_path(day).join("manifests")
}

pub(crate) fn manifest_path(day: Day, number: u64) -> Path {
    manifests_path(day).join(format!("{number:010}.json"))
}

/// A data file. `unique` distinguishes it from all others ever written there.
pub(crate) fn data_path(day: Day, bucket: u64, table: &str, unique: &str) -> Path {
    day_path(day).join(format!("bucket={bucket:02}")).join(table).join(format!("{unique}.parquet"))
}

/// The name of a recording's batch of one day: `JVM-MINUTE-SEQUENCE`. The sequence is when
/// the recording began, which distinguishes recordings of one JVM.
pub(crate) fn batch_name(rolled: &Rolled, first_minute: u64) -> String {
    format!("{:016x}-{first_minute}-{:016x}", rolled.jvm.id, rolled.jvm.start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_and_read() {
        assert_eq!(Day(0).to_string(), "1970-01-01");
        assert_eq!(Day::of_ns(1_764_028_800_000_000_000).to_string(), "2025-11-25");
        assert_eq!("2024-02-29".parse(), Ok(Day(19_782)));
        for day in (0..200_000).step_by(37) {
            assert_eq!(Day(day).to_string().parse(), Ok(Day(day)));
        }
        for wrong in ["2023-02-29", "2024-2-29", "2024-02", "x", "2024-13-01", "2024-00-10", "2024-02-29-1"] {
            assert_eq!(wrong.parse::<Day>(), Err(()), "{wrong}");
        }
    }
}
