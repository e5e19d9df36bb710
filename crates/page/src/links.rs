//! What the names in the verdict and the findings are names of, so that a reader
//! can follow them.

use crate::contract::{Facts, Named};
use crate::names::Names;
use rustc_hash::FxHashMap;

/// The names in backticks that are a lock's, a thread's (or a group's), or a
/// method's, in the order of the sentences. One pass over all names, however
/// many the sentences mention.
pub(crate) fn of(facts: &Facts, names: &Names) -> Vec<(String, Named)> {
    let sentences = || std::iter::once(&facts.verdict).chain(facts.findings.iter().map(|finding| &finding.text));
    let mut mentioned: Vec<&str> = Vec::new();
    let mut kinds: FxHashMap<&str, Option<Named>> = FxHashMap::default();
    for name in sentences().flat_map(|text| text.split('`').skip(1).step_by(2)) {
        if kinds.insert(name, None).is_none() {
            mentioned.push(name);
        }
    }
    // Methods first: a lock called like a method is the lock.
    for frame in names.frames() {
        let method = text(names, frame.method);
        note(&mut kinds, method, Named::Method);
        note(&mut kinds, short(method), Named::Method);
    }
    for thread in names.threads() {
        note(&mut kinds, &thread.name, Named::Thread);
        note(&mut kinds, text(names, thread.group), Named::Thread);
    }
    for lock in names.locks() {
        note(&mut kinds, &lock.name, Named::Lock);
        note(&mut kinds, &lock.short, Named::Lock);
        note(&mut kinds, text(names, lock.title), Named::Lock);
    }
    mentioned.into_iter().filter_map(|name| Some((name.to_owned(), (*kinds.get(name)?)?))).collect()
}

fn note(kinds: &mut FxHashMap<&str, Option<Named>>, name: &str, kind: Named) {
    if let Some(known) = kinds.get_mut(name) {
        *known = Some(kind);
    }
}

fn text(names: &Names, id: u32) -> &str {
    names.texts().get(id as usize).map_or("", String::as_str)
}

/// `Inventory.sell` of `com.acme.Inventory.sell`: sentences leave out packages.
fn short(method: &str) -> &str {
    let upper = method.char_indices().find(|(at, c)| c.is_uppercase() && (*at == 0 || method[..*at].ends_with('.')));
    upper.map_or(method, |(at, _)| &method[at..])
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn packages_are_left_out() {
        assert_eq!(short("com.acme.Inventory.sell"), "Inventory.sell");
        assert_eq!(short("Inventory.sell"), "Inventory.sell");
        assert_eq!(short("com.acme.aB.run"), "com.acme.aB.run");
        assert_eq!(short("futex"), "futex");
    }
}
