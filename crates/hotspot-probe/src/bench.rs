//! How long a walk takes, measured where the test program asks.

use crate::jvmti::Jni;
use crate::Probe;
use headway_hotspot::{thread, walk_light, FrameRecord, WalkCache};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 20_000;
const COLD_ROUNDS: usize = 300;
/// More than the last-level cache share of one core of the usual server.
const EVICT_BYTES: usize = 64 << 20;

/// Measures walks of the current stack and puts the medians into what was seen.
pub fn run(probe: &Probe, jni: Jni) {
    let java_thread = probe.java_thread(jni);
    let memory = probe.memory(java_thread);
    let mut records = vec![FrameRecord::default(); 1024];
    let mut frames = 0;
    let mut walk = || {
        let start = thread::start_from_anchor(&probe.layout, &memory, java_thread);
        let result = walk_light(&probe.layout, &memory, start.expect("anchor"), &mut records);
        frames = result.frames;
        black_box(&records);
    };
    let clock = median((0..ROUNDS).map(|_| time(|| {})).collect());
    let warm = median((0..ROUNDS).map(|_| time(&mut walk)).collect());
    let mut ballast = vec![1u8; EVICT_BYTES];
    let cold = (0..COLD_ROUNDS).map(|_| {
        ballast.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        time(&mut walk)
    });
    let cold = median(cold.collect());
    let mut cache = WalkCache::new(1024);
    let mut rewalk = || {
        let start = thread::start_from_anchor(&probe.layout, &memory, java_thread);
        let result = cache.walk(&probe.layout, &memory, start.expect("anchor"));
        assert!(black_box(result).frames > 0);
    };
    rewalk();
    let warm_again = median((0..ROUNDS).map(|_| time(&mut rewalk)).collect());
    let cold_again = (0..COLD_ROUNDS).map(|_| {
        ballast.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        time(&mut rewalk)
    });
    let cold_again = median(cold_again.collect());
    let mut seen = probe.seen.lock().unwrap();
    seen.set("bench_frames", frames as u64);
    seen.set("bench_walk_warm_ns", warm.saturating_sub(clock));
    seen.set("bench_walk_cold_ns", cold.saturating_sub(clock));
    seen.set("bench_rewalk_warm_ns", warm_again.saturating_sub(clock));
    seen.set("bench_rewalk_cold_ns", cold_again.saturating_sub(clock));
    seen.set("bench_clock_ns", clock);
}

fn time(what: impl FnOnce()) -> u64 {
    let start = Instant::now();
    what();
    start.elapsed().as_nanos() as u64
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
