//! What the agent saw, as `name=value` lines that the tests read.

use headway_hotspot::WalkCache;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// Most differences kept in full.
const MAX_EXAMPLES: usize = 5;

#[derive(Default)]
pub struct Seen {
    pub counters: BTreeMap<String, u64>,
    examples: Vec<String>,
    /// The previous walk of each `JavaThread`.
    pub caches: HashMap<u64, WalkCache>,
    /// The stack that JVMTI gave when a key was first seen.
    pub keys: HashMap<Vec<u64>, Vec<(u64, i64)>>,
    /// Methods whose names were compared.
    pub methods: HashSet<u64>,
}

impl Seen {
    pub fn count(&mut self, name: &str) {
        *self.counters.entry(name.to_string()).or_default() += 1;
    }

    pub fn set(&mut self, name: &str, value: u64) {
        self.counters.insert(name.to_string(), value);
    }

    pub fn difference(&mut self, name: &str, example: impl FnOnce() -> String) {
        self.count(name);
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(format!("{name}: {}", example()));
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.counters {
            writeln!(f, "{name}={value}")?;
        }
        for example in &self.examples {
            writeln!(f, "--- {example}")?;
        }
        Ok(())
    }
}
