//! speedscope's own format: one profile per thread, its moments in time order,
//! so that "time order" shows when what ran; "left heavy" and "sandwich" add
//! it up.

use crate::Style;
use headway_analysis::method::{CallTree, Moment, Profile, Unit};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};

/// More moments than this are added up by context: time order would make files
/// that no browser opens.
const MOST_MOMENTS: usize = 500_000;

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: &'a str,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Thread<'a>>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
}

// serde's skip_serializing_if hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Serialize)]
struct Thread<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

/// Writes a profile that has its moments.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let unit = style.unit(profile);
    let frames = Frames::of(&profile.tree);
    let added_up = profile.moments.len() > MOST_MOMENTS;
    let mut threads: Vec<Thread<'_>> = Vec::new();
    for moments in profile.moments.chunk_by(|a, b| a.thread == b.thread) {
        let entries = if added_up { by_context(moments, unit) } else { in_time_order(moments, unit) };
        let name = moments.first().and_then(|moment| profile.threads.get(moment.thread as usize));
        threads.push(thread(name.map_or("", |thread| &thread.name), unit, &entries, &frames));
    }
    threads.sort_by(|a, b| b.end_value.cmp(&a.end_value).then_with(|| a.name.cmp(b.name)));
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("headway {}", env!("CARGO_PKG_VERSION")),
        name: &style.title,
        active_profile_index: 0,
        shared: Shared { frames: frames.list },
        profiles: threads,
    };
    serde_json::to_writer(out, &file).map_err(io::Error::from)
}

fn thread<'a>(name: &'a str, unit: Unit, entries: &[(u32, u64)], frames: &Frames) -> Thread<'a> {
    Thread {
        kind: "sampled",
        name,
        unit: if unit == Unit::Nanoseconds { "nanoseconds" } else { "none" },
        start_value: 0,
        end_value: entries.iter().map(|(_, weight)| weight).sum(),
        samples: entries.iter().map(|(context, _)| frames.stack(*context)).collect(),
        weights: entries.iter().map(|(_, weight)| *weight).collect(),
    }
}

/// Contexts and weights; what follows itself is one entry.
fn in_time_order(moments: &[Moment], unit: Unit) -> Vec<(u32, u64)> {
    let same = |a: &Moment, b: &Moment| a.context == b.context;
    let sum = |run: &[Moment]| run.iter().map(|moment| moment.weight.in_unit(unit)).sum();
    moments.chunk_by(same).filter_map(|run| run.first().map(|first| (first.context, sum(run)))).collect()
}

fn by_context(moments: &[Moment], unit: Unit) -> Vec<(u32, u64)> {
    let mut sums: HashMap<u32, u64> = HashMap::new();
    for moment in moments {
        *sums.entry(moment.context).or_default() += moment.weight.in_unit(unit);
    }
    let mut sums: Vec<(u32, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(context, weight)| (std::cmp::Reverse(*weight), *context));
    sums
}

/// Frames of a tree, each once, and each context's stack of them.
struct Frames {
    list: Vec<Frame>,
    /// Parent and frame of each context.
    contexts: Vec<(u32, u32)>,
}

impl Frames {
    fn of(tree: &CallTree) -> Frames {
        let mut ids: HashMap<(u32, u32), u32> = HashMap::new();
        let mut frames = Frames { list: Vec::new(), contexts: vec![(0, 0)] };
        for (index, context) in tree.contexts() {
            let id = *ids.entry((context.method, context.line)).or_insert_with(|| {
                let method = tree.method(context.method);
                let file = method.source_file.to_owned();
                frames.list.push(Frame { name: tree.text(index), file, line: context.line });
                frames.list.len() as u32 - 1
            });
            frames.contexts.push((context.parent, id));
        }
        frames
    }

    /// Root first.
    fn stack(&self, context: u32) -> Vec<u32> {
        let mut stack = Vec::new();
        let mut at = context;
        while let Some((parent, frame)) = self.contexts.get(at as usize).filter(|_| at != CallTree::ROOT) {
            stack.push(*frame);
            at = *parent;
        }
        stack.reverse();
        stack
    }
}
