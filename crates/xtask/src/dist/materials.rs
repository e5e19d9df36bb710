//! What the binaries are made of: the packages that are linked into them, as a bill of materials
//! in CycloneDX 1.5 and with the texts of their licences.
//!
//! Cargo says which packages each binary links (`cargo tree`, without those that only build), the
//! lock file of npm which ones the page holds.

use super::tools::{self, Tools, STATIC};
use super::Release;
use crate::process::{cargo, output_of, program, root};
use crate::Problem;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of somebody else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// `cargo` or `npm`, as package URLs call it.
    pub kind: &'static str,
    pub name: String,
    pub version: String,
    pub licence: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// SHA-256 of what was downloaded, where the lock file has it.
    pub sum: Option<String>,
}

impl Package {
    fn url(&self) -> String {
        format!("pkg:{}/{}@{}", self.kind, self.name.replace('@', "%40"), self.version)
    }
}

/// See the file's head.
pub struct Materials {
    /// What they are the materials of.
    subject: &'static str,
    release_version: String,
    commit: String,
    pub packages: BTreeSet<Package>,
}

/// Programs that one lock file decides on, and what they are built for.
struct Workspace {
    /// Its folder below the root.
    folder: &'static str,
    binaries: &'static [(&'static str, &'static str)],
}

/// The agent and the command line.
const HEADWAY: Workspace =
    Workspace { folder: "", binaries: &[("headway-agent", "x86_64-unknown-linux-gnu"), ("headway-cli", STATIC)] };

const FLEET: Workspace = Workspace { folder: "fleet", binaries: &[("headway-fleet", "x86_64-unknown-linux-gnu")] };

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct CargoLock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct NpmLock {
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize)]
struct NpmPackage {
    version: Option<String>,
    license: Option<String>,
    #[serde(default)]
    dev: bool,
}

impl Materials {
    /// Asks cargo and npm's lock file.
    pub fn read(release: &Release, tools: &Tools) -> Result<Materials, Problem> {
        let mut packages = HEADWAY.crates()?;
        packages.extend(standard_library(tools)?);
        packages.extend(of_linker(tools));
        packages.extend(of_page()?);
        Ok(Materials::of("headway", release, packages))
    }

    /// The same of `headway-fleet`.
    pub fn of_fleet(release: &Release, tools: &Tools) -> Result<Materials, Problem> {
        let mut packages = FLEET.crates()?;
        packages.extend(standard_library(tools)?);
        packages.extend(of_linker(tools).into_iter().filter(|package| package.name == "libunwind"));
        packages.extend(of_page()?);
        Ok(Materials::of("headway-fleet", release, packages))
    }

    fn of(subject: &'static str, release: &Release, packages: BTreeSet<Package>) -> Materials {
        Materials { subject, release_version: release.version.clone(), commit: release.commit.clone(), packages }
    }

    /// The bill of materials. It has no time and no serial number: the same commit gives the same text.
    pub fn bill(&self) -> Result<String, Problem> {
        let components: Vec<Value> = self.packages.iter().map(component).collect();
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": self.subject,
                    "name": self.subject,
                    "version": self.release_version,
                    "licenses": [{ "license": { "id": "Apache-2.0" } }],
                    "properties": [{ "name": "headway:commit", "value": self.commit }],
                },
            },
            "components": components,
            "dependencies": [{
                "ref": self.subject,
                "dependsOn": self.packages.iter().map(Package::url).collect::<Vec<_>>(),
            }],
        });
        Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
    }
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": package.url(),
        "name": package.name,
        "version": package.version,
        "purl": package.url(),
        "licenses": [{ "expression": package.licence.replace('/', " OR ") }],
    });
    if let Some(sum) = &package.sum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

impl Workspace {
    /// A command of cargo about it.
    fn cargo(&self) -> Command {
        let mut cargo = cargo();
        cargo.current_dir(root().join(self.folder));
        cargo
    }

