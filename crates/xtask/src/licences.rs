//! `./hw licences`: may we depend on what we depend on?
//!
//! Reads `deny.toml` (the file that cargo-deny reads, so that either can check)
//! and cargo's own resolution of `Cargo.lock`, which must be up to date; and for
//! the page, the lock file of npm.

use crate::process::{cargo, output_of, root};
use crate::{takes_nothing, Problem};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

mod npm;

/// The part of `deny.toml` that is checked here.
#[derive(Debug, Deserialize)]
struct Policy {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Debug, Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Cargo's answer.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_members: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    /// None for an ordinary dependency, else `dev` or `build`.
    kind: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    #[serde(default)]
    targets: Vec<Target>,
}

#[derive(Clone, Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// See the file's head.
pub fn licences(rest: &[String]) -> Result<(), Problem> {
    takes_nothing(rest)?;
    let mut complaints = BTreeSet::new();
    let (policy, count) = check("", &mut complaints)?;
    let (_, of_fleet) = check("fleet", &mut complaints)?;
    let lock = fs::read_to_string(root().join("web/package-lock.json"))?;
    let (of_page, wrong) = npm::check(&lock, &policy.licenses.allow)?;
    complaints.extend(wrong);
    if complaints.is_empty() {
        println!(
            "{count} packages of others, {of_fleet} of the fleet and {of_page} of the page, all of them allowed by \
             deny.toml"
        );
        return Ok(());
    }
    Err(complaints.into_iter().collect::<Vec<_>>().join("\n").into())
}

/// Checks a workspace by its own policy. Gives that, and the number of packages.
fn check(workspace: &str, complaints: &mut BTreeSet<String>) -> Result<(Policy, usize), Problem> {
    let folder = root().join(workspace);
    let policy: Policy = toml::from_str(&fs::read_to_string(folder.join("deny.toml"))?)?;
    let mut count = 0;
    for target in &policy.graph.targets {
        let mut metadata = cargo();
        metadata.current_dir(&folder);
        metadata.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
        let metadata: Metadata = serde_json::from_str(&output_of(&mut metadata)?)?;
        let (used, linked) = metadata.used_and_linked();
        count = count.max(used.len());
        complaints.extend(policy.complaints(&used, &linked));
    }
    Ok((policy, count))
}

impl Metadata {
    /// Packages of others: all of them, and those that end up in what is
    /// shipped (not those that only tests, build scripts and macros use).
    fn used_and_linked(self) -> (Vec<Package>, Vec<Package>) {
        let linked = self.reached_by_linking();
        let used: BTreeSet<&str> = self.resolve.nodes.iter().map(|node| node.id.as_str()).collect();
        let foreign: Vec<Package> =
            self.packages.iter().filter(|p| p.source.is_some() && used.contains(p.id.as_str())).cloned().collect();
        let shipped = foreign.iter().filter(|package| linked.contains(&package.id)).cloned().collect();
        (foreign, shipped)
    }

    fn reached_by_linking(&self) -> BTreeSet<String> {
        let is_macro = |id: &str| {
            let package = self.packages.iter().find(|package| package.id == id);
            package.is_some_and(|p| p.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro")))
        };
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.workspace_members.iter().map(String::as_str).collect();
        while let Some(id) = open.pop() {
            if !reached.insert(id.to_owned()) {
                continue;
            }
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            let edges = node.into_iter().flat_map(|node| &node.deps);
            let ordinary = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            open.extend(ordinary.map(|edge| edge.pkg.as_str()).filter(|id| !is_macro(id)));
        }
        reached
    }
}

impl Policy {
    fn complaints(&self, used: &[Package], linked: &[Package]) -> Vec<String> {
        let mut complaints: Vec<String> =
            used.iter().flat_map(|package| [self.licence(package), self.source(package)]).flatten().collect();
        complaints.extend(self.copies(linked));
        complaints.extend(self.stale_exceptions(used));
        complaints
    }

    fn licence(&self, package: &Package) -> Option<String> {
        let Some(offer) = &package.license else {
            return Some(format!("{package} names no licence"));
        };
        let allowed = satisfies(offer, &|licence| self.licenses.allow.iter().any(|allowed| allowed == licence));
        (!allowed).then(|| format!("{package} is licensed as {offer}, which deny.toml does not allow"))
    }

    fn source(&self, package: &Package) -> Option<String> {
        let source = package.source.as_deref()?.trim_start_matches("registry+");
        let known = self.sources.allow_registry.iter().any(|registry| registry == source);
        (!known).then(|| format!("{package} comes from {source}, which deny.toml does not allow"))
    }

    fn copies(&self, packages: &[Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().push(&package.version);
        }
        let excepted = |name: &str| self.bans.skip.iter().any(|skip| skip.name == name);
        let several = versions.into_iter().filter(|(name, versions)| versions.len() > 1 && !excepted(name));
        several
            .map(|(name, versions)| format!("{name} is there {} times: {}", versions.len(), versions.join(", ")))
            .collect()
    }

