//! Samples of running threads put together to a tree of calling contexts.

use crate::synthetic::Random;
use crate::{check, measured, story, Done};
use headway_analysis::method::{ProfileOptions, Profiler};
use headway_model::event::Sample;
use headway_model::{ChainId, DurationNs, Event, ThreadId, TimeNs};

const SAMPLES: u64 = 20_000;
const CHAINS: u64 = 500;
const METHODS: u64 = 200;
const THREADS: u64 = 8;
const DEPTH: u64 = 30;
const PERIOD_NS: u64 = 1_000_000;

/// A profile of samples, a millisecond apart, of chains thirty methods deep.
pub fn call_tree() -> Done {
    let events: Vec<Event> = definitions().chain(samples()).collect();
    let mut profiler = Some(Profiler::new(ProfileOptions::default()));
    let mut contexts = 0;
    measured(&mut || {
        let Some(mut profiler) = profiler.take() else { return };
        events.iter().for_each(|event| profiler.feed(event));
        contexts = profiler.finish().tree.len();
    });
    check(|| contexts > 1_000, "hardly any contexts: this measures nothing");
    Done { operations: SAMPLES, bytes: 0 }
}

fn definitions() -> impl Iterator<Item = Event> {
    let mut random = Random::new(7);
    let threads = (1..=THREADS).map(|id| story::thread(id, &format!("worker-{id}")));
    let methods = (1..=METHODS).map(|id| story::method(id, "com.acme.Inventory", &format!("method{id}")));
    let chains = (1..=CHAINS).map(move |id| story::chain(id, &frames(&mut random)));
    std::iter::once(story::recording(TimeNs(1))).chain(threads).chain(methods).chain(chains)
}

/// Leaf first; chains part at random and share the way from the root.
fn frames(random: &mut Random) -> Vec<(u64, u32)> {
    let parts_at = random.below(DEPTH);
    let method = |depth: u64| match depth > parts_at {
        true => random.below(METHODS),
        false => depth,
    };
    let mut frames: Vec<(u64, u32)> =
        (0..DEPTH).map(method).map(|method| (1 + method, 1 + method as u32 % 50)).collect();
    frames.reverse();
    frames
}

fn samples() -> impl Iterator<Item = Event> {
    let mut random = Random::new(11);
    (0..SAMPLES).map(move |number| {
        Event::Sample(Sample {
            time: TimeNs(1 + number * PERIOD_NS),
            thread: ThreadId(1 + number % THREADS),
            chain: ChainId(1 + random.skewed(CHAINS - 1)),
            weight: DurationNs(PERIOD_NS),
            ..Sample::default()
        })
    })
}
