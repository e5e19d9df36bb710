//! Threads at full speed against the real atomics.
#![cfg(not(loom))]

use headway_signal::chain_set::hash;
use headway_signal::thread_buffer::Refusals;
use headway_signal::{
    ChainSet, ChunkSizes, LockSlot, LockTable, Lookup, MonitorTable, ParkCounts, Pool, Refused, ThreadBuffer,
};
use memory::region;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

mod memory;

const THREADS: u64 = 6;

/// A record of varying length whose words all say which record it is.
fn record(tag: u64, number: u64) -> Vec<u64> {
    let words = 2 + (number * 7 % 23) as usize;
    let mut record = vec![tag << 40 | number; words];
    record[0] = number << 16;
    record
}

#[test]
fn every_record_arrives_once_in_order_or_is_counted() {
    const RECORDS: u64 = 60_000;
    // Far too small for this rate, so that refusals happen as well.
    let pool = Pool::new(region(60_000), 42);
    let buffers: Vec<ThreadBuffer> = (0..THREADS).map(|_| ThreadBuffer::new()).collect();
    let running = AtomicUsize::new(THREADS as usize);
    let mut received: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut collector = pool.collector().unwrap();
    assert!(pool.collector().is_none(), "one collector at a time");
    let mut sink = |tag: u64, words: &[u64]| {
        let number = words[0] >> 16;
        let mut expected = record(tag, number);
        expected[0] |= words.len() as u64;
        assert_eq!(words, expected, "torn record");
        received.entry(tag).or_default().push(number);
    };
    thread::scope(|scope| {
        for (buffer, tag) in buffers.iter().zip(1..) {
            let (pool, running) = (&pool, &running);
            scope.spawn(move || {
                buffer.open(tag);
                for number in 0..RECORDS {
                    let _ = buffer.append(pool, &record(tag, number));
                }
                assert!(buffer.release(pool));
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while running.load(Ordering::Relaxed) != 0 {
            collector.drain(&mut sink);
            for buffer in &buffers {
                collector.visit(buffer, &mut sink);
            }
        }
    });
    collector.drain(&mut sink);
    assert_eq!(collector.broken_chunks(), 0);
    assert_eq!(pool.free_chunks(), pool.chunks(), "every chunk came back");
    for (buffer, tag) in buffers.iter().zip(1..) {
        let numbers = received.remove(&tag).unwrap_or_default();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "order");
        let refused = buffer.take_refusals();
        assert_eq!(numbers.len() as u64 + refused.total(), RECORDS);
        assert_eq!(refused.full, refused.total());
    }
}

/// However fast threads append, what is read at a time is bounded: here they append as much as is read.
#[test]
fn a_pass_over_all_threads_ends() {
    let pool = Pool::new(region(100_000), 3);
    let buffers: Vec<_> = (0..16).map(|_| ThreadBuffer::new()).collect();
    buffers.iter().zip(1..).for_each(|(buffer, tag)| buffer.open(tag));
    let (appended, read) = (Cell::new(0), Cell::new(0));
    let append = || {
        let number = appended.get();
        appended.set(number + 1);
        buffers[number as usize / 7 % buffers.len()].append(&pool, &record(1, number)).is_ok()
    };
    while append() {}
    let mut sink = |_: u64, words: &[u64]| {
        read.set(read.get() + words.len());
        append();
        append();
    };
    let mut collector = pool.collector().unwrap();
    for _ in 0..3 {
        read.set(0);
        collector.drain(&mut sink);
        buffers.iter().for_each(|buffer| collector.visit(buffer, &mut sink));
        collector.drain(&mut sink);
        assert!((1..=3 * 100_000).contains(&read.get()), "{}", read.get());
    }
}

#[test]
fn chunks_of_idle_threads_come_back() {
    let pool = Pool::new(region(100_000), 3);
    let buffer = ThreadBuffer::new();
    let mut collector = pool.collector().unwrap();
    let mut seen = 0;
    buffer.open(1);
    for round in 1..=3 {
        assert_eq!(buffer.append(&pool, &record(1, round)), Ok(()));
        for _ in 0..20 {
            collector.visit(&buffer, &mut |_, _| seen += 1);
        }
        assert_eq!(seen, round);
        assert_eq!(pool.free_chunks(), pool.chunks());
    }
}

#[test]
fn what_does_not_fit_is_refused_and_said_why() {
    let pool = Pool::new(region(5_000), 1);
    let buffer = ThreadBuffer::new();
    let longest = pool.max_record_words();
    assert_eq!(buffer.append(&pool, &[]), Err(Refused::BadLength));
    assert_eq!(buffer.append(&pool, &vec![0; longest + 1]), Err(Refused::BadLength));
    let fitting = (0..100).take_while(|_| buffer.append(&pool, &vec![0; longest]).is_ok()).count();
    assert!((1..100).contains(&fitting), "{fitting}");
    assert_eq!(buffer.take_refusals(), Refusals { full: 1, reentered: 0, bad_length: 2 });
    assert_eq!(buffer.take_refusals(), Refusals::default());
}

#[test]
fn a_pool_without_memory_refuses_everything() {
    let pool = Pool::new(region(0), 1);
    let buffer = ThreadBuffer::new();
    assert_eq!(pool.chunks(), 0);
    assert_eq!(buffer.append(&pool, &[1, 2]), Err(Refused::Full));
    assert_eq!(buffer.take_refusals().full, 1);
}

#[test]
fn no_more_chunks_are_in_use_than_allowed() {
    let sizes = ChunkSizes { min_words: 512, max_words: 512, step_words: 1 };
    let pool = Pool::with_sizes(region(5200), 0, sizes);
    assert_eq!((pool.all_chunks(), pool.chunks()), (10, 10));
    pool.allow(3);
    assert_eq!((pool.all_chunks(), pool.chunks(), pool.free_chunks()), (10, 3, 3));
    let buffers: Vec<ThreadBuffer> = (0..5).map(|_| ThreadBuffer::new()).collect();
    let taken = |pool: &Pool| buffers.iter().map(|buffer| buffer.append(pool, &[1, 2]).is_ok()).collect::<Vec<_>>();
    assert_eq!(taken(&pool), [true, true, true, false, false]);
    assert_eq!(pool.free_chunks(), 0);
    pool.allow(10);
    assert_eq!(taken(&pool), [true; 5]);
    assert_eq!((pool.chunks(), pool.free_chunks()), (10, 5));
}

#[test]
fn chunk_sizes_differ_and_use_the_region_up() {
    let words = 16 << 20 >> 3;
    let pool = Pool::new(region(words), 99);
    let average = words / pool.chunks() as usize;
    assert!((1024..=3072).contains(&average), "{average}");
    // With records of 8 KB a chunk of n KB takes n / 8 of them: sizes show.
    let buffer = ThreadBuffer::new();
    let mut taken = 0;
    while buffer.append(&pool, &[0; 1024]).is_ok() {
        taken += 1;
    }
    let chunks = pool.chunks() as usize;
    assert!(taken > chunks && taken < 3 * chunks, "{taken} {chunks}");
    let fixed = ChunkSizes { min_words: 512, max_words: 512, step_words: 1 };
    let pool = Pool::with_sizes(region(5200), 0, fixed);
    assert_eq!(pool.chunks(), 10);
}

fn id(lookup: Lookup<'_>) -> Option<(u64, bool)> {
    match lookup {
        Lookup::Found(entry) => Some((entry.id, false)),
        Lookup::New(entry) => Some((entry.id, true)),
        Lookup::Full => None,
    }
}

#[test]
fn chains_keep_their_ids_until_the_set_is_cleared() {
    let set = ChainSet::new(region(1 << 16));
    let keys: Vec<Vec<u64>> = (0..200u64).map(|k| vec![k; 1 + k as usize % 9]).collect();
    let mut ids = HashSet::new();
    for generation in 0..5 {
        let first: Vec<_> = keys.iter().map(|key| id(set.enter(0).lookup_or_insert(key))).collect();
        for (key, first) in keys.iter().zip(first) {
            let (first, new) = first.expect("room");
            assert!(new && ids.insert(first), "ids are never used again");
            assert_eq!(id(set.enter(1).lookup_or_insert(key)), Some((first, false)));
        }
        assert_eq!(set.generation(), generation);
        assert!(set.clear());
        assert!(set.maintain());
    }
}

#[test]
fn keys_that_share_a_beginning_or_a_length_are_told_apart() {
    let set = ChainSet::new(region(1 << 14));
    let keys: [&[u64]; 6] = [&[1], &[1, 0], &[0, 1], &[1, 0, 0], &[1; 9], &[1; 8]];
    let ids: HashSet<_> = keys.iter().map(|key| id(set.enter(0).lookup_or_insert(key))).collect();
    assert_eq!(ids.len(), keys.len());
    // The hash alone never decides.
    let reader = set.enter(0);
    let one = id(reader.lookup_or_insert_hashed(77, &[10, 20]));
    let two = id(reader.lookup_or_insert_hashed(77, &[10, 21]));
    assert_ne!(one, two);
    assert_eq!(id(reader.lookup_or_insert(&[])), None);
}

#[test]
fn hashes_of_like_chains_spread() {
    for words in [1, 2, 7, 8, 9, 40] {
        // Chains of one program: equal but for one pc, which differs little.
        let slots: HashSet<u64> = (0..4096u64)
            .map(|k| {
                let mut key = vec![0x7f55_0000_1000; words];
                key[k as usize % words] += (k + 1) * 16;
                hash(&key) % (1 << 16)
            })
            .collect();
        // By chance alone 3970 of 4096 slots differ.
        assert!(slots.len() > 3900, "{words} words: {} slots", slots.len());
    }
}

#[test]
fn a_full_set_refuses_new_chains_and_finds_old_ones() {
    let set = ChainSet::new(region(4096));
    let room = (0..).take_while(|k| id(set.enter(0).lookup_or_insert(&[*k; 30])).is_some()).count();
    let (used, size) = set.fill();
    assert!(used <= size && used + 33 > size, "{used} of {size} words");
    assert_eq!(room as u64, used / 33);
    assert!(id(set.enter(0).lookup_or_insert(&[0; 30])).is_some());
    let reader = set.enter(0);
    assert!(set.clear(), "the other half is wiped already");
    assert!(!set.clear(), "a reader is still inside");
    drop(reader);
    assert!(set.clear());
    assert!(id(set.enter(0).lookup_or_insert(&[u64::MAX; 10])).is_some());
}

#[test]
fn finders_agree_while_the_set_is_cleared_under_them() {
    let set = ChainSet::new(region(1 << 15));
    let ids: Mutex<HashMap<u64, u64>> = Mutex::new(HashMap::new());
    let (running, clears) = (AtomicUsize::new(THREADS as usize), AtomicU64::new(0));
    thread::scope(|scope| {
        for lane in 0..THREADS as usize {
            let (set, ids, running, clears) = (&set, &ids, &running, &clears);
            scope.spawn(move || {
                let mut mine = HashMap::new();
                // For longer where the thread that clears does not get a CPU.
                let is_enough = |round: u64| round >= 100_000 && clears.load(Ordering::Relaxed) > 2;
                for round in (0..100_000_000u64).take_while(|round| !is_enough(*round)) {
                    let chain = round * 31 % 300;
                    let key = [chain, chain ^ 5, chain + 1, !chain];
                    if let Some((id, _)) = id(set.enter(lane).lookup_or_insert(&key)) {
                        mine.insert(id, chain);
                    }
                }
                let mut ids = ids.lock().unwrap();
                for (id, chain) in mine {
                    assert_eq!(*ids.entry(id).or_insert(chain), chain, "one id, two chains");
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while running.load(Ordering::Relaxed) != 0 {
            clears.fetch_add(u64::from(set.clear()), Ordering::Relaxed);
        }
        assert!(clears.load(Ordering::Relaxed) > 2, "{clears:?}");
    });
}

#[test]
fn a_monitor_is_one_lock_to_all_who_pin_it_together() {
    const ADDRESSES: u64 = 200; // more than fit at once: sweeping has to help
    let monitors = MonitorTable::new(region(5 * 128));
    let locks = LockTable::new(region(4 * 1024));
    // Stands for the objects' tags: which lock each address is at the moment.
    let tags: Vec<Mutex<Option<LockSlot>>> = (0..ADDRESSES).map(|_| Mutex::default()).collect();
    let running = AtomicUsize::new(THREADS as usize);
    let seqs: Mutex<HashMap<u64, Vec<u64>>> = Mutex::default();
    thread::scope(|scope| {
        for lane in 0..THREADS as usize {
            let (monitors, locks, tags) = (&monitors, &locks, &tags);
            let (running, seqs) = (&running, &seqs);
            scope.spawn(move || {
                let mut mine = Vec::new();
                for round in 0..50_000u64 {
                    let which = (round * 7 + lane as u64 * 3) % ADDRESSES;
                    let address = 0x7000_0000 + which * 192;
                    let pin = loop {
                        match monitors.pin(lane, address) {
                            Some(pin) => break pin,
                            None => thread::yield_now(), // until the sweep has been here
                        }
                    };
                    let mut tag = tags[which as usize].lock().unwrap();
                    let slot = tag.unwrap_or_else(|| locks.allocate().expect("room"));
                    let bound = monitors.bind(pin, slot).expect("bound");
                    assert_eq!(bound, slot, "the object's lock");
                    *tag = Some(slot);
                    drop(tag);
                    assert_eq!(monitors.find(lane, address), Some(slot));
                    let stamp = locks.stamp(slot).expect("in use");
                    mine.push((stamp.lock, stamp.seq));
                    assert!(monitors.unpin(pin));
                }
                let mut seqs = seqs.lock().unwrap();
                for (lock, seq) in mine {
                    seqs.entry(lock).or_default().push(seq);
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while running.load(Ordering::Relaxed) != 0 {
            monitors.sweep(64);
            thread::yield_now();
        }
    });
    for (lock, mut numbers) in seqs.into_inner().unwrap() {
        numbers.sort_unstable();
        let gap_free = numbers.iter().zip(1..).all(|(seq, place)| *seq == place);
        assert!(gap_free, "lock {lock}: a number is missing or came twice");
    }
    while monitors.sweep(u64::MAX) > 0 {}
    monitors.sweep(u64::MAX);
    assert_eq!(monitors.free_entries(), monitors.capacity());
    assert_eq!(locks.live(), ADDRESSES);
}

#[test]
fn a_retired_lock_is_never_taken_for_its_successor() {
    let locks = LockTable::new(region(4 * 4));
    let slots: Vec<LockSlot> = (0..3).map(|_| locks.allocate().unwrap()).collect();
    assert!(locks.allocate().is_none(), "three fit");
    let id = locks.id(slots[1]).unwrap();
    assert_eq!(locks.stamp(slots[1]).unwrap().seq, 1);
    assert_eq!(locks.stamp(slots[1]).unwrap().seq, 2);
    locks.user(slots[1]).unwrap().store(9, Ordering::Relaxed);
    assert!(locks.retire(id));
    assert!(!locks.retire(id), "once");
    assert_eq!(locks.slot_of(id), None);
    assert_eq!(locks.stamp(slots[1]), None);
    let again = locks.allocate().unwrap();
    assert_eq!(again, slots[1], "the slot is used again");
    assert_ne!(locks.id(again), Some(id), "the id is not");
    assert_eq!(locks.stamp(again).unwrap().seq, 1);
    assert_eq!(locks.user(again).unwrap().load(Ordering::Relaxed), 0);
    assert_eq!(locks.slot_of(id), None);
    assert!(!locks.retire(id), "the successor stays");
    assert!(!locks.retire(0) && !locks.retire(u64::MAX));
}

#[test]
fn an_address_means_a_lock_only_while_it_is_pinned() {
    let monitors = MonitorTable::new(region(5 * 8));
    let locks = LockTable::new(region(4 * 8));
    let (first, second) = (locks.allocate().unwrap(), locks.allocate().unwrap());
    let pin = monitors.pin(0, 64).unwrap();
    assert_eq!(monitors.bound(pin), None);
    assert_eq!(monitors.find(0, 64), None, "pinned but not bound");
    assert_eq!(monitors.bind(pin, first), Some(first));
    assert_eq!(monitors.bind(pin, second), Some(first), "the first one wins");
    assert_eq!(monitors.find(0, 64), Some(first));
    assert_eq!(monitors.find(0, 128), None);
    assert!(monitors.unpin(pin));
    assert!(!monitors.unpin(pin), "nothing left to give back");
    assert_eq!(monitors.find(0, 64), None);
    let pin = monitors.pin(0, 64).unwrap();
    assert_eq!(monitors.bound(pin), None, "another object may live there");
    assert_eq!(monitors.bind(pin, second), Some(second));
    assert!(monitors.unpin(pin));
    let pins: Vec<_> = (1..=8).map_while(|n| monitors.pin(0, n * 4096)).collect();
    assert_eq!(pins.len(), 7, "eight entries, one still known by its address");
    monitors.sweep(1);
    assert!(monitors.pin(0, 8 * 4096).is_some(), "room after a sweep");
}

#[test]
fn parks_of_many_threads_add_up_whoever_looks_meanwhile() {
    const ROUNDS: u64 = 50_000;
    let locks = LockTable::new(region(4 * 8));
    let counts = ParkCounts::new(region(ParkCounts::WORDS_PER_LOCK * 8), region(1));
    let slot = locks.allocate().unwrap();
    let lock = locks.id(slot).unwrap();
    counts.reset(slot);
    let begin = std::time::Instant::now();
    let clock = || begin.elapsed().as_nanos() as u64;
    let (running, looks) = (AtomicUsize::new(THREADS as usize), AtomicU64::new(0));
    let parked: u64 = thread::scope(|scope| {
        let park = |number: u64| {
            let mut parked = 0;
            for round in 0..ROUNDS {
                // Who looks may not get a CPU before all are done.
                while round == ROUNDS / 2 && looks.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
                let start = clock();
                if counts.parks(lock, start) {
                    counts.measured(lock, number, 9, start);
                }
                let end = clock();
                counts.returns(lock, end);
                parked += end - start;
            }
            running.fetch_sub(1, Ordering::Relaxed);
            parked
        };
        let threads: Vec<_> = (1..=THREADS).map(|number| scope.spawn(move || park(number))).collect();
        let mut before = 0;
        while running.load(Ordering::Relaxed) != 0 {
            counts.changed(clock, |count| {
                looks.fetch_add(1, Ordering::Relaxed);
                assert!(count.times_parked >= before && count.parked_now <= THREADS, "{count:?}");
                assert!(count.real_time_ns <= count.thread_time_ns, "{count:?}");
                // Threads that do not run between clock and addition are counted as parked.
                assert!(count.thread_time_ns <= clock() * THREADS, "{count:?}");
                before = count.times_parked;
            });
        }
        assert!(looks.load(Ordering::Relaxed) > 0);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let count = counts.of(lock, clock).unwrap();
    assert_eq!((count.times_parked, count.parked_now), (THREADS * ROUNDS, 0));
    assert_eq!(count.thread_time_ns, parked, "each nanosecond once");
    assert!(count.peak_parked >= 1 && count.peak_parked <= THREADS && count.real_time_ns > 0, "{count:?}");
}
