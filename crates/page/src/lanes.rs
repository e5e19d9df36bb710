//! What each thread did, when; and single entries.

use crate::contract::{self, Entry, Kind, Lane, Lanes, Slice, Thread};
use crate::idle::Idle;
use crate::names::Mentioned;
use crate::recording::Recording;
use crate::scope::Selection;
use crate::table::{Row, AFTER_WAIT, APPROXIMATE, CONTINUES, NO_CPU, SUMMED, UNFINISHED};

#[derive(Clone, Copy, Default)]
struct ThreadTotals {
    seen: bool,
    blocked: u64,
    other: u64,
}

/// The lanes of the threads that `selection` takes anything of.
pub(crate) fn lanes(
    recording: &Recording,
    selection: &Selection<'_>,
    first: usize,
    count: usize,
    pixels: u32,
) -> Lanes {
    let order = order(recording, selection);
    let chosen: Vec<(u32, ThreadTotals)> = order.iter().skip(first).take(count).copied().collect();
    let mut mentioned = Mentioned::of(recording.names());
    let mut lanes: Vec<Lane> = Vec::with_capacity(chosen.len());
    let mut places: Vec<Option<usize>> = vec![None; recording.names().threads().len()];
    for (thread, totals) in chosen {
        places[thread as usize] = Some(lanes.len());
        lanes.push(Lane { thread, blocked_ns: totals.blocked, ..Lane::default() });
        mentioned.thread(thread);
    }
    let idle = Idle::of(recording);
    let pixel = ((selection.to - selection.from) / u64::from(pixels.max(1))).max(1);
    let mut spans: Vec<Vec<u64>> = vec![Vec::new(); lanes.len()];
    for (place, rows) in recording.table().entries() {
        let Some(place_of_lane) = places.get(rows[0].thread as usize).copied().flatten() else { continue };
        if !rows.iter().any(|row| selection.takes_as_total(row)) {
            continue;
        }
        let start = rows[0].start;
        let span = rows.iter().map(|row| row.span).sum();
        let sum = recording.table().sum(place);
        let is_sum = rows[0].flags & SUMMED != 0;
        // What was added up cannot be looked at one by one.
        let (total, longest) = if is_sum { (sum.total, ONLY_SUMS) } else { (span, start as i64) };
        let joined = (sum.count + sum.going) as u32;
        let segment = Segment { start, span, total, kind: rows[0].kind, longest, joined, idle: idle.is_idle(&rows[0]) };
        segment.draw(&mut lanes[place_of_lane], &mut spans[place_of_lane], pixel);
    }
    let threads = application_threads(recording, order.iter().map(|(thread, _)| *thread));
    Lanes { threads, lanes, names: mentioned.into_names() }
}

/// How many threads of the application these are. Those of which the short contentions are in the sum of their group can
/// stand beside that sum: there are no more than the recording has.
fn application_threads(recording: &Recording, threads: impl Iterator<Item = u32>) -> usize {
    let names = recording.names().threads();
    let count: usize = threads.filter_map(|id| names.get(id as usize)).map(stands_for).sum();
    let facts = recording.facts();
    if facts.folded_threads > 0 {
        count.min(facts.threads as usize)
    } else {
        count
    }
}

/// For how many threads of the application it stands.
fn stands_for(thread: &Thread) -> usize {
    match thread.kind >= crate::names::JVM || !thread.key.contains('#') {
        true => 0,
        false => thread.others.max(1) as usize,
    }
}

/// Threads in scope: most blocked first, then most of anything else.
fn order(recording: &Recording, selection: &Selection<'_>) -> Vec<(u32, ThreadTotals)> {
    let mut totals = vec![ThreadTotals::default(); recording.names().threads().len()];
    for (place, row) in recording.table().rows().iter().enumerate() {
        if row.thread == 0 || !selection.takes_as_total(row) {
            continue;
        }
        let (time, _) = row.clip(recording.table().sum(place), selection.from, selection.to);
        let thread = &mut totals[row.thread as usize];
        thread.seen = true;
        match row.kind <= Kind::Juc as u8 {
            true => thread.blocked += time,
            false => thread.other += time,
        }
    }
    let numbered = (0..).zip(totals).filter(|(_, totals)| totals.seen);
    let mut order: Vec<(u32, ThreadTotals)> = numbered.collect();
    order.sort_by_key(|(id, totals)| (std::cmp::Reverse((totals.blocked, totals.other)), *id));
    order
}

/// Begin of the longest contention of a segment that is made of sums only.
const ONLY_SUMS: i64 = -1;

struct Segment {
    start: u64,
    span: u64,
    total: u64,
    kind: u8,
    longest: i64,
    joined: u32,
    idle: bool,
}

