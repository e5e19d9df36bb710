//! Programs of which it is known how much of their CPU time is spent in which
//! method, sampled.

use crate::jdk::Jdk;
use crate::profiler::Profiler;
use crate::sampled::{self, Sample};
use crate::tools::{self, Tools};
use crate::Problem;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A program with two methods whose shares are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Program {
    /// `samples`: three quarters in `heavy`, a quarter in `light`, of a thread that has
    /// neighbours; it measures its CPU time itself.
    Samples,
    /// A scenario of `causal`: the same work over and over in `longer` and `shorter`,
    /// by name and the share of `longer`.
    Known(&'static str, f64),
}

/// The programs by name.
pub const PROGRAMS: [(&str, Program); 5] = [
    ("samples", Program::Samples),
    ("lines", Program::Known("lines", 2.0 / 3.0)),
    ("barrier", Program::Known("barrier", 2.0 / 3.0)),
    ("lock", Program::Known("lock", 0.5)),
    ("handoff", Program::Known("handoff", 0.5)),
];

/// What `samples` says of itself.
#[derive(Debug, Deserialize)]
struct Truth {
    /// CPU time of `heavy` and of `light`, nanoseconds.
    heavy: u64,
    light: u64,
}

/// The numbers of one run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shares {
    /// Samples in the one method / samples in either.
    pub share: f64,
    /// The same of CPU time, by the program itself.
    pub expected: f64,
    /// Their difference in percentage points.
    pub off_points: f64,
    /// Samples in either.
    pub samples: u64,
}

impl Shares {
    /// Runs a program for so many seconds, sampled every millisecond (see
    /// [`Profiler::sample_options`]).
    ///
    /// # Errors
    /// Something did not run, or there is no sample in either method.
    pub fn measure(
        profiler: &Profiler,
        tools: &Tools,
        jdk: &Jdk,
        program: Program,
        seconds: u64,
    ) -> Result<Shares, Problem> {
        let directory = TempDir::new()?;
        let file = |name: &str| directory.path().join(name).display().to_string();
        let (recording, truth) = (file("recording.jfr"), file("truth.json"));
        let mut arguments = profiler.sample_options(tools, jdk.release, &recording, directory.path())?;
        arguments.extend(["-jar".into(), tools.workloads.display().to_string()]);
        arguments.extend(program.arguments(&truth));
        arguments.extend(["--seconds".into(), seconds.to_string()]);
        tools::run(&jdk.tool("java"), arguments)?;
        program.compare(program.expected(Path::new(&truth))?, &sampled::read(jdk, &recording)?)
    }
}

impl Program {
    fn arguments(self, truth: &str) -> Vec<String> {
        match self {
            Program::Samples => ["samples", "--truth", truth].map(str::to_owned).to_vec(),
            Program::Known(scenario, _) => ["causal", scenario].map(str::to_owned).to_vec(),
        }
    }

    fn expected(self, truth: &Path) -> Result<f64, Problem> {
        match self {
            Program::Samples => {
                let truth: Truth = serde_json::from_str(&fs::read_to_string(truth)?)?;
                Ok(truth.heavy as f64 / (truth.heavy + truth.light).max(1) as f64)
            }
            Program::Known(_, expected) => Ok(expected),
        }
    }

    /// Whether the sample is in the one method (true), in the other, or in none.
    fn side(self, sample: &Sample) -> Option<bool> {
        let is_in = |method: &str| match self {
            Program::Samples => sample.thread == "shares" && sample.count(method) == 1,
            Program::Known(..) => {
                let method = format!("io.headway.workloads.causal.Known.{method}");
                sample.frames.contains(&method)
            }
        };
        let (one, other) = match self {
            Program::Samples => ("heavy", "light"),
            Program::Known(..) => ("longer", "shorter"),
        };
        match (is_in(one), is_in(other)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    fn compare(self, expected: f64, all: &[Sample]) -> Result<Shares, Problem> {
        let sides: Vec<bool> = all.iter().filter_map(|sample| self.side(sample)).collect();
        if sides.is_empty() {
            return Err(format!("none of {} samples is in a method whose share is known", all.len()).into());
        }
        let share = sides.iter().filter(|&&is_one| is_one).count() as f64 / sides.len() as f64;
        let off_points = 100.0 * (share - expected).abs();
        Ok(Shares { share, expected, off_points, samples: sides.len() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"
jdk.ExecutionSample {
  startTime = 07:45:15.000 (2026-11-23)
  sampledThread = "shares" (javaThreadId = 30)
  state = "STATE_RUNNABLE"
  stackTrace = [
    io.headway.workloads.samples.Shapes.burn(int, int) line: 70
    io.headway.workloads.samples.Shapes$Shares.heavy(int) line: 141
    java.lang.Thread.run() line: 1583
  ]
}

jdk.CPUTimeSample {
  stackTrace = [
    io.headway.workloads.samples.Shapes$Shares.light(int) line: 145
  ]
  eventThread = "shares" (javaThreadId = 30)
  failed = false
}

jdk.ExecutionSample {
  sampledThread = "other" (javaThreadId = 31)
  stackTrace = [
    io.headway.workloads.samples.Shapes$Shares.heavy(int) line: 141
    io.headway.workloads.causal.Known.longer(double) line: 141
  ]
}
"#;

    #[test]
    fn samples_in_either_method_count_and_no_others() {
        let shares = Program::Samples.compare(0.75, &sampled::parse(PRINTED)).unwrap();
        assert_eq!(
            serde_json::to_string(&shares).unwrap(),
            r#"{"share":0.5,"expected":0.75,"off_points":25.0,"samples":2}"#
        );
        let shares = Program::Known("lines", 0.5).compare(0.5, &sampled::parse(PRINTED)).unwrap();
        assert_eq!((shares.share, shares.samples), (1.0, 1));
    }

    #[test]
    fn no_samples_are_no_share() {
        let problem = Program::Samples.compare(0.75, &[]).unwrap_err();
        assert_eq!(problem.to_string(), "none of 0 samples is in a method whose share is known");
    }
}
