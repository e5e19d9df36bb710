//! One version everywhere: cargo has it in one place, but Maven, npm, the other workspace and
//! examples in documents repeat it.

use super::{Complaint, File};

/// Files that repeat the version, and what stands before it. The first place counts.
const PLACES: [(&str, &str); 4] = [
    ("fleet/Cargo.toml", "\nversion = \""),
    ("web/package.json", "\n  \"version\": \""),
    ("web/package-lock.json", "\n  \"version\": \""),
    // The project's; in a module its parent's.
    ("java/pom.xml", "<version>"),
];

/// Documents that show what this version prints, or what its files are called.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/install.md", "docs/reading-a-report.md"];

pub fn complaints(files: &[File]) -> Vec<Complaint> {
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let Some(version) = find("Cargo.toml").and_then(|file| after(&file.text, "\nversion = \"")) else {
        return Vec::new(); // cargo complains
    };
    let of_places = PLACES.iter().filter_map(|(path, before)| Some((find(path)?, *before)));
    let modules = files.iter().filter(|file| file.path.starts_with("java/") && file.path.ends_with("/pom.xml"));
    let of_places = of_places.chain(modules.map(|file| (file, "<version>")));
    let mut complaints: Vec<Complaint> = of_places.filter_map(|(file, before)| other(file, before, version)).collect();
    complaints.extend(find("CHANGELOG.md").and_then(|file| newest(file, version)));
    for file in DOCUMENTS.iter().filter_map(|path| find(path)) {
        complaints.extend(shown(file, version));
    }
    complaints
}

fn other(file: &File, before: &str, version: &str) -> Option<Complaint> {
    let found = after(&file.text, before).unwrap_or_default();
    let line = file.text.find(before).map_or(0, |at| file.text[..at + before.len()].lines().count());
    (found != version).then(|| file.complaint(line, format!("has version {found}, Cargo.toml has {version}")))
}

/// The first heading with a number is what is being made, or was released last.
fn newest(file: &File, version: &str) -> Option<Complaint> {
    let found = file.text.lines().filter_map(|line| line.strip_prefix("## [")?.split(']').next());
    let found = found.into_iter().find(|text| text.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
    (found != version).then(|| file.complaint(0, format!("says that {found} is the newest, Cargo.toml has {version}")))
}

/// Versions of Headway that a document shows.
fn shown<'a>(file: &'a File, version: &'a str) -> impl Iterator<Item = Complaint> + 'a {
    (1..).zip(file.text.lines()).flat_map(move |(number, line)| {
        let versions = ["headway ", "headway-"].into_iter().flat_map(move |before| versions_after(line, before));
        let others = versions.filter(move |found| *found != version);
        others.map(move |found| file.complaint(number, format!("shows {found}, this is {version}")))
    })
}

fn versions_after<'a>(line: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(before).filter_map(move |(at, _)| {
        let rest = &line[at + before.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let found = rest[..end].trim_end_matches('.');
        (found.split('.').count() == 3).then_some(found)
    })
}

/// What stands between a text and the next quote or bracket.
fn after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.split(['"', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nversion = \"0.2.0\"\n";

    fn beside_manifest(path: &str, text: &str) -> String {
        said(complaints(&[file("Cargo.toml", MANIFEST), file(path, text)]))
    }

    #[test]
    fn every_place_that_repeats_the_version_is_compared() {
        let pom = "<project>\n  <parent>\n    <version>0.1.0</version>\n";
        let complaint = "java/api/pom.xml:3: has version 0.1.0, Cargo.toml has 0.2.0\n";
        assert_eq!(beside_manifest("java/api/pom.xml", pom), complaint);
        assert_eq!(beside_manifest("java/api/pom.xml", &pom.replace("0.1.0", "0.2.0")), "");
        let package = "{\n  \"name\": \"page\",\n  \"version\": \"0.3.0\"\n}";
        assert!(beside_manifest("web/package.json", package).contains("web/package.json:3: has version 0.3.0"));
        let changes = "## [Unreleased]\n\n## [0.3.0] - unreleased\n\n## [0.2.0] - 2026-01-31\n";
        assert!(beside_manifest("CHANGELOG.md", changes).contains("0.3.0 is the newest"));
        assert_eq!(beside_manifest("CHANGELOG.md", &changes.replace("[0.3.0]", "[0.2.0]")), "");
    }

    #[test]
    fn documents_show_this_version() {
        let text =
            "Copy `headway-0.2.0-linux-x86_64.tar.gz`.\nrecorded by headway 0.1.0.\nheadway -4711 headway 3.5 s\n";
        assert_eq!(beside_manifest("README.md", text), "README.md:2: shows 0.1.0, this is 0.2.0\n");
        assert_eq!(beside_manifest("docs/compatibility.md", text), "");
    }
}
