//! The tree of blocked time, level by level as `--by` asked.

use super::chain::{self, Fold};
use super::{numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::report::{Report, Row, Value, FOLDED, PAUSED, UNKNOWN};
use headway_analysis::Aspect;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Frames of a chain that are shown under its leaf.
const FRAMES: usize = 16;
/// Fewest columns for a name, even where that makes lines too long.
const LEAST_ROOM: usize = 20;

/// Writes the tree, at most `top` rows of each level.
pub fn write(report: &Report, top: usize, screen: &Screen, out: &mut String) {
    if report.rows.is_empty() {
        return;
    }
    let mut note = format!(
        "{} in {}",
        numbers::time(report.blocked_ns),
        numbers::counted(report.contentions, "contention", "contentions")
    );
    let by = format!(", --by {}", report.by.iter().map(|aspect| aspect.name()).collect::<Vec<_>>().join(","));
    // The rows say it, too.
    if "BLOCKED TIME  ".len() + note.len() + by.len() <= screen.width {
        note.push_str(&by);
    }
    title("BLOCKED TIME", &note, screen, out);
    let columns = Columns::for_report(report, screen);
    let header = columns.line(["share", "", "total", "count", "longest"]);
    let _ = writeln!(out, "{}", screen.faint(header.trim_end()));
    let mut tree = Tree { columns, top, blocked_ns: report.blocked_ns, screen, out, approximate: false, paused: false };
    tree.rows(&report.rows, 0);
    let legends = [
        (tree.approximate, "~: the owner was in this method, or in one that the compiler had inlined into it"),
        (
            report.rows.iter().any(is_of_waits),
            "conditional: waits in java.util.concurrent. They are not blocked time, and not in the totals above. Percentages are parts of these waits",
        ),
        (tree.paused, "VM pause: the part of the row's time in which the JVM had stopped all threads"),
        (
            report.rows.iter().any(has_parts),
            "A contention counts in each row that has a part of its time: do not add up counts. longest: the longest time of \
             one contention in this row",
        ),
    ];
    for (_, legend) in legends.into_iter().filter(|(is_used, _)| *is_used) {
        let _ = writeln!(out);
        for line in prose::wrapped(legend, screen.width, 2) {
            let _ = writeln!(out, "{}", screen.faint(&line));
        }
    }
}

/// True for the row of waits in a table by kind.
fn is_of_waits(row: &Row) -> bool {
    row.aspect == Aspect::Kind && matches!(&row.value, Value::Text(kind) if kind == "conditional")
}

/// True if contentions are in several of the rows below one.
fn has_parts(row: &Row) -> bool {
    row.children.iter().map(|child| child.count).sum::<u64>() > row.count || row.children.iter().any(has_parts)
}

/// How wide each column is.
struct Columns {
    bar: usize,
    count: usize,
}

impl Columns {
    fn for_report(report: &Report, screen: &Screen) -> Columns {
        let count = numbers::grouped(report.contentions).len().max("count".len());
        Columns { bar: if screen.width < 100 { 5 } else { 10 }, count }
    }

    /// The columns in front of the name, with a gap after them.
    fn line(&self, [share, bar, total, count, longest]: [&str; 5]) -> String {
        let bar_gap = self.bar.saturating_sub(bar.width());
        let count_width = self.count;
        format!("  {share:>7} {bar}{:bar_gap$} {total:>7}  {count:>count_width$}  {longest:>7}  ", "")
    }

    fn width(&self) -> usize {
        self.line([""; 5]).width()
    }
}

struct Tree<'a> {
    columns: Columns,
    top: usize,
    /// What shares are parts of.
    blocked_ns: u64,
    screen: &'a Screen,
    out: &'a mut String,
    /// True once a row was marked so.
    approximate: bool,
    /// Likewise.
    paused: bool,
}

