//! Where threads waited in each of several recordings: what the page compares as "Waits with the most time".

use crate::recording::analysed::Analysed;
use crate::render::{file_name, numbers, prose_fitted, title};
use crate::terminal::Screen;
use comfy_table::{presets, CellAlignment, Table};
use headway_analysis::Report;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Methods that are shown.
const MOST_METHODS: usize = 10;
/// More recordings do not fit side by side.
const MOST_RECORDINGS: usize = 4;
/// Columns of a file's name.
const FILE: usize = 14;

/// The table of methods, if any threads waited.
pub fn write(shown: &[Analysed], screen: &Screen, out: &mut String) {
    let reports: Vec<&Report> = shown.iter().map(|analysed| &analysed.report).collect();
    let methods = methods(&reports);
    if methods.is_empty() || shown.len() > MOST_RECORDINGS {
        return;
    }
    title("WAITS", "waited time per second of recording, by method; idle threads left out", screen, out);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let files = headings(shown.iter().map(|analysed| analysed.path.as_path()));
    table.set_header(std::iter::once("WAITED IN".to_owned()).chain(files));
    let width =
        if screen.cut { screen.width.saturating_sub(3 + shown.len() * (FILE + 2)).max(FILE) } else { usize::MAX };
    for (method, rates) in methods.iter().take(MOST_METHODS) {
        let rates = rates.iter().map(|rate| numbers::time(*rate));
        table.add_row(std::iter::once(prose_fitted(method, width)).chain(rates));
    }
    for column in 1..=shown.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    super::details::more(methods.len(), MOST_METHODS, screen, out);
}

/// What the columns are called: files without their folders, numbers of the recordings if that is not enough.
fn headings<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let name = |path: &Path| prose_fitted(&file_name(Path::new(path.file_name().unwrap_or(path.as_os_str()))), FILE);
    let names: Vec<String> = paths.map(name).collect();
    match names.iter().collect::<BTreeSet<_>>().len() == names.len() {
        true => names,
        false => (1..=names.len()).map(|number| format!("recording {number}")).collect(),
    }
}

/// Methods with the time waited in each second of each recording, those with the largest time first.
fn methods<'a>(reports: &[&'a Report]) -> Vec<(&'a str, Vec<u64>)> {
    let mut rates: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        let seconds = report.duration_ns.max(1) as f64 / 1e9;
        for (method, ns) in report.waited_by_method() {
            let rates = rates.entry(method).or_insert_with(|| vec![0; reports.len()]);
            rates[at] = (ns as f64 / seconds).round() as u64;
        }
    }
    let mut methods: Vec<(&str, Vec<u64>)> = rates.into_iter().collect();
    methods.sort_by_key(|(_, rates)| Reverse(rates.iter().max().copied()));
    methods
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::report::WaitSite;

    #[test]
    fn columns_have_names_that_differ() {
        let of = |paths: [&str; 2]| headings(paths.into_iter().map(Path::new));
        assert_eq!(of(["/tmp/recordings/a.jfr", "/tmp/recordings/a2.jfr"]), ["a.jfr", "a2.jfr"]);
        assert_eq!(of(["before/a.jfr", "after/a.jfr"]), ["recording 1", "recording 2"]);
    }

    #[test]
    fn methods_have_their_time_per_second_of_each_recording() {
        let site = |method: &str, seconds: u64, idle| WaitSite {
            method: method.to_owned(),
            total_ns: seconds * 1_000_000_000,
            idle,
            ..WaitSite::default()
        };
        let report = |seconds: u64, waits: Vec<WaitSite>| Report {
            duration_ns: seconds * 1_000_000_000,
            waits,
            ..Report::default()
        };
        let before = report(
            10,
            vec![site("Pool.borrow", 20, false), site("Pool.borrow", 10, false), site("Main.run", 99, true)],
        );
        let after = report(20, vec![site("Queue.put", 10, false), site("Pool.borrow", 5, true)]);
        let second = 1_000_000_000;
        let expected = [("Pool.borrow", vec![3 * second, 0]), ("Queue.put", vec![0, second / 2])];
        assert_eq!(methods(&[&before, &after]), expected);
    }
}
