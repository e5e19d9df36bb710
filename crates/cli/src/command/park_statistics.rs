//! Park statistics printed by the program itself: options of `run`, `record` and `start`.

use crate::agent::options::AgentOptions;
use crate::attach::identity;
use crate::error::Failure;
use crate::jvm::process::Process;
use crate::recording::file_name::EXTENSIONS;
use crate::recording::output;
use clap::Args;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// In place of a file: the program's standard error.
const STDERR: &str = "stderr";
/// So much of a file shows whether it is park statistics.
const BEGINNING_BYTES: u64 = 4096;

/// Where the park statistics are printed, and which.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Park statistics")]
pub struct ParkStatistics {
    /// Write how often and how long threads parked on each blocker (the lock, queue or pool for
    /// which they wait) to this file (%p, %t as in -o; JSON if it ends in .json), or to the JVM's
    /// standard error (`stderr`). This happens when the recording or the JVM ends, and at each
    /// SIGQUIT, together with the JVM's thread dump. Owners of locks are then not sampled
    #[arg(long, value_name = "FILE|stderr")]
    pub park_statistics: Option<PathBuf>,

    /// Print park statistics as JSON, one document per line
    #[arg(long)]
    pub park_json: bool,

    /// Measure a blocker from its Nth park on; default: from the first
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub park_threshold: Option<u64>,

    /// Print only blockers with at least this many parks; default: all
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub park_print_threshold: Option<u64>,

    /// After each print, remove the statistics of blockers that were garbage-collected, to save memory
    #[arg(long, hide_short_help = true)]
    pub park_free_on_print: bool,
}

impl ParkStatistics {
    /// Makes sure that JVMs that are not running yet can write the statistics.
    ///
    /// # Errors
    /// They cannot, or the file is something else.
    pub fn check(&self) -> Result<(), Failure> {
        self.file(None)?.map_or(Ok(()), |file| check_place(&file, &file))
    }

    /// Makes sure that a running JVM can write the statistics.
    ///
    /// # Errors
    /// It cannot, or the file is something else.
    pub fn check_for(&self, process: &Process) -> Result<(), Failure> {
        let Some(file) = self.file(Some(process.pid))? else { return Ok(()) };
        let seen = seen_from_here(&file, process);
        identity::acting_as(process, || check_place(&seen, &file))
    }

    /// How many bytes of statistics there are, if the file's name is known.
    pub fn written(&self, process: &Process) -> Option<u64> {
        let file = self.file(Some(process.pid)).ok()??;
        let is_known = !file.to_string_lossy().contains('%');
        let there = fs::metadata(seen_from_here(&file, process));
        is_known.then(|| there.map_or(Some(0), |there| there.is_file().then_some(there.len())))?
    }

    /// Fails if nothing has been added to the statistics since they had `before` bytes.
    ///
    /// # Errors
    /// It names the file.
    pub fn check_written(&self, process: &Process, before: Option<u64>) -> Result<(), Failure> {
        match (before, self.written(process), &self.park_statistics) {
            (Some(before), Some(now), Some(file)) if now <= before => Err(Failure::Unwritable {
                path: file.clone(),
                problem: format!("process {} has written no park statistics there", process.pid),
            }),
            _ => Ok(()),
        }
    }

    /// The absolute path of the file, in which `%p` is replaced if the process is known. `None` for
    /// standard error.
    fn file(&self, pid: Option<u32>) -> Result<Option<PathBuf>, Failure> {
        let Some(file) = self.park_statistics.as_deref().filter(|file| *file != Path::new(STDERR)) else {
            return Ok(None);
        };
        let absolute = std::path::absolute(file).map_err(Failure::doing("cannot find the current directory"))?;
        Ok(Some(match (pid, absolute.to_str()) {
            (Some(pid), Some(text)) => PathBuf::from(text.replace("%p", &pid.to_string())),
            _ => absolute,
        }))
    }

    /// Adds these to the agent's options.
    ///
    /// # Errors
    /// A path that cannot be passed on; options about how to print, and none to do so.
    pub fn add_to(&self, options: AgentOptions) -> Result<AgentOptions, Failure> {
        let how = [
            (self.park_json, "--park-json"),
            (self.park_print_threshold.is_some(), "--park-print-threshold"),
            (self.park_free_on_print, "--park-free-on-print"),
        ];
        if let (None, Some((_, option))) = (&self.park_statistics, how.iter().find(|(given, _)| *given)) {
            return Err(Failure::Usage(format!("{option} needs --park-statistics FILE, where they are printed")));
        }
        let options = match &self.park_statistics {
            None => options,
            Some(stderr) if stderr == Path::new(STDERR) => options.with_some("parks", Some(STDERR)),
            // The JVM has a working directory of its own.
            Some(file) => {
                let absolute =
                    std::path::absolute(file).map_err(Failure::doing("cannot tell the current directory"))?;
                options.with_path("parks", &absolute)?
            }
        };
        Ok(options
            .with_flag("parks_json", self.park_json)
            .with_some("park_threshold", self.park_threshold)
            .with_some("park_print_threshold", self.park_print_threshold)
            .with_flag("park_free_on_print", self.park_free_on_print))
    }
}

