//! `headway report -o report.html`: the page, complete in one file.

use crate::error::{Failure, DONE};
use crate::recording::analysed::unreadable;
use crate::recording::progress::Progress;
use crate::recording::{input, output};
use crate::terminal;
use headway_jfr::Reader;
use headway_page::html::{self, PageError};
use headway_page::sources::Sources;
use headway_page::{First, Recording};
use std::path::{Path, PathBuf};

/// Rows that a file can hold and a browser still opens quickly; beyond them
/// short contentions are added up.
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
        return Err(Failure::Usage(format!(
            "-o {}: a report is written into a file whose name ends in .html",
            output.display()
        )));
    }
    output::check_new(output, files)?;
    let opened = open(files, source_path)?;
    let recordings: Vec<Recording> = opened.into_iter().map(|one| one.read(rows, source_path, None)).collect();
    let page = html::in_one_file(&recordings).map_err(no_page)?;
    let bytes = output::write_new(output, &mut |out| out.write_all(page.as_bytes()))?;
    if !input::is_standard(output) {
        terminal::note(&format!("{} ({bytes} bytes): open it in a browser", output.display()));
    }
    damage(files, &recordings).map_or(Ok(DONE), Err)
}

/// A recording that a page is about.
#[derive(Debug)]
pub struct Opened {
    path: PathBuf,
    reader: Reader,
}

impl Opened {
    /// How far it was read, for whoever waits for it.
    pub fn progress(&self) -> headway_jfr::Progress {
        self.reader.progress()
    }

    /// Reads it to its end; `first` is what is wanted of its beginning.
    pub fn read(self, rows: usize, source_path: &[PathBuf], first: Option<First>) -> Recording {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _progress = Progress::of_reading(&self.path);
        with_sources(Recording::read_opened(name, self.reader, rows, first), source_path)
    }
}

/// Opens the recordings that a page is about.
///
/// # Errors
/// More than two files, or one that is no recording.
pub fn open(files: &[PathBuf], source_path: &[PathBuf]) -> Result<Vec<Opened>, Failure> {
    let files = input::files(files)?;
    if files.len() > MOST_RECORDINGS {
        return Err(Failure::Usage(format!("a page compares two recordings (before, after), not {}", files.len())));
    }
    check_sources(source_path)?;
    let open = |path: PathBuf| match Reader::open(input::place(&path)?) {
        Ok(reader) => Ok(Opened { path, reader }),
        Err(problem) => Err(unreadable(&path, problem)),
    };
    files.into_iter().map(open).collect()
}

/// Finds the source lines of a recording.
pub fn with_sources(mut recording: Recording, source_path: &[PathBuf]) -> Recording {
    if !source_path.is_empty() {
        let mut sources = Sources::below(source_path);
        recording.add_sources(|method, file, line| sources.line(method, file, line));
    }
    recording
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

/// The failure that reports a damaged file whose readable part is shown.
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
