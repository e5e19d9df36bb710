//! What the hot paths cost: `cargo run --release -p headway-signal --example cost [-- --json]`.
//!
//! Each number is the median, with quartiles, over rounds of many calls on one
//! thread, in nanoseconds per call; the loop's own cost is included. "Cold" are single
//! calls, each after 64 MB were written, more than the last level of cache holds; what
//! reading the clock takes is not in them.

use headway_signal::{
    AtomicU64, Blocked, BlockedCell, ChainSet, LockTable, Lookup, MonitorTable, Pool, Region, ThreadBuffer,
};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 101;
/// More than the last-level cache share of one core of the usual server.
const EVICT_BYTES: usize = 64 << 20;

/// Prints numbers as text, or as a JSON list in the end.
struct Figures {
    json: Option<Vec<String>>,
}

impl Figures {
    /// Takes in one time per round.
    fn tell(&mut self, what: &str, mut times: Vec<f64>) {
        times.sort_by(f64::total_cmp);
        let quartile = |q: usize| times[times.len() * q / 4];
        let (low, median, high) = (quartile(1), quartile(2), quartile(3));
        match &mut self.json {
            Some(lines) => lines.push(format!(
                "{{\"what\": \"{what}\", \"ns\": {median:.1}, \"low_ns\": {low:.1}, \"high_ns\": {high:.1}}}"
            )),
            None => println!("{what:<44} {median:>7.1} ns   ({low:.1} .. {high:.1})"),
        }
    }

    fn measure(&mut self, what: &str, calls: usize, mut round: impl FnMut(usize)) {
        let per_call = (0..ROUNDS).map(|_| {
            let start = Instant::now();
            round(calls);
            start.elapsed().as_nanos() as f64 / calls as f64
        });
        self.tell(what, per_call.collect());
    }

    /// One call a round with cold caches, but for the words that are its argument.
    fn measure_cold(&mut self, what: &str, words: impl Fn(usize) -> Vec<u64>, mut call: impl FnMut(&[u64])) {
        let mut ballast = vec![1u8; EVICT_BYTES];
        let mut cold = |call: &mut dyn FnMut(&[u64]), round| {
            ballast.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
            let words = words(round);
            let start = Instant::now();
            call(black_box(&words));
            start.elapsed().as_nanos() as f64
        };
        let mut clock: Vec<f64> = (0..ROUNDS).map(|round| cold(&mut |_| {}, round)).collect();
        clock.sort_by(f64::total_cmp);
        let times = (0..ROUNDS).map(|round| (cold(&mut call, round) - clock[ROUNDS / 2]).max(0.0)).collect();
        self.tell(what, times);
    }
}

fn region(words: usize) -> Region {
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Box::leak(words.into_boxed_slice())
}

fn append(figures: &mut Figures) {
    for words in [2, 6, 10, 20] {
        let pool = Pool::new(region(16 << 20 >> 3), 1);
        let buffer = ThreadBuffer::new();
        let mut collector = pool.collector().expect("first collector");
        let record = vec![7u64 << 16; words];
        // Few enough per round for the pool; drained between rounds, untimed.
        let calls = 1_500_000 / words;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..calls {
                let _ = black_box(buffer.append(&pool, black_box(&record)));
            }
            times.push(start.elapsed().as_nanos() as f64 / calls as f64);
            collector.drain(&mut |_, _| {});
        }
        assert_eq!(buffer.take_refusals().total(), 0);
        figures.tell(&format!("append, {words} words"), times);
        let words_of = |_| record.clone();
        figures.measure_cold(&format!("append, {words} words, cold"), words_of, |record| {
            let _ = black_box(buffer.append(&pool, record));
        });
    }
}

fn chains(figures: &mut Figures) {
    for words in [20usize, 40, 80] {
        let set = ChainSet::new(region(1 << 22));
        let keys: Vec<Vec<u64>> =
            (0..1000u64).map(|k| (0..words as u64).map(|w| 0x7f00_0000_0000 + k * 977 + w * 64).collect()).collect();
        for key in &keys {
            assert!(matches!(set.enter(0).lookup_or_insert(key), Lookup::New(_)));
        }
        figures.measure(&format!("look up, {words}-word key, one chain"), 100_000, |n| {
            for _ in 0..n {
                let found = set.enter(0);
                let _ = black_box(found.lookup_or_insert(black_box(&keys[0])));
            }
        });
        figures.measure(&format!("look up, {words}-word key, 1000 chains"), 100_000, |n| {
            for i in 0..n {
                let found = set.enter(0);
                let _ = black_box(found.lookup_or_insert(black_box(&keys[i * 7 % 1000])));
            }
        });
        let words_of = |round: usize| keys[round * 7 % 1000].clone();
        figures.measure_cold(&format!("look up, {words}-word key, cold"), words_of, |key| {
            let found = set.enter(0);
            let _ = black_box(found.lookup_or_insert(key));
        });
    }
}

fn locks(figures: &mut Figures) {
    let monitors = MonitorTable::new(region(5 << 14));
    let locks = LockTable::new(region(4 << 14));
    let address = 0x7f12_3456_7890;
    let waiter = monitors.pin(0, address).expect("room");
    let slot = locks.allocate().expect("room");
    monitors.bind(waiter, slot);
    figures.measure("find a pinned monitor and stamp its lock", 100_000, |n| {
        for _ in 0..n {
            let slot = monitors.find(1, black_box(address));
            let _ = black_box(slot.and_then(|slot| locks.stamp(slot)));
        }
    });
    figures.measure("pin, read binding, unpin", 100_000, |n| {
        for _ in 0..n {
            if let Some(pin) = monitors.pin(1, black_box(address)) {
                black_box(monitors.bound(pin));
                monitors.unpin(pin);
            }
        }
    });
    let cell = BlockedCell::new();
    figures.measure("blocked cell: begin and end", 100_000, |n| {
        for i in 0..n as u64 {
            let _ = cell.begin(black_box(Blocked { start_ns: i, lock: 1, chain: 2, kind: 1 }));
            let _ = cell.end();
        }
    });
}

fn main() {
    let json = std::env::args().any(|word| word == "--json").then(Vec::new);
    let mut figures = Figures { json };
    append(&mut figures);
    chains(&mut figures);
    locks(&mut figures);
    if let Some(lines) = figures.json {
        println!("[{}]", lines.join(",\n "));
    }
}
