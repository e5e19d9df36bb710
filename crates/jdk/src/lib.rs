//! The JDKs on this machine that Headway is tested with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The feature releases that Headway supports.
pub const RELEASES: [u32; 3] = [17, 21, 25];

/// Where systems put JDKs.
const JVM_DIRECTORY: &str = "/usr/lib/jvm";

/// A JDK (or a runtime without compiler).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// Feature release, `17`.
    pub release: u32,
    /// Its directory, the one that has `bin/java`.
    pub home: PathBuf,
}

impl Jdk {
    /// The JDK of this release: where `HEADWAY_JDK<release>` says, else what
    /// `JAVA_HOME`, `java` on the path or the system's directory of JDKs
    /// offer. `None` if there is none.
    pub fn find(release: u32) -> Option<Jdk> {
        if let Some(home) = env::var_os(variable(release)).filter(|v| !v.is_empty()) {
            return Some(Jdk { release, home: home.into() });
        }
        candidates().into_iter().find(|home| release_of(home) == Some(release)).map(|home| Jdk { release, home })
    }

    /// The supported JDKs that are here. Those that are not are named on
    /// standard error.
    ///
    /// # Panics
    /// If one is missing and `CI` is `true`, so that no release goes untested
    /// in silence.
    pub fn all() -> Vec<Jdk> {
        RELEASES.into_iter().filter_map(Jdk::wanted).collect()
    }

    /// The JDK of this release; one that is not here is named on standard error.
    ///
    /// # Panics
    /// As [`Jdk::all`].
    pub fn wanted(release: u32) -> Option<Jdk> {
        let found = Jdk::find(release);
        if found.is_none() {
            missing(release);
        }
        found
    }

    /// Two of the three, for one of many tests that differ in an option only; the next one leaves out
    /// another release. All where one is missing, or `HEADWAY_EVERY_JDK` is set, as `./hw soak --accuracy` does.
    ///
    /// # Panics
    /// As [`Jdk::all`].
    pub fn all_but(release: u32) -> Vec<Jdk> {
        let mut jdks = Jdk::all();
        let is_whole = env::var_os("HEADWAY_EVERY_JDK").is_some();
        if !is_whole && jdks.len() == RELEASES.len() {
            jdks.retain(|jdk| jdk.release != release);
        }
        jdks
    }

    /// A program of the JDK, `java`, `jfr`, `jcmd`.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// The VM's library.
    pub fn libjvm(&self) -> PathBuf {
        self.home.join("lib/server/libjvm.so")
    }

    /// What `jfr ARGUMENTS FILE` prints.
    ///
    /// # Panics
    /// If it fails.
    pub fn jfr(&self, arguments: &[&str], file: &Path) -> String {
        let jfr = self.tool("jfr");
        let output = Command::new(&jfr).args(arguments).arg(file).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", jfr.display()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complained) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "jfr {arguments:?} of JDK {}: {said}{complained}", self.release);
        said
    }
}

fn missing(release: u32) {
    let sentence = format!("no JDK {release} found; set {} to its directory", variable(release));
    assert!(env::var("CI").as_deref() != Ok("true"), "{sentence}");
    eprintln!("SKIPPED: {sentence}");
}

fn variable(release: u32) -> String {
    format!("HEADWAY_JDK{release}")
}

fn candidates() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    homes.extend(java_on_path());
    if let Ok(entries) = fs::read_dir(JVM_DIRECTORY) {
        let mut here: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        here.sort();
        homes.extend(here);
    }
    homes
}

fn java_on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let java = env::split_paths(&path).map(|d| d.join("java")).find(|java| java.is_file())?;
    let real = java.canonicalize().ok()?;
    Some(real.parent()?.parent()?.to_owned())
}

/// Feature release of the JDK in a directory, from its `release` file.
fn release_of(home: &Path) -> Option<u32> {
    if !home.join("bin/java").is_file() {
        return None;
    }
    let text = fs::read_to_string(home.join("release")).ok()?;
    feature_release(&text)
}

fn feature_release(release_file: &str) -> Option<u32> {
    let line = release_file.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let version = line.trim_matches('"');
    version.split(['.', '+', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_file_tells_the_feature_release() {
        assert_eq!(feature_release("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.15\"\n"), Some(17));
        assert_eq!(feature_release("JAVA_VERSION=\"25\"\n"), Some(25));
        assert_eq!(feature_release("JAVA_VERSION=\"1.8.0_402\"\n"), Some(1));
        assert_eq!(feature_release("SOURCE=\"x\"\n"), None);
    }
}
