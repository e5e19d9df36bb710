//! Puts begins and ends of transactions together, with what their threads were
//! blocked, parked and waiting for meanwhile.
//!
//! Bounded: so many open at once (the oldest was forgotten most likely: of
//! virtual threads nobody says that they end), nested so deeply, so many recorded one
//! by one in a second. What goes beyond the last is added up by kind and length
//! (rounded to 3 %), which keeps totals exact and percentiles nearly so.

use headway_analysis::park::Classifier;
use headway_model::event::{Transaction, TransactionPoint};
use headway_model::{Dictionary, DurationNs, Event, Loss, ThreadId, TimeNs};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Transactions open at once.
const MAX_OPEN: usize = 65_536;
/// Transactions of one thread inside each other.
const MAX_DEPTH: usize = 64;
/// Transactions recorded one by one between two flushes.
const MAX_TOLD: usize = 1_000;
/// Bits of a length that distinguish its class from the next.
const CLASS_BITS: u32 = 5;

struct Open {
    transaction: Transaction,
    cpu_before: Option<DurationNs>,
}

/// Transactions of one kind and nearly one length.
#[derive(Default)]
struct TransactionSum {
    count: u64,
    last: TimeNs,
    length_ns: u64,
    cpu_ns: u64,
    blocked_ns: u64,
    parked_ns: u64,
    waited_ns: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Class {
    kind: Arc<str>,
    length: u32,
    has_cpu: bool,
}

/// See the module.
#[derive(Default)]
pub struct Pairing {
    /// By number, which is the order in which they began.
    open: BTreeMap<u64, Open>,
    /// Open transactions of each thread, outermost first.
    stacks: HashMap<ThreadId, Vec<u64>>,
    told: usize,
    sums: HashMap<Class, TransactionSum>,
    /// Says who acquired a lock.
    classifier: Classifier,
    forgotten: u64,
    lost: u64,
}

/// The class of a length: its highest bits.
fn class_of(length_ns: u64) -> u32 {
    let bits = u64::BITS - length_ns.leading_zeros();
    match bits.checked_sub(CLASS_BITS + 1) {
        None => length_ns as u32,
        Some(shift) => (shift + 1) << CLASS_BITS | (length_ns >> shift) as u32 & ((1 << CLASS_BITS) - 1),
    }
}

impl Pairing {
    /// Takes in anything that a thread did.
    pub fn feed(&mut self, event: &Event, dictionary: &Dictionary, sink: &mut dyn FnMut(Event)) {
        match event {
            Event::MonitorEntered(e) => self.add(e.thread, e.start, e.time, |t| &mut t.blocked),
            Event::MonitorReentered(e) => self.add(e.thread, e.start, e.time, |t| &mut t.blocked),
            Event::MonitorWaited(e) => self.add(e.thread, e.start, e.time, |t| &mut t.waited),
            Event::Park(e) => self.park(event, e.thread, (e.start, e.time), dictionary),
            Event::ShortParks(e) => {
                // They lie somewhere before `time`; longer than that they cannot have been.
                self.park(event, e.thread, (e.time - e.total, e.time), dictionary);
            }
            Event::ThreadEnd(e) => self.forget_above(e.thread, 0, e.time, sink),
            _ => {}
        }
    }

    /// A park: blocked if it was for a lock.
    fn park(&mut self, event: &Event, thread: ThreadId, span: (TimeNs, TimeNs), dictionary: &Dictionary) {
        if !self.stacks.contains_key(&thread) {
            return;
        }
        match self.classifier.acquires(event, dictionary) {
            true => self.add(thread, span.0, span.1, |t| &mut t.blocked),
            false => self.add(thread, span.0, span.1, |t| &mut t.parked),
        }
    }