impl Tree<'_> {
    /// Writes rows and those below them.
    fn rows(&mut self, rows: &[Row], depth: usize) {
        for row in rows.iter().take(self.top) {
            self.row(row, depth);
            self.rows(&row.children, depth + 1);
        }
        if let Some(rest) = rows.get(self.top..).filter(|rest| !rest.is_empty()) {
            self.rest(rest, depth);
        }
    }

    fn row(&mut self, row: &Row, depth: usize) {
        let bar = numbers::bar(row.share, self.columns.bar);
        let figures = self.columns.line([
            &numbers::percent(row.share),
            &bar,
            &numbers::time(row.total_ns),
            &numbers::grouped(row.count),
            &numbers::time(row.max_ns),
        ]);
        let figures = match self.screen.colour && !bar.is_empty() {
            true => figures.replacen(&bar, &self.screen.paint(anstyle::AnsiColor::Blue.on_default(), &bar), 1),
            false => figures,
        };
        let in_words = in_words(row);
        let role = if in_words.is_some() { "" } else { role(row.aspect) };
        let taken = self.columns.width() + 2 * depth + role.len();
        let mut marks = self.marks(row);
        let mut below = None;
        if let Some(interval) = &row.interval {
            let between = numbers::between(interval.of(self.blocked_ns), interval.instants);
            let name = in_words.unwrap_or(row.value.headline()).width();
            match taken + name + marks.width() + between.width() + " ()".len() <= self.screen.width {
                true => marks = format!("{marks} ({between})"),
                false => below = Some(between),
            }
        }
        let room = self.screen.width.saturating_sub(taken + marks.width()).max(LEAST_ROOM);
        let name = prose::fitted(in_words.unwrap_or(row.value.headline()), room, self.screen);
        let name = if depth == 0 { self.screen.strong(&name) } else { name };
        let (role, marks) = (self.screen.faint(role), self.screen.faint(&marks));
        let _ = writeln!(self.out, "{figures}{:indent$}{role}{name}{marks}", "", indent = 2 * depth);
        if let Some(between) = below {
            let _ = writeln!(self.out, "{}", self.screen.faint(&format!("  {:>7} ({between})", "")));
        }
        if let Value::Chain(frames) = &row.value {
            chain::behind_leaf(frames, FRAMES, taken, Fold::Synchronizers, self.screen, self.out);
        }
    }

    /// One line for the rows that `--top` leaves out.
    fn rest(&mut self, rest: &[Row], depth: usize) {
        let total: u64 = rest.iter().map(|row| row.total_ns).sum();
        let share: f64 = rest.iter().map(|row| row.share).sum();
        let figures = self.columns.line([&numbers::percent(share), "", &numbers::time(total), "", ""]);
        let count: u64 = rest.iter().map(|row| row.others.max(1)).sum();
        let more = format!("({} more)", numbers::grouped(count));
        let line = format!("{figures}{:indent$}{more}", "", indent = 2 * depth);
        let _ = writeln!(self.out, "{}", self.screen.faint(&line));
    }

    /// What has to be said besides: approximate owners, pauses of the VM. For how long the owner had no
    /// CPU is not said: the estimate of a row has no bounds.
    fn marks(&mut self, row: &Row) -> String {
        let part = |ns: u64| ns as f64 / row.total_ns.max(1) as f64;
        let mut marks = String::new();
        let names_owner = matches!(row.aspect, Aspect::OwnerMethod | Aspect::OwnerChain);
        if names_owner && row.approximate_ns > 0 {
            self.approximate = true;
            marks.push_str(" ~");
            if part(row.approximate_ns) < 0.9995 {
                marks.push_str(&numbers::percent(part(row.approximate_ns)));
            }
        }
        if part(row.pause_ns) >= 0.01 && row.pause_ns < row.total_ns {
            self.paused = true;
            let _ = write!(marks, " ({} VM pause)", numbers::percent(part(row.pause_ns)));
        }
        marks
    }
}