/// A path of the process as it is reached from here.
fn seen_from_here(file: &Path, process: &Process) -> PathBuf {
    if process.shares_our_files() {
        file.to_owned()
    } else {
        process.path_inside(file)
    }
}

/// Makes sure that statistics can be added to the file at `seen`, which the user knows as `file`.
fn check_place(seen: &Path, file: &Path) -> Result<(), Failure> {
    let refused = |problem: &str| Err(Failure::Usage(format!("--park-statistics {}: {problem}", file.display())));
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if EXTENSIONS.iter().any(|extension| name.ends_with(extension)) {
        return refused("a name with .jfr is for recordings; choose another name, such as parks.txt");
    }
    if ["-", "stdout"].contains(&name) {
        return refused("the JVM can write to a file or to its standard error (`stderr`)");
    }
    match fs::metadata(seen) {
        Ok(there) if there.is_dir() => refused("it is a directory; name a file in it"),
        Ok(there) if there.file_type().is_fifo() => Ok(()),
        Ok(there) if !there.is_file() => refused("it is not a regular file; choose another place"),
        Ok(there) if there.len() > 0 && !is_statistics(seen) => {
            refused("something that is not Headway's park statistics is there already; choose another place")
        }
        Ok(_) => match OpenOptions::new().append(true).open(seen) {
            Ok(_) => Ok(()),
            Err(error) => refused(&format!("cannot be written ({error}); choose another place")),
        },
        Err(_) => output::check_directory(seen.parent().unwrap_or(Path::new("/"))).or_else(|_| {
            let directory = file.parent().unwrap_or(Path::new("/")).display();
            refused(&format!("no file can be made in {directory}; choose another place"))
        }),
    }
}

/// True if a file begins like earlier park statistics, as text or as JSON.
fn is_statistics(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut begin));
    let begin = String::from_utf8_lossy(&begin);
    let is_json = begin.starts_with('{') && begin.contains("\"execution_ns\":");
    read.is_ok() && (is_json || begin.starts_with("Park statistics over "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_added_to_a_file_that_is_something_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let check = |name: &str| {
            let wish = ParkStatistics { park_statistics: Some(directory.path().join(name)), ..Default::default() };
            wish.check().map_err(|failure| failure.to_string())
        };
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).expect("written");
        write("thesis.txt", "ten years of work");
        write("earlier.txt", "Park statistics over 1.00 s\n");
        write("earlier.json", r#"{"schema_version":1,"execution_ns":5}"#);
        write("empty", "");
        for fine in ["new.txt", "earlier.txt", "earlier.json", "empty", "parks-%p-%t.txt"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (name, sentence) in [
            ("thesis.txt", "something that is not Headway's park statistics is there already"),
            ("a.jfr", "a name with .jfr is for recordings"),
            ("a.jfr.zst", "a name with .jfr is for recordings"),
            (".", "it is a directory"),
            ("no/parks.txt", "no file can be made in"),
            ("-", "the JVM can write to a file or to its standard error"),
            ("/dev/full", "it is not a regular file"),
        ] {
            assert!(check(name).expect_err(name).contains(sentence), "{name}: {:?}", check(name));
        }
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 4);
    }

    #[test]
    fn statistics_that_were_not_written_are_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("parks.txt");
        let wish = ParkStatistics { park_statistics: Some(file.clone()), ..Default::default() };
        let own = Process::read(std::process::id()).expect("this process");
        let before = wish.written(&own);
        let sentence = wish.check_written(&own, before).expect_err("nothing").to_string();
        assert!(sentence.contains("has written no park statistics there"), "{sentence}");
        fs::write(&file, "Park statistics over 1.00 s\n").expect("written");
        assert!(wish.check_written(&own, before).is_ok());
        assert!(ParkStatistics::default().check_written(&own, None).is_ok());
    }

    #[test]
    fn how_to_print_means_nothing_without_a_place() {
        let wish = ParkStatistics { park_json: true, ..ParkStatistics::default() };
        let failure = wish.add_to(AgentOptions::new("start")).expect_err("no place");
        assert_eq!(failure.to_string(), "--park-json needs --park-statistics FILE, where they are printed");
    }

    #[test]
    fn a_file_is_told_by_its_absolute_path() {
        let wish = ParkStatistics { park_statistics: Some("parks.json".into()), ..ParkStatistics::default() };
        let options = wish.add_to(AgentOptions::new("start")).expect("options");
        let expected = std::env::current_dir().expect("a directory").join("parks.json");
        assert_eq!(options.as_str(), format!("start,parks={}", expected.display()));
        let wish = ParkStatistics { park_statistics: Some("stderr".into()), ..ParkStatistics::default() };
        assert_eq!(wish.add_to(AgentOptions::new("start")).expect("options").as_str(), "start,parks=stderr");
    }
}
