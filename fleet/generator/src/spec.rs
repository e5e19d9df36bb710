//! How large a fleet is, and what is planted in it.

use headway_store::Day;

/// A fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Decides every random number.
    pub seed: u64,
    /// The first day.
    pub first: Day,
    /// Days, from the first one on.
    pub days: u32,
    /// Minutes of each day that are recorded, from midnight on.
    pub minutes: u32,
    /// Services, of very different sizes.
    pub services: u32,
    /// Versions of each service, rolled out one after the other.
    pub versions: u32,
    /// Machines.
    pub hosts: u32,
    /// JVMs at a time.
    pub jvms: u32,
    /// Locks of each service; as many more things that are waited for.
    pub sites: u32,
    /// Rows of `lock_minute` for each JVM and minute, on average.
    pub busy: f64,
    /// How much hosts differ: standard deviation of the logarithm of blocked time, for a service and version.
    pub host_spread: f64,
    /// How much days differ, all hosts of a service alike, likewise.
    pub day_spread: f64,
    /// So many services have one lock that blocks longer in the newest version.
    pub regressions: u32,
    /// So many times as long.
    pub effect: f64,
    /// So many hosts block longer, on all locks.
    pub outliers: u32,
    /// So many times as long.
    pub outlier_effect: f64,
}

impl Default for Spec {
    /// A small fleet without anything planted.
    fn default() -> Spec {
        Spec {
            seed: 1,
            // 2026-01-01.
            first: Day(20_454),
            days: 2,
            minutes: 1_440,
            services: 5,
            versions: 2,
            hosts: 10,
            jvms: 20,
            sites: 50,
            busy: 3.0,
            host_spread: 0.2,
            day_spread: 0.05,
            regressions: 0,
            effect: 1.2,
            outliers: 0,
            outlier_effect: 3.0,
        }
    }
}

impl Spec {
    /// What of it makes no sense, in a sentence.
    ///
    /// # Errors
    /// That sentence.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("days", self.days),
            ("minutes", self.minutes),
            ("services", self.services),
            ("versions", self.versions),
            ("hosts", self.hosts),
            ("sites", self.sites),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("a fleet without {name} has no rows"));
        }
        if self.minutes > 1_440 {
            return Err(format!("a day has 1440 minutes, not {}", self.minutes));
        }
        if self.jvms < self.services {
            return Err(format!("{} JVMs are too few for {} services", self.jvms, self.services));
        }
        if self.versions > self.days {
            return Err(format!("{} versions need at least as many days, not {}", self.versions, self.days));
        }
        if self.regressions > self.services || self.outliers > self.hosts {
            return Err("a service has at most one regression, and a host is an outlier once".to_owned());
        }
        if self.regressions > 0 && self.versions < 2 {
            return Err("a regression needs two versions".to_owned());
        }
        let positive =
            [("busy", self.busy, 1e4), ("effect", self.effect, 1e3), ("outlier effect", self.outlier_effect, 1e3)];
        if let Some((name, value, most)) = positive.iter().find(|(_, value, most)| !(*value > 0.0 && value <= most)) {
            return Err(format!("{name} has to be above 0 and at most {most}, not {value}"));
        }
        let spreads = [("host spread", self.host_spread), ("day spread", self.day_spread)];
        match spreads.iter().find(|(_, value)| !(0.0..=3.0).contains(value)) {
            Some((name, value)) => Err(format!("{name} has to be 0 to 3, not {value}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(Spec::default().check(), Ok(()));
        let refused = |change: fn(&mut Spec)| {
            let mut spec = Spec::default();
            change(&mut spec);
            spec.check().expect_err("refused")
        };
        assert_eq!(refused(|spec| spec.days = 0), "a fleet without days has no rows");
        assert_eq!(refused(|spec| spec.minutes = 1_441), "a day has 1440 minutes, not 1441");
        assert_eq!(refused(|spec| spec.jvms = 4), "4 JVMs are too few for 5 services");
        assert_eq!(refused(|spec| spec.versions = 3), "3 versions need at least as many days, not 2");
        assert_eq!(
            refused(|spec| spec.outliers = 11),
            "a service has at most one regression, and a host is an outlier once"
        );
        assert_eq!(refused(|spec| spec.busy = f64::NAN), "busy has to be above 0 and at most 10000, not NaN");
        assert_eq!(refused(|spec| spec.day_spread = -0.1), "day spread has to be 0 to 3, not -0.1");
    }
}