/// What a row says that has no name.
fn in_words(row: &Row) -> Option<&'static str> {
    match (row.value.headline(), row.aspect) {
        (PAUSED, _) => Some("VM pause"),
        (FOLDED, _) => Some("others, too many to keep them apart"),
        (UNKNOWN, aspect) if aspect.is_of_owner() => Some("hand-off, or owner not known"),
        (UNKNOWN, Aspect::ContenderMethod | Aspect::ContenderChain) => {
            Some("call stack of the blocked thread not known")
        }
        (UNKNOWN, Aspect::ContenderThread | Aspect::ContenderGroup) => Some("blocked thread not known"),
        (UNKNOWN, Aspect::Lock | Aspect::LockClass | Aspect::LockName) => Some("lock not known"),
        _ => None,
    }
}

/// What stands before a value so that the tree reads as a sentence.
fn role(aspect: Aspect) -> &'static str {
    match aspect {
        of_owner if of_owner.is_of_owner() => "owned by ",
        Aspect::ContenderMethod | Aspect::ContenderChain => "blocked in ",
        Aspect::ContenderThread | Aspect::ContenderGroup => "blocked ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::report::Interval;

    fn row(value: &str, interval: Option<Interval>) -> Row {
        Row {
            aspect: Aspect::OwnerMethod,
            value: Value::Text(value.to_owned()),
            total_ns: 620,
            count: 9,
            max_ns: 90,
            share: 0.62,
            interval,
            pause_ns: 0,
            approximate_ns: 0,
            owner_no_cpu_ns: 0,
            others: 0,
            children: Vec::new(),
        }
    }

    fn written(rows: Vec<Row>) -> String {
        let report =
            Report { blocked_ns: 1_000, contentions: 9, rows, by: vec![Aspect::OwnerMethod], ..Report::default() };
        let mut out = String::new();
        write(&report, 5, &Screen { width: 120, colour: false, cut: true }, &mut out);
        out
    }

    #[test]
    fn a_row_without_a_name_says_what_is_not_known() {
        let blocked = Row { aspect: Aspect::ContenderMethod, owner_no_cpu_ns: 300, ..row(UNKNOWN, None) };
        let out = written(vec![Row { children: vec![blocked], owner_no_cpu_ns: 300, ..row(UNKNOWN, None) }]);
        let lines: Vec<&str> = out.lines().skip(3).collect();
        assert!(lines[0].ends_with("  hand-off, or owner not known"), "{out}");
        assert!(lines[1].ends_with("  call stack of the blocked thread not known"), "{out}");
        let owned = written(vec![Row { owner_no_cpu_ns: 300, ..row("Shop.sell", None) }]);
        assert!(!owned.contains("no CPU") && !out.contains("no CPU"), "an estimate without bounds: {owned}");
        assert!(written(vec![row(FOLDED, None)]).contains("others, too many"));
    }

    #[test]
    fn the_part_of_pauses_is_explained_where_it_is_shown() {
        let out = written(vec![Row { pause_ns: 62, ..row("Shop.sell", None) }]);
        assert!(out.contains("owned by Shop.sell (10 % VM pause)"), "{out}");
        assert!(out.contains("VM pause: the part of the row's time in which the JVM had stopped all threads"), "{out}");
        let whole = written(vec![Row { pause_ns: 620, ..row(PAUSED, None) }]);
        assert!(whole.lines().last().is_some_and(|line| line.ends_with("  VM pause")), "{whole}");
    }

    #[test]
    fn estimates_show_their_interval_behind_the_name_or_below_it() {
        let interval = Some(Interval { low_ns: 580, high_ns: 660, instants: 412 });
        let long = "com.example.shop.Inventory.reserveEverythingThatIsThere";
        let rows = vec![row("Shop.sell", interval), row(long, interval), row("Shop.buy", None)];
        let out = written(rows);
        let lines: Vec<&str> = out.lines().skip(3).collect();
        assert!(lines[0].ends_with("owned by Shop.sell (58 to 66 %, 412 observations)"), "{out}");
        assert!(lines[1].ends_with(long) && lines[2].trim() == "(58 to 66 %, 412 observations)", "{out}");
        assert!(lines[3].ends_with("owned by Shop.buy"), "{out}");
    }
}
