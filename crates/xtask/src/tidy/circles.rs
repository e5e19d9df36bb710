//! Circles of imports between the modules of the agent: where two modules reach
//! each other, neither can be read, tested or moved alone. There are none.
//!
//! A module is a file or folder directly under `src/`, with all below it. An
//! import is part of a circle if its module reaches the importing one again, by
//! any way.

use super::{Complaint, File};
use std::collections::{BTreeMap, BTreeSet};

const SOURCES: &str = "crates/agent/src/";

/// Per module, the modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Complains about each import that is part of a circle.
pub fn complaints(files: &[File]) -> Vec<Complaint> {
    in_circles(&imports(files))
}

fn in_circles(imports: &Imports) -> Vec<Complaint> {
    let each = |(module, used): (&String, &BTreeSet<String>)| {
        let back = used.iter().map(|used| (used, way(imports, used, module))).filter(|(_, back)| !back.is_empty());
        let text =
            |(used, back): (&String, Vec<&str>)| format!("{module} imports {used}, and back: {}", back.join(" -> "));
        back.map(text).collect::<Vec<_>>()
    };
    let complaint = |text| Complaint { path: SOURCES.to_owned(), line: 0, text };
    imports.iter().flat_map(each).map(complaint).collect()
}

/// What modules import of each other, tests and comments aside.
fn imports(files: &[File]) -> Imports {
    let inside = |file: &&File| file.path.starts_with(SOURCES) && file.extension() == "rs";
    let modules: BTreeSet<&str> = files.iter().filter(inside).map(module).collect();
    let mut imports: Imports = modules.iter().map(|module| ((*module).to_owned(), BTreeSet::new())).collect();
    for file in files.iter().filter(inside).filter(|file| module(file) != "lib") {
        let used = used(&file.text).into_iter().filter(|used| modules.contains(used) && *used != module(file));
        imports.entry(module(file).to_owned()).or_default().extend(used.map(str::to_owned));
    }
    imports.remove("lib");
    imports
}

fn module(file: &File) -> &str {
    let below = file.path.trim_start_matches(SOURCES);
    below.split(['/', '.']).next().unwrap_or(below)
}

/// The names that follow `crate::` in what is compiled into the library.
fn used(text: &str) -> BTreeSet<&str> {
    let compiled = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let code = compiled.lines().map(|line| line.split("//").next().unwrap_or(line));
    let mut names = BTreeSet::new();
    for line in code {
        for after in line.split("crate::").skip(1) {
            match after.strip_prefix('{') {
                Some(list) => names.extend(list.split(',').map(first_name)),
                None => _ = names.insert(first_name(after)),
            }
        }
    }
    names
}

fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(path)
}

/// A shortest way along imports, both ends included; empty if there is none.
fn way<'a>(imports: &'a Imports, from: &'a str, to: &str) -> Vec<&'a str> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().copied().unwrap_or(from);
            if last == to {
                return way;
            }
            for next in imports.get(last).into_iter().flatten() {
                if seen.insert(next) {
                    longer.push([way.as_slice(), &[next.as_str()]].concat());
                }
            }
        }
        ways = longer;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    fn agent(files: &[(&str, &str)]) -> Imports {
        imports(&files.iter().map(|(path, text)| file(&format!("{SOURCES}{path}"), text)).collect::<Vec<_>>())
    }

    fn three(last: &str) -> Imports {
        agent(&[
            ("lib.rs", "use crate::a;"),
            ("a/mod.rs", "//! See [`crate::c`]\nuse crate::b::B;\n"),
            ("a/inner.rs", "use crate::a::x;\n"),
            ("b.rs", "fn f(c: crate::c::C) {}\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
            ("c.rs", last),
        ])
    }

    #[test]
    fn imports_are_those_of_modules_without_tests_and_comments() {
        let imports = three("");
        let used: Vec<String> = imports.values().map(|used| used.iter().cloned().collect()).collect();
        assert_eq!((imports.len(), used), (3, ["b".to_owned(), "c".to_owned(), String::new()].to_vec()));
        assert_eq!(super::used("use crate::{a, b::{B, C}};\nlet x = crate::c_d::f(crate::e::g);"), {
            BTreeSet::from(["a", "b", "C", "c_d", "e"])
        });
    }

    #[test]
    fn only_what_reaches_back_is_named_with_the_way_back() {
        assert_eq!(said(in_circles(&three(""))), "");
        let beside = agent(&[("a.rs", "use crate::b;"), ("b.rs", "use crate::{a, c};"), ("c.rs", "")]);
        assert_eq!(
            said(in_circles(&beside)),
            format!("{SOURCES}: a imports b, and back: b -> a\n{SOURCES}: b imports a, and back: a -> b\n")
        );
        assert!(said(in_circles(&three("use crate::a;"))).contains("c imports a, and back: a -> b -> c"));
    }
}
