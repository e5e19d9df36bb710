//! `headway report -o report.html`: the page, complete in one file.

use crate::error::{Failure, DONE};
use crate::recording::analysed::unreadable;
use crate::recording::progress::Progress;
use crate::recording::{input, output};
use crate::terminal;
use headway_page::html::{self, PageError};
use headway_page::sources::Sources;
use headway_page::Recording;
use std::path::{Path, PathBuf};

/// Rows that a file can hold and a browser still opens quickly; beyond them
/// short stretches are added up.
pub const ROWS: usize = 600_000;

/// Recordings that are looked at side by side.
const MOST_RECORDINGS: usize = 2;

/// Writes the page of one recording, or of two to compare.
///
/// # Errors
/// A file that is no recording, an output that cannot be written, and, after
/// the readable part has been written, a damaged recording.
pub fn write(files: &[PathBuf], output: &Path, source_path: &[PathBuf], rows: usize) -> Result<u8, Failure> {
    let is_page = input::is_standard(output) || output.extension().is_some_and(|extension| extension == "html");
    if !is_page {
        return Err(Failure::Usage(format!("-o {}: a report is written as .html", output.display())));
    }
    output::check_new(output, files)?;
    let recordings = read(files, rows, source_path)?;
    let page = html::in_one_file(&recordings).map_err(no_page)?;
    let bytes = output::write_new(output, &mut |out| out.write_all(page.as_bytes()))?;
    if !input::is_standard(output) {
        terminal::note(&format!("{} ({bytes} bytes): open it in a browser", output.display()));
    }
    damage(files, &recordings).map_or(Ok(DONE), Err)
}

/// Reads the recordings that a page is about.
///
/// # Errors
/// More than two files, or one that is no recording.
pub fn read(files: &[PathBuf], rows: usize, source_path: &[PathBuf]) -> Result<Vec<Recording>, Failure> {
    let files = &input::files(files)?;
    if files.len() > MOST_RECORDINGS {
        return Err(Failure::Usage(format!("a page compares two recordings (before, after), not {}", files.len())));
    }
    check_sources(source_path)?;
    let mut sources = Sources::below(source_path);
    let read = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _progress = Progress::of_reading(file);
        let mut recording =
            Recording::read_as(name, &input::place(file)?, rows).map_err(|problem| unreadable(file, problem))?;
        if !source_path.is_empty() {
            recording.add_sources(|method, file, line| sources.line(method, file, line));
        }
        Ok(recording)
    };
    files.iter().map(read).collect()
}

/// Refuses a directory of sources that is not there.
///
/// # Errors
/// It names the directory.
pub fn check_sources(source_path: &[PathBuf]) -> Result<(), Failure> {
    match source_path.iter().find(|path| !path.is_dir()) {
        Some(missing) => {
            Err(Failure::Usage(format!("--source-path {}: there is no such directory", missing.display())))
        }
        None => Ok(()),
    }
}

/// The failure that tells of a damaged file whose readable part is shown.
pub fn damage(files: &[PathBuf], recordings: &[Recording]) -> Option<Failure> {
    let damaged = files.iter().zip(recordings).find_map(|(path, recording)| {
        let problem = recording.facts().problems.first()?.clone();
        Some(Failure::DamagedRecording { path: path.clone(), problem })
    });
    damaged
}

/// The failure of not having a page.
pub fn no_page(error: PageError) -> Failure {
    Failure::System { doing: "there is no page".into(), source: std::io::Error::other(error) }
}
