//! The protocols under loom, which tries every interleaving (up to a number of
//! preemptions) and every value that the memory model lets a load see:
//! `RUSTFLAGS="--cfg loom" cargo test -p headway-signal --release`.
#![cfg(loom)]

use headway_signal::blocked::Reading;
use headway_signal::{
    Blocked, BlockedCell, ChainSet, ChunkSizes, Collector, Gate, LockTable, Lookup, MonitorTable, ParkCounts, Pool,
    ThreadBuffer, WayIndex,
};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::Arc;
use loom::thread;
use memory::region;

mod memory;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A pool of `chunks` chunks with room for two records of two words.
fn small_pool(chunks: usize) -> Pool {
    let sizes = ChunkSizes { min_words: 4, max_words: 4, step_words: 1 };
    let pool = Pool::with_sizes(region(chunks * 12), 1, sizes);
    assert_eq!(pool.chunks() as usize, chunks);
    pool
}

/// Checks that each thread's records come in order and in one piece.
#[derive(Default)]
struct Received(Vec<(u64, u64)>);

impl Received {
    fn take(&mut self, tag: u64, record: &[u64]) {
        let [head, value] = record else { panic!("record of {} words", record.len()) };
        assert_eq!(head & 0xFFFF, 2, "length");
        assert_eq!(head >> 16, *value, "torn record");
        let newest = self.0.iter().rev().find(|(t, _)| *t == tag);
        assert!(newest.is_none_or(|(_, before)| before < value), "tag {tag}: {value} after {newest:?}");
        self.0.push((tag, *value));
    }
}

/// Appends `count` records; returns how many were refused.
fn append(pool: &Pool, buffer: &ThreadBuffer, count: u64) -> u64 {
    (1..=count).filter(|value| buffer.append(pool, &[value << 16, *value]).is_err()).count() as u64
}

fn finish(collector: &mut Collector<'_>, buffers: &[&ThreadBuffer], received: &mut Received) {
    for buffer in buffers {
        assert!(collector.close(buffer, &mut |tag, record| received.take(tag, record)));
    }
    collector.drain(&mut |tag, record| received.take(tag, record));
}

#[test]
fn a_collector_follows_a_thread_that_appends() {
    check(3, || {
        let pool = Arc::new(small_pool(3));
        let buffer = Arc::new(ThreadBuffer::new());
        let owner = {
            let (pool, buffer) = (pool.clone(), buffer.clone());
            thread::spawn(move || {
                buffer.open(7);
                append(&pool, &buffer, 5)
            })
        };
        let mut collector = pool.collector().unwrap();
        let mut received = Received::default();
        collector.visit(&buffer, &mut |t, r| received.take(t, r));
        collector.drain(&mut |t, r| received.take(t, r));
        collector.visit(&buffer, &mut |t, r| received.take(t, r));
        let refused = owner.join().unwrap();
        finish(&mut collector, &[&buffer], &mut received);
        assert_eq!(received.0.len() as u64 + refused, 5);
        assert_eq!(buffer.take_refusals().full, refused);
        assert_eq!(pool.free_chunks(), 3);
        assert_eq!(collector.broken_chunks(), 0);
    });
}

#[test]
fn a_chunk_is_taken_back_while_its_owner_goes_on() {
    check(3, || {
        let pool = Arc::new(small_pool(2));
        let buffer = Arc::new(ThreadBuffer::new());
        append(&pool, &buffer, 1);
        let owner = {
            let (pool, buffer) = (pool.clone(), buffer.clone());
            thread::spawn(move || {
                let refused = (2..=3).filter(|v| buffer.append(&pool, &[v << 16, *v]).is_err()).count();
                buffer.release(&pool);
                refused
            })
        };
        let mut collector = pool.collector().unwrap();
        let mut received = Received::default();
        collector.close(&buffer, &mut |t, r| received.take(t, r));
        let refused = owner.join().unwrap();
        finish(&mut collector, &[&buffer], &mut received);
        assert_eq!(received.0.len() + refused, 3);
        assert_eq!(pool.free_chunks(), 2);
    });
}

#[test]
fn two_threads_share_too_few_chunks() {
    check(2, || {
        let pool = Arc::new(small_pool(2));
        let buffers = [Arc::new(ThreadBuffer::new()), Arc::new(ThreadBuffer::new())];
        let owners: Vec<_> = buffers
            .iter()
            .zip(1..)
            .map(|(buffer, tag)| {
                let (pool, buffer) = (pool.clone(), buffer.clone());
                thread::spawn(move || {
                    buffer.open(tag);
                    append(&pool, &buffer, 3)
                })
            })
            .collect();
        let mut collector = pool.collector().unwrap();
        let mut received = Received::default();
        collector.drain(&mut |t, r| received.take(t, r));
        let refused: u64 = owners.into_iter().map(|o| o.join().unwrap()).sum();
        finish(&mut collector, &[&buffers[0], &buffers[1]], &mut received);
        assert_eq!(received.0.len() as u64 + refused, 6);
        assert_eq!(pool.free_chunks(), 2);
    });
}

