//! The whole ledger, at the end.

use super::{CpuUsers, Entry, EntryKind, Ledger, LockSplit, Quality};
use crate::aggregate::{share, Range};
use crate::analysis::Analysis;
use crate::steal::steal_report::StealReport;
use crate::wait_class::WaitClasses;
use headway_model::{LockId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sums by entry.
#[derive(Default)]
struct Sums {
    ns: FxHashMap<EntryKind, u64>,
    estimated: FxHashSet<EntryKind>,
}

impl Sums {
    fn add(&mut self, kind: EntryKind, ns: u64, quality: Quality) {
        if ns > 0 {
            *self.ns.entry(kind).or_default() += ns;
            if quality == Quality::Estimated {
                self.estimated.insert(kind);
            }
        }
    }

    fn get(&self, kind: EntryKind) -> u64 {
        self.ns.get(&kind).copied().unwrap_or_default()
    }

    /// So much of one entry is of another.
    fn change(&mut self, from: EntryKind, to: EntryKind, ns: u64) {
        self.add(to, ns, Quality::Exact);
        if let Some(rest) = self.ns.get_mut(&from) {
            *rest -= ns.min(*rest);
        }
    }
}

/// Who a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Platform,
    Virtual,
    Carrier,
    LeftOut,
}

/// Puts the accounts together.
pub(crate) fn assemble(
    analysis: &Analysis,
    range: Range,
    classes: &WaitClasses,
    splits: &FxHashMap<LockId, LockSplit>,
    steal: Option<&StealReport>,
    threads: u64,
) -> Ledger {
    let mut sums = Sums::default();
    let lives_unknown = !analysis.knows_lives();
    let mut ledger = Ledger { threads, lives_unknown, cpu_users: steal.map(cpu_users), ..Ledger::default() };
    // Samples of other tools do not say what CPU time they stand for.
    let samples = steal.is_none() && !analysis.recording.as_ref().is_some_and(|info| analysis.is_foreign(info));
    // How much of a thread's life was measured.
    let covered = steal.map_or(0.0, |steal| share(steal.covered_ns, range.to.since(range.from).0).min(1.0));
    let (mut life, mut blocked, mut waited) = (0, 0, 0);
    for thread in analysis.threads.ids() {
        let who = who(analysis, thread);
        let account = analysis.accounts.get(thread);
        let sampled_cpu = if samples { account.sampled_cpu } else { 0 };
        match who {
            Who::LeftOut => continue,
            Who::Carrier => {
                let spent = Spent::of(analysis, thread, u64::MAX).or_sampled(sampled_cpu);
                spent.add_to(&mut sums);
                add_measured(analysis, thread, (spent, spent.total()), &mut ledger);
                life += spent.total();
                continue;
            }
            Who::Virtual => {
                sums.add(EntryKind::Cpu, sampled_cpu, Quality::Estimated);
                life += account.own() + sampled_cpu;
            }
            Who::Platform if lives_unknown => life += account.own(),
            Who::Platform => {
                let Some((start, end)) = analysis.threads.span(thread, range) else { continue };
                let lived = end.since(start).0;
                ledger.excess_ns += account.own().saturating_sub(lived);
                life += lived.max(account.own());
                let mut rest = lived.saturating_sub(account.own());
                let pauses = analysis.replays.monitors.pauses().within(start, end).0.saturating_sub(account.paused);
                sums.add(EntryKind::Pause, pauses.min(rest), Quality::Exact);
                rest -= pauses.min(rest);
                let spent = Spent::of(analysis, thread, rest).or_sampled(sampled_cpu.min(rest));
                spent.add_to(&mut sums);
                add_measured(analysis, thread, (spent, lived), &mut ledger);
                rest -= spent.total();
                let off_cpu = match samples {
                    true => account.sampled_off_cpu().min(rest),
                    false => (rest as f64 * covered) as u64,
                };
                sums.add(EntryKind::OffCpu, off_cpu, Quality::Estimated);
                sums.add(EntryKind::Unknown, rest - off_cpu, Quality::Exact);
            }
        }
        // Short contentions are left out of all sums about locks, but their threads did nothing else meanwhile.
        sums.add(EntryKind::LockUnknown, account.left_out, Quality::Exact);
        blocked += account.blocked;
        waited += account.waited;
    }
    // Of which threads that was is not recorded: it may be that of virtual threads, of which nothing else is known.
    let summed = analysis.only_summed_ns(range).min(sums.get(EntryKind::Unknown));
    if summed > 0 && !analysis.has_virtual_threads() {
        sums.change(EntryKind::Unknown, EntryKind::LockUnknown, summed);
    }
    sums.add(EntryKind::WaitTime, analysis.accounts.slept, Quality::Exact);
    sums.add(EntryKind::Io, analysis.accounts.io, Quality::Exact);
    add_waits(analysis, classes, waited, &mut sums);
    add_blocked(analysis, splits, blocked, &mut sums);
    ledger.total_ns = sums.ns.values().sum();
    let bounded = analysis.accounts.folded + analysis.threads.folded + analysis.waits.folded > 0;
    ledger.unbalanced_ns = if bounded { 0 } else { ledger.total_ns.abs_diff(life) };
    ledger.entries = EntryKind::ALL
        .into_iter()
        .filter_map(|entry| {
            let total_ns = sums.ns.get(&entry).copied()?;
            let quality = if sums.estimated.contains(&entry) { Quality::Estimated } else { Quality::Exact };
            Some(Entry { entry, total_ns, share: share(total_ns, ledger.total_ns), quality })
        })
        .collect();
    ledger
}