    /// Adds a contention of a thread to its open transactions, as far as it lies
    /// in them.
    fn add(
        &mut self,
        thread: ThreadId,
        start: TimeNs,
        end: TimeNs,
        part: impl Fn(&mut Transaction) -> &mut DurationNs,
    ) {
        if self.stacks.is_empty() {
            return;
        }
        let Some(stack) = self.stacks.get(&thread) else { return };
        for id in stack {
            if let Some(open) = self.open.get_mut(id) {
                let from = start.max(open.transaction.start);
                *part(&mut open.transaction) += end.since(from);
            }
        }
    }

    /// A transaction begins or ends.
    pub fn point(&mut self, point: &TransactionPoint, kind: Arc<str>, sink: &mut dyn FnMut(Event)) {
        match point.is_end {
            false => self.begin(point, kind, sink),
            true => self.end(point, sink),
        }
    }

    fn begin(&mut self, point: &TransactionPoint, kind: Arc<str>, sink: &mut dyn FnMut(Event)) {
        if self.open.len() >= MAX_OPEN {
            self.forget_oldest(point.time, sink);
        }
        let stack = self.stacks.entry(point.thread).or_default();
        if stack.len() >= MAX_DEPTH {
            self.lost += 1;
            return;
        }
        let parent = stack.last().copied().unwrap_or(0);
        stack.push(point.id);
        let transaction = Transaction {
            time: point.time,
            start: point.time,
            thread: point.thread,
            kind,
            count: 1,
            id: point.id,
            parent,
            ..Transaction::default()
        };
        self.open.insert(point.id, Open { transaction, cpu_before: point.cpu });
    }

    /// What was begun inside of it and has not ended was forgotten. One that is
    /// not open began before the recording, or was dropped or forgotten.
    fn end(&mut self, point: &TransactionPoint, sink: &mut dyn FnMut(Event)) {
        let Some(mut open) = self.open.remove(&point.id) else { return };
        let thread = open.transaction.thread;
        let stack = self.stacks.get(&thread).map_or(&[][..], |stack| stack.as_slice());
        if let Some(depth) = stack.iter().position(|id| *id == point.id) {
            match thread == point.thread {
                true => self.forget_above(thread, depth + 1, point.time, sink),
                false => {
                    if let Some(stack) = self.stacks.get_mut(&thread) {
                        stack.remove(depth);
                    }
                }
            }
            self.pop(thread, point.id);
        }
        open.transaction.time = point.time.max(open.transaction.start);
        let same_thread = thread == point.thread;
        let cpu = open.cpu_before.zip(point.cpu).filter(|_| same_thread);
        open.transaction.cpu = cpu.map(|(before, after)| after - before);
        self.tell(open.transaction, sink);
    }

    fn pop(&mut self, thread: ThreadId, id: u64) {
        if let Some(stack) = self.stacks.get_mut(&thread) {
            stack.retain(|other| *other != id);
            if stack.is_empty() {
                self.stacks.remove(&thread);
            }
        }
    }

    fn forget_oldest(&mut self, time: TimeNs, sink: &mut dyn FnMut(Event)) {
        let Some((id, open)) = self.open.pop_first() else { return };
        self.pop(open.transaction.thread, id);
        self.forgotten += 1;
        let time = time.max(open.transaction.start);
        sink(Event::Transaction(Transaction { time, forgotten: true, ..open.transaction }));
    }

    fn forget_above(&mut self, thread: ThreadId, depth: usize, time: TimeNs, sink: &mut dyn FnMut(Event)) {
        let Some(stack) = self.stacks.get_mut(&thread) else { return };
        let above = stack.split_off(depth.min(stack.len()));
        if stack.is_empty() {
            self.stacks.remove(&thread);
        }
        for id in above {
            if let Some(open) = self.open.remove(&id) {
                self.forgotten += 1;
                let time = time.max(open.transaction.start);
                sink(Event::Transaction(Transaction { time, forgotten: true, ..open.transaction }));
            }
        }
    }

