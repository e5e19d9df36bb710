//! How fast samples become calling contexts: `cargo run --release -p
//! headway-analysis --example contexts [MILLIONS]`. Samples of 64 threads with
//! 20,000 different chains of 40 frames, a few of them far more often than the
//! rest; weighed by a profiler, and by a whole analysis that also keeps them
//! for the owners of contended locks.

use headway_analysis::method::{Comparison, ProfileOptions, Profiler};
use headway_analysis::{Analysis, Options};
use headway_model::event::{Sample, SampleState, ThreadDef};
use headway_model::random::Random;
use headway_model::stack::{ChainDef, Frame};
use headway_model::{CallChain, ChainId, DurationNs, Event, FrameKind, Method, MethodId, ThreadId, TimeNs};
use std::sync::Arc;
use std::time::Instant;

const THREADS: u64 = 64;
const CHAINS: u64 = 20_000;
const METHODS: u64 = 5_000;
const FRAMES: u64 = 40;

/// Small numbers far more often than large ones.
fn skewed(random: &mut Random, bound: u64) -> u64 {
    let a = random.below(bound) + 1;
    let b = random.below(a) + 1;
    random.below(b)
}

/// Threads, methods and chains that share their roots as those of programs do.
fn definitions() -> Vec<Event> {
    let mut random = Random::new(1);
    let mut events = Vec::new();
    for id in 1..=THREADS {
        let name = format!("worker-{id}").into();
        events.push(Event::Thread(ThreadDef { id: ThreadId(id), name, ..ThreadDef::default() }));
    }
    for id in 1..=METHODS {
        let (class, name) = (format!("com.acme.p{}.C{}", id % 20, id / 10).into(), format!("m{id}").into());
        events.push(Event::Method(MethodId(id), Arc::new(Method { class, name, ..Method::default() })));
    }
    let mut chains: Vec<Vec<Frame>> = Vec::new();
    for id in 0..CHAINS {
        let mut frames: Vec<Frame> = match id {
            0 => Vec::new(),
            _ => {
                let other = &chains[random.below(id) as usize];
                other[..random.below(FRAMES) as usize].to_vec()
            }
        };
        while (frames.len() as u64) < FRAMES {
            let (method, line) = (MethodId(1 + skewed(&mut random, METHODS)), 10 + random.below(90) as u32);
            frames.push(Frame { method, bci: 0, line, kind: FrameKind::Compiled, approximate: false });
        }
        chains.push(frames.clone());
        frames.reverse();
        let chain = CallChain { frames, truncated: false };
        events.push(Event::Chain(Arc::new(ChainDef { id: ChainId(1 + id), chain })));
    }
    events
}

fn sample(random: &mut Random, nth: u64) -> Event {
    let (thread, chain) = (ThreadId(1 + random.below(THREADS)), ChainId(1 + skewed(random, CHAINS)));
    let (time, weight) = (TimeNs(1_000_000_000 + nth * 1_000_000 / THREADS), DurationNs(1_000_000));
    Event::Sample(Sample { time, thread, chain, state: SampleState::Java, weight, cpu: None })
}

fn run(what: &str, samples: u64, mut feed: impl FnMut(&Event)) {
    definitions().iter().for_each(&mut feed);
    let mut random = Random::new(7);
    let start = Instant::now();
    for nth in 0..samples {
        feed(&sample(&mut random, nth));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.2} million samples/s", samples as f64 / seconds / 1e6);
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(10);
    let samples = millions * 1_000_000;
    let mut profiler = Profiler::new(ProfileOptions::default());
    run("profiler", samples, |event| profiler.feed(event));
    let mut analysis = Analysis::new(Options::default());
    run("analysis", samples, |event| analysis.feed(event));
    let start = Instant::now();
    let profile = profiler.finish();
    println!("finish: {} contexts in {:.2?}", profile.tree.len(), start.elapsed());
    let start = Instant::now();
    let agreement = Comparison::new(&profile.tree, &profile.tree).agreement(0.1);
    println!("comparison with itself: overlap {:.3} in {:.2?}", agreement.overlap, start.elapsed());
    let start = Instant::now();
    println!("flat: {} methods in {:.2?}", profile.tree.flat().len(), start.elapsed());
}