fn who(analysis: &Analysis, thread: ThreadId) -> Who {
    let def = analysis.names.thread(thread);
    let filter = analysis.options.threads.as_ref();
    if !filter.is_none_or(|filter| filter.accepts(&analysis.names.thread_text(thread))) {
        return Who::LeftOut;
    }
    match def {
        Some(def) if &*def.group == "CarrierThreads" => Who::Carrier,
        Some(def) if def.is_service => Who::LeftOut,
        Some(def) if def.is_virtual => Who::Virtual,
        _ if thread.0 & ThreadId::NATIVE != 0 => Who::LeftOut,
        _ => Who::Platform,
    }
}

/// A thread's measured time that is in none of its events.
#[derive(Clone, Copy, Default)]
struct Spent {
    cpu: u64,
    run_queue: u64,
    throttled: u64,
    steal: u64,
}

impl Spent {
    /// As much of it as fits into `rest`.
    fn of(analysis: &Analysis, thread: ThreadId, rest: u64) -> Spent {
        let Some(totals) = analysis.steal.totals_of(thread) else { return Spent::default() };
        // Most kernels count throttling as waiting in the run queue, too.
        let ready = totals.run_queue_ns.max(totals.throttled_ns);
        let mut rest = rest;
        let mut take = |ns: u64| {
            let taken = ns.min(rest);
            rest -= taken;
            taken
        };
        let cpu = take(totals.corrected_ns);
        let throttled = take(totals.throttled_ns);
        let run_queue = take(ready - totals.throttled_ns);
        Spent { cpu, run_queue, throttled, steal: take(totals.steal_ns) }
    }

    /// The CPU time that samples stand for, where none was measured.
    fn or_sampled(self, cpu: u64) -> Spent {
        match self.total() {
            0 => Spent { cpu, ..self },
            _ => self,
        }
    }

    fn total(&self) -> u64 {
        self.cpu + self.run_queue + self.throttled + self.steal
    }

    fn add_to(&self, sums: &mut Sums) {
        sums.add(EntryKind::Cpu, self.cpu, Quality::Estimated);
        sums.add(EntryKind::RunQueue, self.run_queue, Quality::Estimated);
        sums.add(EntryKind::Throttled, self.throttled, Quality::Estimated);
        sums.add(EntryKind::Steal, self.steal, Quality::Estimated);
    }
}

fn add_measured(analysis: &Analysis, thread: ThreadId, (spent, lived_ns): (Spent, u64), ledger: &mut Ledger) {
    if analysis.steal.totals_of(thread).is_some() {
        let group = ledger.measured.entry(analysis.names.group_text(thread)).or_default();
        group.ready_ns += spent.run_queue + spent.throttled + spent.steal;
        group.lived_ns += lived_ns;
    }
}

