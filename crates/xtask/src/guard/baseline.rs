//! The committed costs, and what may differ from them.

use std::collections::BTreeMap;
use std::fmt;

/// How much more than the baseline is still the same, in per cent. Hash maps with a seed of their own
/// and how the processor's features choose a copy loop make instructions differ by less than this.
const INSTRUCTIONS: f64 = 5.0;
/// The same for code that another compiler made.
const INSTRUCTIONS_OF_OTHER_COMPILER: f64 = 15.0;
const ALLOCATIONS: f64 = 5.0;
const BYTES: f64 = 1.0;
/// From here on a cost that fell is worth a new baseline, so that it does not creep back.
const CHEAPER: f64 = 10.0;
/// An allocation in so many operations is none.
const NOTHING: f64 = 0.0005;

/// What one operation of a piece of work costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Executed instructions; `None` if nothing could count them.
    pub instructions: Option<f64>,
    /// Allocations of memory.
    pub allocations: f64,
    /// Bytes written.
    pub bytes: f64,
}

/// What was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// `rustc --version`.
    pub compiler: String,
    /// By name of the work.
    pub costs: BTreeMap<String, Cost>,
}

/// What became of one piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// False if it costs more than it did.
    pub passed: bool,
    /// A line that says so.
    pub text: String,
}

impl Cost {
    /// From what the work printed, and the instructions that all of it took.
    pub fn of_output(told: &str, instructions: Option<f64>) -> Result<Cost, String> {
        let number = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|text| text.trim().parse::<f64>().ok()).ok_or_else(|| format!("did not tell its {name}"))
        };
        let operations = number("operations ")?;
        if operations < 1.0 {
            return Err("did nothing".to_owned());
        }
        if instructions.is_some_and(|count| count <= 0.0) {
            return Err("took no instructions".to_owned());
        }
        Ok(Cost {
            instructions: instructions.map(|count| count / operations),
            allocations: number("allocations ")? / operations,
            bytes: number("bytes ")? / operations,
        })
    }
}

/// The line `==1== Collected : 123456`.
pub fn collected(callgrind: &str) -> Result<f64, String> {
    let line = callgrind.lines().find_map(|line| line.split_once("Collected :"));
    let count = line.and_then(|(_, count)| count.trim().parse::<f64>().ok());
    count.filter(|count| *count > 0.0).ok_or_else(|| "callgrind counted no instructions".to_owned())
}

impl Baseline {
    /// Reads what [`Baseline::fmt`] wrote.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        let mut baseline = Baseline { compiler: String::new(), costs: BTreeMap::new() };
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            match line.strip_prefix("compiler ") {
                Some(compiler) => baseline.compiler = compiler.trim().to_owned(),
                None => {
                    let (name, cost) = row(line).ok_or_else(|| format!("\"{line}\" is no name and three numbers"))?;
                    baseline.costs.insert(name, cost);
                }
            }
        }
        Ok(baseline)
    }

    /// Compares what was measured, by a program that `compiler` made.
    pub fn judge(&self, measured: &BTreeMap<String, Cost>, compiler: &str) -> Vec<Verdict> {
        let instructions = match self.compiler == compiler {
            true => INSTRUCTIONS,
            false => INSTRUCTIONS_OF_OTHER_COMPILER,
        };
        let judged = measured.iter().map(|(name, now)| match self.costs.get(name) {
            Some(before) => verdict(name, before, now, instructions),
            None => Verdict { passed: false, text: format!("{name:<14} is not in the baseline") },
        });
        let gone = self.costs.keys().filter(|name| !measured.contains_key(*name));
        let gone = gone.map(|name| Verdict { passed: false, text: format!("{name:<14} was not measured") });
        judged.chain(gone).collect()
    }
}

fn row(line: &str) -> Option<(String, Cost)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, instructions, allocations, bytes] = words[..] else { return None };
    let cost = Cost {
        instructions: Some(instructions.parse().ok()?),
        allocations: allocations.parse().ok()?,
        bytes: bytes.parse().ok()?,
    };
    Some((name.to_owned(), cost))
}

fn verdict(name: &str, before: &Cost, now: &Cost, instructions: f64) -> Verdict {
    let mut kinds = vec![
        ("allocations", before.allocations, now.allocations, ALLOCATIONS),
        ("bytes", before.bytes, now.bytes, BYTES),
    ];
    if let (Some(before), Some(now)) = (before.instructions, now.instructions) {
        kinds.insert(0, ("instructions", before, now, instructions));
    }
    let grew =
        |(_, before, now, tolerance): &&(&str, f64, f64, f64)| *now > before * (1.0 + tolerance / 100.0) + NOTHING;
    let fell = |(_, before, now, _): &&(&str, f64, f64, f64)| *now + NOTHING < before * (1.0 - CHEAPER / 100.0);
    let told = |(kind, before, now, tolerance): &(&str, f64, f64, f64)| {
        format!("{kind} {now:.3}, {:+.1} % against {before:.3} (tolerance {tolerance} %)", percent(*before, *now))
    };
    let worse: Vec<String> = kinds.iter().filter(grew).map(told).collect();
    let better: Vec<String> = kinds.iter().filter(fell).map(told).collect();
    let text = match (worse.is_empty(), better.is_empty()) {
        (false, _) => format!("{name:<14} COSTS MORE: {}", worse.join("; ")),
        (true, false) => format!("{name:<14} costs less, which --renew would keep: {}", better.join("; ")),
        (true, true) => format!("{name:<14} as before: {}", kinds.iter().map(told).collect::<Vec<_>>().join("; ")),
    };
    Verdict { passed: worse.is_empty(), text }
}