impl Segment {
    /// Adds the segment; what is not a pixel away from one of its kind joins it. So do sums that lie over each
    /// other: a thread has one for each lock, and their time together is the time that the thread was blocked.
    fn draw(&self, lane: &mut Lane, spans: &mut Vec<u64>, pixel: u64) {
        // Lives and samples lie over other kinds: look for the last of this one.
        let recent = lane.kind.len().saturating_sub(4)..lane.kind.len();
        let is_like = |at: &usize| {
            lane.kind[*at] == self.kind
                && lane.idle[*at] == self.idle
                && (lane.longest[*at] == ONLY_SUMS) == (self.longest == ONLY_SUMS)
        };
        let last = recent.rev().find(is_like);
        if let Some(at) = last {
            let end = lane.start[at] + lane.span[at];
            let is_near = (self.span < pixel || spans[at] < pixel) && self.start < end.saturating_add(pixel);
            let lies_over = self.longest == ONLY_SUMS && self.start < end;
            if is_near || lies_over {
                lane.span[at] = (self.start + self.span).max(end) - lane.start[at];
                lane.total[at] += self.total;
                lane.joined[at] += self.joined;
                if self.span > spans[at] {
                    lane.longest[at] = self.longest;
                    spans[at] = self.span;
                }
                return;
            }
        }
        lane.start.push(self.start);
        lane.span.push(self.span);
        lane.total.push(self.total);
        lane.kind.push(self.kind);
        lane.longest.push(self.longest);
        lane.joined.push(self.joined);
        lane.idle.push(self.idle);
        spans.push(self.span);
    }
}

/// The longest entries.
pub(crate) fn longest(recording: &Recording, selection: &Selection<'_>, limit: usize) -> (Vec<Entry>, contract::Names) {
    let mut found: Vec<(u64, usize)> = Vec::new();
    for (place, rows) in recording.table().entries() {
        if rows[0].flags & SUMMED != 0 {
            continue;
        }
        let taken = rows.iter().filter(|row| selection.takes(row));
        let time: u64 = taken.map(|row| (row.start + row.span).min(selection.to) - row.start.max(selection.from)).sum();
        if time > 0 {
            found.push((time, place));
        }
    }
    found.sort_by_key(|(time, place)| (std::cmp::Reverse(*time), *place));
    found.truncate(limit);
    let (idle, mut mentioned) = (Idle::of(recording), Mentioned::of(recording.names()));
    let entries = found.iter().filter_map(|(_, place)| entry_at(recording, *place, &idle, &mut mentioned)).collect();
    (entries, mentioned.into_names())
}

/// Everything about a contention of a thread that begins at a moment.
pub(crate) fn entry(recording: &Recording, kind: Kind, start: u64, thread: &str) -> (Option<Entry>, contract::Names) {
    let mut mentioned = Mentioned::of(recording.names());
    let thread = recording.names().threads().iter().position(|one| one.key == thread);
    let is_it = |row: &Row| {
        row.start == start
            && Some(row.thread as usize) == thread
            && row.kind == kind as u8
            && row.flags & (CONTINUES | SUMMED) == 0
    };
    let place = recording.table().rows().iter().position(is_it);
    let entry = place.and_then(|place| entry_at(recording, place, &Idle::of(recording), &mut mentioned));
    (entry, mentioned.into_names())
}

fn entry_at(recording: &Recording, place: usize, idle: &Idle<'_>, mentioned: &mut Mentioned<'_>) -> Option<Entry> {
    let (_, rows) = recording.table().entry_of(place)?;
    let head = rows.first()?;
    mentioned.thread(head.thread);
    mentioned.lock(head.lock);
    mentioned.chain(head.chain);
    for row in rows {
        mentioned.thread(row.owner);
        mentioned.chain(row.owner_chain);
    }
    Some(Entry {
        kind: head.kind,
        start: head.start,
        span: rows.iter().map(|row| row.span).sum(),
        thread: head.thread,
        chain: head.chain,
        lock: head.lock,
        after_wait: head.flags & AFTER_WAIT != 0,
        unfinished: head.flags & UNFINISHED != 0,
        summed: head.flags & SUMMED != 0,
        idle: idle.is_idle(head),
        slices: rows.iter().map(slice).collect(),
    })
}

fn slice(row: &Row) -> Slice {
    Slice {
        start: row.start,
        span: row.span,
        owner: row.owner,
        chain: row.owner_chain,
        how: row.how(),
        stopped: row.stopped,
        approximate: row.flags & APPROXIMATE != 0,
        no_cpu: row.flags & NO_CPU != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_many_locks_in_the_same_second_are_one_segment_with_their_time_together() {
        const SECOND: u64 = 1_000_000_000;
        let (mut lane, mut spans) = (Lane::default(), Vec::new());
        let sum = |start: u64| Segment {
            start,
            span: SECOND,
            total: SECOND / 10,
            kind: Kind::Monitor as u8,
            longest: ONLY_SUMS,
            joined: 2,
            idle: false,
        };
        for start in [0, 0, 0, SECOND] {
            sum(start).draw(&mut lane, &mut spans, SECOND / 100);
        }
        assert_eq!((lane.start, lane.span), (vec![0, SECOND], vec![SECOND, SECOND]));
        assert_eq!((lane.total, lane.joined), (vec![3 * SECOND / 10, SECOND / 10], vec![6, 2]));
    }
}
