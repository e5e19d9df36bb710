//! What a recording says that is still being written.

use crate::error::Failure;
use crate::jvm::process::Process;
use crate::jvm::target_file;
use crate::recording::analysed::unreadable;
use headway_analysis::{Analysis, Options};
use headway_jfr::Reader;
use headway_model::DurationNs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Findings that are shown.
const FINDINGS: usize = 3;
/// Of a longer recording only the end is read, so that it takes a second or two.
const MOST_BYTES: u64 = 64 << 20;
/// How often it is read again if there was nothing readable: the JVM may be just writing it.
const TRIES: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(100);

/// What was found.
#[derive(Debug)]
pub struct SoFar {
    /// The first findings of the report, each in a sentence.
    pub findings: Vec<String>,
    /// The part at the recording's end that was read, if not all of it was.
    pub last: Option<DurationNs>,
}

impl SoFar {
    /// Reads what `process` has written to `path` (as it sees it). Problems of the file's end are none: it is
    /// being written.
    ///
    /// # Errors
    /// The file cannot be opened, or is no recording.
    pub fn read(process: &Process, path: &Path) -> Result<SoFar, Failure> {
        let mut tries = 1..TRIES;
        loop {
            match SoFar::read_once(process, path, MOST_BYTES) {
                Err(failure) if tries.next().is_none() => return Err(failure),
                Err(_) => sleep(BETWEEN),
                done => return done,
            }
        }
    }

    fn read_once(process: &Process, path: &Path, most: u64) -> Result<SoFar, Failure> {
        let odd = |problem| unreadable(path, problem);
        let open = |error| odd(headway_jfr::Problem::Open(path.to_owned(), error));
        let file = target_file::open(process, path).map_err(open)?;
        let mut reader = Reader::open(target_file::place(&file)).map_err(odd)?;
        Ok(SoFar::of(&mut reader, most))
    }

    fn of(reader: &mut Reader, most: u64) -> SoFar {
        let is_part = reader.skip_to_last(most) > 0;
        let mut analysis = Analysis::new(Options { by: Vec::new(), pressure: None, ..Options::default() });
        reader.flatten().for_each(|event| analysis.feed(&event));
        let report = analysis.snapshot();
        SoFar {
            findings: report.findings.into_iter().take(FINDINGS).map(|finding| finding.text).collect(),
            last: is_part.then_some(DurationNs(report.duration_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_jfr::{RecordingWriter, WriterConfig};
    use headway_model::event::{LockDef, MonitorEnter, MonitorEntered, RecordingInfo, ThreadDef, ThreadPoint};
    use headway_model::{Dictionary, Event, LockId, ThreadId, TimeNs};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// A thread is blocked on one lock for 9 of 10 seconds each time, in the last ten seconds on another one.
    fn write(path: &Path, seconds: u64) {
        let info = Arc::new(RecordingInfo { start: TimeNs(1), producer: "headway".into(), ..RecordingInfo::default() });
        let config = WriterConfig { chunk_age: DurationNs(10 * SECOND), ..WriterConfig::new(path, info) };
        let mut writer = RecordingWriter::create(config).expect("created");
        let mut names = Dictionary::default();
        let put = |writer: &mut RecordingWriter, names: &mut Dictionary, event: Event| {
            names.feed(&event);
            writer.event(&event, names);
        };
        let thread = ThreadId(7);
        put(
            &mut writer,
            &mut names,
            Event::Thread(ThreadDef { id: thread, os_id: 7, name: "worker".into(), ..ThreadDef::default() }),
        );
        put(&mut writer, &mut names, Event::ThreadStart(ThreadPoint { time: TimeNs(1), thread }));
        for (id, name) in [(1, "Old.lock"), (2, "New.lock")] {
            let lock =
                LockDef { id: LockId(id), class: "java.lang.Object".into(), name: name.into(), identity_hash: 1 };
            put(&mut writer, &mut names, Event::Lock(lock));
        }
        for at in (0..seconds).step_by(10) {
            let (start, time) = (TimeNs(1 + at * SECOND), TimeNs((at + 9) * SECOND));
            let lock = LockId(if at + 10 < seconds { 1 } else { 2 });
            let enter = MonitorEnter { time: start, thread, lock, ..MonitorEnter::default() };
            put(&mut writer, &mut names, Event::MonitorEnter(enter));
            let entered = MonitorEntered { time, thread, lock, start, ..MonitorEntered::default() };
            put(&mut writer, &mut names, Event::MonitorEntered(entered));
            writer.flush(&names, TimeNs((at + 10) * SECOND)).expect("written");
        }
    }

    #[test]
    fn what_a_recording_says_that_has_no_end_yet() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        write(&path, 100);
        let whole = SoFar::of(&mut Reader::open(&path).expect("a recording"), MOST_BYTES);
        assert!(whole.findings[0].contains("`Old.lock`"), "{whole:?}");
        assert_eq!(whole.last, None);
        let end = SoFar::of(&mut Reader::open(&path).expect("a recording"), 0);
        assert!(end.findings[0].contains("`New.lock`"), "{end:?}");
        assert_eq!(end.last, Some(DurationNs(10 * SECOND)));
    }
}
