//! The recorder beside JVMs that are files: whatever ends in between, each recording's rows come into the
//! queue once.

use headway_ship::{Counters, Given, Jvm, Jvms, Names, Plan, Policy, Process, Queue, Recorder, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const SEGMENT: Duration = Duration::from_secs(60);

/// A JVM that is a file: what it records is a saved recording.
#[derive(Debug, Default)]
struct Made {
    recording: Option<PathBuf>,
    refuses: bool,
    /// It carries out commands, and its answers do not arrive.
    is_mute: bool,
    is_dead: bool,
    main: String,
}

/// JVMs by process id.
#[derive(Clone, Debug, Default)]
struct Machine(Arc<Mutex<BTreeMap<u32, Made>>>);

impl Machine {
    fn with(&self, pid: u32, change: impl FnOnce(&mut Made)) {
        change(self.0.lock().expect("not poisoned").entry(pid).or_default());
    }

    fn answer(&self, pid: u32, act: impl FnOnce(&mut Made) -> Result<(), String>) -> Result<(), String> {
        let mut machine = self.0.lock().expect("not poisoned");
        let made = machine.get_mut(&pid).filter(|made| !made.is_dead).ok_or("there is no such process")?;
        act(made)?;
        match made.is_mute {
            true => Err("no answer".into()),
            false => Ok(()),
        }
    }

    fn recording(&self, pid: u32) -> Option<PathBuf> {
        self.0.lock().expect("not poisoned").get(&pid).and_then(|made| made.recording.clone())
    }
}

fn process(pid: u32) -> Process {
    Process { pid, started: u64::from(pid) }
}

impl Jvms for Machine {
    fn list(&self) -> Result<Vec<Jvm>, String> {
        let machine = self.0.lock().expect("not poisoned");
        let alive = machine.iter().filter(|(_, made)| !made.is_dead);
        let jvm = |(pid, made): (&u32, &Made)| Jvm {
            process: process(*pid),
            uid: std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("own process")),
            user: "shop".into(),
            main: made.main.clone(),
            names: Names::default(),
        };
        Ok(alive.map(jvm).collect())
    }

    fn is_alive(&self, process: Process) -> bool {
        self.0.lock().expect("not poisoned").get(&process.pid).is_some_and(|made| !made.is_dead)
    }

    fn state(&self, pid: u32, file: &Path) -> Result<State, String> {
        let mut is_ours = false;
        self.answer(pid, |made| {
            is_ours = made.recording.as_deref() == Some(file);
            Ok(())
        })?;
        Ok(if is_ours { State::Recording } else { State::Other })
    }

    fn start(&self, pid: u32, file: &Path) -> Result<(), String> {
        self.answer(pid, |made| {
            if made.refuses || made.recording.is_some() {
                return Err("no".into());
            }
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden/headway-v2.jfr");
            std::fs::copy(golden, file).map_err(|error| error.to_string())?;
            made.recording = Some(file.to_owned());
            Ok(())
        })
    }

    fn stop(&self, pid: u32, _: bool) -> Result<(), String> {
        self.answer(pid, |made| made.recording.take().map(drop).ok_or_else(|| "nothing is recorded".into()))
    }
}

struct Scene {
    runtime: Runtime,
    folder: tempfile::TempDir,
    machine: Machine,
    counters: Arc<Counters>,
    now: Instant,
}

impl Scene {
    fn new(pids: &[u32]) -> Scene {
        let machine = Machine::default();
        pids.iter().for_each(|pid| machine.with(*pid, |made| made.main = format!("Main{pid}")));
        let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        Scene { runtime, folder, machine, counters: Arc::default(), now: Instant::now() }
    }

    fn queue(&self) -> Arc<Queue> {
        Arc::new(self.runtime.block_on(Queue::open(&self.folder.path().join("queue"), 1 << 30)).expect("a queue"))
    }

    fn recorder(&self, most: usize) -> Recorder<Machine> {
        let policy = Policy { users: Vec::new(), names: Vec::new(), attributes: Vec::new(), most };
        let plan = Plan { policy, given: Given { host: "web".into(), ..Given::default() }, segment: SEGMENT };
        let handle = self.runtime.handle().clone();
        Recorder::new(self.machine.clone(), self.queue(), handle, self.counters.clone(), plan).expect("a recorder")
    }

    fn later(&mut self, time: Duration) -> Instant {
        self.now += time;
        self.now
    }

    /// Services and numbers of batches that wait.
    fn waiting(&self) -> Vec<String> {
        let waiting = self.runtime.block_on(self.queue().waiting()).expect("a list");
        waiting.iter().map(|batch| batch.commit.content.service.clone()).collect()
    }

    /// Files in a folder of the queue, however deep.
    fn files(&self, folder: &str) -> usize {
        fn count(folder: &Path) -> usize {
            let entries =
                std::fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| vec![]);
            entries.iter().map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
        }
        count(&self.folder.path().join("queue").join(folder))
    }
}

