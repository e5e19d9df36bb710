//! The recording's file, as the draining thread sees it: whether it can be written,
//! is where it was, and was cut.

use super::Drain;
use crate::options::Options;
use crate::removal;
use headway_jfr::{Finished, IfTaken, RecordingWriter, WriteError, WriterConfig};
use headway_model::event::{Degraded, RecordingInfo};
use headway_model::{DurationNs, Event, TimeNs};
use headway_protocol::UNWRITTEN;
use std::path::PathBuf;
use std::sync::Arc;

impl Drain {
    /// Brings everything into the file. That it cannot be written is said by `status`,
    /// and by the recording itself as soon as it can.
    pub(super) fn write_out(&mut self, watermark: TimeNs) {
        self.recorded.notes.clear();
        let Some(writer) = &mut self.writer else { return };
        let written = writer.flush(&self.dictionary, watermark);
        self.recorded.unwritten = writer.lost();
        if !writer.is_in_place() {
            let path = writer.path().display();
            self.recorded.notes.push(format!(
                "{path} was removed, moved or replaced; the recording goes on and is saved elsewhere at its end."
            ));
        }
        match written {
            Ok(()) => self.is_written_again(),
            Err(error) => {
                self.recorded
                    .notes
                    .push(format!("{UNWRITTEN}: {error}; up to 16 MB of events are kept, more are dropped."));
                self.unwritable.get_or_insert((watermark, String::new())).1 = error.to_string();
            }
        }
    }

    pub(super) fn is_written_again(&mut self) {
        let Some((since, problem)) = self.unwritable.take() else { return };
        let reason = format!(
            "not written for {}, {} events dropped so far: {problem}",
            self.drained_to.since(since),
            self.recorded.unwritten
        );
        self.problem = Some(problem);
        self.take_event(&Event::Degraded(Degraded { mechanism: "recording".into(), reason: reason.into() }));
    }

    /// The newest chunks say that there were older ones.
    pub(super) fn tell_cut(&mut self) {
        if self.writer.as_mut().is_some_and(RecordingWriter::take_was_truncated) {
            let reason = "another program made its file shorter: what had been recorded until then is gone";
            self.take_event(&Event::Degraded(Degraded { mechanism: "recording".into(), reason: reason.into() }));
        }
        if !self.writer.as_mut().is_some_and(RecordingWriter::take_was_cut) {
            return;
        }
        let size = self.max_size.map(|bytes| format!(" below {bytes} bytes (max-size)"));
        let age = self.max_age.map(|age| format!(" to about the last {age} (max-age)"));
        let limits = size.into_iter().chain(age).collect::<Vec<_>>().join(" and");
        let reason = format!("its oldest part was removed to keep it{limits}");
        self.take_event(&Event::Degraded(Degraded { mechanism: "recording".into(), reason: reason.into() }));
    }

    pub(super) fn tell_finished(&mut self, finished: Option<Finished>) {
        let Some(finished) = finished else { return };
        self.recorded.bytes = finished.bytes;
        self.recorded.unwritten = finished.lost;
        let problem = finished.problem.or(self.problem.take());
        self.recorded.error = problem
            .filter(|_| finished.lost > 0)
            .map(|problem| format!("{problem}; {} events are missing from {}", finished.lost, finished.path.display()));
        self.recorded.notes.clear();
        if let Some(path) = self.path.take().filter(|path| *path != finished.path) {
            let note = format!(
                "{} was removed, moved or replaced while it was recorded; the recording is in {}.",
                path.display(),
                finished.path.display()
            );
            self.recorded.notes.push(note);
            self.recorded.moved_to = Some(finished.path);
        }
        self.note_excess();
    }

    /// Adds the park statistics and finishes the file.
    pub(super) fn finish_file(&mut self, watermark: TimeNs) -> Result<Option<Finished>, WriteError> {
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        self.path = Some(writer.path().to_path_buf());
        let statistics = self.parks.finish(watermark);
        if statistics.is_empty() {
            return writer.finish(&self.dictionary, watermark).map(Some);
        }
        // What they name may be forgotten already. The dictionary is not copied: that
        // took a third of the time for the end with 10^5 locks.
        let added = self.dictionary.complete(self.parks.names());
        for event in &statistics {
            writer.event(event, &self.dictionary);
        }
        let finished = writer.finish(&self.dictionary, watermark);
        if !removal::is_given_up() {
            self.dictionary.forget_all_of(&added);
        }
        finished.map(Some)
    }
}

/// How a recording is written.
pub(super) fn writer_config(place: (PathBuf, IfTaken), options: &Options, info: Arc<RecordingInfo>) -> WriterConfig {
    let (path, if_taken) = place;
    let mut config = WriterConfig { if_taken, ..WriterConfig::new(path, info) };
    config.max_size = options.size_limit();
    config.max_age = options.max_age_ns.map(DurationNs);
    config
}
