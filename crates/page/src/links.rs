//! What the names in the verdict and the findings are names of, so that a reader
//! can follow them.

use crate::contract::{Facts, Kind, Link, Named, Seen};
use crate::names::Names;
use crate::table::Row;
use rustc_hash::FxHashMap;

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
struct Known<'a> {
    kind: Named,
    seen: Seen,
    whole: &'a str,
}

/// The names in backticks that are a lock's, a thread's (or a group's), or a
/// method's, in the order of the sentences. One pass over all names, however
/// many the sentences mention. What no row has is left out: it would lead to nothing.
pub(crate) fn of(facts: &Facts, names: &Names, rows: &[Row]) -> Vec<Link> {
    let sentences = || std::iter::once(&facts.verdict).chain(facts.findings.iter().map(|finding| &finding.text));
    let mut mentioned: Vec<&str> = Vec::new();
    let mut found: FxHashMap<&str, Option<Known<'_>>> = FxHashMap::default();
    for name in sentences().flat_map(|text| text.split('`').skip(1).step_by(2)) {
        if found.insert(name, None).is_none() {
            mentioned.push(name);
        }
    }
    let Places { chains, locks } = Places::of(rows, names);
    // Methods first: a lock called like a method is the lock.
    for (chain, seen) in names.chains().iter().zip(&chains) {
        let Some(seen) = *seen else { continue };
        for frame in chain.iter().filter_map(|frame| names.frames().get(*frame as usize)) {
            let whole = text(names, frame.method);
            let known = Known { kind: Named::Method, seen, whole };
            note(&mut found, whole, known);
            note(&mut found, short(whole), known);
        }
    }
    for thread in names.threads() {
        // Its lane is there, whatever it did.
        let known = Known { kind: Named::Thread, seen: Seen::Blocked, whole: "" };
        note(&mut found, &thread.name, known);
        note(&mut found, text(names, thread.group), known);
    }
    for (lock, seen) in names.locks().iter().zip(&locks) {
        let Some(seen) = *seen else { continue };
        let known = Known { kind: Named::Lock, seen, whole: "" };
        note(&mut found, &lock.name, known);
        note(&mut found, &lock.short, known);
        note(&mut found, text(names, lock.title), known);
    }
    let link = |name: &str, known: Known<'_>| Link {
        name: name.to_owned(),
        kind: known.kind,
        seen: known.seen,
        whole: known.whole.to_owned(),
    };
    mentioned.into_iter().filter_map(|name| Some(link(name, (*found.get(name)?)?))).collect()
}

/// Of names of the same kind, the one with what comes first in [`Seen`].
fn note<'a>(found: &mut FxHashMap<&str, Option<Known<'a>>>, name: &str, known: Known<'a>) {
    if let Some(before) = found.get_mut(name) {
        if before.is_none_or(|before| before.kind != known.kind || known.seen < before.seen) {
            *before = Some(known);
        }
    }
}

/// What rows have chains and locks, by their ids.
struct Places {
    chains: Vec<Option<Seen>>,
    locks: Vec<Option<Seen>>,
}

impl Places {
    fn of(rows: &[Row], names: &Names) -> Places {
        let mut places = Places { chains: vec![None; names.chains().len()], locks: vec![None; names.locks().len()] };
        for row in rows {
            let Some(seen) = seen_in(row, names) else { continue };
            match seen {
                Seen::Inside => first(&mut places.chains, row.inside, seen),
                _ => {
                    first(&mut places.chains, row.chain, seen);
                    first(&mut places.chains, row.owner_chain, seen);
                    first(&mut places.locks, row.lock, seen);
                }
            }
        }
        places
    }
}

/// What a row is to a reader; `None` if no page shows it without being asked.
fn seen_in(row: &Row, names: &Names) -> Option<Seen> {
    let seen = match Kind::ALL.get(row.kind as usize)? {
        Kind::Monitor | Kind::Juc => return Some(Seen::Blocked),
        Kind::Inside => Seen::Inside,
        Kind::Park => Seen::Park,
        Kind::Wait => Seen::Wait,
        Kind::Cpu => Seen::Cpu,
        Kind::Wall => Seen::Wall,
        _ => return None,
    };
    let is_service = names.threads().get(row.thread as usize).is_some_and(|thread| thread.kind >= crate::names::JVM);
    (!is_service).then_some(seen)
}

fn first(places: &mut [Option<Seen>], id: u32, seen: Seen) {
    if let Some(place) = places.get_mut(id as usize).filter(|_| id > 0) {
        *place = Some(place.map_or(seen, |before| before.min(seen)));
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
    use super::*;
    use headway_model::event::ThreadDef;
    use headway_model::stack::{CallChain, ChainDef, Frame, FrameKind, Method};
    use headway_model::{ChainId, Event, MethodId, ThreadId};
    use std::sync::Arc;

    #[test]
    fn packages_are_left_out() {
        assert_eq!(short("com.acme.Inventory.sell"), "Inventory.sell");
        assert_eq!(short("Inventory.sell"), "Inventory.sell");
        assert_eq!(short("com.acme.aB.run"), "com.acme.aB.run");
        assert_eq!(short("futex"), "futex");
    }

    /// Names of one method each: chain 1 is of `com.acme.Shop.m1`, and so on; thread 2 is the JVM's own.
    fn names_of(methods: u32) -> Names {
        let mut names = Names::default();
        for id in 1..=methods {
            let method = Method { class: "com.acme.Shop".into(), name: format!("m{id}").into(), ..Method::default() };
            names.feed(&Event::Method(MethodId(id.into()), Arc::new(method)));
            let frame = Frame {
                method: MethodId(id.into()),
                bci: 0,
                line: 1,
                kind: FrameKind::Interpreted,
                approximate: false,
            };
            let chain = CallChain { frames: vec![frame], truncated: false };
            names.feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(id.into()), chain })));
            assert_eq!(names.chain(ChainId(id.into()), 0), id);
        }
        for (id, is_service) in [(1, false), (2, true)] {
            let thread = ThreadDef { id: ThreadId(id), is_service, ..ThreadDef::default() };
            names.feed(&Event::Thread(thread));
            names.thread(ThreadId(id));
        }
        names
    }

    #[test]
    fn a_method_leads_to_where_it_was_seen_and_nowhere_if_nothing_shows_it() {
        let names = names_of(6);
        let row = |kind: Kind, chain: u32| Row { kind: kind as u8, chain, thread: 1, ..Row::default() };
        let rows = [
            Row { owner_chain: 2, ..row(Kind::Monitor, 1) },
            Row { inside: 3, ..row(Kind::Inside, 1) },
            Row { inside: 2, ..row(Kind::Inside, 1) },
            row(Kind::Park, 4),
            row(Kind::Cpu, 3),
            row(Kind::Cpu, 5),
            Row { thread: 2, ..row(Kind::Park, 6) },
        ];
        let verdict = (1..=6).map(|id| format!("`Shop.m{id}`")).collect::<String>();
        let links = of(&Facts { verdict, ..Facts::default() }, &names, &rows);
        let seen: Vec<_> = links.iter().map(|link| (link.name.as_str(), link.seen, link.whole.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("Shop.m1", Seen::Blocked, "com.acme.Shop.m1"),
                ("Shop.m2", Seen::Blocked, "com.acme.Shop.m2"),
                ("Shop.m3", Seen::Inside, "com.acme.Shop.m3"),
                ("Shop.m4", Seen::Park, "com.acme.Shop.m4"),
                ("Shop.m5", Seen::Cpu, "com.acme.Shop.m5"),
            ]
        );
    }
}