fn add_waits(analysis: &Analysis, classes: &WaitClasses, waited: u64, sums: &mut Sums) {
    let mut told = 0;
    for (place, site) in analysis.waits.sites().iter().enumerate() {
        let ours = |thread: &ThreadId| matches!(who(analysis, *thread), Who::Platform | Who::Virtual);
        let ns: u64 = site.threads.iter().filter(|(thread, _)| ours(thread)).map(|(_, ns)| ns).sum();
        sums.add(classes.get(place), ns, quality_of(analysis, Quality::Exact));
        told += ns;
    }
    // Waits of threads for which a site had no room.
    sums.add(EntryKind::WaitResult, waited.saturating_sub(told), Quality::Exact);
}

/// Adds what locks' blocked time is split into, without that of service threads.
fn add_blocked(analysis: &Analysis, splits: &FxHashMap<LockId, LockSplit>, blocked: u64, sums: &mut Sums) {
    let mut all = LockSplit::default();
    splits.values().for_each(|split| all.add(split));
    let service = analysis.aggregate.service();
    all.paused -= service.paused.min(all.paused);
    all.hand_off -= service.hand_over.min(all.hand_off);
    all.for_carrier = all.for_carrier.min(all.hand_off);
    // By whom service threads were blocked is not kept: in proportion.
    let mut left = all.total().saturating_sub(blocked);
    let part = share(left, all.total() - all.paused - all.hand_off);
    let parts = [&mut all.ran, &mut all.waited, &mut all.no_cpu, &mut all.off_cpu, &mut all.unknown];
    for ns in parts {
        let off = ((*ns as f64 * part).ceil() as u64).min(left).min(*ns);
        *ns -= off;
        left -= off;
    }
    for (kind, ns, quality) in all.entries() {
        sums.add(kind, ns, quality_of(analysis, quality));
    }
}

/// Where contentions and waits were sampled, what they are split into is an estimate.
fn quality_of(analysis: &Analysis, quality: Quality) -> Quality {
    if analysis.sampled.is_used() {
        Quality::Estimated
    } else {
        quality
    }
}

fn cpu_users(steal: &StealReport) -> CpuUsers {
    let mut users = CpuUsers { idle_ns: steal.machine.idle_ns, ..CpuUsers::default() };
    for thread in &steal.threads {
        let ns = thread.totals.corrected_ns;
        let begins = |list: &[&str]| list.iter().any(|prefix| thread.name.starts_with(prefix));
        match thread.is_service {
            false => users.application_ns += ns,
            true if thread.is_carrier => users.application_ns += ns,
            true if begins(&["GC Thread", "G1 ", "ZWorker", "ZDriver", "ZDirector", "Shenandoah", "ParGC"]) => {
                users.gc_ns += ns;
            }
            true if begins(&["C1 Compiler", "C2 Compiler", "JVMCI"]) => users.compiler_ns += ns,
            true if thread.name.starts_with("headway-") => users.headway_ns += ns,
            true => users.vm_ns += ns,
        }
    }
    let named = users.process_ns();
    users.vm_ns += steal.process.corrected_ns.saturating_sub(named);
    users.others_ns = steal.machine.busy_ns.saturating_sub(steal.process.corrected_ns.max(named));
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steal::steal_report::{Named, Totals};

    #[test]
    fn headway_is_not_the_vm() {
        let thread = |name: &str, is_service, ns| Named {
            name: name.to_owned(),
            is_service,
            totals: Totals { corrected_ns: ns, ..Totals::default() },
            ..Named::default()
        };
        let threads = vec![
            thread("main", false, 10),
            thread("G1 Main Marker", true, 20),
            thread("C2 CompilerThread0", true, 30),
            thread("headway-drain", true, 40),
            thread("headway-sample", true, 1),
            thread("VM Thread", true, 50),
        ];
        let mut steal = StealReport { threads, ..StealReport::default() };
        steal.process.corrected_ns = 160;
        steal.machine.busy_ns = 200;
        let users = cpu_users(&steal);
        assert_eq!((users.application_ns, users.gc_ns, users.compiler_ns, users.headway_ns), (10, 20, 30, 41));
        // What no thread had of the process is the VM's.
        assert_eq!((users.vm_ns, users.process_ns(), users.others_ns), (59, 160, 40));
    }
}
