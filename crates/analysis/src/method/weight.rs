//! What calling contexts are weighted by.

use serde::Serialize;
use std::ops::AddAssign;

/// Time and number of samples (or of parts of contentions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weight {
    /// Time that they stand for; 0 where the recording does not say.
    pub ns: u64,
    /// How many.
    pub count: u64,
}

impl Weight {
    /// One sample.
    pub const fn sample(ns: u64) -> Weight {
        Weight { ns, count: 1 }
    }

    /// True if there is neither time nor a sample.
    pub const fn is_zero(self) -> bool {
        self.ns == 0 && self.count == 0
    }

    /// The number that counts.
    pub const fn in_unit(self, unit: Unit) -> u64 {
        match unit {
            Unit::Nanoseconds => self.ns,
            Unit::Samples => self.count,
        }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.ns = self.ns.saturating_add(other.ns);
        self.count = self.count.saturating_add(other.count);
    }
}

/// Which value of a [`Weight`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Time.
    #[default]
    Nanoseconds,
    /// The number of samples: the recording does not say what time a sample
    /// stands for.
    Samples,
}

/// What a profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Measure {
    /// CPU time: samples of threads that ran.
    #[default]
    Cpu,
    /// Time by the clock on the wall: running and waiting.
    Wall,
    /// Time blocked on locks, by the call chain of the blocked thread.
    Contender,
    /// Time blocked on locks, by the call chain of the thread that held the
    /// lock.
    Owner,
}

impl Measure {
    /// Every measure, in the order in which help texts list them.
    pub const ALL: [Measure; 4] = [Measure::Cpu, Measure::Wall, Measure::Contender, Measure::Owner];

    /// The name used on the command line and in JSON: `cpu`.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Cpu => "cpu",
            Measure::Wall => "wall",
            Measure::Contender => "contender",
            Measure::Owner => "owner",
        }
    }

    /// What it is called in a title: `CPU time`.
    pub const fn title(self) -> &'static str {
        match self {
            Measure::Cpu => "CPU time",
            Measure::Wall => "wall-clock time",
            Measure::Contender => "blocked time, by contender",
            Measure::Owner => "blocked time, by owner",
        }
    }

    /// True where weights are parts of contentions instead of samples.
    pub const fn is_blocked_time(self) -> bool {
        matches!(self, Measure::Contender | Measure::Owner)
    }
}

/// What stands above the methods in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    /// Nothing: all threads together.
    #[default]
    Together,
    /// The thread.
    Thread,
    /// The thread's group, its name with numbers folded.
    Group,
}
