//! `headway report --method`: where time goes, by method.

use crate::command::capture;
use crate::command::weighing;
use crate::error::{Failure, DONE};
use crate::recording::analysed::{Analysed, Question};
use crate::recording::profiled::{ProfileQuestion, Profiled};
use crate::render;
use crate::terminal::{self, Screen};
use clap::Args;
use headway_analysis::method::{flat, hot_paths, CallTree, Grouping, Measure, Origin, Unit};
use headway_analysis::names::is_plumbing;
use headway_analysis::report::{OwnerActivity, SampledMethod, SampledPath};
use regex::Regex;
use serde::Serialize;
use std::path::Path;

/// What is shown of methods.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Methods")]
pub struct MethodView {
    /// Show where time goes, by method: self and total time, the hottest call stacks, and
    /// what owners of locks executed while other threads were blocked. In a recording that has no CPU or wall-clock samples:
    /// blocked time, by lock and by the methods of owners. With --method, --by takes only `thread` or `group`
    #[arg(long)]
    pub method: bool,

    /// With --method: show who calls the methods whose names match
    #[arg(long, value_name = "REGEX", value_parser = capture::regex, requires = "method")]
    callers_of: Option<Regex>,

    /// With --method: which time to count: cpu, wall, contender (blocked time, by the blocked
    /// thread) or owner (the same, by the owner); default: cpu, wall or owner, the first of them
    /// that the recording has
    #[arg(long = "of", value_name = "MEASURE", value_parser = weighing::measure, requires = "method")]
    measure: Option<Measure>,
}

/// Methods of a recording.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MethodDocument {
    /// The file.
    pub file: String,
    /// What is weighed.
    pub measure: Measure,
    /// What shares are shares of.
    pub unit: Unit,
    /// All together.
    pub total_ns: u64,
    /// All together.
    pub samples: u64,
    /// Length of the range.
    pub duration_ns: u64,
    /// Samples whose stack lacks its root.
    pub truncated: u64,
    /// Samples without any stack.
    pub without_stack: u64,
    /// All threads, or a section per thread or group.
    pub sections: Vec<Section>,
    /// Who calls the methods asked for: contexts upside down, the methods
    /// first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// What owners of contended locks executed while others waited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_activity: Vec<OwnerActivity>,
}

/// Methods of some threads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Section {
    /// The thread or group; empty for all.
    pub threads: String,
    /// Part of the whole.
    pub share: f64,
    /// Most self time first. Shares are parts of this section. Of blocked time: first the locks, then methods, which
    /// have no self time.
    pub methods: Vec<SampledMethod>,
    /// The calling contexts with most time of their own.
    pub stacks: Vec<SampledPath>,
}

/// A method, or one that called it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Caller {
    /// 0 for a method asked for, 1 for what called it, and so on.
    pub depth: usize,
    /// Its name.
    pub method: String,
    /// Part of the whole.
    pub share: f64,
}

/// Callers deeper than this are not shown.
const CALLER_DEPTH: usize = 12;

impl MethodView {
    /// Shows the methods of one recording.
    ///
    /// # Errors
    /// As `headway report`; or there is nothing to show.
    pub fn show(&self, file: &Path, question: &Question, grouping: Grouping, json: bool) -> Result<u8, Failure> {
        let analysed = Analysed::read(file, &Question { raw_names: json, ..question.clone() })?;
        let profiled = Profiled::read(
            file,
            &ProfileQuestion {
                measure: self.measure,
                grouping,
                from: question.from,
                to: question.to,
                threads: question.threads.clone(),
                raw_names: json,
                // A table of people names a class's hundreds of objects once.
                locks_by_name: !json,
                ..ProfileQuestion::default()
            },
        )?;
        let mut document = self.document(&profiled, &analysed, question.top, !json);
        if json {
            // The text shows few and says how many others there are.
            document.owner_activity.truncate(question.top);
            document.owner_activity.iter_mut().for_each(|activity| activity.keep_top(question.top));
            crate::json::print(&document)?;
        } else {
            let printed = terminal::print(&render::methods(&analysed, &document, question.top, &Screen::stdout()));
            printed.map_err(Failure::doing("cannot write to standard output"))?;
        }
        analysed.damage().map_or(Ok(DONE), Err)
    }

