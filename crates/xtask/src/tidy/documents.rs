//! Documents that are still true: what they point at exists.

use super::{Complaint, File};
use crate::links::{links, resolve};
use std::collections::BTreeSet;

pub fn complaints(file: &File, paths: &[String]) -> Vec<Complaint> {
    if file.extension() != "md" {
        return Vec::new();
    }
    let known = Known::new(paths);
    let mut complaints = Vec::new();
    let mut in_block = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue; // output and examples may show what is made later
        }
        let missing = quoted(line).filter(|word| known.is_ours(word) && !known.exists(word)).map(str::to_owned);
        let broken = links(line).map(|link| resolve(&file.path, link)).filter(|target| !known.exists(target));
        for path in missing.chain(broken) {
            complaints.push(file.complaint(number, format!("names {path}, which does not exist")));
        }
    }
    complaints
}

/// Promises that hold for the project as a whole.
pub fn about_the_whole(files: &[File]) -> Vec<Complaint> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let demands = [
        ("README.md", "./hw demo", "a newcomer needs the one command that shows what this is"),
        ("README.md", "./hw test", "a newcomer needs the one command that tells whether it works"),
        ("CHANGELOG.md", "## [Unreleased]", "changes need a place until they are released"),
        (".ci/run", "./hw test", "what is checked there and here must be the same"),
        ("ARCHITECTURE.md", "## Crates", "the map of the crates is what the dependency check reads"),
    ];
    let broken = demands.into_iter().filter(|(path, words, _)| !text(path).contains(words));
    broken
        .map(|(path, words, why)| Complaint {
            path: path.to_owned(),
            line: 0,
            text: format!("lacks \"{words}\": {why}"),
        })
        .collect()
}

/// What exists in the project.
struct Known<'a> {
    files: BTreeSet<&'a str>,
    folders: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn new(paths: &'a [String]) -> Known<'a> {
        let files = paths.iter().map(String::as_str).collect();
        let folders = paths.iter().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect();
        Known { files, folders }
    }

    /// True for words that look like a path below one of our folders.
    fn is_ours(&self, word: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let top = word.split('/').next().unwrap_or_default();
        word.contains('/') && word.chars().all(plain) && self.folders.contains(top) && !is_made(word)
    }

    fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.files.contains(path) || self.folders.contains(path)
    }
}

/// Paths that building makes.
fn is_made(path: &str) -> bool {
    path.split('/').any(|part| part == "target")
}

/// Words `in backticks`.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).map(|word| word.split(':').next().unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    fn check(path: &str, text: &str) -> String {
        let paths = ["README.md", "docs/a.md", "crates/x/src/lib.rs", "java/workloads/pom.xml"].map(str::to_owned);
        said(complaints(&file(path, text), &paths))
    }

    #[test]
    fn what_exists_may_be_named() {
        assert_eq!(
            check("README.md", "See `crates/x/src/lib.rs`, `crates/x/`, [here](docs/a.md#part), [there](#x)"),
            ""
        );
        assert_eq!(check("docs/a.md", "[up](../README.md) and [out](https://example.org/crates/y)"), "");
        assert_eq!(check("README.md", "`java.util.concurrent`, `a/b`, `target/release/headway`, `--by x/y`"), "");
        assert_eq!(check("README.md", "`java/workloads/target/headway-workloads.jar`"), "");
        assert_eq!(check("README.md", "```\nls crates/y\n`crates/y`\n```"), "");
    }

    #[test]
    fn what_does_not_exist_is_found() {
        assert_eq!(
            check("README.md", "\nSee `crates/y/src`"),
            "README.md:2: names crates/y/src, which does not exist\n"
        );
        assert_eq!(check("docs/a.md", "[b](b.md)"), "docs/a.md:1: names docs/b.md, which does not exist\n");
        assert!(check("README.md", "`docs/gone.md:12`").contains("docs/gone.md"));
    }

    #[test]
    fn promises_are_checked() {
        let complete = [
            file("README.md", "./hw demo ./hw test"),
            file("CHANGELOG.md", "## [Unreleased]"),
            file(".ci/run", "./hw test"),
            file("ARCHITECTURE.md", "## Crates"),
        ];
        assert_eq!(said(about_the_whole(&complete)), "");
        assert!(said(about_the_whole(&complete[1..])).contains("README.md: lacks \"./hw demo\""));
    }
}
