//! Which files a command reads: `-` is standard input, and a pattern that the shell
//! did not expand stands for the files that match it.

use crate::error::Failure;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What stands for standard input and standard output.
pub const STANDARD: &str = "-";

/// True for `-`.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Where a file is that a person named: the path itself, or for `-` a file without a
/// name, in the directory for temporary files, that has all of standard input.
/// Recordings are read more than once and not in order, which no pipe allows.
///
/// # Errors
/// Standard input is a terminal, cannot be read, or cannot be kept.
pub fn place(path: &Path) -> Result<Cow<'_, Path>, Failure> {
    if !is_standard(path) {
        return Ok(Cow::Borrowed(path));
    }
    static KEPT: OnceLock<File> = OnceLock::new();
    let kept = match KEPT.get() {
        Some(kept) => kept,
        None => {
            let kept = keep_standard_input()?;
            KEPT.get_or_init(|| kept)
        }
    };
    Ok(Cow::Owned(PathBuf::from(format!("/proc/self/fd/{}", kept.as_raw_fd()))))
}

fn keep_standard_input() -> Result<File, Failure> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        let sentence = "- reads a recording from standard input, which is a terminal: write `< FILE` or use a pipe";
        return Err(Failure::Usage(sentence.into()));
    }
    let directory = std::env::temp_dir();
    let place = format!("cannot keep standard input in {} (TMPDIR chooses another directory)", directory.display());
    let mut file = tempfile::tempfile_in(&directory).map_err(Failure::doing(place.clone()))?;
    io::copy(&mut input, &mut file).map_err(Failure::doing(place))?;
    Ok(file)
}

/// The files that are meant: those named, and for a pattern (`*`, `?`, `[...]`) that
/// is no file itself, those that match it, by name. `-` may come once.
///
/// # Errors
/// A pattern that nothing matches, or that is none; `-` twice.
pub fn files(typed: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in typed {
        match path.to_str().filter(|text| is_pattern(text) && fs::symlink_metadata(path).is_err()) {
            Some(pattern) => files.extend(matching(pattern)?),
            None => files.push(path.clone()),
        }
    }
    if files.iter().filter(|path| is_standard(path)).count() > 1 {
        return Err(Failure::Usage("- (standard input) can be read once only".into()));
    }
    Ok(files)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let found = glob::glob(pattern).map_err(|error| Failure::Usage(format!("{pattern}: {}", error.msg)))?;
    let files: Vec<PathBuf> = found.filter_map(Result::ok).filter(|path| path.is_file()).collect();
    match files.is_empty() {
        true => Err(Failure::Usage(format!("{pattern}: no file matches"))),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_the_files_that_match() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["b-2.jfr", "b-1.jfr", "c[1].jfr"] {
            fs::write(directory.path().join(name), "x").expect("written");
        }
        let names = |pattern: &str| -> Result<Vec<String>, String> {
            let files = files(&[directory.path().join(pattern)]).map_err(|failure| failure.to_string())?;
            Ok(files.iter().map(|f| f.file_name().unwrap_or_default().to_string_lossy().into_owned()).collect())
        };
        assert_eq!(names("b-*.jfr"), Ok(vec!["b-1.jfr".into(), "b-2.jfr".into()]));
        assert_eq!(names("c[1].jfr"), Ok(vec!["c[1].jfr".into()]), "a file of that very name");
        assert_eq!(names("plain.jfr"), Ok(vec!["plain.jfr".into()]), "what is missing is said when it is opened");
        assert!(names("x*.jfr").is_err_and(|sentence| sentence.ends_with("x*.jfr: no file matches")));
        let twice = [PathBuf::from("-"), PathBuf::from("-")];
        assert!(files(&twice).is_err_and(|failure| failure.to_string().contains("once only")));
    }
}
