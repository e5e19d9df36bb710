//! Recordings that are being read: how far, what their beginning says, and then all of it.
//!
//! What is shown changes twice at most, and each time it counts as another beginning: ids of first
//! results stand for something else in the whole recording.

use super::{facts, opening};
use headway_jfr::Progress;
use headway_page::contract::{Now, Opening, Reading};
use headway_page::Recording;
use std::sync::{Arc, PoisonError, RwLock};

/// When a page asks again how far it is.
const AGAIN_MS: u32 = 500;

/// Why no more is read.
const FAILED: &str = "The recording could not be read to its end: this is an error in Headway. Please report it with \
     what the command printed.";

/// See the module.
#[derive(Debug)]
pub struct Arriving {
    files: Vec<Progress>,
    shown: RwLock<Shown>,
}

#[derive(Clone, Debug, Default)]
struct Shown {
    recordings: Vec<Arc<Recording>>,
    generation: u64,
    is_complete: bool,
    has_failed: bool,
}

impl Arriving {
    /// Recordings of which nothing is known yet.
    pub fn new(files: Vec<Progress>) -> Arriving {
        Arriving { files, shown: RwLock::default() }
    }

    /// From here on these are shown.
    pub fn show(&self, recordings: Vec<Recording>, is_complete: bool) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let recordings = recordings.into_iter().map(Arc::new).collect();
        *shown = Shown { recordings, generation: shown.generation + 1, is_complete, has_failed: false };
    }

    /// Nothing is read any more, though not all was: pages are to say so, and keep what they have.
    pub fn fail(&self) {
        self.shown.write().unwrap_or_else(PoisonError::into_inner).has_failed = true;
    }

    /// With what a page begins: nothing is known before first results.
    pub fn opening(&self) -> Opening {
        let shown = self.shown();
        let live = (!shown.is_complete).then(|| self.how_far(&shown, shown.generation));
        Opening { live, ..opening(facts(shown.recordings)) }
    }

    /// How far they were read; `generation` is what is known already.
    pub fn now(&self, generation: u64) -> Now {
        self.how_far(&self.shown(), generation)
    }

    /// What is shown, for questions about this beginning; for a page that was opened when all was read
    /// there is only one. `None` if something else is shown.
    pub fn recordings_since(&self, beginning: Option<u64>) -> Option<Vec<Arc<Recording>>> {
        let shown = self.shown();
        let is_meant = beginning.map_or(shown.is_complete, |beginning| beginning == shown.generation);
        is_meant.then_some(shown.recordings)
    }

    fn how_far(&self, shown: &Shown, known: u64) -> Now {
        let sum = |of: fn(&Progress) -> u64| self.files.iter().map(of).sum();
        Now {
            generation: shown.generation,
            beginning: shown.generation,
            recordings: if shown.generation == known { Vec::new() } else { facts(shown.recordings.clone()) },
            again_ms: AGAIN_MS,
            ended: if shown.has_failed { FAILED.to_owned() } else { String::new() },
            reading: (!shown.is_complete).then(|| Reading { bytes: sum(Progress::read), of: sum(Progress::len) }),
            ..Now::default()
        }
    }

    fn shown(&self) -> Shown {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::Content;
    use super::*;
    use headway_jfr::{Reader, RecordingWriter, WriterConfig};
    use headway_loopback::Asked;
    use headway_model::event::{RecordingInfo, Sample};
    use headway_model::{Dictionary, DurationNs, Event, ThreadId, TimeNs};
    use headway_page::First;
    use std::path::Path;

    const MS: u64 = 1_000_000;

    /// A sample each millisecond.
    fn write(path: &Path, samples: u64) {
        let info = RecordingInfo { start: TimeNs(MS), producer: "headway".into(), ..RecordingInfo::default() };
        let mut writer = RecordingWriter::create(WriterConfig::new(path, info.into())).expect("a recording");
        let dictionary = Dictionary::default();
        for n in 0..samples {
            let (time, weight) = (TimeNs((n + 2) * MS), DurationNs(MS));
            writer
                .event(&Event::Sample(Sample { time, weight, thread: ThreadId(7), ..Sample::default() }), &dictionary);
        }
        writer.finish(&dictionary, TimeNs((samples + 2) * MS)).expect("written");
    }

    /// What is shown of a recording of so many samples while it is read, where the first 500 events
    /// are the beginning: lengths in ms, and how far it was.
    fn shown(samples: u64) -> Vec<(u64, Option<Reading>)> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        write(&path, samples);
        let reader = Reader::open(&path).expect("a recording");
        let arriving = Arc::new(Arriving::new(vec![reader.progress()]));
        assert!(arriving.opening().recordings.is_empty());
        let (sender, found) = std::sync::mpsc::channel();
        let see = {
            let arriving = arriving.clone();
            move |recording, is_complete| {
                arriving.show(vec![recording], is_complete);
                let Now { recordings, reading, .. } = arriving.now(0);
                let _ = sender.send((recordings[0].duration_ns / MS, reading));
            }
        };
        let first = First {
            events: 500,
            rows: 100,
            take: Box::new({
                let see = see.clone();
                move |recording| see(recording, false)
            }),
        };
        see(Recording::read_opened("a.jfr".into(), reader, 1000, Some(first)), true);
        drop(see);
        found.iter().collect()
    }

    #[test]
    fn what_the_beginning_says_comes_first_and_then_all() {
        let found = shown(2_000);
        let [(beginning, Some(reading)), (whole, None)] = found.as_slice() else { panic!("{found:?}") };
        assert!((400..=500).contains(beginning) && *whole >= 2_000, "{found:?}");
        assert!(reading.bytes <= reading.of && reading.of > 0, "{reading:?}");
    }

    #[test]
    fn where_the_beginning_is_all_there_is_only_all() {
        let found = shown(300);
        assert!(matches!(found.as_slice(), [(300.., None)]), "{found:?}");
    }

    #[test]
    fn a_page_hears_that_reading_failed() {
        let arriving = Arriving::new(Vec::new());
        assert_eq!(arriving.now(0).ended, "");
        arriving.fail();
        let opened = arriving.opening().live.expect("not complete");
        assert!(opened.ended.contains("could not be read to its end") && opened.reading.is_some(), "{opened:?}");
    }

    #[test]
    fn questions_are_answered_from_what_their_page_shows() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        write(&path, 10);
        let arriving = Arc::new(Arriving::new(Vec::new()));
        let content = Content::Arriving(arriving.clone());
        let ask = |path: &str, body: &str| {
            let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
            content.reply(&Asked { get: false, path: path.into(), parameters: parameters.into(), body: body.into() })
        };
        let statuses = || {
            let paths = ["query", "query?beginning=0", "query?beginning=1", "query?beginning=2"];
            paths.map(|path| ask(path, r#"{"ask":"whole","recording":0}"#).status)
        };
        let show = |is_complete| arriving.show(vec![Recording::read(&path, 100).expect("read")], is_complete);
        assert_eq!(statuses(), [409, 400, 409, 409], "there is nothing to ask about");
        show(false);
        assert_eq!(statuses(), [409, 409, 200, 409]);
        assert!(arriving.opening().live.is_some_and(|now| now.beginning == 1 && now.recordings.is_empty()));
        show(true);
        assert_eq!(statuses(), [200, 409, 409, 200]);
        assert!(arriving.opening().live.is_none() && arriving.opening().recordings.len() == 1);
        let now: Now = serde_json::from_str(&ask("now", "1").body).expect("JSON");
        assert_eq!((now.generation, now.recordings.len(), now.reading), (2, 1, None));
    }
}
