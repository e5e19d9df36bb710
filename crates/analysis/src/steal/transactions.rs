//! Transactions by kind: how long they took, and where that time went.

use super::history::{History, Spent};
use super::steal_report::{Spread, TransactionReport};
use hdrhistogram::Histogram;
use headway_model::event::Transaction;
use headway_model::{ThreadId, TimeNs};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Kinds that are distinguished.
const MAX_KINDS: usize = 4_096;
/// Significant digits of percentiles.
const DIGITS: u8 = 3;
/// The longest length that a percentile can have, a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

#[derive(Debug)]
struct Lengths {
    total: f64,
    histogram: Option<Histogram<u64>>,
}

impl Lengths {
    fn new() -> Lengths {
        // The bounds are valid, so there always is one.
        Lengths { total: 0.0, histogram: Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).ok() }
    }

    fn add(&mut self, each_ns: f64, count: u64) {
        self.total += each_ns * count as f64;
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(each_ns.round() as u64, count);
        }
    }

    fn spread(&self) -> Spread {
        let Some(histogram) = &self.histogram else { return Spread::default() };
        let at = |quantile| histogram.value_at_quantile(quantile).min(histogram.max());
        Spread {
            total_ns: self.total.round() as u64,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: histogram.max(),
        }
    }
}

#[derive(Debug)]
struct Kind {
    count: u64,
    not_ended: u64,
    without_cpu: u64,
    wall: Lengths,
    lost: Lengths,
    spent: Spent,
    blocked: u64,
    parked: u64,
    waited: u64,
}

impl Kind {
    fn new() -> Kind {
        Kind {
            count: 0,
            not_ended: 0,
            without_cpu: 0,
            wall: Lengths::new(),
            lost: Lengths::new(),
            spent: Spent::default(),
            blocked: 0,
            parked: 0,
            waited: 0,
        }
    }
}

/// See the module. A transaction waits here until the intervals in which it lay
/// are known.
#[derive(Debug)]
pub(crate) struct Transactions {
    pending: VecDeque<Transaction>,
    kinds: BTreeMap<Arc<str>, Kind>,
    bound: usize,
    pub folded: u64,
}

impl Transactions {
    pub fn new(bound: usize) -> Transactions {
        Transactions { pending: VecDeque::new(), kinds: BTreeMap::new(), bound, folded: 0 }
    }

    pub fn add(&mut self, transaction: &Transaction, history: &History) {
        self.pending.push_back(transaction.clone());
        if self.pending.len() > self.bound {
            // What is known by now must do.
            self.folded += 1;
            if let Some(oldest) = self.pending.pop_front() {
                self.settle(&oldest, history);
            }
        }
    }

    /// The intervals up to `time` are known.
    pub fn known_to(&mut self, time: TimeNs, history: &History) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|transaction| {
            let settled = transaction.time <= time;
            if settled {
                self.settle(transaction, history);
            }
            !settled
        });
        self.pending = pending;
    }

    fn settle(&mut self, transaction: &Transaction, history: &History) {
        let is_known = self.kinds.contains_key(&transaction.kind);
        let name = match is_known || self.kinds.len() < MAX_KINDS {
            true => transaction.kind.clone(),
            false => "(other)".into(),
        };
        let kind = self.kinds.entry(name).or_insert_with(Kind::new);
        if transaction.forgotten {
            kind.not_ended += transaction.count;
            return;
        }
        kind.count += transaction.count;
        kind.blocked += transaction.blocked.0;
        kind.parked += transaction.parked.0;
        kind.waited += transaction.waited.0;
        kind.wall.add(transaction.duration().0 as f64, transaction.count);
        match transaction.cpu {
            Some(cpu) => {
                let lost = lost(transaction, cpu.0 as f64, history);
                kind.spent.add(Spent { cpu: cpu.0 as f64, ..lost }, 1.0);
                kind.lost.add(lost.lost() / transaction.count.max(1) as f64, transaction.count);
            }
            None => kind.without_cpu += transaction.count,
        }
    }

    pub fn report(&self, corrects: bool) -> Vec<TransactionReport> {
        let mut kinds: Vec<TransactionReport> =
            self.kinds.iter().map(|(name, kind)| row(name, kind, corrects)).collect();
        kinds.sort_by(|a, b| b.wall.total_ns.cmp(&a.wall.total_ns).then_with(|| a.kind.cmp(&b.kind)));
        kinds
    }
}

/// What the environment took of a transaction. Of several that are recorded
/// together the threads are not known, and of a virtual thread not on which
/// carriers it ran: they fared like the whole process.
fn lost(transaction: &Transaction, cpu: f64, history: &History) -> Spent {
    let (start, end) = (transaction.start, transaction.time);
    if transaction.count == 1 && transaction.thread.is_some() && history.knows(transaction.thread) {
        return history.lost_with(transaction.thread, start, end, cpu);
    }
    let process = history.lost_with(ThreadId::NONE, start, end, f64::MAX);
    let factor = if process.cpu > 0.0 { cpu / process.cpu } else { 0.0 };
    let mut lost = Spent::default();
    lost.add(process, factor);
    lost
}

fn row(name: &str, kind: &Kind, corrects: bool) -> TransactionReport {
    let ns = |time: f64| time.round() as u64;
    let spent = kind.spent;
    TransactionReport {
        kind: name.to_owned(),
        count: kind.count,
        not_ended: kind.not_ended,
        without_cpu: kind.without_cpu,
        wall: kind.wall.spread(),
        cpu_ns: ns(spent.cpu),
        corrected_ns: ns(if corrects { (spent.cpu - spent.stolen).max(0.0) } else { spent.cpu }),
        blocked_ns: kind.blocked,
        parked_ns: kind.parked,
        waited_ns: kind.waited,
        steal_ns: ns(spent.stolen),
        throttled_ns: ns(spent.throttled),
        run_queue_ns: ns(spent.run_queue),
        runnable: kind.lost.spread(),
    }
}
