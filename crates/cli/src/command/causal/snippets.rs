//! The source of targets that are lines, if its files are at hand.

use headway_causal::experiment::{Target, TargetKind};
use headway_causal::page::Snippet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lines shown before and behind.
const AROUND: usize = 4;
/// Most directories and files that are looked through.
const MOST: usize = 50_000;
/// A source file is no larger.
const MAX_BYTES: u64 = 8 << 20;
/// What is not looked into.
const LEFT_OUT: [&str; 5] = ["target", "build", "node_modules", "out", "bin"];

/// Snippets of those targets that are lines, by the targets' names, out of files
/// below these directories.
pub fn of_targets<'a>(targets: impl Iterator<Item = &'a str>, below: &[PathBuf]) -> BTreeMap<String, Snippet> {
    let lines: Vec<(String, String, u32)> = targets.filter_map(line).collect();
    let mut found = BTreeMap::new();
    if lines.is_empty() {
        return found;
    }
    let mut left = MOST;
    for directory in below {
        look(directory, &lines, &mut left, &mut found);
    }
    found
}

/// Name of the target, file and line.
fn line(name: &str) -> Option<(String, String, u32)> {
    let target = Target::parse(name);
    let (file, line) = target.name.rsplit_once(':').filter(|_| target.kind == TargetKind::Line)?;
    Some((name.to_owned(), file.to_owned(), line.parse().ok()?))
}

fn look(directory: &Path, lines: &[(String, String, u32)], left: &mut usize, found: &mut BTreeMap<String, Snippet>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links are not followed: they may lead round in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()) {
            look(&entry.path(), lines, left, found);
        }
        let is_due = |(target, file, _): &&(String, String, u32)| *file == name && !found.contains_key(target);
        let due: Vec<_> = lines.iter().filter(is_due).collect();
        for (target, _, line) in due {
            if let Some(snippet) = snippet(&entry.path(), *line).filter(|_| kind.is_file()) {
                found.insert(target.clone(), snippet);
            }
        }
    }
}

fn snippet(path: &Path, line: u32) -> Option<Snippet> {
    let small = std::fs::metadata(path).is_ok_and(|facts| facts.len() <= MAX_BYTES);
    let text = std::fs::read(path).ok().filter(|_| small)?;
    let text = String::from_utf8_lossy(&text);
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    let first = at.saturating_sub(AROUND);
    let lines: Vec<String> = text.lines().skip(first).take(at - first + 1 + AROUND).map(str::to_owned).collect();
    (lines.len() > at - first).then(|| Snippet {
        path: path.display().to_string(),
        first: first as u32 + 1,
        lines,
        marked: line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_files_name_and_shown_with_its_neighbours() {
        let directory = tempfile::tempdir().expect("a directory");
        let deep = directory.path().join("src/com");
        std::fs::create_dir_all(&deep).expect("directories");
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        std::fs::write(deep.join("Shop.java"), text).expect("a file");
        let below = [directory.path().to_owned()];
        let found = of_targets(["Shop.java:2", "Shop.java:99", "a.Shop.price", "lock:x"].into_iter(), &below);
        assert_eq!(found.len(), 1);
        let snippet = found.get("Shop.java:2").expect("found");
        assert_eq!((snippet.first, snippet.marked, snippet.lines.len()), (1, 2, 6));
        assert_eq!(snippet.lines.get(1).map(String::as_str), Some("line 2"));
    }
}
