//! What `headway ship` says about itself, as text for Prometheus.

use crate::queue::Losses;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that others read while it changes.
#[derive(Debug, Default)]
pub struct Number(AtomicU64);

impl Number {
    /// Adds.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Sets.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Reads.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts since the process began, and how things stand.
#[derive(Debug, Default)]
pub struct Counters {
    /// JVMs that are recorded now.
    pub recorded: Number,
    /// JVMs that the policy selects, but not within its number at a time.
    pub left_out: Number,
    /// JVMs that could not be recorded the last time it was tried.
    pub failing: Number,
    /// Recordings begun.
    pub begun: Number,
    /// Commands to a JVM that failed.
    pub failed_commands: Number,
    /// Recordings whose rows are in the queue.
    pub rolled_up: Number,
    /// Events that these recordings dropped.
    pub dropped_events: Number,
    /// Recordings that were damaged and could be read in part.
    pub damaged: Number,
    /// Batches in the queue.
    pub waiting_batches: Number,
    /// What they take on disk.
    pub waiting_bytes: Number,
    /// First minute of the earliest of them, in seconds since the Unix epoch; 0 if there is none.
    pub earliest_seconds: Number,
    /// 1 if the store worked the last time.
    pub store_up: Number,
    /// Attempts in which the store failed.
    pub failed_uploads: Number,
    /// Batches delivered.
    pub delivered_batches: Number,
    /// Their rows.
    pub delivered_rows: Number,
    /// Bytes of their files.
    pub delivered_bytes: Number,
    /// Batches that the store had already.
    pub known_batches: Number,
}

impl Counters {
    /// The text exposition format, version 0.0.4.
    pub fn text(&self, losses: &Losses) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, values: &[(&str, f64)]| {
            let _ = writeln!(text, "# HELP headway_ship_{name} {help}\n# TYPE headway_ship_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "headway_ship_{name}{labels} {value}");
            }
        };
        let of = |number: &Number| number.get() as f64;
        let states = [
            ("{state=\"recorded\"}", of(&self.recorded)),
            ("{state=\"left_out\"}", of(&self.left_out)),
            ("{state=\"failing\"}", of(&self.failing)),
        ];
        let help = "Selected JVMs by state: recorded, left out because of --most, or failing.";
        family("jvms", "gauge", help, &states);
        family("recordings_begun_total", "counter", "Recordings begun.", &[("", of(&self.begun))]);
        let help = "Recordings whose rows are in the queue or delivered.";
        family("recordings_rolled_up_total", "counter", help, &[("", of(&self.rolled_up))]);
        let help = "Recordings of which only a part could be read.";
        family("recordings_damaged_total", "counter", help, &[("", of(&self.damaged))]);
        let help = "Failed commands to JVMs.";
        family("failed_commands_total", "counter", help, &[("", of(&self.failed_commands))]);
        let help = "Events that were not recorded.";
        family("dropped_events_total", "counter", help, &[("", of(&self.dropped_events))]);
        family("queue_batches", "gauge", "Batches in the queue.", &[("", of(&self.waiting_batches))]);
        let help = "Disk space of the batches in the queue.";
        family("queue_bytes", "gauge", help, &[("", of(&self.waiting_bytes))]);
        let help = "First minute of the earliest batch in the queue, since the Unix epoch; 0 if the queue is empty.";
        family("queue_earliest_timestamp_seconds", "gauge", help, &[("", of(&self.earliest_seconds))]);
        let help = "1 if the last delivery succeeded; 0 if it failed, or before the first delivery.";
        family("store_up", "gauge", help, &[("", of(&self.store_up))]);
        let help = "Failed deliveries to the store.";
        family("failed_uploads_total", "counter", help, &[("", of(&self.failed_uploads))]);
        let batches = [("{new=\"yes\"}", of(&self.delivered_batches)), ("{new=\"no\"}", of(&self.known_batches))];
        let help = "Batches delivered; new is no if the store already had the batch.";
        family("delivered_batches_total", "counter", help, &batches);
        family("delivered_rows_total", "counter", "Rows in new batches.", &[("", of(&self.delivered_rows))]);
        family("delivered_bytes_total", "counter", "Bytes of new batches.", &[("", of(&self.delivered_bytes))]);
        let [overflow, refused] = ["{reason=\"queue_full\"}", "{reason=\"refused\"}"];
        let batches = [(overflow, losses.overflow_batches as f64), (refused, losses.refused_batches as f64)];
        let help = "Batches that the store will never have, since the queue was created.";
        family("lost_batches_total", "counter", help, &batches);
        let rows = [(overflow, losses.overflow_rows as f64), (refused, losses.refused_rows as f64)];
        let help = "Rows of batches that the store will never have, since the queue was created.";
        family("lost_rows_total", "counter", help, &rows);
        let help = "Recordings of which nothing could be read, since the queue was created.";
        family("unreadable_recordings_total", "counter", help, &[("", losses.unreadable_recordings as f64)]);
        let help = "Gaps between two recordings of the same JVM, since the queue was created.";
        family("uncovered_seconds_total", "counter", help, &[("", losses.uncovered_ns as f64 / 1e9)]);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_text_for_prometheus() {
        let counters = Counters::default();
        counters.delivered_rows.add(5);
        let losses = Losses { overflow_rows: 3, uncovered_ns: 1_500_000_000, ..Losses::default() };
        let text = counters.text(&losses);
        for line in [
            "headway_ship_delivered_rows_total 5",
            "headway_ship_lost_rows_total{reason=\"queue_full\"} 3",
            "headway_ship_lost_rows_total{reason=\"refused\"} 0",
            "headway_ship_uncovered_seconds_total 1.5",
            "# TYPE headway_ship_queue_bytes gauge",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let family = name.split('{').next().expect("a name");
            assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
        }
    }
}
