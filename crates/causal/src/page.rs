//! The result as one HTML file: ranking, curves with intervals, the experiments
//! behind each point, the source of lines. It needs no script and loads nothing;
//! light or dark is as the reader's system is.

use crate::chart::chart;
use crate::experiment::{Experiment, Target};
use crate::gains::{Report, TargetReport};
use crate::statistics::{pairs_of, Pair};
use headway_model::quantity::percent;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A piece of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The file's path, as it was found.
    pub path: String,
    /// Number of the first line.
    pub first: u32,
    /// The lines.
    pub lines: Vec<String>,
    /// The one that is meant.
    pub marked: u32,
}

/// The page. `sources` has snippets by the names of targets; `from` says where the
/// experiments are from.
pub fn page(report: &Report, experiments: &[Experiment], sources: &BTreeMap<String, Snippet>, from: &str) -> String {
    let mut body = String::new();
    let progress = escape(&report.progress);
    let _ = write!(
        body,
        "<header><h1>What would a speedup buy?</h1><p class=\"dim\">{} windows of {}, progress point \
         <code>{progress}</code></p></header><main>",
        report.periods,
        escape(from)
    );
    let sentences: String = report.sentences().iter().map(|said| format!("<li>{}</li>", escape(said))).collect();
    let _ = write!(body, "<section><h2>Findings</h2><ol class=\"found\">{sentences}</ol>");
    if !report.notes.is_empty() || !report.warnings.is_empty() {
        let warnings: String =
            report.notes.iter().chain(&report.warnings).map(|said| format!("<li>{}</li>", escape(said))).collect();
        let _ = write!(body, "<h2>To be careful about</h2><ul class=\"warnings\">{warnings}</ul>");
    }
    body.push_str("</section>");
    if !report.targets.is_empty() {
        body.push_str(&ranking(report));
    }
    for (number, target) in report.targets.iter().enumerate() {
        let source = sources.get(&target.target);
        body.push_str(&section(report, target, number, experiments, source));
    }
    body.push_str("</main>");
    format!(
        "{HEAD}<title>What would a speedup buy? {progress}</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
    <meta name=\"color-scheme\" content=\"light dark\">\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">";
const STYLE: &str = include_str!("page.css");

/// Text that stands for itself in HTML, in attributes too.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn ranking(report: &Report) -> String {
    let mut rows = String::new();
    for (number, target) in report.targets.iter().enumerate() {
        let share = match target.share.is_finite() {
            true => percent(target.share),
            false => String::new(),
        };
        let _ = write!(
            rows,
            "<tr{}><td><a href=\"#target-{number}\"><code>{}</code></a></td><td>{}</td><td class=\"number\">{share}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            if target.significant { "" } else { " class=\"faint\"" },
            escape(&target.target),
            target.kind,
            report.measure.shown(target.gain_at_50),
            report.measure.shown_interval(target.ci95)
        );
    }
    format!(
        "<section><h2>Ranking</h2><div class=\"wide\"><table><thead><tr><th>target</th><th>kind</th>\
         <th class=\"number\">part of samples</th><th class=\"number\">halving it {} by</th>\
         <th class=\"number\">95 % interval</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"dim\">Faint: chance would look like this.</p></section>",
        escape(&report.measure.verb(&report.progress))
    )
}

fn section(
    report: &Report,
    target: &TargetReport,
    number: usize,
    experiments: &[Experiment],
    source: Option<&Snippet>,
) -> String {
    let name = escape(&target.target);
    let mut out =
        format!("<section id=\"target-{number}\"><h2><code>{name}</code> <small>{}</small></h2>", target.kind);
    out.push_str("<div class=\"beside\">");
    out.push_str(&chart(report, target));
    out.push_str("<div class=\"points\">");
    let parsed = Target::parse(&target.target);
    let behind = pairs_of(experiments, &parsed, &report.progress);
    for point in &target.points {
        let _ = write!(
            out,
            "<details><summary><b>measured at {:.0} % faster</b> {} <span class=\"dim\">({}; {} experiments)</span></summary>",
            point.speedup * 100.0,
            report.measure.shown(point.gain),
            report.measure.shown_interval(point.ci95),
            point.experiments
        );
        out.push_str(&experiments_behind(report, &behind, point.speedup));
        out.push_str("</details>");
    }
    out.push_str("</div></div>");
    if let Some(source) = source {
        out.push_str(&snippet(source));
    }
    out.push_str("</section>");
    out
}

fn experiments_behind(report: &Report, behind: &[(&Experiment, Pair)], speedup: f64) -> String {
    let mut rows = String::new();
    for (experiment, pair) in behind.iter().filter(|(_, pair)| (pair.speedup - speedup).abs() < 1e-6) {
        let gain = pair.gain();
        let _ = write!(
            rows,
            "<tr><td class=\"number\">{}</td><td class=\"number\">{:.0} ms</td><td class=\"number\">{:.0} ms</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            experiment.number,
            experiment.duration_ns as f64 / 1e6,
            experiment.delay_ns as f64 / 1e6,
            experiment.selected_samples,
            experiment.visits.get(&report.progress).copied().unwrap_or(0),
            report.measure.shown(gain)
        );
    }
    format!(
        "<div class=\"wide\"><table><thead><tr><th class=\"number\">window</th><th class=\"number\">length</th>\
         <th class=\"number\">delay</th><th class=\"number\">samples in it</th><th class=\"number\">visits</th>\
         <th class=\"number\">effect</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn snippet(source: &Snippet) -> String {
    let mut lines = String::new();
    for (text, number) in source.lines.iter().zip(source.first..) {
        let class = if number == source.marked { " class=\"marked\"" } else { "" };
        let _ = write!(lines, "<span{class}><i>{number:>5}</i> {}\n</span>", escape(text));
    }
    format!("<h3>{}</h3><pre>{lines}</pre>", escape(&source.path))
}
