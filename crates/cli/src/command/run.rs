//! `headway run`: runs a command and records every JVM that it starts.
//!
//! The agent travels in `JAVA_TOOL_OPTIONS`, which every JVM below the command
//! reads, however it is started. The command keeps our standard streams and
//! its own exit code; what we have to say goes to standard error.

use crate::agent::library;
use crate::command::breakdown::Breakdown;
use crate::command::capture::Capture;
use crate::command::causal;
use crate::error::{Failure, DONE, FAILURE, NOT_EXECUTABLE, NOT_FOUND};
use crate::jvm::{self, Seen};
use crate::recording::analysed::Analysed;
use crate::recording::file_name::Pattern;
use crate::recording::output;
use crate::render;
use crate::terminal::{self, Screen};
use clap::Args;
use headway_analysis::report::FindingKind;
use headway_analysis::Report;
use headway_jfr::IfTaken;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::SystemTime;

mod environment;
mod signals;
use signals::Forwarding;

const EXAMPLES: &str = "\
Examples:
  headway run -- java -jar app.jar
  headway run -o lock-%p.jfr.zst -- mvn -q test
  headway run --by owner-thread,lock -- ./start-server.sh

Each JVM gets its own recording. Headway appends the agent to
JAVA_TOOL_OPTIONS, so each JVM prints \"Picked up JAVA_TOOL_OPTIONS\" on
standard error. The command's streams are not redirected; Headway prints the
reports on standard error after the command has ended. The exit code is the
command's, 128+N if signal N ended it, 126 or 127 if it cannot be run.";

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    breakdown: Breakdown,

    /// Do not print reports afterwards
    #[arg(short, long)]
    quiet: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND", help_heading = None)]
    command: Vec<OsString>,
}

impl Run {
    /// The command with these options.
    pub fn new(capture: Capture, breakdown: Breakdown, command: Vec<OsString>) -> Run {
        Run { capture, breakdown, quiet: false, command }
    }

    /// Without reports afterwards.
    pub fn quietly(self) -> Run {
        Run { quiet: true, ..self }
    }

    /// Carries out the command and gives the child's exit code.
    ///
    /// # Errors
    /// Nothing was started: the library is missing, the output cannot be
    /// written, there is no such command.
    pub fn execute(self) -> Result<u8, Failure> {
        let asked = self.capture.pattern()?;
        let pattern = if asked.tells_processes_apart() { asked.clone() } else { asked.with_pid() };
        output::check_directory(pattern.directory())?;
        if !asked.tells_processes_apart() {
            output::check_new_recording(&asked.expand(0), self.capture.if_taken(&asked))?;
        }
        self.capture.park_statistics.check()?;
        let options = self.capture.start_options(&pattern.for_agent(), pattern.if_taken(self.capture.force))?;
        let tool_options = environment::tool_options(&library::find()?, &options)?;

        if !self.quiet {
            terminal::note(&format!(
                "JVMs that the command starts are recorded into {}{}; {}.",
                pattern.shown(),
                match asked.tells_processes_apart() {
                    true => String::new(),
                    false => format!(" (if it is only one: at the end into {})", asked.shown()),
                },
                self.capture.size_note()
            ));
        }
        let before = recordings_in(&pattern, pattern.directory());
        let begin = SystemTime::now();
        let forwarding = Forwarding::begin().map_err(Failure::doing("cannot handle signals"))?;
        let mut child = self.spawn(&tool_options)?;
        let status = forwarding.wait(&mut child).map_err(Failure::doing("cannot wait for the command"))?;

        let mut recordings = new_recordings(&pattern, &before);
        if recordings.is_empty() && !pattern.directory().is_dir() {
            recordings = saved_elsewhere(&pattern, begin);
        }
        let recordings = give_asked_name(recordings, &asked, self.capture.if_taken(&asked));
        let code = if self.quiet { DONE } else { self.tell(&recordings) };
        tell_of_survivors(&recordings, &pattern);
        Ok(match exit_code(status) {
            DONE => code,
            of_command => of_command,
        })
    }

    fn spawn(&self, tool_options: &str) -> Result<Child, Failure> {
        let (program, arguments) = self.command.split_first().ok_or_else(|| Failure::Usage("no command".into()))?;
        let spawned = Command::new(program).args(arguments).env(environment::VARIABLE, tool_options).spawn();
        spawned.map_err(|error| {
            let is_option = program.to_string_lossy().starts_with('-');
            let (problem, exit_code) = match error.kind() {
                ErrorKind::NotFound if is_option => ("it is no option of run (headway help run)".to_owned(), NOT_FOUND),
                ErrorKind::NotFound => ("there is no such command".to_owned(), NOT_FOUND),
                ErrorKind::PermissionDenied => ("permission denied".to_owned(), NOT_EXECUTABLE),
                _ => (error.to_string(), NOT_EXECUTABLE),
            };
            Failure::CommandNotRun { command: program.to_string_lossy().into_owned(), problem, exit_code }
        })
    }

