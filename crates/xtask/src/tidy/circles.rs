//! Circles of imports between the modules of the agent: where two modules reach
//! each other, neither can be read, tested or moved alone.
//!
//! A module is a file or folder directly under `src/`, with all below it. An
//! import counts if its module reaches the importing one again, by any way.
//! `circles_baseline.txt` names those that there were; there may be as many as
//! there, not more. `./hw tidy --renew` writes them again and refuses if there
//! are more, so the number only shrinks.

use super::{Complaint, File};
use crate::process::root;
use crate::Problem;
use std::collections::{BTreeMap, BTreeSet};

const SOURCES: &str = "crates/agent/src/";
const BASELINE: &str = "crates/xtask/src/tidy/circles_baseline.txt";
const HEAD: &str = "# Imports between modules of the agent that are part of a circle, by importing module.\n\
    # Written by `./hw tidy --renew`; there are never more of them.\n";

/// Per module, the modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Complains if there are more imports in circles than in the baseline.
///
/// # Errors
/// The baseline cannot be read.
pub fn complaints(files: &[File]) -> Result<Vec<Complaint>, Problem> {
    let baseline = read(&std::fs::read_to_string(root().join(BASELINE))?);
    Ok(beyond(&imports(files), &baseline))
}

/// Writes the imports in circles, if there are not more than before.
///
/// # Errors
/// There are more, or the baseline cannot be read or written.
pub fn renew(files: &[File]) -> Result<(), Problem> {
    let path = root().join(BASELINE);
    let before = count(&read(&std::fs::read_to_string(&path)?));
    let imports = imports(files);
    let circular = circular(&imports);
    if count(&circular) > before {
        return Err(format!("{}: `./hw tidy` names them", too_many(&circular, before)).into());
    }
    std::fs::write(path, written(&circular))?;
    println!("{} (before: {before})", summary(&imports, &circular));
    Ok(())
}

fn beyond(imports: &Imports, baseline: &Imports) -> Vec<Complaint> {
    let (circular, before) = (circular(imports), count(baseline));
    if count(&circular) <= before {
        return Vec::new();
    }
    let complaint = |text: String| Complaint { path: SOURCES.to_owned(), line: 0, text };
    let mut complaints = vec![complaint(too_many(&circular, before))];
    for (module, used) in &circular {
        let known = baseline.get(module);
        complaints.extend(used.iter().filter(|used| known.is_none_or(|known| !known.contains(*used))).map(|used| {
            let back = way(imports, used, module).join(" -> ");
            complaint(format!("{module} imports {used}, and back: {back}"))
        }));
    }
    complaints
}

fn too_many(circular: &Imports, before: usize) -> String {
    format!("{} imports are part of circles between modules, where there were {before}", count(circular))
}

fn summary(imports: &Imports, circular: &Imports) -> String {
    let (inside, all) = (circular.len(), imports.len());
    format!("{} imports of the agent are part of circles between {inside} of its {all} modules", count(circular))
}

fn count(imports: &Imports) -> usize {
    imports.values().map(BTreeSet::len).sum()
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

/// The imports whose module reaches the importing one again.
fn circular(imports: &Imports) -> Imports {
    let mut circular = Imports::new();
    for (module, used) in imports {
        let back = |used: &&String| !way(imports, used, module).is_empty();
        let used: BTreeSet<String> = used.iter().filter(back).cloned().collect();
        if !used.is_empty() {
            circular.insert(module.clone(), used);
        }
    }
    circular
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

fn written(circular: &Imports) -> String {
    let joined = |used: &BTreeSet<String>| used.iter().map(|used| format!(" {used}")).collect::<String>();
    let lines = circular.iter().map(|(module, used)| format!("{module}:{}\n", joined(used)));
    HEAD.to_owned() + &lines.collect::<String>()
}

fn read(baseline: &str) -> Imports {
    let lines = baseline.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
    lines.map(|(module, used)| (module.to_owned(), used.split_whitespace().map(str::to_owned).collect())).collect()
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
    fn imports_are_counted_by_module_without_tests_and_comments() {
        assert_eq!(written(&three("")), format!("{HEAD}a: b\nb: c\nc:\n"));
        assert_eq!(used("use crate::{a, b::{B, C}};\nlet x = crate::c_d::f(crate::e::g);"), {
            BTreeSet::from(["a", "b", "C", "c_d", "e"])
        });
    }

    #[test]
    fn only_what_reaches_back_is_part_of_a_circle() {
        assert_eq!(count(&circular(&three(""))), 0);
        assert_eq!(circular(&three("use crate::a;")), three("use crate::a;"));
        let beside = agent(&[("a.rs", "use crate::b;"), ("b.rs", "use crate::{a, c};"), ("c.rs", "")]);
        assert_eq!(written(&circular(&beside)), format!("{HEAD}a: b\nb: a\n"));
    }

    #[test]
    fn one_more_than_the_baseline_is_named_with_the_way_back() {
        let circle = three("use crate::a;");
        assert_eq!(said(beyond(&circle, &circle)), "");
        assert_eq!(
            said(beyond(&circle, &read("a: b\nb: c\n"))),
            format!(
                "{SOURCES}: 3 imports are part of circles between modules, where there were 2\n\
                 {SOURCES}: c imports a, and back: a -> b -> c\n"
            )
        );
    }

    #[test]
    fn a_baseline_comes_back_as_it_was_written() {
        let circle = three("use crate::a;");
        assert_eq!(read(&written(&circle)), circle);
    }
}