#[test]
fn a_segment_follows_the_other_and_its_rows_are_queued() {
    let mut scene = Scene::new(&[7]);
    let mut recorder = scene.recorder(8);
    assert!(!recorder.round(scene.now));
    let first = scene.machine.recording(7).expect("recorded");
    assert!(!recorder.round(scene.later(SEGMENT / 2)));
    assert_eq!(scene.machine.recording(7).as_ref(), Some(&first), "not yet");
    std::thread::sleep(Duration::from_millis(1));
    assert!(recorder.round(scene.later(SEGMENT / 2)));
    let second = scene.machine.recording(7).expect("recorded");
    assert_ne!(second, first);
    assert!(!first.exists() && second.exists());
    assert_eq!((scene.files("recordings"), scene.files("segments")), (1, 1));
    recorder.end();
    assert_eq!(scene.machine.recording(7), None);
    assert_eq!((scene.files("recordings"), scene.files("segments")), (0, 0));
    drop(recorder);
    assert_eq!(scene.waiting(), ["Main7"]);
    assert_eq!((scene.counters.begun.get(), scene.counters.rolled_up.get()), (2, 2));
}

#[test]
fn who_comes_after_a_kill_goes_on_with_what_is_there() {
    let scene = Scene::new(&[7, 8, 9]);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    let of = |scene: &Scene| [7, 8, 9].map(|pid| scene.machine.recording(pid));
    let before = of(&scene);
    // Killed. Meanwhile one JVM ends, and somebody ends the recording of another.
    drop(recorder);
    scene.machine.with(8, |made| made.is_dead = true);
    scene.machine.stop(9, false).expect("stopped");
    let mut recorder = scene.recorder(8);
    assert!(recorder.round(scene.now));
    let after = of(&scene);
    assert_eq!(after[0], before[0], "it goes on");
    assert!(after[2].is_some() && after[2] != before[2], "begun again");
    assert_eq!(scene.files("segments"), 2);
    drop(recorder);
    // Saved recordings are all of one process, so that rows of the second service are refused, and counted.
    assert_eq!((scene.waiting(), scene.queue().losses().refused_batches), (vec!["Main8".to_owned()], 1));
}

#[test]
fn a_jvm_that_answers_late_is_neither_recorded_twice_nor_forgotten() {
    let mut scene = Scene::new(&[7]);
    scene.machine.with(7, |made| made.is_mute = true);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    let file = scene.machine.recording(7).expect("it began");
    recorder.round(scene.later(SEGMENT));
    assert_eq!((scene.counters.begun.get(), scene.counters.recorded.get()), (1, 1));
    scene.machine.with(7, |made| made.is_mute = false);
    recorder.round(scene.later(SEGMENT));
    assert_eq!(scene.machine.recording(7), Some(file), "it is known, and goes on");
    scene.machine.with(7, |made| made.is_mute = true);
    recorder.end();
    assert_eq!(scene.files("segments"), 1, "for the next one");
    drop(recorder);
    scene.machine.with(7, |made| made.is_dead = true);
    scene.recorder(8).round(scene.now);
    assert_eq!((scene.files("recordings"), scene.files("segments")), (0, 0));
    assert_eq!(scene.waiting(), ["Main7"]);
}

/// The command that begins a recording outlives a killed recorder, and until it has reached the JVM that
/// says that nothing is recorded.
#[test]
fn a_recording_that_begins_after_the_recorder_was_killed_is_not_forgotten() {
    let scene = Scene::new(&[7]);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    let file = scene.machine.recording(7).expect("it began");
    drop(recorder);
    // As before the command has reached the JVM.
    scene.machine.stop(7, false).expect("stopped");
    std::fs::remove_file(&file).expect("removed");
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    assert_eq!((scene.machine.recording(7), scene.files("segments")), (None, 1), "it may still begin");
    scene.machine.start(7, &file).expect("it begins");
    recorder.round(scene.now);
    assert_eq!(scene.counters.recorded.get(), 1);
    recorder.end();
    drop(recorder);
    assert_eq!((scene.files("recordings"), scene.files("segments")), (0, 0));
    assert_eq!(scene.waiting(), ["Main7"]);
}

#[test]
fn a_folder_in_the_place_of_a_recording_is_left_alone() {
    let scene = Scene::new(&[7]);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    let file = scene.machine.recording(7).expect("it began");
    scene.machine.with(7, |made| made.is_dead = true);
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("made");
    recorder.round(scene.now);
    recorder.round(scene.now);
    drop(recorder);
    assert_eq!((scene.files("segments"), scene.queue().losses().unreadable_recordings), (0, 1));
}

