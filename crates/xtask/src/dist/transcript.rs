//! The transcript of the first finding in `docs/install.md`: it is that of a check, and stays true.
//!
//! Numbers differ with every run, and which further findings there are depends on the machine.
//! What must not differ is the wording of what every run prints: the list of what is changed in the
//! process, the verdict, and the first finding.

use crate::process::root;
use crate::Problem;
use std::fs;
use std::path::PathBuf;

const FENCE: &str = "```\n";

/// Where the block begins.
const BEGIN: &str = "$ /opt/bin/headway --version\n";

fn path() -> PathBuf {
    root().join("docs/install.md")
}

/// Replaces the block of the document by what a run wrote.
pub fn renew(transcript: &str) -> Result<(), Problem> {
    let text = fs::read_to_string(path())?;
    let old = block(&text)?;
    Ok(fs::write(path(), text.replacen(old, &without_warnings(transcript), 1))?)
}

/// What differs in wording between the document and a run.
pub fn complaint(transcript: &str) -> Result<Option<String>, Problem> {
    let text = fs::read_to_string(path())?;
    Ok(difference(block(&text)?, &without_warnings(transcript)))
}

fn difference(shown: &str, transcript: &str) -> Option<String> {
    let (shown, printed) = (wording(shown), wording(transcript));
    let missing = printed.iter().find(|sentence| !shown.contains(sentence))?;
    Some(format!("docs/install.md does not show \"{missing}\": ./hw dist --check --short --renew"))
}

/// The block between the fences.
fn block(document: &str) -> Result<&str, Problem> {
    let at = document.find(&format!("{FENCE}{BEGIN}")).ok_or("docs/install.md has no transcript")? + FENCE.len();
    let end = document[at..].find(FENCE).ok_or("docs/install.md: the transcript does not end")?;
    Ok(&document[at..at + end])
}

/// What the JVM itself says about agents is not Headway's.
fn without_warnings(transcript: &str) -> String {
    let begin = transcript.find(BEGIN).unwrap_or_default();
    let lines = transcript[begin..].lines().filter(|line| !line.starts_with("WARNING: "));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Sentences that every run prints: numbers with their units and bounds (`> 99 %`) are `N`, quoted names are `_`.
fn wording(transcript: &str) -> Vec<String> {
    let changes = transcript.lines().filter(|line| line.starts_with("  - ")).map(|line| sentence(line.trim()));
    changes.chain(verdict(transcript)).chain(first_finding(transcript)).collect()
}

/// The paragraph before the bar.
fn verdict(report: &str) -> Option<String> {
    let before = report.split_once("\n\nTHREAD TIME")?.0;
    Some(sentence(before.rsplit("\n\n").next()?))
}

/// The first finding's first two sentences: who was blocked, and who owned the lock.
fn first_finding(report: &str) -> Option<String> {
    let finding = report.split_once("\nFINDINGS\n")?.1;
    let words = finding.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    let end = words.match_indices(['.', ':']).map(|(at, _)| at).filter(|&at| ends(&words, at)).nth(1)?;
    Some(sentence(&words[..=end]))
}

/// True if a sentence ends here, and not a number or a name that has a point inside.
fn ends(words: &str, at: usize) -> bool {
    words[..at].matches('`').count().is_multiple_of(2) && words[at + 1..].starts_with(' ')
}

fn sentence(text: &str) -> String {
    let digit = |c: char| c.is_ascii_digit();
    let names: Vec<&str> = text.split('`').collect();
    let unnamed: String = names.iter().enumerate().map(|(at, part)| if at % 2 == 0 { *part } else { "`_`" }).collect();
    let mut words: Vec<&str> = Vec::new();
    let mut rest = unnamed.split_whitespace().peekable();
    while let Some(word) = rest.next() {
        let is_bound = [">", "<"].contains(&word) && rest.peek().is_some_and(|next| next.starts_with(digit));
        let is_unit = ["ns", "us", "ms", "s", "s)", "min", "h"].contains(&word);
        match word.trim_start_matches('(').starts_with(digit) {
            true if word.starts_with('(') => words.push("(N"),
            true => words.push("N"),
            false if is_unit && words.last().is_some_and(|last| last.ends_with('N')) => {
                words.extend(word.ends_with(')').then_some(")"));
            }
            false if is_bound => {}
            false => words.push(word),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "reader started\n$ /opt/bin/headway --version\nheadway 1.0.0\nWARNING: agent\n  - the first 5 bytes of f\n\n\
        39 % of the active thread time (31.5 s of\n80.2 s) is spent on `A.lock`.\n\nTHREAD TIME  80.2 s\n\nFINDINGS\n  \
        1. Threads waited 31.5 s (39 % of it) on `A.lock`; `A.m`\n     owned it. For 7 % of that.\n  2. Other.\nleft in /tmp:  \n";

    #[test]
    fn only_the_wording_counts() {
        let shown = without_warnings(RUN);
        assert!(
            shown.starts_with(BEGIN) && !shown.contains("WARNING") && shown.ends_with("left in /tmp:\n"),
            "{shown}"
        );
        let other = shown
            .replace("31.5 s", "900 ms")
            .replace("A.lock", "B.lock")
            .replace("39 %", "4.1 %")
            .replace("7 %", "> 99 %")
            .replace("Other", "x");
        assert_eq!(difference(&shown, &other), None);
        assert_eq!(wording(&shown).len(), 3);
        let changed = |from: &str, to: &str| difference(&shown, &shown.replace(from, to)).unwrap_or_default();
        assert!(changed("active thread", "whole").contains("N % of the whole time (N of N ) is spent on `_`."));
        assert!(changed("of it) on", "of all) on").contains("Threads waited N (N % of all) on `_`; `_` owned it."));
        assert!(changed("bytes of f", "bytes of g").contains("bytes of g"));
    }

    #[test]
    fn the_block_is_found_in_the_document() {
        assert!(block("```\n$ /opt/bin/headway --version\na\n```\n").is_ok_and(|block| block.ends_with("\na\n")));
        assert!(block("```\n$ other\n```\n").is_err());
    }

    /// Reports are worded by the command line, whose tests have them as snapshots.
    #[test]
    fn the_document_has_the_wording_of_reports() {
        let report = "crates/cli/tests/snapshots/report__what_is_wrong_on_one_screen.snap";
        let report = fs::read_to_string(root().join(report)).unwrap();
        let document = fs::read_to_string(path()).unwrap();
        let shown = block(&document).unwrap();
        // What the owner did is known where it was sampled.
        let said = |text: &str| {
            verdict(text)
                .map(|words| words.split(", mostly").next().unwrap_or_default().trim_end_matches('.').to_owned())
        };
        assert!(said(shown).is_some());
        assert_eq!(said(shown), said(&report));
        let begin = |text: &str| {
            first_finding(text).map(|finding| finding.split(", called").next().unwrap_or_default().to_owned())
        };
        assert!(begin(shown).is_some_and(|words| words.contains("owned it for N % of that")), "{:?}", begin(shown));
        assert_eq!(begin(shown), begin(&report));
    }
}
