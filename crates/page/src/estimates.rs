//! How far blocked time by owner and call stack may be off, where a recording samples contentions:
//! rows of the analysis' own breakdown, that of `headway report --by`, in the page's ids.

use crate::contract::{Aspect, Estimates};
use crate::names::{bounded, Mentioned, Names};
use headway_analysis::names::{is_machinery, past_machinery};
use headway_analysis::report::{Row, Value, UNKNOWN};
use headway_analysis::Aspect as By;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The levels. The stacks come last, because they decide the methods: a pair of stacks below a lock has one row.
pub(crate) const BY: [By; 5] = [By::LockName, By::OwnerMethod, By::ContenderMethod, By::ContenderChain, By::OwnerChain];

/// The same in the page's words.
const ASPECTS: [Aspect; BY.len()] =
    [Aspect::LockName, Aspect::OwnerMethod, Aspect::ContenderMethod, Aspect::ContenderChain, Aspect::OwnerChain];

/// Rows that a page gets: those with most time.
const MOST: usize = 1_000;

/// The rows of a report by [`BY`] that the page has names for.
pub(crate) fn of(rows: &[Row], names: &Names) -> Estimates {
    if rows.is_empty() {
        return Estimates::default();
    }
    let ids = Ids::of(names);
    let mut found = Vec::new();
    flatten(rows, -1, &ids, &mut found);
    let mut order: Vec<usize> = (0..found.len()).collect();
    // A row has no less time than its parts, and stands before them.
    order.sort_by_key(|place| (Reverse(found[*place].row.total_ns), *place));
    order.truncate(MOST);
    order.sort_unstable();
    let places: FxHashMap<i32, i32> = (0..).zip(&order).map(|(new, old)| (*old as i32, new)).collect();
    let kept = || order.iter().map(|place| &found[*place]);
    let interval = |of: fn(&headway_analysis::report::Interval) -> u64, exact: fn(&Row) -> u64| {
        kept().map(|one| one.row.interval.as_ref().map_or(exact(one.row), of)).collect()
    };
    let running = |row: &Row| row.total_ns - row.pause_ns.min(row.total_ns);
    Estimates {
        by: ASPECTS.to_vec(),
        parent: kept().map(|one| places.get(&one.parent).copied().unwrap_or(-1)).collect(),
        value: kept().map(|one| one.value).collect(),
        total: kept().map(|one| running(one.row)).collect(),
        low: interval(|found| found.low_ns, running),
        high: interval(|found| found.high_ns, running),
        instants: interval(|found| found.instants, |_| 0),
        left_out: (found.len() - order.len()) as u64,
    }
}

/// The names that the rows mention.
pub(crate) fn mentioned(estimates: &Estimates, found: &mut Mentioned<'_>) {
    let mut depths: Vec<usize> = Vec::with_capacity(estimates.parent.len());
    for (parent, value) in estimates.parent.iter().zip(&estimates.value) {
        let depth = usize::try_from(*parent).ok().and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1);
        depths.push(depth);
        match estimates.by.get(depth) {
            Some(Aspect::ContenderChain | Aspect::OwnerChain) => found.chain(*value),
            _ => found.text(*value),
        }
    }
}

struct Found<'a> {
    parent: i32,
    value: u32,
    row: &'a Row,
}

/// Puts rows and what is below them into `found`, but those that the page has no name for.
fn flatten<'a>(rows: &'a [Row], parent: i32, ids: &Ids<'_>, found: &mut Vec<Found<'a>>) {
    for row in rows {
        let Some(value) = ids.value(row) else { continue };
        let place = found.len() as i32;
        found.push(Found { parent, value, row });
        flatten(&row.children, place, ids, found);
    }
}

/// What the analysis calls things, and the page's ids for them.
struct Ids<'a> {
    /// Of locks that are alone in having their name: what the code calls them.
    locks: FxHashMap<&'a str, u32>,
    texts: FxHashMap<&'a str, u32>,
    chains: FxHashMap<Vec<String>, u32>,
}

impl<'a> Ids<'a> {
    fn of(names: &'a Names) -> Ids<'a> {
        let chain = |frames: &Vec<u32>| frames.iter().map(|frame| frame_text(names, *frame)).collect();
        Ids {
            locks: names.locks().iter().map(|lock| (lock.name.as_str(), lock.title)).collect(),
            texts: (0..).zip(names.texts()).map(|(id, text)| (text.as_str(), id)).collect(),
            chains: (0..).zip(names.chains()).map(|(id, frames)| (chain(frames), id)).collect(),
        }
    }

    fn value(&self, row: &Row) -> Option<u32> {
        match &row.value {
            Value::Text(text) if text == UNKNOWN => Some(0),
            Value::Text(_) if row.others > 0 => None,
            Value::Text(text) => self.text(row.aspect, &bounded(text)),
            Value::Chain(frames) if row.aspect == By::OwnerChain => self.chain(without_machinery(frames)),
            Value::Chain(frames) => self.chain(frames),
        }
    }

    fn text(&self, aspect: By, text: &str) -> Option<u32> {
        let lock = self.locks.get(text).filter(|_| aspect == By::LockName);
        let name = if aspect == By::LockName { name_of_several(text) } else { text };
        lock.or_else(|| self.texts.get(name)).copied()
    }

    fn chain(&self, frames: &[String]) -> Option<u32> {
        let frames: Vec<String> = frames.iter().map(|frame| bounded(frame)).collect();
        self.chains.get(&frames).copied()
    }
}

/// A report adds to the name of several locks how many they are, and their class: `Shelf.lock (3 locks of Shelf)`.
fn name_of_several(text: &str) -> &str {
    text.rfind(" locks of ").and_then(|end| text[..end].rfind(" (")).map_or(text, |end| &text[..end])
}

/// As the page has an owner's stack: from the frame on that had the lock.
fn without_machinery(frames: &[String]) -> &[String] {
    let methods: Vec<&str> =
        frames.iter().map(|frame| frame.rsplit_once(':').map_or(frame.as_str(), |(method, _)| method)).collect();
    &frames[past_machinery(&methods, |method| Some(*method), is_machinery)..]
}

fn frame_text(names: &Names, frame: u32) -> String {
    let Some(frame) = names.frames().get(frame as usize) else { return String::new() };
    let method = names.texts().get(frame.method as usize).map_or("", String::as_str);
    match frame.line {
        0 => method.to_owned(),
        line => format!("{method}:{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owners_stack_begins_with_the_frame_that_had_the_lock() {
        let frames = ["java.util.concurrent.locks.ReentrantLock.unlock:5", "a.Pool.unlock:7", "a.Pool.give:9"];
        let frames = frames.map(str::to_owned);
        assert_eq!(without_machinery(&frames), &frames[2..]);
        assert_eq!(without_machinery(&frames[1..]), &frames[1..], "a monitor's owner may be called so");
        assert!(without_machinery(&[]).is_empty());
    }

    #[test]
    fn what_a_report_adds_to_the_name_of_several_locks_is_left_out() {
        let texts = ["Stock.lock", "Stock.lock (3 locks of com.acme.Shelf)", "a (b) (12 locks of C)"];
        assert_eq!(texts.map(name_of_several), ["Stock.lock", "Stock.lock", "a (b)"]);
    }

    #[test]
    fn the_machinery_of_locking_is_no_part_of_an_owners_stack() {
        let frames = ["java.util.concurrent.locks.ReentrantLock.unlock:494", "com.acme.Shop.sell:7"].map(str::to_owned);
        assert_eq!(without_machinery(&frames), &frames[1..]);
        assert_eq!(without_machinery(&frames[..1]), &frames[..1]);
    }
}
