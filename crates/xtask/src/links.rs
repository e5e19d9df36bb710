//! Links of documents in Markdown.

/// A link's target, from the folder in which the document's path begins; empty for a place in the same document.
pub fn resolve(document: &str, link: &str) -> String {
    let target = link.split('#').next().unwrap_or_default();
    if target.is_empty() {
        return String::new();
    }
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Targets of `[text](target)` that are no addresses.
pub fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| is_inside(target))
}

/// False for addresses.
pub fn is_inside(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}
