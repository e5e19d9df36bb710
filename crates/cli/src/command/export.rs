//! `headway export`: a recording for other tools: as a plain JFR file, unpacked
//! and repaired, or its profile in another tool's format.

use crate::command::weighing::Weighing;
use crate::error::{Failure, DAMAGED_RECORDING, DONE};
use crate::recording::analysed::unreadable;
use crate::recording::file_name::EXTENSIONS;
use crate::recording::input::{self, is_standard};
use crate::recording::output;
use crate::recording::profiled::Profiled;
use crate::render::numbers;
use crate::suggest;
use crate::terminal::{self, Screen};
use clap::Args;
use headway_analysis::method::Grouping;
use headway_export::{Format, Style};
use headway_jfr::{IfTaken, RepairError, Repaired};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  headway export app.jfr.zst -o app.jfr          unpack for JDK Mission Control
  headway export torn.jfr -o whole.jfr           a valid file of what is readable after a crash
  headway export app.jfr -o app.collapsed        for flame graph tools
  headway export app.jfr -o app.pb.gz            for pprof
  headway export app.jfr -o app.json             for profiler.firefox.com
  headway export app.jfr --of contender -o app.speedscope.json

The exported time is CPU time if the recording has CPU samples (`-e cpu`), otherwise
wall-clock time (`-e wall`) or blocked time. --of selects another one.

The file's name selects the format: .jfr, .jfr.zst, .jfr.lz4, .collapsed,
.pb.gz (or .pprof), .json (or .json.gz), .speedscope.json, .html,
.perfetto-trace (ui.perfetto.dev).";

/// Options of `export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// Write to this file, whose name selects the format, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Output format: jfr, jfr.zst, jfr.lz4, collapsed, pprof, firefox, speedscope, html,
    /// perfetto; default: by the file's name, collapsed for -
    #[arg(long, value_name = "FORMAT", value_parser = format_name)]
    format: Option<&'static str>,

    /// Overwrite an existing .jfr file if it is empty or a Headway recording; never any other .jfr file. Files in
    /// other formats are overwritten also without --force
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    weighing: Weighing,

    /// The recording, or - for standard input
    #[arg(value_name = "RECORDING", help_heading = None)]
    recording: PathBuf,
}

impl Export {
    /// Carries out the command. What is damaged is left out, with a sentence.
    ///
    /// # Errors
    /// Nothing can be saved, or the new file cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        let named = self.format.map_or_else(|| self.output.clone(), |end| PathBuf::from(format!("x{end}")));
        let target = target(&named)?;
        if let (Target::Recording, Some(option)) = (&target, self.weighing.first_given()) {
            return Err(Failure::Usage(format!(
                "{option} has no effect on a .jfr file, which gets the whole recording: leave {option} out, or export to another format"
            )));
        }
        match target {
            Target::Recording if is_standard(&self.output) => self.unpack_to_standard_output(&named),
            Target::Recording => self.repair(),
            Target::Profile(format) => self.profile(format),
        }
    }

    fn repair(self) -> Result<u8, Failure> {
        output::check_no_source(&self.output, &[&self.recording])?;
        let if_taken = if self.force { IfTaken::Replace } else { IfTaken::Refuse };
        output::check_new_recording(&self.output, if_taken)?;
        let repaired = headway_jfr::repair(&input::place(&self.recording)?, &self.output)
            .map_err(|error| explain(&self.recording, error))?;
        note_left_out(&repaired);
        let chunks = numbers::counted(repaired.chunks, "chunk", "chunks");
        terminal::note(&format!("Wrote {} ({chunks}, {}).", self.output.display(), numbers::bytes(repaired.bytes)));
        Ok(exit_code(&repaired))
    }

    /// Whatever can be saved, to standard output. A chunk's header is written last, so
    /// the recording is made in a file first.
    fn unpack_to_standard_output(self, named: &Path) -> Result<u8, Failure> {
        output::check_no_terminal(&self.output, "a recording")?;
        let place =
            format!("cannot make a file in {} (TMPDIR chooses another directory)", std::env::temp_dir().display());
        let scratch = tempfile::tempdir().map_err(Failure::doing(place.clone()))?;
        let whole = scratch.path().join(named);
        let repaired = headway_jfr::repair(&input::place(&self.recording)?, &whole);
        let repaired = repaired.map_err(|error| explain(&self.recording, error))?;
        note_left_out(&repaired);
        let mut whole = File::open(&whole).map_err(Failure::doing(place))?;
        output::write_new(&self.output, &mut |out| io::copy(&mut whole, out).map(drop))?;
        Ok(exit_code(&repaired))
    }

    fn profile(self, format: Format) -> Result<u8, Failure> {
        output::check_new(&self.output, &[&self.recording])?;
        if matches!(format, Format::Pprof | Format::Perfetto) {
            output::check_no_terminal(&self.output, "the format")?;
        }
        let mut question = self.weighing.question();
        question.grouping = grouping(format, question.grouping);
        question.moments = format.needs_moments();
        question.raw_names = true;
        let profiled = Profiled::read(&self.recording, &question)?;
        let title = self.recording.display().to_string();
        let style = Style { title, count_samples: self.weighing.samples };
        // On a terminal names must not be obeyed.
        match is_standard(&self.output) && io::stdout().is_terminal() {
            true => print_profile(&profiled, format, &style)?,
            false => write_profile(&profiled, format, &style, &self.output)?,
        }
        profiled.damage().map_or(Ok(DONE), Err)
    }
}

