//! Documents in an archive. In the repository they have links to other documents, which the archive does not have: such
//! a link becomes its text and the other document's path.

use super::archive::Archive;
use crate::links::{is_inside, links, resolve};
use crate::process::root;
use crate::Problem;
use std::collections::BTreeSet;
use std::fs;

/// A document's path in the archive and in the repository.
pub type Document = (&'static str, &'static str);

/// How to install.
pub const INSTALL: Document = ("share/doc/headway/INSTALL.md", "docs/install.md");

/// The manual of the report, which the report names.
pub const REPORT: Document = ("share/doc/headway/READING-A-REPORT.md", "docs/reading-a-report.md");

/// The manual of `headway-fleet`.
pub const FLEET: Document = ("share/doc/headway-fleet/FLEET.md", "docs/fleet.md");

/// Stands below the title of a document in an archive.
const NOTE: &str = "Other documents (`README.md`, `docs/...`, `eval/...`) are in the source repository of Headway.";

/// What a block of code begins and ends with.
const FENCE: &str = "```";

/// Takes a document into an archive.
pub fn add(archive: &mut Archive, (to, from): Document) -> Result<(), Problem> {
    let path = root().join(from);
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    archive.text(to, &in_archive(from, &text));
    Ok(())
}

/// Fails if a document of an archive has a link to a file that is not in the archive.
pub fn check(archive: &Archive) -> Result<(), Problem> {
    let dead = dead_links(archive);
    match dead.is_empty() {
        true => Ok(()),
        false => Err(dead.join("; ").into()),
    }
}

fn dead_links(archive: &Archive) -> Vec<String> {
    let names: BTreeSet<&str> = archive.contents().map(|(name, _, _)| name).collect();
    let mut dead = Vec::new();
    for (name, _, content) in archive.contents().filter(|(name, _, _)| name.ends_with(".md")) {
        let text = String::from_utf8_lossy(content);
        let prose: String = text.split(FENCE).step_by(2).collect();
        for link in links(&prose) {
            let target = resolve(name, link);
            if !target.is_empty() && !names.contains(target.as_str()) {
                dead.push(format!("{name} has a link to {link}, which is not in the archive"));
            }
        }
    }
    dead
}

/// The text of the repository's document `path` as it is in an archive.
fn in_archive(path: &str, text: &str) -> String {
    let parts = text.split(FENCE).enumerate().map(|(number, part)| match number % 2 {
        0 => without_links(path, part),
        _ => part.to_owned(),
    });
    let text = parts.collect::<Vec<String>>().join(FENCE);
    match text.split_once("\n\n") {
        Some((title, rest)) => format!("{title}\n\n{NOTE}\n\n{rest}"),
        None => text,
    }
}

/// Links to places in the same document and to addresses stay.
fn without_links(path: &str, prose: &str) -> String {
    let mut plain = String::new();
    let mut rest = prose;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some(begin), Some((link, after))) = (before.rfind('['), after.split_once(')')) else {
            break; // no link; `check` finds those that follow
        };
        let target = resolve(path, link);
        if is_inside(link) && !target.is_empty() {
            plain.push_str(&before[..begin]);
            plain.push_str(&named(&before[begin + 1..], &target));
        } else {
            plain.push_str(&format!("{before}]({link})"));
        }
        rest = after;
    }
    plain + rest
}

/// What stands in place of a link.
fn named(label: &str, document: &str) -> String {
    match document.rsplit('/').next() == Some(label) {
        true => document.to_owned(),
        false => format!("{label} ({document})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_documents_in_archives_lead_somewhere() {
        for document in [INSTALL, REPORT, FLEET] {
            let mut archive = Archive::new("top");
            add(&mut archive, document).unwrap();
            assert_eq!(dead_links(&archive), Vec::<String>::new());
        }
    }

    #[test]
    fn a_relative_link_that_leads_nowhere_is_found() {
        let mut archive = Archive::new("top");
        archive.text("share/doc/a.md", "[b](b.md), [c](c.md#part), [up](../x/d.md), [here](#part), [e](https://e.org)");
        archive.text("share/doc/b.md", "```\n[not](prose.md)\n```\n");
        archive.text("share/x/d.md", "");
        assert_eq!(dead_links(&archive), ["share/doc/a.md has a link to c.md#part, which is not in the archive"]);
        assert!(check(&archive).is_err());
    }

    #[test]
    fn a_link_to_another_document_becomes_text() {
        let of = |text: &str| without_links("docs/a.md", text);
        assert_eq!(of("See [the costs](../README.md#costs), [b.md](b.md)."), "See the costs (README.md), docs/b.md.");
        assert_eq!(of("[here](#part) and [e](https://e.org/a.md)"), "[here](#part) and [e](https://e.org/a.md)");
        assert_eq!(of("x](y and [b](b.md)"), "x](y and [b](b.md)");
        let text = in_archive("docs/a.md", "# A\n\nSee [b](b.md).\n```\n[b](b.md)\n```\n");
        assert_eq!(text, format!("# A\n\n{NOTE}\n\nSee b (docs/b.md).\n```\n[b](b.md)\n```\n"));
    }
}
