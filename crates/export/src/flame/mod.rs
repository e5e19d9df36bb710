//! A flame graph as one HTML file: zoom, search, callers first or last, light
//! and dark, nothing loaded from anywhere.
//!
//! The page draws on a canvas from columns of numbers, so that a hundred
//! thousand contexts stay quick. Names reach it as JSON in an element that
//! holds data, with every `<` escaped, and are only ever shown as text.

use crate::Style;
use headway_analysis::method::{CallTree, Comparison, Context, Origin, Profile, Unit, Weight};
use headway_model::FrameKind;
use serde::Serialize;
use std::io::{self, Write};

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLES: &str = include_str!("page.css");

/// Contexts that a page holds at most; the lightest are left out and counted.
const MOST_CONTEXTS: usize = 100_000;

/// What the page draws. Columns have one entry per context, parents first; the
/// root is not among them.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    subtitle: String,
    /// `ns` or `samples`.
    unit: &'static str,
    names: Vec<&'a str>,
    /// Index + 1 of the parent, 0 for the root.
    parents: Vec<u32>,
    methods: Vec<u32>,
    lines: Vec<u32>,
    kinds: Vec<u8>,
    own: Vec<u64>,
    totals: Vec<u64>,
    /// Totals before, of a comparison, scaled to the whole of now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<u64>,
    left_out: u64,
}

/// Writes a profile.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let unit = style.unit(profile);
    let subtitle = subtitle(profile, unit);
    page(&profile.tree, &style.title, subtitle, unit, &|_| None, out)
}

/// Writes the second of two profiles, coloured by how much each context's part
/// of the whole grew or shrank.
///
/// # Errors
/// Those of `out`.
pub fn write_difference(
    comparison: &Comparison<'_>,
    (before, after): (&CallTree, &CallTree),
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unit = comparison.unit();
    let whole = |tree: &CallTree| tree.total().in_unit(unit).max(1) as f64;
    let scale = whole(after) / whole(before);
    let before_of = |context: u32| {
        let before = comparison.equivalent_of(context).and_then(|same| before.context(same));
        Some((before.map_or(0, |context| context.total.in_unit(unit)) as f64 * scale) as u64)
    };
    let subtitle = "red: a larger part of the whole than before; blue: a smaller one".to_owned();
    page(after, title, subtitle, unit, &before_of, out)
}

fn page(
    tree: &CallTree,
    title: &str,
    subtitle: String,
    unit: Unit,
    before: &dyn Fn(u32) -> Option<u64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of = |weight: Weight| weight.in_unit(unit);
    let least = least_shown(tree, unit);
    let mut page = Page {
        title,
        subtitle,
        unit: if unit == Unit::Nanoseconds { "ns" } else { "samples" },
        names: (0..tree.methods()).map(|method| tree.method(method).name).collect(),
        parents: Vec::new(),
        methods: Vec::new(),
        lines: Vec::new(),
        kinds: Vec::new(),
        own: Vec::new(),
        totals: Vec::new(),
        before: Vec::new(),
        left_out: 0,
    };
    // Where each context went, plus one; what is left out leaves out all below.
    let mut places = vec![0u32; tree.len()];
    for (index, context) in tree.contexts() {
        if of(context.total) < least {
            page.left_out += 1;
            continue;
        }
        page.parents.push(places.get(context.parent as usize).copied().unwrap_or(0));
        page.methods.push(context.method);
        page.lines.push(context.line);
        page.kinds.push(kind(tree, context));
        page.own.push(of(context.own));
        page.totals.push(of(context.total));
        page.before.extend(before(index));
        if let Some(place) = places.get_mut(index as usize) {
            *place = page.parents.len() as u32;
        }
    }
    fill_in(&page, out)
}

/// The lightest weight that is shown. Parents are never lighter than their
/// children, so that what is left is a tree.
fn least_shown(tree: &CallTree, unit: Unit) -> u64 {
    let mut totals: Vec<u64> = tree.contexts().map(|(_, context)| context.total.in_unit(unit)).collect();
    if totals.len() <= MOST_CONTEXTS {
        return 1;
    }
    totals.sort_unstable_by_key(|total| std::cmp::Reverse(*total));
    totals.get(MOST_CONTEXTS).map_or(1, |total| total + 1)
}

/// Which colour: see `page.js`.
fn kind(tree: &CallTree, context: &Context) -> u8 {
    match (tree.method(context.method).origin, context.kind) {
        (Origin::Java, FrameKind::Interpreted) => 0,
        (Origin::Java, FrameKind::Compiled) => 1,
        (Origin::Java, FrameKind::Inlined) => 2,
        (Origin::Java, FrameKind::Native) | (Origin::Native, _) => 3,
        (Origin::Threads, _) => 4,
        (Origin::Lock, _) => 5,
        (Origin::Unknown, _) => 6,
    }
}

fn subtitle(profile: &Profile, unit: Unit) -> String {
    let total = profile.tree.total();
    let what = if profile.measure.is_blocked_time() { ["contention", "contentions"] } else { ["sample", "samples"] };
    let mut parts = vec![profile.measure.title().to_owned()];
    if unit == Unit::Nanoseconds {
        parts.push(headway_model::DurationNs(total.ns).to_string());
    }
    parts.push(headway_model::quantity::counted(profile.observations(), what[0], what[1]));
    parts.push(format!("in {}", profile.duration));
    parts.join(", ")
}

fn fill_in(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let data = serde_json::to_string(page)?.replace('<', "\\u003c");
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out.write_all(before.as_bytes())?;
        match name {
            "title" => out.write_all(escaped(page.title).as_bytes())?,
            "styles" => out.write_all(STYLES.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            _ => out.write_all(data.as_bytes())?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
