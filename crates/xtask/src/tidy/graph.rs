//! Which crate may use which: the table "Crates" of ARCHITECTURE.md against
//! what the manifests say. Layers that only a document promises do not last.

use super::{Complaint, File};
use crate::process::{cargo, output_of};
use crate::Problem;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const MAP: &str = "ARCHITECTURE.md";

/// Per crate, the crates of ours that it uses or may use.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<String>,
}

pub fn complaints(files: &[File]) -> Result<Vec<Complaint>, Problem> {
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| file.text.as_str());
    let metadata = output_of(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    Ok(compare(&drawn(map), &actual(serde_json::from_str(&metadata)?)))
}

/// What tests use is not counted: they may look at anything.
fn actual(metadata: Metadata) -> Graph {
    let ours = |dependency: &Dependency| dependency.path.is_some() && dependency.kind.as_deref() != Some("dev");
    let used = |package: &Package| {
        package.dependencies.iter().filter(|dependency| ours(dependency)).map(|d| short(&d.name)).collect()
    };
    metadata.packages.iter().map(|package| (short(&package.name), used(package))).collect()
}

fn short(name: &str) -> String {
    name.trim_start_matches("headway-").to_owned()
}

/// Rows of the table: first column the crate, last column what it may use.
fn drawn(map: &str) -> Graph {
    let section = map.split("\n## ").find(|section| section.starts_with("Crates")).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        Some((names(cells.first()?).pop_first()?, names(cells.last()?)))
    })
    .collect()
}

fn compare(drawn: &Graph, actual: &Graph) -> Vec<Complaint> {
    let complaint = |text: String| Complaint { path: MAP.to_owned(), line: 0, text };
    let mut complaints = Vec::new();
    for name in drawn.keys().filter(|name| !actual.contains_key(*name)) {
        complaints.push(complaint(format!("draws the crate {name}, which does not exist")));
    }
    for (name, uses) in actual {
        match drawn.get(name) {
            None => {
                complaints.push(complaint(format!("does not draw the crate {name}: who may use it, what may it use?")))
            }
            Some(allowed) => complaints.extend(uses.difference(allowed).map(|used| {
                complaint(format!("does not let {name} use {used}; its manifest does: wrong layer, or wrong map?"))
            })),
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    const DRAWING: &str = "# A\n\n## Crates\n\n| crate | what | may use |\n|---|---|---|\n\
        | `model` | words | nothing |\n| `agent` | library | `model`, `signal` |\n| `signal` | buffers | nothing |\n\n## Next\n| `x` | `y` |\n";

    fn uses(edges: &[(&str, &[&str])]) -> Graph {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        edges.iter().map(|(name, used)| ((*name).to_owned(), set(used))).collect()
    }

    #[test]
    fn the_map_is_read() {
        assert_eq!(drawn(DRAWING), uses(&[("agent", &["model", "signal"]), ("model", &[]), ("signal", &[])]));
    }

    #[test]
    fn a_crate_may_use_less_than_the_map_allows_but_not_more() {
        let compared = |graph: &Graph| said(compare(&drawn(DRAWING), graph));
        assert_eq!(compared(&uses(&[("agent", &["model"]), ("model", &[]), ("signal", &[])])), "");
        let wrong = compared(&uses(&[("agent", &[]), ("model", &["agent"]), ("signal", &[])]));
        assert!(wrong.contains("does not let model use agent"), "{wrong}");
    }

    #[test]
    fn crates_that_are_missing_on_either_side_are_named() {
        let compared = said(compare(&drawn(DRAWING), &uses(&[("agent", &[]), ("model", &[]), ("cli", &[])])));
        assert!(compared.contains("the crate signal, which does not exist"), "{compared}");
        assert!(compared.contains("does not draw the crate cli"), "{compared}");
    }

    #[test]
    fn what_tests_use_is_not_counted() {
        let metadata = r#"{"packages":[{"name":"headway-cli","dependencies":[
            {"name":"headway-model","kind":null,"path":"/x"},
            {"name":"headway-jfr","kind":"dev","path":"/x"},
            {"name":"serde","kind":null,"path":null}]}]}"#;
        assert_eq!(actual(serde_json::from_str(metadata).unwrap()), uses(&[("cli", &["model"])]));
    }
}