fn percent(before: f64, now: f64) -> f64 {
    match before > 0.0 {
        true => (now / before - 1.0) * 100.0,
        false if now > 0.0 => f64::INFINITY,
        false => 0.0,
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What one operation (an event, a frame, a look-up) of fixed work costs; crates/guard has the work."
        )?;
        writeln!(
            f,
            "# Written by ./hw guard --renew, compared by ./hw test. Still the same are up to {INSTRUCTIONS} % more"
        )?;
        writeln!(f, "# instructions ({INSTRUCTIONS_OF_OTHER_COMPILER} % with another compiler), {ALLOCATIONS} % more allocations, {BYTES} % more bytes.")?;
        writeln!(f, "compiler {}\n", self.compiler)?;
        writeln!(f, "# {:<14} {:>14} {:>14} {:>14}", "work", "instructions", "allocations", "bytes")?;
        for (name, Cost { instructions, allocations, bytes }) in &self.costs {
            let instructions = instructions.unwrap_or(f64::NAN);
            writeln!(f, "{name:<16} {instructions:>14.3} {allocations:>14.4} {bytes:>14.3}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPILER: &str = "rustc 1.95.0";

    fn cost(instructions: f64, allocations: f64, bytes: f64) -> Cost {
        Cost { instructions: Some(instructions), allocations, bytes }
    }

    fn costs(entries: &[(&str, Cost)]) -> BTreeMap<String, Cost> {
        entries.iter().map(|(name, cost)| ((*name).to_owned(), *cost)).collect()
    }

    /// `+` or `-` for each verdict.
    fn judged(before: Cost, now: Cost, compiler: &str) -> String {
        let baseline = Baseline { compiler: COMPILER.to_owned(), costs: costs(&[("walk", before)]) };
        let verdicts = baseline.judge(&costs(&[("walk", now)]), compiler);
        verdicts.iter().map(|verdict| if verdict.passed { '+' } else { '-' }).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let baseline = Baseline {
            compiler: COMPILER.to_owned(),
            costs: costs(&[("walk", cost(61.5, 0.0, 0.0)), ("write-jfr", cost(812.0, 0.25, 11.5))]),
        };
        assert_eq!(Baseline::parse(&baseline.to_string()), Ok(baseline));
        assert!(Baseline::parse("walk 1 2").unwrap_err().contains("walk 1 2"));
    }

    #[test]
    fn a_cost_that_grew_beyond_its_tolerance_fails() {
        let before = cost(100.0, 1.0, 10.0);
        assert_eq!(judged(before, cost(104.9, 1.0, 10.0), COMPILER), "+");
        assert_eq!(judged(before, cost(105.1, 1.0, 10.0), COMPILER), "-");
        assert_eq!(judged(before, cost(105.1, 1.0, 10.0), "rustc 2"), "+");
        assert_eq!(judged(before, cost(115.1, 1.0, 10.0), "rustc 2"), "-");
        assert_eq!(judged(before, cost(100.0, 1.06, 10.0), COMPILER), "-");
        assert_eq!(judged(before, cost(100.0, 1.0, 10.2), COMPILER), "-");
        assert_eq!(judged(before, cost(50.0, 0.5, 5.0), COMPILER), "+");
    }

    #[test]
    fn where_nothing_was_allocated_an_allocation_fails() {
        assert_eq!(judged(cost(10.0, 0.0, 0.0), cost(10.0, 0.001, 0.0), COMPILER), "-");
        assert_eq!(judged(cost(10.0, 0.0, 0.0), cost(10.0, 0.0001, 0.0), COMPILER), "+");
    }

    #[test]
    fn without_valgrind_the_rest_is_compared() {
        let uncounted = Cost { instructions: None, ..cost(0.0, 2.0, 1.0) };
        assert_eq!(judged(cost(10.0, 1.0, 1.0), uncounted, COMPILER), "-");
        assert_eq!(judged(cost(10.0, 2.0, 1.0), uncounted, COMPILER), "+");
    }

    #[test]
    fn work_on_one_side_only_fails() {
        let baseline = Baseline { compiler: COMPILER.to_owned(), costs: costs(&[("walk", cost(1.0, 0.0, 0.0))]) };
        let verdicts = baseline.judge(&costs(&[("read", cost(1.0, 0.0, 0.0))]), COMPILER);
        let texts: Vec<_> = verdicts.iter().map(|verdict| (verdict.passed, verdict.text.trim())).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts.iter().all(|(passed, _)| !passed), "{texts:?}");
    }

    #[test]
    fn counts_are_read_per_operation() {
        let told = "operations 200\nallocations 50\nbytes 1000\n";
        assert_eq!(collected("==12== Events    : Ir\n==12== Collected : 24000\n"), Ok(24_000.0));
        assert!(collected("==12== Collected : 0\n").is_err());
        assert_eq!(Cost::of_output(told, Some(24_000.0)), Ok(cost(120.0, 0.25, 5.0)));
        assert_eq!(Cost::of_output(told, None).map(|cost| cost.instructions), Ok(None));
        assert!(Cost::of_output(told, Some(0.0)).is_err());
        assert!(Cost::of_output("operations 0\nallocations 0\nbytes 0\n", None).is_err());
    }
}
