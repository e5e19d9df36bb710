//! How many events a second the analysis takes in, on one core.
//!
//! `cargo run --release -p headway-analysis --example throughput [THREADS [LOCKS]] [pressure]`

#[path = "../tests/analysis/simulation.rs"]
mod simulation;
#[path = "../tests/analysis/story.rs"]
mod story;

#[path = "../tests/analysis/writer.rs"]
mod writer;

use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Aspect, Options};
use headway_model::{DurationNs, Event};
use simulation::{play, Play};

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    match numbers[..] {
        [] => {
            for (threads, locks) in [(2, 1), (8, 1), (8, 4), (16, 1), (16, 8), (64, 1), (64, 16)] {
                measure(threads, locks);
            }
        }
        [threads] => measure(threads, 1),
        [threads, locks, ..] => measure(threads, locks),
    }
}

fn measure(threads: usize, locks: usize) {
    let played = play(Play {
        threads,
        locks,
        acquisitions: 400_000,
        hold_ns: 20_000,
        think_ns: 100_000,
        wake_ns: 20_000,
        missed_percent: 2,
        wait_percent: 5,
        seed: 1,
    });
    let arrival = as_drained(&played.events, threads);
    let by = vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod];
    let pressure = std::env::args().any(|arg| arg == "pressure").then(PressureOptions::default);
    let mut analysis = Analysis::new(Options { by, pressure, ..Options::default() });
    for event in story::definitions() {
        analysis.feed(&event);
    }
    let start = cpu_seconds();
    for event in &arrival {
        analysis.feed(event);
    }
    let report = analysis.finish();
    let seconds = cpu_seconds() - start;
    let events = arrival.len() as f64;
    println!(
        "{threads:3} threads, {locks:2} locks: {:5.2} million events/s, {:5.1} slices a contention, \
         {:4.0} ns a slice; owner known for {:.1} % of the blocked time",
        events / seconds / 1e6,
        report.blocked.slices_checked as f64 / report.contentions.max(1) as f64,
        seconds * 1e9 / report.blocked.slices_checked.max(1) as f64,
        100.0 * (report.blocked.owner_stack_ns + report.blocked.owner_thread_ns) as f64
            / report.blocked_ns.max(1) as f64,
    );
}

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    ns.unwrap_or(0) as f64 / 1e9
}

/// The events as the agent's draining thread sees them: each thread's buffer
/// when it is full, all of them once a second, and then a watermark.
fn as_drained(events: &[Event], threads: usize) -> Vec<Event> {
    const SECOND: DurationNs = DurationNs(1_000_000_000);
    const BUFFER: usize = 300;
    let mut drained = Vec::with_capacity(events.len());
    let mut buffers: Vec<Vec<Event>> = vec![Vec::new(); threads + 1];
    let mut next = None;
    for event in events {
        let Some(time) = event.time() else { continue };
        let until = *next.get_or_insert(time + SECOND);
        if time >= until {
            buffers.iter_mut().for_each(|buffer| drained.append(buffer));
            drained.push(Event::Watermark(time));
            next = Some(time + SECOND);
        }
        let Some(thread) = writer::of(event) else { continue };
        let buffer = &mut buffers[thread.0 as usize];
        buffer.push(event.clone());
        if buffer.len() == BUFFER {
            drained.append(buffer);
        }
    }
    buffers.iter_mut().for_each(|buffer| drained.append(buffer));
    drained
}
