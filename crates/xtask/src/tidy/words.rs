//! One language: words that are not used, and what to write instead.
//!
//! `words.txt` is the list, with a reason for each entry. What was written
//! before the list is counted by file in `words_baseline.txt`: a file may have
//! as many of the words as there, not more. `./hw tidy --renew` writes the
//! counts again and refuses if there are more of them in total, so the
//! baseline only shrinks, also when a file is split or renamed.

use super::{Complaint, File};
use crate::process::root;
use crate::Problem;
use std::borrow::Cow;
use std::collections::BTreeMap;

const LIST: &str = include_str!("words.txt");
const BASELINE: &str = "crates/xtask/src/tidy/words_baseline.txt";

/// What people write and read.
const CHECKED: [&str; 9] = ["md", "rs", "java", "py", "ts", "tsx", "html", "sh", "mjs"];

/// Where the words stand as what is not written.
const EXEMPT: [&str; 1] = ["docs/glossary.md"];

/// An entry of the list.
#[derive(Debug)]
struct Entry {
    /// Its forms, each a sequence of words in lower case.
    forms: Vec<Vec<String>>,
    /// Longer terms that contain a form and are right.
    allowed: Vec<Vec<String>>,
    instead: String,
    why: String,
}

/// The list of words.
pub struct Words {
    entries: Vec<Entry>,
}

/// A word of a text.
struct Word {
    text: String,
    line: usize,
    /// True if only white space and marks of comments lie between it and the word before.
    follows: bool,
}

/// One use of a word of the list.
struct Use {
    line: usize,
    words: String,
    entry: usize,
}

impl Words {
    /// The project's list.
    ///
    /// # Errors
    /// A line that is no entry.
    pub fn of_the_project() -> Result<Words, Problem> {
        Words::parse(LIST)
    }

    fn parse(list: &str) -> Result<Words, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let (Some(terms), Some(entry)) = (line.strip_prefix("ok:"), entries.last_mut()) {
                entry.allowed.extend(forms(terms));
                continue;
            }
            let [words, instead, why] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
                return Err(format!("words.txt: \"{line}\" is not \"words | instead | why\"").into());
            };
            let (instead, why) = (instead.to_owned(), why.to_owned());
            entries.push(Entry { forms: forms(words), allowed: Vec::new(), instead, why });
        }
        Ok(Words { entries })
    }

    fn uses(&self, text: &str) -> Vec<Use> {
        let words = words_of(text);
        let mut uses = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let found = self.longest(&words, at);
            if let Some((entry, length)) = found {
                let text = words[at..at + length].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
                uses.push(Use { line: words[at].line, words: text, entry });
            }
            at += found.map_or(1, |(_, length)| length);
        }
        uses
    }

    /// The entry with the longest form that begins at a word, and the form's length.
    fn longest(&self, words: &[Word], at: usize) -> Option<(usize, usize)> {
        let fitting = |entry: &Entry| entry.forms.iter().filter(|form| fits(words, at, form)).map(Vec::len).max();
        let allowed = |entry: &Entry| entry.allowed.iter().any(|term| fits(words, at, term));
        let candidates = self.entries.iter().enumerate().filter(|(_, entry)| !allowed(entry));
        candidates.filter_map(|(number, entry)| Some((number, fitting(entry)?))).max_by_key(|(_, length)| *length)
    }
}

fn forms(text: &str) -> Vec<Vec<String>> {
    text.split(';').map(|form| form.split_whitespace().map(str::to_lowercase).collect()).collect()
}

fn fits(words: &[Word], at: usize, form: &[String]) -> bool {
    let Some(window) = words.get(at..at + form.len()) else { return false };
    let same = |word: &Word, wanted: &String| word.text == *wanted || word.text.strip_suffix("'s") == Some(wanted);
    window.iter().zip(form).all(|(word, wanted)| same(word, wanted)) && window[1..].iter().all(|word| word.follows)
}

/// What may lie between two words of one sentence.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || "/*#!>".contains(c)
}

/// The words of a text. Names in code (`holder_ns`) are one word each.
fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut follows = false;
    for (number, line) in (1..).zip(text.lines()) {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let inside = |c: char| c.is_alphanumeric() || "_-'".contains(c);
            if c.is_alphanumeric() || c == '_' {
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                let text = rest[..end].trim_end_matches(['-', '\'']).to_lowercase();
                words.push(Word { text, line: number, follows });
                follows = true;
                rest = &rest[end..];
            } else {
                follows &= is_gap(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    words
}

/// How many of the words each file has that has any.
fn counts(words: &Words, files: &[File]) -> BTreeMap<String, usize> {
    let checked = files.iter().filter(|file| is_checked(file));
    let counted = checked.map(|file| (file.path.clone(), words.uses(&prose_of(file)).len()));
    counted.filter(|(_, count)| *count > 0).collect()
}

fn is_checked(file: &File) -> bool {
    CHECKED.contains(&file.extension()) && !EXEMPT.contains(&file.path.as_str())
}

/// The text without `names` in backticks of a document: a name is checked where it is defined.
fn prose_of(file: &File) -> Cow<'_, str> {
    if file.extension() != "md" {
        return Cow::Borrowed(&file.text);
    }
    let mut prose = String::with_capacity(file.text.len());
    for line in file.text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        for (number, part) in line.split('`').enumerate() {
            prose.push_str(if number % 2 == 0 || is_fence { part } else { "`" });
        }
        prose.push('\n');
    }
    Cow::Owned(prose)
}

/// Files with more of the words than the baseline has, every use named.
///
/// # Errors
/// The list or the baseline cannot be read.
pub fn complaints(files: &[File]) -> Result<Vec<Complaint>, Problem> {
    let baseline = read(&std::fs::read_to_string(root().join(BASELINE))?)?;
    Ok(beyond(&Words::of_the_project()?, files, &baseline))
}

