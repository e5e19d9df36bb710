//! Threads that wait until another one has initialized a class. The VM reports no event for that: samples by the wall
//! clock show a thread that stands where it triggers the initialization, while another one executes it there.

use super::seen::{short, without_line, Doing, Doings};
use super::words::{code, grouped};
use super::{evidence, of_active, Gist};
use crate::aggregate::share;
use crate::ledger::Quality;
use crate::method::sample_report::SampledPath;
use crate::names::Plumbing;
use crate::report::{Evidence, Finding, FindingKind, FindingStack, Report};
use std::collections::{BTreeMap, BTreeSet};

/// It counts from this part of the active thread time on.
const OF_ACTIVE: f64 = 0.02;
/// Samples from which on it is said.
const FEW: u64 = 5;
/// The method of a class that initializes it, in a frame.
const INITIALIZER: &str = ".<clinit>";

/// What threads were seen to do where one of them initializes a class.
#[derive(Default)]
struct Seen<'a> {
    classes: BTreeSet<&'a str>,
    waited_ns: u64,
    samples: u64,
    /// With the most samples, and their time.
    stack: Option<(u64, &'a [String])>,
    initializing: Doings,
}

/// The class for which threads waited longest.
pub(super) fn find(report: &Report) -> Option<Finding> {
    let paths = &report.samples.as_ref()?.off_cpu;
    let mut triggers: BTreeMap<&[String], Seen<'_>> = BTreeMap::new();
    for path in paths {
        let Some((at, class)) = initialized(&path.stack) else { continue };
        let Some(trigger) = path.stack.get(at + 1..).and_then(of_trigger) else { continue };
        let seen = triggers.entry(trigger).or_default();
        seen.classes.insert(class);
        if let Some(doing) = Doing::of(path.stack.iter().take(at + 1).map(String::as_str), true) {
            seen.initializing.add(doing, path.ns, path.samples);
        }
    }
    for path in paths {
        if let Some(seen) = of_trigger(&path.stack).and_then(|stands| triggers.get_mut(stands)) {
            seen.add(path);
        }
    }
    let active_ns = report.ledger.active_ns();
    let seen = triggers.into_values().max_by_key(|seen| seen.waited_ns)?;
    (seen.samples >= FEW && share(seen.waited_ns, active_ns) >= OF_ACTIVE).then(|| seen.finding(active_ns))
}

/// From the innermost frame to the first one of the application: where a thread stands that needs a class.
fn of_trigger(stack: &[String]) -> Option<&[String]> {
    let plumbing = Plumbing::of(stack.iter().map(|frame| without_line(frame)));
    let own = stack.iter().position(|frame| !plumbing.has(without_line(frame)))?;
    stack.get(..=own)
}

/// The outermost class that the stack initializes, with the place of that frame.
fn initialized(stack: &[String]) -> Option<(usize, &str)> {
    let class = |frame: &'_ String| without_line(frame).ends_with(INITIALIZER);
    let at = stack.iter().rposition(class)?;
    Some((at, without_line(stack.get(at)?).strip_suffix(INITIALIZER)?))
}

impl<'a> Seen<'a> {
    fn add(&mut self, path: &'a SampledPath) {
        self.waited_ns += path.ns;
        self.samples += path.samples;
        if self.stack.is_none_or(|(most, _)| most < path.ns) {
            self.stack = Some((path.ns, &path.stack));
        }
    }

    fn finding(&self, active_ns: u64) -> Finding {
        let part = (active_ns > 0).then(|| share(self.waited_ns, active_ns).min(1.0));
        let stack = self.stack.map_or(&[][..], |(_, stack)| stack);
        let place =
            of_trigger(stack).and_then(<[String]>::last).map_or_else(String::new, |own| short(without_line(own)));
        let classes: Vec<&str> = self.classes.iter().map(|class| class.rsplit('.').next().unwrap_or(class)).collect();
        let (class, initializer) = match classes[..] {
            [class] => (format!("the class {}", code(class)), code(&format!("{class}{INITIALIZER}"))),
            _ => ("a class".to_owned(), "the initializer".to_owned()),
        };
        let awaited = format!("another thread to initialize {class}");
        let mut text = format!(
            "Threads waited {}{} in {} for {awaited} (estimated from {} samples).",
            evidence::time(self.waited_ns),
            of_active(part),
            code(&place),
            grouped(self.samples),
        );
        let mut gist = Gist { place: code(&place), ..Gist::of_wait(&awaited) };
        if let Some(did) = self.initializing.mostly(&initializer) {
            let did = format!("Meanwhile, {initializer} was {did}.");
            text = format!("{text} {did}");
            gist.add(&did);
        }
        let quality = Quality::Estimated;
        Finding {
            kind: FindingKind::Waiting,
            text,
            subject: code(&place),
            stacks: vec![FindingStack { whose: "waiting in".to_owned(), frames: stack.to_vec() }],
            cost_ns: self.waited_ns,
            share: part,
            evidence: vec![Evidence { quality, ..Evidence::exact("samples", self.waited_ns, part) }],
            gist,
            ..Finding::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::method::sample_report::SampleReport;

    fn found(paths: &[(&str, u64)]) -> Option<Finding> {
        let path = |(stack, samples): &(&str, u64)| SampledPath {
            share: 0.0,
            ns: samples * 10,
            samples: *samples,
            stack: stack.split(' ').map(str::to_owned).collect(),
        };
        let off_cpu = paths.iter().map(path).collect();
        let samples = Some(SampleReport { off_cpu, ..SampleReport::default() });
        find(&Report { ledger: Ledger { total_ns: 1_000, ..Ledger::default() }, samples, ..Report::default() })
    }

    const INITIALIZES: &str =
        "java.lang.Thread.sleep:1 com.acme.Registry.load:7 com.acme.Registry.<clinit>:3 com.acme.Server.serve:9 \
                               java.lang.Thread.run:5";

    #[test]
    fn who_stands_where_another_thread_initializes_a_class_waits_for_that() {
        let waits = ("com.acme.Server.serve:9 java.lang.Thread.run:5", 60);
        let elsewhere = ("com.acme.Server.serve:12 java.lang.Thread.run:5", 40);
        let finding = found(&[waits, (INITIALIZES, 10), elsewhere]).unwrap();
        assert_eq!(
            finding.text,
            "Threads waited 600 ns (60 % of the active thread time) in `Server.serve` for another thread to initialize the \
             class `Registry` (estimated from 60 samples). Meanwhile, `Registry.<clinit>` was mostly in `Thread.sleep`, \
             called from `Registry.load`."
        );
        assert_eq!(finding.cost_ns, 600);
    }

    #[test]
    fn who_only_initializes_a_class_waits_for_nobody() {
        assert!(found(&[(INITIALIZES, 90)]).is_none());
        assert!(found(&[("com.acme.Server.serve:9 java.lang.Thread.run:5", 90)]).is_none());
    }
}