#[test]
fn so_many_at_a_time_and_those_that_refuse_are_tried_later() {
    let mut scene = Scene::new(&[1, 2, 3, 4]);
    scene.machine.with(1, |made| made.refuses = true);
    let mut recorder = scene.recorder(2);
    recorder.round(scene.now);
    let recorded = |scene: &Scene| [1, 2, 3, 4].map(|pid| scene.machine.recording(pid).is_some());
    assert_eq!(recorded(&scene), [false, true, true, false]);
    assert_eq!((scene.counters.left_out.get(), scene.counters.failing.get()), (1, 1));
    assert_eq!(scene.files("segments"), 2, "a note of nothing stayed");
    scene.machine.with(1, |made| made.refuses = false);
    scene.machine.with(2, |made| made.is_dead = true);
    recorder.round(scene.later(Duration::from_secs(1)));
    assert!(!recorded(&scene)[0], "tried again at once");
    scene.machine.with(3, |made| made.is_dead = true);
    recorder.round(scene.later(Duration::from_secs(11)));
    recorder.round(scene.later(Duration::from_secs(1)));
    assert!(recorded(&scene)[0] && recorded(&scene)[3]);
    assert_eq!(scene.counters.failing.get(), 0);
}

#[test]
fn while_rows_cannot_be_queued_a_jvm_has_two_files_and_nothing_is_lost() {
    let mut scene = Scene::new(&[7]);
    let mut recorder = scene.recorder(8);
    // A file stands where rows would be put, as if the disk were full.
    let rows = scene.folder.path().join("queue/rows");
    std::fs::rename(&rows, scene.folder.path().join("away")).expect("renamed");
    std::fs::write(&rows, "").expect("written");
    for _ in 0..6 {
        recorder.round(scene.later(SEGMENT));
        assert!(scene.files("recordings") <= 2 && scene.files("segments") <= 2);
        std::thread::sleep(Duration::from_millis(1));
    }
    // Somebody ends its recordings.
    for _ in 0..3 {
        scene.machine.with(7, |made| made.recording = None);
        drop(recorder);
        std::fs::remove_file(&rows).expect("removed");
        std::fs::rename(scene.folder.path().join("away"), &rows).expect("renamed");
        recorder = scene.recorder(8);
        std::fs::rename(&rows, scene.folder.path().join("away")).expect("renamed");
        std::fs::write(&rows, "").expect("written");
        recorder.round(scene.later(SEGMENT));
        assert!(scene.files("recordings") <= 2 && scene.files("segments") <= 2);
    }
    assert_eq!(scene.counters.rolled_up.get(), 0);
    std::fs::remove_file(&rows).expect("removed");
    std::fs::rename(scene.folder.path().join("away"), &rows).expect("renamed");
    assert!(recorder.round(scene.later(Duration::from_secs(600))));
    recorder.end();
    assert_eq!((scene.files("recordings"), scene.files("segments")), (0, 0));
    drop(recorder);
    assert_eq!(scene.waiting(), ["Main7"]);
}

#[test]
fn whatever_a_jvm_is_called_it_stays_in_the_queues_folders() {
    let scene = Scene::new(&[]);
    let name = "../../../evil\n# TYPE headway_ship_jvms {\u{1b}[31m";
    scene.machine.with(7, |made| made.main = name.into());
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    recorder.end();
    drop(recorder);
    assert_eq!(scene.waiting(), [name]);
    let beside = std::fs::read_dir(scene.folder.path()).expect("a folder").flatten().map(|entry| entry.file_name());
    assert_eq!(beside.collect::<Vec<_>>(), ["queue"]);
    let queue = scene.queue();
    for batch in scene.runtime.block_on(queue.waiting()).expect("a list") {
        assert!(batch.commit.files.iter().all(|file| !file.path.contains("..") && !file.path.contains("evil")));
    }
    assert!(!scene.counters.text(&queue.losses()).contains("evil"));
}

#[test]
fn what_is_no_recording_is_left_out_and_counted() {
    let mut scene = Scene::new(&[7, 8]);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    let [seven, eight] = [7, 8].map(|pid| scene.machine.recording(pid).expect("recorded"));
    // In the folder of the JVM's user anything may happen.
    std::fs::write(&seven, "not a recording").expect("written");
    std::fs::remove_file(&eight).expect("removed");
    std::os::unix::fs::symlink("/etc/hostname", &eight).expect("linked");
    recorder.round(scene.later(SEGMENT));
    assert!(!seven.exists() && std::fs::symlink_metadata(&eight).is_err());
    drop(recorder);
    assert_eq!(scene.queue().losses().unreadable_recordings, 2);
    assert!(scene.waiting().is_empty());
}

#[test]
fn a_damaged_note_is_counted_and_does_not_stop_the_others() {
    let mut scene = Scene::new(&[7]);
    let mut recorder = scene.recorder(8);
    recorder.round(scene.now);
    drop(recorder);
    let notes = scene.folder.path().join("queue/segments");
    std::fs::write(notes.join("1-2-3.json"), "{").expect("written");
    std::fs::write(notes.join("1-2-4.part"), "{").expect("written");
    let mut recorder = scene.recorder(8);
    recorder.round(scene.later(SEGMENT));
    recorder.end();
    drop(recorder);
    assert_eq!(scene.queue().losses().unreadable_recordings, 1);
    assert_eq!(scene.files("segments"), 0);
    assert_eq!(scene.waiting(), ["Main7"]);
}
