//! A recording, read and analysed.

use crate::error::Failure;
use crate::quantity::{Moment, Span};
use headway_analysis::report::Report;
use headway_analysis::Aspect;
use regex::Regex;
use std::path::{Path, PathBuf};

/// What is asked of a recording.
#[derive(Clone, Debug)]
pub struct Question {
    /// The levels of the tree.
    pub by: Vec<Aspect>,
    /// Rows of each level that are shown.
    pub top: usize,
    /// Blocked stretches shorter than this are left out.
    pub min_duration: Option<Span>,
    /// Where the range begins.
    pub from: Option<Moment>,
    /// Where it ends.
    pub to: Option<Moment>,
    /// Blocked threads that count.
    pub threads: Option<Regex>,
}

impl Default for Question {
    fn default() -> Question {
        Question {
            by: vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod],
            top: 10,
            min_duration: None,
            from: None,
            to: None,
            threads: None,
        }
    }
}

/// A recording's report, and what stood in its way.
#[derive(Debug)]
pub struct Analysed {
    /// The file.
    pub path: PathBuf,
    /// What the analysis found.
    pub report: Report,
    /// What is wrong with the file, one sentence each.
    pub problems: Vec<String>,
    /// Rows of each level that are shown.
    pub top: usize,
}

impl Analysed {
    /// Reads and analyses a recording.
    ///
    /// # Errors
    /// There is no such file, or nothing in it can be read as a recording.
    pub fn read(path: &Path, question: &Question) -> Result<Analysed, Failure> {
        let _ = question;
        Err(Failure::UselessRecording { path: path.to_owned(), problem: "is nothing".into() })
    }

    /// The failure that tells of a damaged file whose readable part was shown.
    pub fn damage(&self) -> Option<Failure> {
        let problem = self.problems.first()?.clone();
        Some(Failure::DamagedRecording { path: self.path.clone(), problem })
    }

    /// The report without the rows beyond `top`.
    pub fn report_of_top(&self) -> Report {
        let mut report = self.report.clone();
        report.keep_top(self.top);
        report
    }
}