    /// Exceptions that nothing needs any more, or that give no reason.
    fn stale_exceptions(&self, packages: &[Package]) -> Vec<String> {
        let count = |name: &str| packages.iter().filter(|package| package.name == name).count();
        let stale = self.bans.skip.iter().filter(|skip| count(&skip.name) < 2 || skip.reason.is_empty());
        stale.map(|skip| format!("deny.toml excepts {}, for no reason (any more)", skip.name)).collect()
    }
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// True if a licence expression (SPDX: OR, AND, brackets; `/` is an old way to
/// write OR) can be satisfied with allowed licences.
fn satisfies(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = alternatives(&words, allowed);
    value && rest.is_empty()
}

/// `a OR b OR ...`; gives the words behind it, too.
fn alternatives<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    let (mut value, mut rest) = demands(words, allowed);
    while let ["OR", behind @ ..] = rest {
        let (next, behind) = demands(behind, allowed);
        value |= next;
        rest = behind;
    }
    (value, rest)
}

/// `a AND b AND ...`.
fn demands<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    let (mut value, mut rest) = one(words, allowed);
    while let ["AND", behind @ ..] = rest {
        let (next, behind) = one(behind, allowed);
        value &= next;
        rest = behind;
    }
    (value, rest)
}

/// A licence, one with an exception, or an expression in brackets.
fn one<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inside @ ..] => match alternatives(inside, allowed) {
            (value, [")", rest @ ..]) => (value, rest),
            (_, rest) => (false, rest),
        },
        [licence, "WITH", exception, rest @ ..] => (allowed(&format!("{licence} WITH {exception}")), rest),
        [licence, rest @ ..] => (allowed(licence), rest),
        [] => (false, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_understood() {
        let allowed = |licence: &str| ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].contains(&licence);
        let satisfied = |expression| satisfies(expression, &allowed);
        assert!(satisfied("MIT"));
        assert!(satisfied("GPL-3.0 OR MIT"));
        assert!(satisfied("GPL-3.0/MIT"));
        assert!(satisfied("Apache-2.0 WITH LLVM-exception"));
        assert!(satisfied("(GPL-3.0 OR MIT) AND Apache-2.0"));
        assert!(!satisfied("GPL-3.0"));
        assert!(!satisfied("MIT AND GPL-3.0"));
        assert!(!satisfied("(MIT OR Apache-2.0) AND OpenSSL"));
        assert!(!satisfied("MIT WITH something"));
        assert!(!satisfied(""));
        assert!(!satisfied("(MIT"));
    }

    fn package(name: &str, version: &str, license: Option<&str>) -> Package {
        let source = Some("registry+https://here".to_owned());
        let license = license.map(str::to_owned);
        Package {
            id: format!("{name} {version}"),
            name: name.into(),
            version: version.into(),
            license,
            source,
            targets: Vec::new(),
        }
    }

    #[test]
    fn each_rule_can_be_broken() {
        let policy: Policy = toml::from_str(
            "graph = { targets = [] }\nlicenses = { allow = [\"MIT\"] }\n\
             bans = { skip = [{ crate = \"old\", reason = \"r\" }] }\nsources = { allow-registry = [\"https://here\"] }",
        )
        .unwrap();
        let said = |packages: &[Package]| policy.complaints(packages, packages).join("\n");
        let twice = [package("old", "1.0", Some("MIT")), package("old", "2.0", Some("MIT"))];
        assert_eq!(said(&twice), "");
        assert_eq!(said(&twice[..1]), "deny.toml excepts old, for no reason (any more)");
        let with = |extra: Package| said(&[twice.as_slice(), &[extra]].concat());
        assert_eq!(with(package("a", "1.0", None)), "a 1.0 names no licence");
        assert_eq!(with(package("a", "1.0", Some("GPL"))), "a 1.0 is licensed as GPL, which deny.toml does not allow");
        let foreign = Package { source: Some("git+https://x".into()), ..package("a", "1.0", Some("MIT")) };
        assert_eq!(with(foreign), "a 1.0 comes from git+https://x, which deny.toml does not allow");
    }

    #[test]
    fn copies_are_found() {
        let policy: Policy = toml::from_str(
            "graph = { targets = [] }\nlicenses = { allow = [\"MIT\"] }\nbans = { skip = [] }\n\
             sources = { allow-registry = [\"https://here\"] }",
        )
        .unwrap();
        let packages = [package("a", "1.0", Some("MIT")), package("a", "2.0", Some("MIT"))];
        assert_eq!(policy.complaints(&packages, &packages), ["a is there 2 times: 1.0, 2.0"]);
        assert_eq!(policy.complaints(&packages, &packages[..1]), [""; 0], "only one of them is shipped");
    }

    #[test]
    fn what_tests_and_macros_use_is_not_shipped() {
        let metadata: Metadata = serde_json::from_str(
            r#"{"workspace_members":["us"],"packages":[
                {"id":"us","name":"us","version":"1","license":null,"source":null},
                {"id":"lib","name":"lib","version":"1","license":"MIT","source":"s"},
                {"id":"derive","name":"derive","version":"1","license":"MIT","source":"s","targets":[{"kind":["proc-macro"]}]},
                {"id":"syn","name":"syn","version":"1","license":"MIT","source":"s"},
                {"id":"fuzz","name":"fuzz","version":"1","license":"MIT","source":"s"}],
              "resolve":{"nodes":[
                {"id":"us","deps":[{"pkg":"lib","dep_kinds":[{"kind":null},{"kind":"dev"}]},
                                   {"pkg":"derive","dep_kinds":[{"kind":null}]},
                                   {"pkg":"fuzz","dep_kinds":[{"kind":"dev"}]}]},
                {"id":"derive","deps":[{"pkg":"syn","dep_kinds":[{"kind":null}]}]},
                {"id":"lib","deps":[]},{"id":"syn","deps":[]},{"id":"fuzz","deps":[]}]}}"#,
        )
        .unwrap();
        let (used, linked) = metadata.used_and_linked();
        let names = |packages: &[Package]| packages.iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&used), "lib derive syn fuzz");
        assert_eq!(names(&linked), "lib");
    }
}
