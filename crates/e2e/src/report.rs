//! What is read of `headway report --json`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A report. Times are nanoseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// Time threads were blocked.
    pub blocked_ns: u64,
    /// Blocked contentions.
    pub contentions: u64,
    /// The breakdown that was asked for.
    pub rows: Vec<Row>,
    /// What is missing, by cause.
    pub losses: BTreeMap<String, u64>,
    /// Mechanisms that were not active.
    pub degraded: Vec<Degraded>,
    /// Threads still blocked at the end.
    #[serde(default)]
    pub in_flight: Vec<serde_json::Value>,
    /// How the blocked time was accounted for.
    pub blocked: BlockedTime,
}

/// A row of the breakdown.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// A name, or a chain as a list of frames, leaf first.
    pub value: serde_json::Value,
    /// Blocked time.
    pub total_ns: u64,
    /// Blocked contentions.
    #[serde(default)]
    pub count: u64,
    /// The part of the blocked time whose owner frame is only approximately known.
    #[serde(default)]
    pub approximate_ns: u64,
    /// The next level.
    pub children: Vec<Row>,
}

/// A leaf of the breakdown.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The names from the root down.
    pub path: Vec<String>,
    /// Blocked time.
    pub total_ns: u64,
    /// The part of it whose owner frame is only approximately known.
    pub approximate_ns: u64,
}

/// A mechanism that was not active.
#[derive(Clone, Debug, Deserialize)]
pub struct Degraded {
    /// Its name.
    pub mechanism: String,
    /// Why, and what was used instead.
    pub reason: String,
}

/// How the blocked time was accounted for.
#[derive(Clone, Debug, Deserialize)]
pub struct BlockedTime {
    /// Owner's thread and call chain proven.
    pub owner_stack_ns: u64,
    /// Owner's thread known, its call chain not.
    pub owner_thread_ns: u64,
    /// Lock changing hands.
    pub hand_off_ns: u64,
    /// Owner not provable.
    pub unknown_ns: u64,
    /// Contentions whose slices were checked to add up.
    pub slices_checked: u64,
    /// Contentions whose slices did not.
    pub slices_wrong: u64,
}

impl Report {
    /// The breakdown's leaves.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for row in &self.rows {
            row.collect(&mut Vec::new(), &mut leaves);
        }
        leaves
    }
}

impl Row {
    fn collect(&self, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
        path.push(self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned));
        if self.children.is_empty() {
            leaves.push(Leaf { path: path.clone(), total_ns: self.total_ns, approximate_ns: self.approximate_ns });
        }
        for child in &self.children {
            child.collect(path, leaves);
        }
        path.pop();
    }
}
