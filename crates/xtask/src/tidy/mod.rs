//! `./hw tidy`: house rules that no compiler checks, each with its reason.
//!
//! A rule looks at one file, or at the project as a whole, and gives
//! complaints. A complaint that is wrong is mended here, in the rule, with a
//! test, not by an exception in the file that it complains about.

mod circles;
mod documents;
mod graph;
mod layout;
mod minimum_rust;
mod registers;
mod sources;
mod versions;
mod words;

use crate::process::{output_of, program, root};
use crate::{takes_nothing, Problem};
use std::fmt;

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    /// File, from the project's root; empty if it is about the whole.
    path: String,
    /// Line, 0 if it is about the whole file.
    line: usize,
    /// What is wrong, and why the rule is there.
    text: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.line) {
            ("", _) => write!(f, "{}", self.text),
            (path, 0) => write!(f, "{path}: {}", self.text),
            (path, line) => write!(f, "{path}:{line}: {}", self.text),
        }
    }
}

/// A file under version control, or about to be.
struct File {
    /// From the project's root, with `/`.
    path: String,
    text: String,
}

impl File {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    fn complaint(&self, line: usize, text: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, text: text.into() }
    }
}

/// See the file's head.
pub fn tidy(rest: &[String]) -> Result<(), Problem> {
    let renew = rest == ["--renew"];
    if !renew {
        takes_nothing(rest)?;
    }
    let paths = files()?;
    let readable = |path: &String| std::fs::read_to_string(root().join(path)).ok();
    let files: Vec<File> =
        paths.iter().filter_map(|path| Some(File { path: path.clone(), text: readable(path)? })).collect();
    if renew {
        return words::renew(&files);
    }
    let mut complaints = Vec::new();
    for file in &files {
        complaints.extend(layout::complaints(file));
        complaints.extend(sources::complaints(file));
        complaints.extend(registers::complaints(file));
        complaints.extend(documents::complaints(file, &paths));
    }
    complaints.extend(documents::about_the_whole(&files));
    complaints.extend(versions::complaints(&files));
    complaints.extend(graph::complaints(&files)?);
    complaints.extend(minimum_rust::complaints(&files)?);
    complaints.extend(circles::complaints(&files));
    complaints.extend(words::complaints(&files)?);
    if complaints.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    Err(format!("{} complaints", complaints.len()).into())
}

/// Files under version control and new ones that are not ignored, from the
/// project's root.
pub fn files() -> Result<Vec<String>, Problem> {
    let listed = output_of(program("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    let existing = listed.split('\0').filter(|path| root().join(path).is_file());
    let mut paths: Vec<String> = existing.map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

/// The complaints as text, one per line, for tests.
#[cfg(test)]
fn said(complaints: impl IntoIterator<Item = Complaint>) -> String {
    complaints.into_iter().map(|complaint| format!("{complaint}\n")).collect()
}
