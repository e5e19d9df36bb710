//! What is in a recording, without decoding its events.

use super::window::{Next, Window};
use super::{Problem, RawChunk, Schema, Source};
use headway_model::{DurationNs, TimeNs};
use std::collections::BTreeMap;
use std::path::Path;

/// Events of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeTotal {
    /// How many there are.
    pub count: u64,
    /// Their bytes, unpacked.
    pub bytes: u64,
}

/// What is in a recording.
#[derive(Debug, Default)]
pub struct Summary {
    /// Number of chunks.
    pub chunks: u64,
    /// First moment covered, since the Unix epoch.
    pub start: TimeNs,
    /// Time from there to the last moment covered.
    pub duration: DurationNs,
    /// Bytes, unpacked.
    pub bytes: u64,
    /// Events by the name of their type. `jdk.Metadata` and `jdk.CheckPoint`
    /// are counted as the JDK's tools count them.
    pub types: BTreeMap<String, TypeTotal>,
    /// What was wrong.
    pub problems: Vec<Problem>,
}

impl Summary {
    /// Walks through a recording.
    ///
    /// # Errors
    /// As [`super::Reader::open`]; other problems are in the summary.
    pub fn of(path: impl AsRef<Path>) -> Result<Summary, Problem> {
        let mut source = Source::open(path.as_ref())?;
        let mut summary = Summary::default();
        let mut problems = Vec::new();
        while let Some(chunk) = source.next_chunk(&mut problems) {
            summary.chunk(chunk);
        }
        summary.problems.splice(0..0, problems);
        Ok(summary)
    }

    fn chunk(&mut self, raw: RawChunk) {
        let header = raw.header;
        let start = TimeNs(header.start_nanos);
        let end = start + DurationNs(header.duration_nanos);
        if self.chunks == 0 {
            self.start = start;
        }
        self.duration = self.duration.max(end.since(self.start));
        let mut window = Window::new(raw.body, &header);
        let mut totals: BTreeMap<u64, TypeTotal> = BTreeMap::new();
        let mut schema = None;
        loop {
            let from = window.pos();
            let ty = match window.next() {
                Next::Event { ty, body, .. } => {
                    if ty == 0 {
                        schema = Schema::parse(body).or(schema);
                    }
                    ty
                }
                Next::End => break,
                Next::Broken(at) => {
                    self.problems.push(Problem::BrokenEvents(self.chunks as usize, at));
                    break;
                }
                Next::Failed(error) => {
                    self.problems.push(Problem::Read(from, error));
                    break;
                }
            };
            let total = totals.entry(ty).or_default();
            total.count += 1;
            total.bytes += window.pos() - from;
        }
        self.bytes += window.pos();
        self.add(totals, schema.as_ref());
        self.chunks += 1;
    }

    fn add(&mut self, totals: BTreeMap<u64, TypeTotal>, schema: Option<&Schema>) {
        for (ty, total) in totals {
            let name = match ty {
                0 => "jdk.Metadata".to_string(),
                1 => "jdk.CheckPoint".to_string(),
                _ => schema
                    .and_then(|schema| Some(schema.types[schema.index(ty)?].name.to_string()))
                    .unwrap_or_else(|| format!("type {ty}")),
            };
            let sum = self.types.entry(name).or_default();
            sum.count += total.count;
            sum.bytes += total.bytes;
        }
    }
}