    /// The report of each recording, the most contended first, and one line
    /// for each in which nothing was blocked. An exit code: that of a failure if
    /// experiments were asked for and no recording has any of use.
    fn tell(&self, recordings: &[PathBuf]) -> u8 {
        let screen = Screen::stderr();
        if recordings.is_empty() {
            let note =
                "no recording was made: the command started no JVM of version 17 or later that reads JAVA_TOOL_OPTIONS, or another `headway run` recorded it";
            terminal::note(&format!("{} {note}", screen.warning("headway:")));
            return self.capture.experiments.as_ref().map_or(DONE, |_| FAILURE);
        }
        if let Some(experiments) = &self.capture.experiments {
            let codes = recordings.iter().map(|path| {
                causal::show(path, experiments).unwrap_or_else(|failure| {
                    terminal::note(&format!("{} {failure}", screen.alarm("headway:")));
                    failure.exit_code()
                })
            });
            // Of several JVMs one may be the program and others its tools.
            return codes.min().unwrap_or(FAILURE);
        }
        let question = self.breakdown.question();
        let mut analysed = Vec::new();
        for path in recordings {
            match Analysed::read(path, &question) {
                Ok(recording) => analysed.push(recording),
                Err(failure) => terminal::note(&format!("{} {failure}", screen.alarm("headway:"))),
            }
        }
        analysed.sort_by_key(|recording| std::cmp::Reverse(recording.report.blocked_ns));
        for recording in &analysed {
            let text = match is_a_line_enough(&recording.report, analysed.len() == 1) {
                true => render::one_line(recording, &screen),
                false if self.breakdown.is_asked() => format!("\n{}", render::report(recording, &screen)),
                false => format!("\n{}", render::brief(recording, &screen)),
            };
            terminal::note_lines(text.trim_end_matches('\n'));
        }
        DONE
    }
}

/// True where nothing happened that is worth a report: of one JVM among several, or of one that hardly ran.
fn is_a_line_enough(report: &Report, is_alone: bool) -> bool {
    let is_quiet = report.findings.iter().all(|finding| finding.kind == FindingKind::Nothing);
    let is_short = report.duration_ns < WORTH_A_REPORT_NS;
    is_quiet && report.contentions == 0 && report.selection.is_everything() && (is_short || !is_alone)
}

/// From here on, where the only JVM's time went is worth a report even if nothing blocked.
const WORTH_A_REPORT_NS: u64 = 1_000_000_000;

/// Build daemons outlive the command that started them, and record on.
fn tell_of_survivors(recordings: &[PathBuf], pattern: &Pattern) {
    for path in recordings {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let pid = pattern.recogniser().and_then(|regex| regex.captures(name)?.get(1)?.as_str().parse::<u32>().ok());
        let Some(pid) = pid else { continue };
        if matches!(jvm::look_at(pid), Ok(Seen::Jvm(jvm)) if jvm.agent_path.is_some()) {
            terminal::note(&format!(
                "Process {pid} still runs and is recorded into {}; `headway stop {pid}` ends that.",
                path.display()
            ));
        }
    }
}

/// Recordings of this pattern that exist, with the time of their last change:
/// a name may be used again.
fn recordings_in(pattern: &Pattern, directory: &Path) -> BTreeSet<(PathBuf, SystemTime)> {
    let Some(recogniser) = pattern.recogniser() else {
        return BTreeSet::new();
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return BTreeSet::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| recogniser.is_match(name)))
        .filter_map(|entry| Some((entry.path(), entry.path().metadata().ok()?)))
        // Reading from a pipe would wait for ever.
        .filter(|(_, file)| file.is_file())
        .filter_map(|(path, file)| Some((path, file.modified().ok()?)))
        .collect()
}

/// Where the agent puts a recording whose directory is gone when it ends.
fn saved_elsewhere(pattern: &Pattern, begin: SystemTime) -> Vec<PathBuf> {
    let elsewhere = recordings_in(pattern, &std::env::temp_dir());
    let saved: Vec<PathBuf> =
        elsewhere.into_iter().filter(|(_, changed)| *changed >= begin).map(|(path, _)| path).collect();
    for path in &saved {
        terminal::note(&format!(
            "{} was removed during the recording, so it is in {}.",
            pattern.directory().display(),
            path.display()
        ));
    }
    saved
}

fn new_recordings(pattern: &Pattern, before: &BTreeSet<(PathBuf, SystemTime)>) -> Vec<PathBuf> {
    recordings_in(pattern, pattern.directory()).difference(before).map(|(path, _)| path.clone()).collect()
}

/// With `-o app.jfr` a single recording gets just this name; several keep the
/// names with the pid.
fn give_asked_name(recordings: Vec<PathBuf>, asked: &Pattern, if_taken: IfTaken) -> Vec<PathBuf> {
    match recordings.as_slice() {
        [only] if !asked.tells_processes_apart() => vec![renamed(only, &asked.expand(0), if_taken)],
        _ => recordings,
    }
}

/// Another command may have made a file there meanwhile: it stays.
fn renamed(from: &Path, to: &Path, if_taken: IfTaken) -> PathBuf {
    let is_free = match if_taken {
        IfTaken::Replace => output::check_new_recording(to, if_taken).is_ok(),
        _ => headway_jfr::create_file(to, IfTaken::Refuse).is_ok(),
    };
    match is_free && std::fs::rename(from, to).is_ok() {
        true => to.to_owned(),
        false => {
            terminal::note(&format!("{} is taken; the recording is in {}.", to.display(), from.display()));
            from.to_owned()
        }
    }
}

/// The child's code; 128 and the signal's number if a signal ended it, as
/// shells have it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::error::FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::report::Finding;

    #[test]
    fn the_only_program_gets_a_report_even_if_nothing_blocked_it() {
        let report = |seconds: u64, contentions| Report {
            duration_ns: seconds * WORTH_A_REPORT_NS,
            contentions,
            findings: vec![Finding { kind: FindingKind::Nothing, ..Finding::default() }],
            ..Report::default()
        };
        assert!(!is_a_line_enough(&report(2, 0), true));
        // A tool of a build, or a JVM that only said its version.
        assert!(is_a_line_enough(&report(2, 0), false));
        assert!(is_a_line_enough(&report(0, 0), true));
        assert!(!is_a_line_enough(&report(2, 1), false));
    }
}
