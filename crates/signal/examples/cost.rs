//! What the hot paths cost: `cargo run --release -p headway-signal --example cost`.
//!
//! Each figure is the median, with quartiles, over rounds of many calls on one
//! thread, in nanoseconds per call; the loop's own cost is included.

use headway_signal::{
    AtomicU64, Blocked, BlockedCell, ChainSet, LockTable, Lookup, MonitorTable, Pool, Region, ThreadBuffer,
};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 101;

fn region(words: usize) -> Region {
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Box::leak(words.into_boxed_slice())
}

fn measure(what: &str, calls: usize, mut round: impl FnMut(usize)) {
    let mut per_call: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round(calls);
            start.elapsed().as_nanos() as f64 / calls as f64
        })
        .collect();
    per_call.sort_by(f64::total_cmp);
    let quartile = |q: usize| per_call[ROUNDS * q / 4];
    println!("{what:<44} {:>7.1} ns   ({:.1} .. {:.1})", quartile(2), quartile(1), quartile(3));
}

fn append() {
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
        times.sort_by(f64::total_cmp);
        println!(
            "{:<44} {:>7.1} ns   ({:.1} .. {:.1})",
            format!("append, {words} words"),
            times[ROUNDS / 2],
            times[ROUNDS / 4],
            times[ROUNDS * 3 / 4]
        );
    }
}

fn chains() {
    for words in [20usize, 40, 80] {
        let set = ChainSet::new(region(1 << 22));
        let keys: Vec<Vec<u64>> =
            (0..1000u64).map(|k| (0..words as u64).map(|w| 0x7f00_0000_0000 + k * 977 + w * 64).collect()).collect();
        for key in &keys {
            assert!(matches!(set.enter(0).lookup_or_insert(key), Lookup::New(_)));
        }
        measure(&format!("look up, {words}-word key, one chain"), 100_000, |n| {
            for _ in 0..n {
                let found = set.enter(0);
                let _ = black_box(found.lookup_or_insert(black_box(&keys[0])));
            }
        });
        measure(&format!("look up, {words}-word key, 1000 chains"), 100_000, |n| {
            for i in 0..n {
                let found = set.enter(0);
                let _ = black_box(found.lookup_or_insert(black_box(&keys[i * 7 % 1000])));
            }
        });
    }
}

fn locks() {
    let monitors = MonitorTable::new(region(5 << 14));
    let locks = LockTable::new(region(4 << 14));
    let address = 0x7f12_3456_7890;
    let waiter = monitors.pin(0, address).expect("room");
    let slot = locks.allocate().expect("room");
    monitors.bind(waiter, slot);
    measure("find a pinned monitor and stamp its lock", 100_000, |n| {
        for _ in 0..n {
            let slot = monitors.find(1, black_box(address));
            let _ = black_box(slot.and_then(|slot| locks.stamp(slot)));
        }
    });
    measure("pin, read binding, unpin", 100_000, |n| {
        for _ in 0..n {
            if let Some(pin) = monitors.pin(1, black_box(address)) {
                black_box(monitors.bound(pin));
                monitors.unpin(pin);
            }
        }
    });
    let cell = BlockedCell::new();
    measure("blocked cell: begin and end", 100_000, |n| {
        for i in 0..n as u64 {
            let _ = cell.begin(black_box(Blocked { start_ns: i, lock: 1, chain: 2, kind: 1 }));
            let _ = cell.end();
        }
    });
}

fn main() {
    append();
    chains();
    locks();
}
