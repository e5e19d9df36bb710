//! Which waits are those of idle threads: the report decides it by call stacks, rows are asked by method.

use crate::contract::{Aspect, Kind};
use crate::recording::Recording;
use crate::table::{Row, TOTALS};
use rustc_hash::{FxHashMap, FxHashSet};

/// The waits of a recording that count as idle.
#[derive(Debug)]
pub(crate) struct Idle<'a> {
    recording: &'a Recording,
    /// Methods in which at least half of the waited time is idle, as texts, with the kind of wait.
    methods: FxHashSet<(u32, u8)>,
    /// The same of what was waited for, by its name: sums without call stacks have nothing else.
    names: FxHashSet<(u32, u8)>,
}

impl<'a> Idle<'a> {
    pub fn of(recording: &'a Recording) -> Idle<'a> {
        let mut idle = Idle { recording, methods: FxHashSet::default(), names: FxHashSet::default() };
        let mostly = recording.facts().idle_waits.iter().filter(|waits| 2 * waits.idle_ns >= waits.total_ns);
        let wanted: FxHashSet<(&str, u8)> =
            mostly.map(|waits| (waits.method.as_str(), kind(waits.is_monitor))).collect();
        if wanted.is_empty() {
            return idle;
        }
        for (text, method) in (0..).zip(recording.names().texts()) {
            let kinds = [Kind::Wait as u8, Kind::Park as u8].into_iter();
            idle.methods
                .extend(kinds.filter(|kind| wanted.contains(&(method.as_str(), *kind))).map(|kind| (text, kind)));
        }
        let mut times: FxHashMap<(u32, u8), (u64, u64)> = FxHashMap::default();
        for (place, row) in recording.table().rows().iter().enumerate() {
            if !is_wait(row) || row.chain == 0 || row.lock == 0 || row.flags & TOTALS != 0 {
                continue;
            }
            let total = recording.table().sum(place).total;
            let time = times.entry((recording.value(Aspect::LockName, row), row.kind)).or_default();
            time.0 += if idle.is_idle(row) { total } else { 0 };
            time.1 += total;
        }
        idle.names =
            times.into_iter().filter(|(_, (part, all))| *part > 0 && 2 * part >= *all).map(|(of, _)| of).collect();
        idle
    }

    /// True for a wait of which most of the like are those of idle threads.
    pub fn is_idle(&self, row: &Row) -> bool {
        if !is_wait(row) || self.methods.is_empty() {
            return false;
        }
        match row.chain {
            0 => row.lock > 0 && self.names.contains(&(self.recording.value(Aspect::LockName, row), row.kind)),
            _ => self.methods.contains(&(self.recording.value(Aspect::ContenderMethod, row), row.kind)),
        }
    }
}

fn is_wait(row: &Row) -> bool {
    row.kind == Kind::Wait as u8 || row.kind == Kind::Park as u8
}

fn kind(is_monitor: bool) -> u8 {
    match is_monitor {
        true => Kind::Wait as u8,
        false => Kind::Park as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Facts, IdleWaits, Whole};
    use crate::names::Names;
    use crate::table::{RowSum, Table};
    use headway_model::stack::{CallChain, ChainDef, Frame, FrameKind, Method};
    use headway_model::{ChainId, Event, MethodId, TimeNs};
    use std::sync::Arc;

    #[test]
    fn a_wait_is_idle_if_its_method_is_and_a_sum_if_most_waits_for_the_same_object_are() {
        let mut names = Names::default();
        for (id, method) in [(1, "run"), (2, "borrow")] {
            let method = Method { class: "com.acme.Worker".into(), name: method.into(), ..Method::default() };
            names.feed(&Event::Method(MethodId(id), Arc::new(method)));
            let kind = FrameKind::Interpreted;
            let frame = Frame { method: MethodId(id), bci: 3, line: 7, kind, approximate: false };
            let chain = CallChain { frames: vec![frame], truncated: false };
            names.feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain })));
        }
        let (run, borrow) = (names.chain(ChainId(1), 0), names.chain(ChainId(2), 0));
        let (queue, pool) = (names.lock_of_class("queue"), names.lock_of_class("pool"));
        let (park, wait) = (Kind::Park as u8, Kind::Wait as u8);
        let row = |chain, lock, kind| Row { chain, lock, kind, span: 10, ..Row::default() };
        let singles = [row(run, queue, park), row(borrow, pool, park), row(run, queue, wait), row(run, queue, 0)];
        let sums = [row(0, queue, park), row(0, pool, park), row(0, 0, park)];
        let mut table = Table::new(1000);
        singles.iter().for_each(|row| table.add(std::iter::once(*row)));
        sums.iter().for_each(|row| table.add_sum(*row, RowSum::of(7, 3, 4)));
        table.settle(100);
        let waits = |name: &str, idle_ns| IdleWaits {
            method: format!("com.acme.Worker.{name}"),
            is_monitor: false,
            idle_ns,
            total_ns: 100,
        };
        let facts = Facts { idle_waits: vec![waits("run", 60), waits("borrow", 40)], ..Facts::default() };
        let recording = Recording::new(facts, TimeNs(0), names, table, Whole::default());
        let idle = Idle::of(&recording);
        assert_eq!(singles.map(|row| idle.is_idle(&row)), [true, false, false, false]);
        assert_eq!(sums.map(|row| idle.is_idle(&row)), [true, false, false]);
    }
}
