//! A recording inside the page: names as JSON, the table as columns of
//! variable-length integers, all packed by gzip and written in base64.
//!
//! Layout of the unpacked bytes: length of the JSON (4 bytes, little endian),
//! the JSON ([`Embedded`]), then the columns in the order of [`COLUMNS`]. An
//! integer is written in groups of seven bits, lowest first, the eighth bit set
//! where more follow. Starts are written as differences (zigzag).

use crate::contract::{Facts, Frame, Lock, Thread, Whole};
use crate::recording::Recording;
use crate::table::SUMMED;
use base64::prelude::{Engine, BASE64_STANDARD};
use flate2::write::GzEncoder;
use flate2::Compression;
use serde::Serialize;
use std::io::{self, Write};

/// The columns, in their order. `sums` has five integers (total, count, going, apart, max)
/// for each row that stands for several entries.
pub const COLUMNS: [&str; 13] = [
    "start",
    "span",
    "stopped",
    "thread",
    "chain",
    "lock",
    "owner",
    "owner_chain",
    "inside",
    "kind",
    "how",
    "flags",
    "sums",
];

#[derive(Serialize)]
struct Embedded<'a> {
    facts: &'a Facts,
    rows: usize,
    texts: &'a [String],
    threads: &'a [Thread],
    locks: &'a [Lock],
    frames: &'a [Frame],
    chains: &'a [Vec<u32>],
    acting: &'a [u32],
    whole: &'a Whole,
}

/// The recording as text that may stand in a script element: base64.
///
/// # Errors
/// Only if memory cannot be written to.
pub fn embed(recording: &Recording) -> io::Result<String> {
    let names = recording.names();
    let head = Embedded {
        facts: recording.facts(),
        rows: recording.table().rows().len(),
        texts: names.texts(),
        threads: names.threads(),
        locks: names.locks(),
        frames: names.frames(),
        chains: names.chains(),
        acting: recording.acting(),
        whole: recording.whole(),
    };
    let json = serde_json::to_vec(&head)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::new(6));
    packed.write_all(&u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes())?;
    packed.write_all(&json)?;
    for column in columns(recording) {
        packed.write_all(&column)?;
    }
    Ok(BASE64_STANDARD.encode(packed.finish()?))
}

fn columns(recording: &Recording) -> Vec<Vec<u8>> {
    let rows = recording.table().rows();
    let mut start = Vec::with_capacity(rows.len() * 3);
    let mut before = 0_i64;
    for row in rows {
        let at = row.start as i64;
        put_signed(&mut start, at - before);
        before = at;
    }
    let column = |value: fn(&crate::table::Row) -> u64| {
        let mut column = Vec::with_capacity(rows.len());
        rows.iter().for_each(|row| put(&mut column, value(row)));
        column
    };
    let mut sums = Vec::new();
    for (place, _) in rows.iter().enumerate().filter(|(_, row)| row.flags & SUMMED != 0) {
        let sum = recording.table().sum(place);
        [sum.total, sum.count, sum.going, sum.apart, sum.max].into_iter().for_each(|value| put(&mut sums, value));
    }
    vec![
        start,
        column(|row| row.span),
        column(|row| row.stopped),
        column(|row| row.thread.into()),
        column(|row| row.chain.into()),
        column(|row| row.lock.into()),
        column(|row| row.owner.into()),
        column(|row| row.owner_chain.into()),
        column(|row| row.inside.into()),
        column(|row| row.kind.into()),
        column(|row| row.how.into()),
        column(|row| row.flags.into()),
        sums,
    ]
}

fn put(column: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        column.push(value as u8 | 0x80);
        value >>= 7;
    }
    column.push(value as u8);
}

fn put_signed(column: &mut Vec<u8>, value: i64) {
    put(column, ((value << 1) ^ (value >> 63)) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_in_groups_of_seven_bits() {
        let written = |values: &[i64]| {
            let mut column = Vec::new();
            values.iter().for_each(|value| put_signed(&mut column, *value));
            column
        };
        assert_eq!(written(&[0, -1, 1, 63, 64]), [0, 1, 2, 126, 0x80, 1]);
    }
}