fn beyond(words: &Words, files: &[File], baseline: &BTreeMap<String, usize>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| is_checked(file)) {
        let uses = words.uses(&prose_of(file));
        let allowed = baseline.get(&file.path).copied().unwrap_or(0);
        if uses.len() <= allowed {
            continue;
        }
        let more = match allowed {
            0 => String::new(),
            _ => format!(" ({} in this file, where there were {allowed})", uses.len()),
        };
        complaints.extend(uses.into_iter().map(|found| {
            let Entry { instead, why, .. } = &words.entries[found.entry];
            file.complaint(found.line, format!("\"{}\": write {instead}; {why}{more}", found.words))
        }));
    }
    complaints
}

/// Writes the counts of now, if there are not more in total.
///
/// # Errors
/// There are more, or a file cannot be read or written.
pub fn renew(files: &[File]) -> Result<(), Problem> {
    let path = root().join(BASELINE);
    let before: usize = read(&std::fs::read_to_string(&path)?)?.values().sum();
    let now = counts(&Words::of_the_project()?, files);
    let total: usize = now.values().sum();
    if total > before {
        return Err(format!(
            "{total} words of the list in all files, where there were {before}: `./hw tidy` names those in the files \
             that have more; the baseline only shrinks"
        )
        .into());
    }
    std::fs::write(path, written(&now))?;
    println!("{total} words of the list remain (before: {before})");
    Ok(())
}

const HEAD: &str = "# How many words of words.txt each file has. Written by `./hw tidy --renew`; it only shrinks.\n";

fn written(counts: &BTreeMap<String, usize>) -> String {
    let lines = counts.iter().map(|(path, count)| format!("{count} {path}\n"));
    HEAD.to_owned() + &lines.collect::<String>()
}

fn read(baseline: &str) -> Result<BTreeMap<String, usize>, Problem> {
    let lines = baseline.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (count, path) = line.split_once(' ').ok_or_else(|| format!("{BASELINE}: \"{line}\" has no count"))?;
            let count = count.parse().map_err(|_| format!("{BASELINE}: \"{count}\" is no count"))?;
            Ok((path.to_owned(), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    const SMALL: &str = "# a list\n\nfoo; foos | bar | it is short\nok: foo fighters\nin foo | inside | plain\n";

    fn found(text: &str) -> Vec<(usize, String)> {
        let uses = Words::parse(SMALL).expect("a list").uses(text);
        uses.into_iter().map(|found| (found.line, found.words)).collect()
    }

    fn one(line: usize, words: &str) -> Vec<(usize, String)> {
        vec![(line, words.to_owned())]
    }

    #[test]
    fn whole_words_are_found_in_any_case() {
        assert_eq!(found("a\nFoo, b"), one(2, "foo"));
        assert_eq!(found("the foo's end"), one(1, "foo's"));
        assert_eq!(found("food a_foo foo_ns foo-bar"), []);
    }

    #[test]
    fn phrases_are_found_over_line_breaks_of_comments_but_not_over_commas() {
        assert_eq!(found("    /// what is in\n    /// foo here"), one(1, "in foo"));
        assert_eq!(found("in, foo"), one(1, "foo"));
    }

    #[test]
    fn terms_of_the_field_are_allowed() {
        assert_eq!(found("Foo Fighters; foo"), one(1, "foo"));
    }

    #[test]
    fn more_than_the_baseline_is_a_complaint_and_as_many_is_none() {
        let words = Words::parse(SMALL).expect("a list");
        let baseline = read("# x\n1 a.md\n").expect("a baseline");
        let check = |text: &str| said(beyond(&words, &[file("a.md", text)], &baseline));
        assert_eq!(check("foo"), "");
        assert_eq!(
            check("foo\nfoos"),
            "a.md:1: \"foo\": write bar; it is short (2 in this file, where there were 1)\n\
             a.md:2: \"foos\": write bar; it is short (2 in this file, where there were 1)\n"
        );
        assert_eq!(
            said(beyond(&words, &[file("b.rs", "// foo")], &baseline)),
            "b.rs:1: \"foo\": write bar; it is short\n"
        );
        assert_eq!(said(beyond(&words, &[file("b.css", "foo"), file("docs/glossary.md", "foo")], &baseline)), "");
    }

    #[test]
    fn names_in_a_document_are_not_its_words() {
        let words = Words::parse(SMALL).expect("a list");
        let check = |path: &str, text: &str| said(beyond(&words, &[file(path, text)], &BTreeMap::new()));
        assert_eq!(check("a.md", "the key `foo`, and `a` in `foo`\n```\nx\n```"), "");
        assert!(check("a.md", "`x`\n`y` foo").starts_with("a.md:2: \"foo\""));
        assert!(check("a.rs", "/// `foo`").starts_with("a.rs:1: \"foo\""));
    }

    #[test]
    fn a_baseline_comes_back_as_it_was_written() {
        let counts = counts(&Words::parse(SMALL).expect("a list"), &[file("a.md", "foo foo"), file("b.md", "x")]);
        assert_eq!(counts, BTreeMap::from([("a.md".to_owned(), 2)]));
        assert_eq!(read(&written(&counts)).expect("a baseline"), counts);
        assert!(read("many a.md").is_err());
    }

    #[test]
    fn every_entry_has_words_an_alternative_and_a_reason() {
        let words = Words::of_the_project().expect("the list");
        assert!(words.entries.len() > 20);
        for entry in &words.entries {
            let complete = entry.forms.iter().all(|form| !form.is_empty());
            assert!(complete && !entry.instead.is_empty() && !entry.why.is_empty(), "{entry:?}");
        }
        assert!(Words::parse("foo | bar").is_err());
    }
}