    fn tell(&mut self, transaction: Transaction, sink: &mut dyn FnMut(Event)) {
        self.told += 1;
        if self.told <= MAX_TOLD {
            return sink(Event::Transaction(transaction));
        }
        let length_ns = transaction.duration().0;
        let has_cpu = transaction.cpu.is_some();
        let class = Class { kind: transaction.kind, length: class_of(length_ns), has_cpu };
        let sum = self.sums.entry(class).or_default();
        sum.count += 1;
        sum.last = sum.last.max(transaction.time);
        sum.length_ns += length_ns;
        sum.cpu_ns += transaction.cpu.map_or(0, |cpu| cpu.0);
        sum.blocked_ns += transaction.blocked.0;
        sum.parked_ns += transaction.parked.0;
        sum.waited_ns += transaction.waited.0;
    }

    /// Says what was added up. Sorted, so that equal runs give equal recordings.
    pub fn flush(&mut self, sink: &mut dyn FnMut(Event)) {
        self.told = 0;
        let mut sums: Vec<(Class, TransactionSum)> = self.sums.drain().collect();
        sums.sort_by(|(a, _), (b, _)| (&a.kind, a.length, a.has_cpu).cmp(&(&b.kind, b.length, b.has_cpu)));
        for (class, sum) in sums {
            sink(Event::Transaction(Transaction {
                time: sum.last,
                start: sum.last - DurationNs(sum.length_ns / sum.count.max(1)),
                kind: class.kind,
                count: sum.count,
                cpu: class.has_cpu.then_some(DurationNs(sum.cpu_ns)),
                blocked: DurationNs(sum.blocked_ns),
                parked: DurationNs(sum.parked_ns),
                waited: DurationNs(sum.waited_ns),
                ..Transaction::default()
            }));
        }
    }

    /// The recording ends: what is open is reported as far as it got.
    pub fn finish(&mut self, now: TimeNs, sink: &mut dyn FnMut(Event)) {
        self.flush(sink);
        for Open { transaction, .. } in std::mem::take(&mut self.open).into_values() {
            let time = now.max(transaction.start);
            sink(Event::Transaction(Transaction { time, forgotten: true, ..transaction }));
        }
        self.stacks.clear();
    }

