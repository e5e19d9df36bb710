//! Findings about waiting in the middle of work: databases' row locks, latches,
//! results, permits, queues that are full or empty. Threads that wait for work
//! are left out.

use super::locks::{caller, full, ranked, short};
use super::words::{code, count, grouped, percent};
use super::MOST;
use crate::aggregate::{share, Range};
use crate::analysis::Analysis;
use crate::names::{NameId, Names, PathId, TextId};
use crate::park::Synchronizer;
use crate::report::{Finding, FindingKind};
use crate::summary::{groups, notifiers};
use crate::threads::Threads;
use crate::waits::{is_idle, Site};
use headway_model::{DurationNs, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Waiting counts if it takes at least this part of the waiters' life.
const OF_LIFE: f64 = 0.02;

/// Waits in one method on one class of object, whatever led there.
#[derive(Debug, Default)]
struct Group {
    synchronizer: Synchronizer,
    total: u64,
    count: u64,
    max: u64,
    notified: u64,
    timed_out: u64,
    threads: FxHashMap<ThreadId, u64>,
    notifiers: FxHashMap<TextId, u64>,
    /// Waited time by who ended it.
    wakers: FxHashMap<(TextId, Option<NameId>), u64>,
    paths: FxHashMap<PathId, u64>,
}

/// Findings about `Object.wait`, and about parks that acquire no lock; without
/// those that `told` methods are the subject of already.
pub(super) fn find(analysis: &Analysis, range: Range, told: &[NameId]) -> (Vec<Finding>, Vec<Finding>) {
    let names = &analysis.names;
    let mut grouped: BTreeMap<(TextId, NameId, Synchronizer), Group> = BTreeMap::new();
    for site in analysis.waits.sites() {
        let Some(method) = site.method else { continue };
        let parks = site.synchronizer != Synchronizer::Monitor;
        let said = is_idle(site, names) || (parks && told.contains(&method));
        if !said {
            grouped.entry((site.class, method, site.synchronizer)).or_default().add(site, names);
        }
    }
    let of = |parks: bool| {
        let mut findings: Vec<Finding> = grouped
            .iter()
            .filter(|((.., synchronizer), _)| (*synchronizer != Synchronizer::Monitor) == parks)
            .filter_map(|((class, method, _), group)| {
                group.finding(names.text(*class), *method, names, &analysis.threads, range)
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.cost_ns));
        findings.truncate(MOST);
        findings
    };
    (of(false), of(true))
}

impl Group {
    fn add(&mut self, site: &Site, names: &Names) {
        self.synchronizer = site.synchronizer;
        for ((group, path), (_, ns)) in &site.wakers {
            let method = path.and_then(|path| names.acting_method(path));
            *self.wakers.entry((*group, method)).or_default() += ns;
        }
        self.total += site.total_ns;
        self.count += site.count;
        self.max = self.max.max(site.max_ns);
        self.notified += site.notified;
        self.timed_out += site.timed_out;
        for (thread, ns) in &site.threads {
            *self.threads.entry(*thread).or_default() += ns;
        }
        for (notifier, times) in &site.notifiers {
            *self.notifiers.entry(*notifier).or_default() += times;
        }
        if let Some(path) = site.path {
            *self.paths.entry(path).or_default() += site.total_ns;
        }
    }

    fn finding(&self, class: &str, method: NameId, names: &Names, threads: &Threads, range: Range) -> Option<Finding> {
        let life: u64 = self.threads.keys().map(|thread| threads.life_ns(*thread, range)).sum();
        let part = share(self.total, life);
        if part < OF_LIFE {
            return None;
        }
        let paths = ranked(&self.paths, |ns| *ns);
        let from = paths.first().and_then(|(path, _)| caller_elsewhere(**path, names));
        let from = from.map_or_else(String::new, |from| format!(", called from {}", code(&from)));
        let text = format!(
            "{} waited {} of {} time {} in {}{from}; {}.",
            self.waiters(names),
            percent(part),
            if self.threads.len() == 1 { "its" } else { "their" },
            self.what_for(),
            code(&short(method, names)),
            self.outcome(names),
        );
        Some(Finding {
            kind: FindingKind::Waiting,
            text,
            details: self.details(class, method, names),
            cost_ns: self.total,
            share: Some(part),
        })
    }

    fn what_for(&self) -> String {
        match self.synchronizer {
            Synchronizer::Monitor => "in `Object.wait`".to_owned(),
            other => format!("for {}", other.words()),
        }
    }

    /// `Threads `worker-*` (16 of them)`, `Thread `main``.
    fn waiters(&self, names: &Names) -> String {
        let mut ids = self.threads.keys();
        if let (Some(only), None) = (ids.next(), ids.next()) {
            return format!("Thread {}", code(&names.thread_text(*only)));
        }
        let groups = groups(self.threads.keys().map(|thread| (names.group_text(*thread), 1)));
        let first = groups.first().map_or("", |group| &group.name);
        match groups.len() {
            1 => format!("Threads {} ({} of them)", code(first), self.threads.len()),
            _ => format!("{}, most of them {},", count(self.threads.len() as u64, "thread"), code(first)),
        }
    }

    fn outcome(&self, names: &Names) -> String {
        let mean = DurationNs(self.total / self.count.max(1));
        let mut text = format!("{}, mean {mean}", count(self.count, "wait"));
        if self.synchronizer != Synchronizer::Monitor {
            text += &self.ended_by(names);
        } else if self.notified > 0 {
            text += &format!(", {} ended by notify", percent(share(self.notified, self.count)));
            let by = notifiers(&self.notifiers, names);
            if let Some(by) = by.first() {
                text += &format!(" (most by {})", code(&by.name));
            }
        }
        if self.timed_out > 0 {
            text += &format!(", {} timed out", percent(share(self.timed_out, self.count)));
        }
        text
    }

    /// `, 80 % of that ended by `Job.finish` in `worker-*``.
    fn ended_by(&self, names: &Names) -> String {
        let wakers = ranked(&self.wakers, |ns| *ns);
        let Some(((group, method), ns)) = wakers.first() else { return String::new() };
        let part = percent(share(**ns, self.total));
        let thread = code(names.text(*group));
        match method {
            Some(method) => format!(", {part} of that time ended by {} in {thread}", code(&short(*method, names))),
            None => format!(", {part} of that time ended by {thread}"),
        }
    }

    fn details(&self, class: &str, method: NameId, names: &Names) -> Vec<String> {
        let mut details = vec![
            format!("waiting on: {class}"),
            format!(
                "{} in {}, longest {}; {} {}, timed out {}",
                DurationNs(self.total),
                full(method, names),
                DurationNs(self.max),
                if self.synchronizer == Synchronizer::Monitor { "notified" } else { "unparked" },
                grouped(self.notified),
                grouped(self.timed_out),
            ),
        ];
        if let Some((path, _)) = ranked(&self.paths, |ns| *ns).first() {
            details.push(format!("called from: {}", names.path_text(**path).join(" < ")));
        }
        details
    }
}

/// The nearest caller in another class, which says more than the next method
/// of the same machinery.
fn caller_elsewhere(path: PathId, names: &Names) -> Option<String> {
    let frames = names.frames(path);
    let at = names.skip_machinery(&frames);
    let class = |name: NameId| {
        let full = names.method_name(name).map_or("", |name| name.full.as_str());
        full.rsplit_once('.').map_or("", |(class, _)| class).to_owned()
    };
    let own = class(frames.get(at)?.name);
    frames[at + 1..]
        .iter()
        .find(|frame| class(frame.name) != own)
        .map(|frame| short(frame.name, names))
        .or_else(|| caller(path, names))
}
