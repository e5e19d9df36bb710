//! Prints the events of a recording, one per line, or with `--count` how many
//! there are of each kind, or with `--total` just how many there are (which
//! measures reading and nothing else), or with `--chains`, as JSON, how often call
//! chains came again.

use headway_model::{ChainId, Event};
use std::collections::{BTreeMap, HashMap};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count_only = arguments.iter().any(|a| a == "--count");
    for path in arguments.iter().filter(|a| !a.starts_with("--")) {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let reader = match headway_jfr::Reader::open(path) {
            Ok(reader) => reader,
            Err(problem) => {
                eprintln!("{problem}");
                continue;
            }
        };
        if arguments.iter().any(|a| a == "--total") {
            println!("{}", reader.count());
            continue;
        }
        if arguments.iter().any(|a| a == "--chains") {
            let mut chains = Chains::default();
            reader.flatten().for_each(|event| chains.feed(&event));
            println!("{}", chains.json());
            continue;
        }
        for item in reader {
            match item {
                Ok(event) if count_only => {
                    let text = format!("{event:?}");
                    let kind = text.split('(').next().unwrap_or_default().to_string();
                    *counts.entry(kind).or_default() += 1;
                }
                Ok(event) => println!("{event:?}"),
                Err(problem) => println!("PROBLEM: {problem}"),
            }
        }
        counts.iter().for_each(|(kind, count)| println!("{count:8} {kind}"));
    }
}

/// Which chains events have. Only events at which a stack was walked count: the end of
/// a contention bears the chain of its beginning.
#[derive(Default)]
struct Chains {
    frames: HashMap<ChainId, u64>,
    locks: HashMap<ChainId, u64>,
    samples: HashMap<ChainId, u64>,
}

impl Chains {
    fn feed(&mut self, event: &Event) {
        let (chain, counts) = match event {
            Event::Chain(def) => {
                self.frames.insert(def.id, def.chain.frames.len() as u64);
                return;
            }
            Event::MonitorEnter(e) => (e.chain, &mut self.locks),
            Event::MonitorExit(e) => (e.chain, &mut self.locks),
            Event::MonitorWait(e) => (e.chain, &mut self.locks),
            Event::Park(e) => (e.chain, &mut self.locks),
            Event::Unpark(e) => (e.chain, &mut self.locks),
            Event::Sample(e) => (e.chain, &mut self.samples),
            _ => return,
        };
        if chain.is_some() {
            *counts.entry(chain).or_default() += 1;
        }
    }

    fn json(&self) -> String {
        let of = |counts: &HashMap<ChainId, u64>| {
            let frames = |chain| self.frames.get(chain).copied().unwrap_or(0);
            let all: u64 = counts.iter().map(|(chain, count)| frames(chain) * count).sum();
            let told: u64 = counts.keys().map(frames).sum();
            let (events, chains) = (counts.values().sum::<u64>(), counts.len());
            format!("{{\"events\": {events}, \"chains\": {chains}, \"event_frames\": {all}, \"chain_frames\": {told}}}")
        };
        format!("{{\"lock\": {}, \"sample\": {}}}", of(&self.locks), of(&self.samples))
    }
}