#[test]
fn a_reader_keeps_what_it_sees_out_of_use() {
    check(3, || {
        let gate = Arc::new(Gate::new());
        let linked = Arc::new(AtomicBool::new(true));
        let in_use = Arc::new(AtomicBool::new(true));
        let reader = {
            let (gate, linked, in_use) = (gate.clone(), linked.clone(), in_use.clone());
            thread::spawn(move || {
                let inside = gate.enter(0);
                if linked.load(Ordering::Acquire) {
                    assert!(in_use.load(Ordering::Acquire), "re-used under a reader");
                }
                drop(inside);
            })
        };
        linked.store(false, Ordering::Release);
        let epoch = gate.epoch();
        for _ in 0..3 {
            gate.advance();
        }
        if gate.epoch() >= epoch + 2 {
            in_use.store(false, Ordering::Release);
        }
        reader.join().unwrap();
    });
}

fn id(lookup: Lookup<'_>) -> (u64, bool) {
    match lookup {
        Lookup::Found(entry) => (entry.id, false),
        Lookup::New(entry) => (entry.id, true),
        Lookup::Full => panic!("full"),
    }
}

#[test]
fn two_finders_of_a_chain_get_one_id() {
    check(3, || {
        let set = Arc::new(ChainSet::new(region(68)));
        let other = {
            let set = set.clone();
            thread::spawn(move || id(set.enter(1).lookup_or_insert(&[1, 2, 3])))
        };
        let mine = id(set.enter(0).lookup_or_insert(&[1, 2, 3]));
        let other = other.join().unwrap();
        assert_eq!(mine.0, other.0);
        assert!(mine.1 != other.1, "exactly one is told that it is new");
        assert_eq!(id(set.enter(0).lookup_or_insert(&[1, 2, 3])), (mine.0, false));
    });
}

#[test]
fn chains_stay_whole_while_the_set_is_cleared() {
    check(2, || {
        let set = Arc::new(ChainSet::new(region(68)));
        let reader = {
            let set = set.clone();
            thread::spawn(move || {
                let reader = set.enter(1);
                let (first, _) = id(reader.lookup_or_insert(&[5, 6]));
                // While this reader is inside, what it found stays.
                let (again, new) = id(reader.lookup_or_insert(&[5, 6]));
                assert_eq!((first, false), (again, new));
                first
            })
        };
        set.clear();
        set.clear();
        let (mine, new) = id(set.enter(0).lookup_or_insert(&[7, 8]));
        assert!(new);
        let theirs = reader.join().unwrap();
        assert_ne!(mine, theirs);
    });
}

#[test]
fn pinners_of_one_monitor_agree_on_its_lock() {
    check(3, || {
        let monitors = Arc::new(MonitorTable::new(region(10)));
        let locks = Arc::new(LockTable::new(region(16)));
        let pin_and_bind = |lane| {
            let (monitors, locks) = (monitors.clone(), locks.clone());
            move || {
                let pin = monitors.pin(lane, 0x40).expect("room");
                let mine = locks.allocate().expect("room");
                let bound = monitors.bind(pin, mine).expect("bound");
                if bound != mine {
                    assert!(locks.retire(locks.id(mine).unwrap()));
                }
                (pin, locks.stamp(bound).unwrap())
            }
        };
        let other = thread::spawn(pin_and_bind(1));
        let (pin, mine) = pin_and_bind(0)();
        let (other_pin, other) = other.join().unwrap();
        assert_eq!(pin, other_pin);
        assert_eq!(mine.lock, other.lock);
        assert_eq!(mine.seq + other.seq, 3, "1 and 2");
        assert!(monitors.find(0, 0x40).is_some());
        assert!(monitors.unpin(pin));
        assert!(monitors.unpin(other_pin));
        assert!(monitors.find(0, 0x40).is_none(), "nobody pins it");
    });
}