    /// What its binaries link, by other authors.
    fn crates(&self) -> Result<BTreeSet<Package>, Problem> {
        let metadata = output_of(self.cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
        let metadata: Metadata = serde_json::from_str(&metadata)?;
        let lock: CargoLock = toml::from_str(&fs::read_to_string(root().join(self.folder).join("Cargo.lock"))?)?;
        let mut linked = BTreeSet::new();
        for (name, target) in self.binaries {
            linked.extend(self.linked_into(name, target)?);
        }
        let foreign = metadata.packages.into_iter().filter(|package| package.source.is_some());
        let used = foreign.filter(|package| linked.contains(&(package.name.clone(), package.version.clone())));
        let packages: BTreeSet<Package> = used
            .map(|package| Package {
                kind: "cargo",
                sum: lock.sum_of(&package.name, &package.version),
                licence: package.license.unwrap_or_default(),
                folder: package.manifest_path.parent().map(Path::to_path_buf).unwrap_or_default(),
                name: package.name,
                version: package.version,
            })
            .collect();
        Ok(packages)
    }

    /// Names and versions of what a crate links: not what only builds it, nor macros.
    fn linked_into(&self, name: &str, target: &str) -> Result<BTreeSet<(String, String)>, Problem> {
        let mut tree = self.cargo();
        tree.args(["tree", "--locked", "-p", name, "--target", target, "--edges", "normal,no-proc-macro"]);
        tree.args(["--prefix", "none", "--format", "{p}"]);
        Ok(packages_of_tree(&output_of(&mut tree)?))
    }
}

impl CargoLock {
    fn sum_of(&self, name: &str, version: &str) -> Option<String> {
        self.package.iter().find(|package| package.name == name && package.version == version)?.checksum.clone()
    }
}

/// Lines are `name v1.2.3`, and some words behind.
fn packages_of_tree(text: &str) -> BTreeSet<(String, String)> {
    let packages = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    });
    packages.collect()
}

/// Every Rust program holds it and what it is made of, and cargo does not name them. Their
/// licences are in a file apart.
fn standard_library(tools: &Tools) -> Result<BTreeSet<Package>, Problem> {
    let version = output_of(program("rustc").arg("--version"))?;
    let version = version.split_whitespace().nth(1).unwrap_or_default();
    let mut packages: BTreeSet<Package> =
        [of_toolchain("rust-std", version, "MIT OR Apache-2.0", PathBuf::new())].into();
    let mut tree = cargo();
    // Its manifests use what only the compiler's own build may.
    tree.env("RUSTC_BOOTSTRAP", "1").args([
        "tree",
        "--locked",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--manifest-path",
    ]);
    tree.arg(tools.sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml"));
    tree.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}|{l}"]);
    for line in output_of(&mut tree)?.lines() {
        let Some((package, licence)) = line.trim_end_matches(" (*)").split_once('|') else { continue };
        // Its own parts have a path behind the version.
        let Some((name, version)) = package.split_once(" v").filter(|(_, rest)| !rest.contains(' ')) else { continue };
        packages.insert(Package { kind: "cargo", ..of_toolchain(name, version, licence, PathBuf::new()) });
    }
    Ok(packages)
}

/// The C library of the command line, and the unwinder of both.
fn of_linker(tools: &Tools) -> Vec<Package> {
    let library = tools.zig_library();
    vec![
        of_toolchain("musl", tools::MUSL, "MIT", library.join("libc/musl")),
        of_toolchain("libunwind", tools::LIBUNWIND, "Apache-2.0 WITH LLVM-exception", library.join("libunwind")),
    ]
}

fn of_toolchain(name: &str, version: &str, licence: &str, folder: PathBuf) -> Package {
    let (name, version, licence) = (name.to_owned(), version.to_owned(), licence.to_owned());
    Package { kind: "generic", name, version, licence, folder, sum: None }
}

fn of_page() -> Result<BTreeSet<Package>, Problem> {
    let lock: NpmLock = serde_json::from_str(&fs::read_to_string(root().join("web/package-lock.json"))?)?;
    let held = lock.packages.into_iter().filter(|(path, package)| !path.is_empty() && !package.dev);
    Ok(held
        .map(|(path, package)| Package {
            kind: "npm",
            name: path.rsplit("node_modules/").next().unwrap_or(&path).to_owned(),
            version: package.version.unwrap_or_default(),
            licence: package.license.unwrap_or_default(),
            folder: root().join("web").join(&path),
            sum: None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read() {
        let text = "headway-agent v0.1.0 (/somewhere/crates/agent)\nlibc v0.2.1\nserde v1.0.2 (*)\n\n";
        let names: Vec<String> =
            packages_of_tree(text).into_iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(names, ["headway-agent 0.1.0", "libc 0.2.1", "serde 1.0.2"]);
    }

    #[test]
    fn a_package_has_an_address_that_cyclonedx_understands() {
        let package = |kind, name: &str| Package {
            kind,
            name: name.into(),
            version: "1.2.3".into(),
            licence: "MIT/Apache-2.0".into(),
            folder: PathBuf::new(),
            sum: None,
        };
        assert_eq!(package("npm", "@scope/name").url(), "pkg:npm/%40scope/name@1.2.3");
        assert_eq!(component(&package("cargo", "a"))["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