/// In pprof a thread is a label and no frame, so threads are distinguished even where
/// nobody asked for it.
fn grouping(format: Format, asked: Grouping) -> Grouping {
    match (format, asked) {
        (Format::Pprof, Grouping::Together) => Grouping::Thread,
        _ => asked,
    }
}

/// Writes a profile and says what became of it.
///
/// # Errors
/// [`Failure::Unwritable`].
pub fn write_profile(profiled: &Profiled, format: Format, style: &Style, path: &Path) -> Result<(), Failure> {
    let profile = &profiled.profile;
    let name = path.to_string_lossy();
    let bytes = output::write_new(path, &mut |out| format.write(profile, style, &name, out))?;
    let total = profile.tree.total();
    let what = if profile.measure.is_blocked_time() { ("contention", "contentions") } else { ("sample", "samples") };
    let mut facts = vec![profile.measure.title().to_owned()];
    if total.ns > 0 {
        facts.push(numbers::time(total.ns));
    }
    facts.push(numbers::counted(profile.observations(), what.0, what.1));
    if profile.folded > 0 {
        facts.push(format!("{} folded to save memory", numbers::counted(profile.folded, "detail", "details")));
    }
    facts.push(numbers::bytes(bytes));
    if is_standard(path) {
        return Ok(());
    }
    terminal::note(&format!("Wrote {} ({}).", path.display(), facts.join(", ")));
    Ok(())
}

fn print_profile(profiled: &Profiled, format: Format, style: &Style) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    format
        .write(&profiled.profile, style, "-", &mut bytes)
        .and_then(|()| terminal::print(&String::from_utf8_lossy(&bytes)))
        .map_err(Failure::doing("cannot write to standard output"))
}

fn exit_code(repaired: &Repaired) -> u8 {
    if repaired.problems.is_empty() {
        DONE
    } else {
        DAMAGED_RECORDING
    }
}

fn note_left_out(repaired: &Repaired) {
    let screen = Screen::stderr();
    for problem in &repaired.problems {
        terminal::note(&format!("{} left out: {problem}", screen.warning("headway:")));
    }
}

/// How files of a format are called, from its name.
fn format_name(name: &str) -> Result<&'static str, String> {
    const NAMES: [(&str, &str); 9] = [
        ("jfr", ".jfr"),
        ("jfr.zst", ".jfr.zst"),
        ("jfr.lz4", ".jfr.lz4"),
        ("collapsed", ".collapsed"),
        ("pprof", ".pb.gz"),
        ("firefox", ".json"),
        ("speedscope", ".speedscope.json"),
        ("html", ".html"),
        ("perfetto", ".perfetto-trace"),
    ];
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, end)| *end).ok_or_else(|| {
        let hint = suggest::did_you_mean(name, NAMES.map(|(known, _)| known));
        format!("unknown format \"{name}\"{hint} (formats: {})", NAMES.map(|(known, _)| known).join(", "))
    })
}

/// What a file's name asks for.
enum Target {
    Recording,
    Profile(Format),
}

fn target(output: &Path) -> Result<Target, Failure> {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if EXTENSIONS.iter().any(|extension| name.ends_with(extension)) {
        return Ok(Target::Recording);
    }
    if is_standard(output) {
        return Ok(Target::Profile(Format::Collapsed));
    }
    Format::of_name(name).map(Target::Profile).ok_or_else(|| {
        let formats = Format::ALL.iter().filter_map(|format| format.extensions().first().copied());
        let known: Vec<&str> = formats.collect();
        Failure::Usage(format!(
            "-o {}: recordings are exported to .jfr (plain), .jfr.zst and .jfr.lz4 (packed), profiles to {}",
            output.display(),
            known.join(", ")
        ))
    })
}

fn explain(recording: &Path, error: RepairError) -> Failure {
    match error {
        RepairError::Input(problem) => unreadable(recording, problem),
        RepairError::Output(path, error) => output::unwritable(&path, &error),
        RepairError::NothingLeft(path) => {
            Failure::UselessRecording { path, problem: "has no part that can be saved".into() }
        }
        other => Failure::UselessRecording { path: recording.to_owned(), problem: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pprof_tells_threads_apart() {
        assert_eq!(grouping(Format::Pprof, Grouping::Together), Grouping::Thread);
        assert_eq!(grouping(Format::Pprof, Grouping::Group), Grouping::Group);
        assert_eq!(grouping(Format::Collapsed, Grouping::Together), Grouping::Together);
    }

    #[test]
    fn unknown_formats_are_refused_by_naming_what_works() {
        let sentence = target(Path::new("a.svg")).err().map(|failure| failure.to_string());
        assert_eq!(
            sentence.as_deref(),
            Some("-o a.svg: recordings are exported to .jfr (plain), .jfr.zst and .jfr.lz4 (packed), profiles to .collapsed, .pb.gz, .json, .speedscope.json, .html, .perfetto-trace")
        );
        assert!(matches!(target(Path::new("a.jfr.lz4")), Ok(Target::Recording)));
        assert!(matches!(target(Path::new("a.pb.gz")), Ok(Target::Profile(Format::Pprof))));
    }
}