    /// What was dropped since the last call.
    pub fn take_losses(&mut self) -> [(Loss, u64); 2] {
        [
            (Loss::TransactionForgotten, std::mem::take(&mut self.forgotten)),
            (Loss::TransactionLost, std::mem::take(&mut self.lost)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{LockDef, MonitorEntered, Park, ThreadPoint};
    use headway_model::stack::ChainDef;
    use headway_model::{CallChain, ChainId, Frame, FrameKind, LockId, Method, MethodId};

    const T: ThreadId = ThreadId(1);

    fn begin(pairing: &mut Pairing, time: u64, id: u64, kind: &str) {
        let cpu = Some(DurationNs(time / 2));
        let point = TransactionPoint { time: TimeNs(time), thread: T, id, kind: 1, cpu, is_end: false };
        pairing.point(&point, kind.into(), &mut |event| panic!("{event:?}"));
    }

    fn end(pairing: &mut Pairing, time: u64, thread: ThreadId, id: u64) -> Vec<Transaction> {
        let cpu = Some(DurationNs(time / 2));
        let point = TransactionPoint { time: TimeNs(time), thread, id, kind: 0, cpu, is_end: true };
        told(|sink| pairing.point(&point, "".into(), sink))
    }

    fn told(work: impl FnOnce(&mut dyn FnMut(Event))) -> Vec<Transaction> {
        let mut told = Vec::new();
        work(&mut |event| match event {
            Event::Transaction(transaction) => told.push(transaction),
            other => panic!("{other:?}"),
        });
        told
    }

    fn feed(pairing: &mut Pairing, event: &Event) {
        pairing.feed(event, &Dictionary::default(), &mut |event| panic!("{event:?}"));
    }

    fn blocked(start: u64, time: u64) -> Event {
        let (start, time) = (TimeNs(start), TimeNs(time));
        Event::MonitorEntered(MonitorEntered { start, time, thread: T, ..MonitorEntered::default() })
    }

    #[test]
    fn nested_transactions_contain_what_lies_in_them() {
        let mut pairing = Pairing::default();
        feed(&mut pairing, &blocked(0, 90));
        begin(&mut pairing, 100, 1, "outer");
        feed(&mut pairing, &blocked(90, 110));
        begin(&mut pairing, 120, 2, "inner");
        feed(&mut pairing, &blocked(125, 130));
        let [inner] = &end(&mut pairing, 140, T, 2)[..] else { panic!() };
        assert_eq!((&*inner.kind, inner.parent, inner.duration().0), ("inner", 1, 20));
        assert_eq!((inner.cpu, inner.blocked), (Some(DurationNs(10)), DurationNs(5)));
        let [outer] = &end(&mut pairing, 200, T, 1)[..] else { panic!() };
        assert_eq!((&*outer.kind, outer.parent, outer.duration().0), ("outer", 0, 100));
        assert_eq!((outer.cpu, outer.blocked), (Some(DurationNs(50)), DurationNs(15)));
        assert!(pairing.stacks.is_empty() && pairing.open.is_empty());
        assert_eq!(pairing.take_losses(), [(Loss::TransactionForgotten, 0), (Loss::TransactionLost, 0)]);
    }

    #[test]
    fn forgotten_ends_are_told_when_the_outer_one_or_the_thread_ends() {
        let mut pairing = Pairing::default();
        begin(&mut pairing, 100, 1, "outer");
        begin(&mut pairing, 110, 2, "forgotten");
        begin(&mut pairing, 120, 3, "forgotten");
        let ended = end(&mut pairing, 200, T, 1);
        let shown: Vec<_> = ended.iter().map(|t| (t.id, t.forgotten, t.time.0)).collect();
        assert_eq!(shown, [(2, true, 200), (3, true, 200), (1, false, 200)]);
        assert_eq!(end(&mut pairing, 210, T, 2), []);
        begin(&mut pairing, 300, 4, "left");
        let point = ThreadPoint { time: TimeNs(400), thread: T };
        let ended = told(|sink| pairing.feed(&Event::ThreadEnd(point), &Dictionary::default(), sink));
        assert!(ended.len() == 1 && ended[0].forgotten && ended[0].duration().0 == 100);
        assert_eq!(pairing.take_losses()[0], (Loss::TransactionForgotten, 3));
        begin(&mut pairing, 500, 5, "going on");
        let open = told(|sink| pairing.finish(TimeNs(600), sink));
        assert!(open.len() == 1 && open[0].forgotten && open[0].duration().0 == 100);
        assert_eq!(pairing.take_losses()[0], (Loss::TransactionForgotten, 0));
    }

    #[test]
    fn an_end_on_another_thread_has_no_cpu_time() {
        let mut pairing = Pairing::default();
        begin(&mut pairing, 100, 1, "handed over");
        begin(&mut pairing, 110, 2, "next");
        let [moved] = &end(&mut pairing, 150, ThreadId(2), 1)[..] else { panic!() };
        assert_eq!((moved.thread, moved.cpu, moved.duration().0), (T, None, 50));
        let [next] = &end(&mut pairing, 160, T, 2)[..] else { panic!() };
        assert!(!next.forgotten && next.cpu.is_some());
    }

    #[test]
    fn too_many_open_are_counted_and_bounded() {
        let mut pairing = Pairing::default();
        for id in 1..=2 * MAX_DEPTH as u64 {
            begin(&mut pairing, id, id, "deep");
        }
        assert_eq!(pairing.open.len(), MAX_DEPTH);
        assert_eq!(pairing.take_losses()[1], (Loss::TransactionLost, MAX_DEPTH as u64));
    }

    /// Each on a virtual thread of its own, of which nobody says that it ended.
    #[test]
    fn the_oldest_of_too_many_open_is_told_as_forgotten() {
        let mut pairing = Pairing::default();
        let mut forgotten = Vec::new();
        for id in 1..=MAX_OPEN as u64 + 2 {
            let point =
                TransactionPoint { time: TimeNs(id), thread: ThreadId(id), id, kind: 1, cpu: None, is_end: false };
            pairing.point(&point, "left".into(), &mut |event| match event {
                Event::Transaction(transaction) => forgotten.push((transaction.id, transaction.forgotten)),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(forgotten, [(1, true), (2, true)]);
        assert_eq!((pairing.open.len(), pairing.stacks.len()), (MAX_OPEN, MAX_OPEN));
        assert_eq!(pairing.take_losses(), [(Loss::TransactionForgotten, 2), (Loss::TransactionLost, 0)]);
    }

    #[test]
    fn parks_for_a_lock_are_blocked_time_and_others_are_not() {
        let mut dictionary = Dictionary::default();
        let method = |class: &str, name: &str| Method { class: class.into(), name: name.into(), ..Method::default() };
        let chain = |id: u64, methods: &[u64]| {
            let frame = |method: &u64| Frame {
                method: MethodId(*method),
                bci: 0,
                line: 0,
                kind: FrameKind::default(),
                approximate: false,
            };
            let chain = CallChain { frames: methods.iter().map(frame).collect(), truncated: false };
            Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain }))
        };
        let lock =
            |id: u64, class: &str| Event::Lock(LockDef { id: LockId(id), class: class.into(), ..LockDef::default() });
        let definitions = [
            Event::Method(MethodId(1), Arc::new(method("java.util.concurrent.locks.LockSupport", "park"))),
            Event::Method(
                MethodId(2),
                Arc::new(method("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire")),
            ),
            Event::Method(MethodId(3), Arc::new(method("java.util.concurrent.locks.ReentrantLock$Sync", "lock"))),
            Event::Method(MethodId(4), Arc::new(method("com.acme.Shop", "sell"))),
            chain(1, &[1, 2, 3, 4]),
            chain(2, &[1, 4]),
            lock(1, "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
            lock(2, "com.acme.Shop"),
        ];
        definitions.iter().for_each(|event| dictionary.feed(event));
        let mut pairing = Pairing::default();
        begin(&mut pairing, 100, 1, "sale");
        for (chain, blocker, start, time) in [(1, 1, 110, 130), (2, 2, 140, 145)] {
            let (chain, blocker) = (ChainId(chain), LockId(blocker));
            let (start, time) = (TimeNs(start), TimeNs(time));
            let park = Event::Park(Park { chain, blocker, start, time, thread: T, ..Park::default() });
            pairing.feed(&park, &dictionary, &mut |event| panic!("{event:?}"));
        }
        let [sale] = &end(&mut pairing, 200, T, 1)[..] else { panic!() };
        assert_eq!((sale.blocked, sale.parked), (DurationNs(20), DurationNs(5)));
    }

    #[test]
    fn what_is_too_much_is_added_up_by_length() {
        let mut pairing = Pairing::default();
        let mut single = 0;
        for id in 1..=MAX_TOLD as u64 + 1_000 {
            let length = if id % 2 == 0 { 1_000 } else { 100_000 + id };
            begin(&mut pairing, id * 1_000_000, id, "many");
            single += end(&mut pairing, id * 1_000_000 + length, T, id).len();
        }
        assert_eq!(single, MAX_TOLD);
        let sums = told(|sink| pairing.flush(sink));
        let lengths: Vec<_> = sums.iter().map(|sum| (sum.count, sum.duration().0)).collect();
        assert_eq!(lengths, [(500, 1_000), (500, 101_500)]);
        assert_eq!(sums[0].cpu, Some(DurationNs(500 * 500)));
        assert!(told(|sink| pairing.flush(sink)).is_empty());
    }

    #[test]
    fn lengths_of_a_class_differ_by_less_than_a_thirtieth() {
        let mut lengths: Vec<u64> =
            (0..64).chain((6..63).flat_map(|bit| [(1 << bit) - 1, 1 << bit, 3 << (bit - 1)])).collect();
        lengths.sort_unstable();
        for pair in lengths.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            assert!(class_of(a) <= class_of(b), "{a} {b}");
            assert!(class_of(a) != class_of(b) || b - a <= a / 30, "{a} {b}");
        }
    }
}