#[test]
fn a_sweep_never_takes_a_pinned_entry() {
    check(2, || {
        let monitors = Arc::new(MonitorTable::new(region(10)));
        let locks = LockTable::new(region(16));
        let slot = locks.allocate().unwrap();
        let old = monitors.pin(0, 0x40).unwrap();
        monitors.unpin(old);
        let pinner = {
            let monitors = monitors.clone();
            thread::spawn(move || {
                let pin = monitors.pin(1, 0x40).expect("room");
                monitors.bind(pin, slot);
                assert_eq!(monitors.find(1, 0x40), Some(slot));
                pin
            })
        };
        monitors.sweep(u64::MAX);
        monitors.sweep(u64::MAX);
        let pin = pinner.join().unwrap();
        assert_eq!(monitors.bound(pin), Some(slot));
        assert_eq!(monitors.find(0, 0x40), Some(slot));
        assert!(monitors.unpin(pin));
        while monitors.sweep(u64::MAX) > 0 {}
        monitors.sweep(u64::MAX);
        assert_eq!(monitors.free_entries(), monitors.capacity());
    });
}

#[test]
fn times_of_parks_are_right_or_not_given_out() {
    check(2, || {
        let locks = LockTable::new(region(16));
        let counts = Arc::new(ParkCounts::new(region(ParkCounts::WORDS_PER_LOCK * 2), region(1)));
        let slot = locks.allocate().unwrap();
        let lock = locks.id(slot).unwrap();
        counts.reset(slot);
        assert!(counts.parks(lock, 100));
        counts.measured(lock, 1, 10, 100);
        let other = {
            let counts = counts.clone();
            thread::spawn(move || {
                assert!(!counts.parks(lock, 110));
                counts.returns(lock, 130);
            })
        };
        if let Some(seen) = counts.of(lock, || 140) {
            assert!((1..=2).contains(&seen.times_parked) && seen.parked_now <= 2, "{seen:?}");
            assert!([40, 60, 70].contains(&seen.thread_time_ns) && seen.real_time_ns == 40, "{seen:?}");
        }
        counts.returns(lock, 150);
        other.join().unwrap();
        let count = counts.of(lock, || 200).unwrap();
        assert_eq!((count.times_parked, count.parked_now, count.thread_time_ns), (2, 0, 70));
        // These clocks need not agree with the order of the additions.
        assert!((30..=70).contains(&count.real_time_ns), "{count:?}");
    });
}

#[test]
fn a_reading_is_never_torn() {
    check(3, || {
        let cell = Arc::new(BlockedCell::new());
        let at = |n| Blocked { start_ns: n, lock: n, chain: n, kind: n };
        let owner = {
            let cell = cell.clone();
            thread::spawn(move || {
                assert!(cell.begin(at(1)));
                assert!(cell.begin(at(2)));
            })
        };
        match cell.read() {
            Reading::Blocked(seen) => assert_eq!(seen, at(seen.kind)),
            Reading::Running | Reading::Torn => {}
        }
        owner.join().unwrap();
        assert_eq!(cell.read(), Reading::Blocked(at(2)));
    });
}

#[test]
fn a_search_is_not_led_astray_by_an_entry_used_again() {
    check(2, || {
        // Two buckets, four entries.
        let monitors = Arc::new(MonitorTable::new(region(19)));
        let bucket = |address: u64| address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 & 1;
        let (even, odd): (Vec<u64>, Vec<u64>) = (1..40).map(|n| n * 64).partition(|address| bucket(*address) == 0);
        let (oldest, between, newest) = (even[0], even[1], even[2]);
        let wanted = monitors.pin(0, oldest).unwrap();
        let idle = monitors.pin(0, between).unwrap();
        let _first = monitors.pin(0, newest).unwrap();
        assert!(monitors.unpin(idle));
        let searcher = {
            let monitors = monitors.clone();
            thread::spawn(move || monitors.pin(1, oldest).expect("room"))
        };
        // Takes out the entry in between and uses it again in the other bucket.
        monitors.sweep(u64::MAX);
        let _other = monitors.pin(0, odd[0]);
        assert_eq!(searcher.join().unwrap(), wanted, "two entries for one address");
    });
}

/// Whatever is added and removed beside it: a way that stays is always found.
#[test]
fn a_way_that_stays_is_found_while_others_come_and_go() {
    /// Their searches begin at the same one of four words.
    const SHARED: [u64; 3] = [1, 6, 7];
    check(3, || {
        let [goes, stays, comes] = SHARED;
        let index = Arc::new(WayIndex::new(region(4)));
        index.add(goes, 1);
        index.add(stays, 2);
        let writer = {
            let index = index.clone();
            thread::spawn(move || {
                index.remove(goes, 1);
                index.add(comes, 3);
                index.remove(comes, 3);
            })
        };
        assert_eq!(index.places(stays).collect::<Vec<_>>(), [2]);
        assert!(index.places(goes).all(|place| place == 1) && index.places(comes).all(|place| place == 3));
        writer.join().unwrap();
        assert_eq!(index.places(stays).collect::<Vec<_>>(), [2]);
        assert_eq!(index.places(comes).count(), 0);
    });
}
