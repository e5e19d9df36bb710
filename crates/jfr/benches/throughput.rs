//! How fast recordings are written and read, and how many bytes an event takes.
//! `cargo bench -p headway-jfr`; with an argument, so many seconds of events.
//! Times are CPU time, so that a busy machine does not spoil them.
#![allow(clippy::expect_used)] // a benchmark may end like that

#[allow(dead_code)]
#[path = "../tests/support/synthetic.rs"]
mod synthetic;

use headway_jfr::{Reader, RecordingWriter, WriterConfig};
use std::time::Duration;

fn main() {
    let seconds: usize = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(20);
    let dictionary = synthetic::dictionary();
    let directory = std::env::temp_dir().join(format!("headway-bench-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&directory) {
        eprintln!("cannot create {}: {error}", directory.display());
        return;
    }
    for per_second in [1_000, 20_000, 500_000] {
        let mut stream = synthetic::Stream::new(per_second);
        let batches: Vec<_> = (0..seconds).map(|_| (stream.second(), stream.now())).collect();
        let count: usize = batches.iter().map(|(events, _)| events.len()).sum();
        for name in ["bench.jfr", "bench.jfr.zst", "bench.jfr.lz4"] {
            let path = directory.join(name);
            let (event_time, flush_time) = write(&path, &batches, &dictionary);
            let bytes = std::fs::metadata(&path).map_or(0, |m| m.len());
            let read = read(&path);
            println!(
                "{per_second:>7}/s {name:14} {count:>9} events, {:5.2} bytes each; write {:5.1} M/s ({:4.0} ns in event, {:4.0} ns in flush); read {:5.1} M/s",
                bytes as f64 / count as f64,
                rate(count, event_time + flush_time),
                event_time.as_nanos() as f64 / count as f64,
                flush_time.as_nanos() as f64 / count as f64,
                rate(count, read),
            );
        }
    }
    if std::env::var_os("HEADWAY_KEEP").is_none() {
        let _ = std::fs::remove_dir_all(&directory);
    }
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64() / 1e6
}

fn write(
    path: &std::path::Path,
    batches: &[(Vec<headway_model::Event>, headway_model::TimeNs)],
    dictionary: &headway_model::Dictionary,
) -> (Duration, Duration) {
    let mut writer = RecordingWriter::create(WriterConfig::new(path, synthetic::info())).expect("create");
    let (mut events, mut flushes) = (Duration::ZERO, Duration::ZERO);
    for (batch, now) in batches {
        let begin = cpu_time();
        batch.iter().for_each(|event| writer.event(event, dictionary));
        let middle = cpu_time();
        writer.flush(dictionary, *now).expect("flush");
        events += middle - begin;
        flushes += cpu_time() - middle;
    }
    (events, flushes)
}

fn read(path: &std::path::Path) -> Duration {
    let begin = cpu_time();
    let count = Reader::open(path).expect("open").filter(Result::is_ok).count();
    assert!(count > 0);
    cpu_time() - begin
}