    fn document(&self, profiled: &Profiled, analysed: &Analysed, top: usize, for_reading: bool) -> MethodDocument {
        let profile = &profiled.profile;
        let total = profile.tree.total();
        let mut document = MethodDocument {
            file: profiled.path.display().to_string(),
            measure: profile.measure,
            unit: profile.tree.unit(),
            total_ns: total.ns,
            samples: profile.observations(),
            duration_ns: profile.duration.0,
            truncated: profile.counts.truncated,
            without_stack: profile.counts.without_stack,
            sections: sections(&profile.tree, profile.measure.is_blocked_time(), top, for_reading),
            callers: Vec::new(),
            owner_activity: analysed.report.owner_activity.clone(),
        };
        if let Some(regex) = &self.callers_of {
            document.callers =
                callers(&profile.tree.callers_of(|name| regex.is_match(name)), total.in_unit(document.unit), top);
            document.sections.clear();
        }
        document
    }
}

/// One section for each thread or group at the top of the tree, or one for all. `for_reading`, methods that do what they
/// do for a caller are left out where callers are known.
fn sections(tree: &CallTree, is_blocked_time: bool, top: usize, for_reading: bool) -> Vec<Section> {
    let of = |tree: &CallTree, threads: &str, share: f64| {
        // Of blocked time, the locks come first. Methods have no self time there: they need room of their kind.
        let (mut methods, mut without_own): (Vec<_>, Vec<_>) =
            flat(tree).into_iter().partition(SampledMethod::has_self_time);
        if for_reading && without_own.iter().any(|method| !is_plumbing(&method.method)) {
            without_own.retain(|method| !is_plumbing(&method.method));
        }
        methods.truncate(top);
        without_own.truncate(if is_blocked_time { top } else { top - methods.len() });
        methods.append(&mut without_own);
        Section { threads: threads.to_owned(), share, methods, stacks: hot_paths(tree, top) }
    };
    let is_thread = |context: &u32| {
        tree.context(*context).is_some_and(|context| tree.method(context.method).origin == Origin::Threads)
    };
    let threads: Vec<u32> = tree.children(CallTree::ROOT).iter().copied().filter(is_thread).collect();
    if threads.is_empty() {
        return vec![of(tree, "", 1.0)];
    }
    let unit = tree.unit();
    let whole = tree.total().in_unit(unit).max(1) as f64;
    threads
        .into_iter()
        .take(top)
        .map(|thread| {
            let share = tree.context(thread).map_or(0.0, |context| context.total.in_unit(unit) as f64 / whole);
            of(&tree.below(thread), &tree.text(thread), share)
        })
        .collect()
}

/// Callers in the order in which they are shown, the heaviest first.
fn callers(tree: &CallTree, whole: u64, top: usize) -> Vec<Caller> {
    let unit = tree.unit();
    let mut callers = Vec::new();
    let push = |stack: &mut Vec<(u32, usize)>, context: u32, depth: usize| {
        let children = tree.children(context);
        stack.extend(children.iter().take(top).rev().map(|child| (*child, depth)));
    };
    let mut stack = Vec::new();
    push(&mut stack, CallTree::ROOT, 0);
    while let Some((at, depth)) = stack.pop() {
        let share = tree.context(at).map_or(0, |context| context.total.in_unit(unit)) as f64 / whole.max(1) as f64;
        callers.push(Caller { depth, method: tree.text(at), share });
        if depth < CALLER_DEPTH {
            push(&mut stack, at, depth + 1);
        }
    }
    callers
}
