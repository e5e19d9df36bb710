//! The JVMs that run on this machine: what `/proc` and the JVMs' own
//! performance counters say about them without disturbing them.

pub mod control_groups;
pub mod find;
pub mod main_class;
pub mod memory_room;
pub mod perfdata;
pub mod process;
pub mod target_file;
pub mod thread_room;
pub mod users;

use crate::agent::library;
use crate::error::Failure;
use perfdata::PerfData;
use process::{Mapping, Process};
use std::path::{Path, PathBuf};

/// The oldest Java version that Headway supports.
pub const OLDEST_JAVA: u32 = 17;

/// A `release` file has 1 to 2 KB.
const LARGEST_RELEASE_BYTES: u64 = 64 << 10;

/// A running JVM.
#[derive(Debug)]
pub struct Jvm {
    /// The process it runs in.
    pub process: Process,
    /// Which virtual machine it is.
    pub vm: Vm,
    /// `17.0.15`, empty if unknown.
    pub java_version: String,
    /// Main class, jar or module with its arguments cut off; empty if unknown.
    pub main: String,
    /// Path under which the agent was loaded, if it was.
    pub agent_path: Option<PathBuf>,
    /// True if the JVM says that it was started with
    /// `-XX:+DisableAttachMechanism`.
    pub attach_disabled: bool,
    /// False where the process may not be inspected: then only its command
    /// line is known.
    pub inspected: bool,
}

/// The kind of virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vm {
    /// OpenJDK's.
    HotSpot,
    /// Eclipse's.
    OpenJ9,
}

/// What looking at a process found.
#[derive(Debug)]
pub enum Seen {
    /// It is a JVM.
    Jvm(Box<Jvm>),
    /// It is something else.
    NotAJvm(Process),
    /// It may not be looked into.
    Closed(Process),
}

/// Looks at a process.
///
/// # Errors
/// [`Failure::NoSuchProcess`], also for processes that ended and only wait to
/// be collected.
pub fn look_at(pid: u32) -> Result<Seen, Failure> {
    let process = Process::read(pid).ok_or(Failure::NoSuchProcess { pid })?;
    if process.has_ended() {
        return Err(Failure::NoSuchProcess { pid });
    }
    Ok(match process.mappings() {
        Ok(mappings) => inspect(process, &mappings),
        Err(_) => Seen::Closed(process),
    })
}

/// Every JVM that runs, those that may not be inspected included where their
/// command line gives them away.
pub fn running() -> Vec<Jvm> {
    let mut jvms: Vec<Jvm> = process::all_pids()
        .into_iter()
        .filter_map(|pid| match look_at(pid).ok()? {
            Seen::Jvm(jvm) => Some(*jvm),
            Seen::Closed(process) => closed_jvm(process),
            Seen::NotAJvm(_) => None,
        })
        .collect();
    jvms.sort_by_key(|jvm| jvm.process.pid);
    jvms
}

/// The path by which the agent is loaded in a process, as the process sees it.
pub fn agent_path(pid: u32) -> Option<PathBuf> {
    let process = Process::read(pid)?;
    loaded_agent(&process, &process.mappings().ok()?)
}

fn loaded_agent(process: &Process, mappings: &[Mapping]) -> Option<PathBuf> {
    mappings.iter().find_map(|m| library::loaded_path(&m.path)).map(|path| process.strip_root(&path))
}

fn inspect(process: Process, mappings: &[Mapping]) -> Seen {
    let find = |name: &str| mappings.iter().find(|m| m.file_name() == name);
    let openj9 = mappings.iter().any(|m| m.file_name().starts_with("libj9vm"));
    let Some(libjvm) = find("libjvm.so") else {
        return Seen::NotAJvm(process);
    };
    let counters = mappings
        .iter()
        .find(|m| m.path.contains("/hsperfdata_"))
        .and_then(|m| PerfData::read(&process, &process.strip_root(Path::new(&m.path))))
        .unwrap_or_default();
    let arguments = process.arguments();
    let main = counters
        .text("sun.rt.javaCommand")
        .map(main_class::of_java_command)
        .filter(|main| !main.is_empty())
        .unwrap_or_else(|| main_class::of_arguments(&arguments));
    let java_version = counters
        .text("java.property.java.version")
        .map(str::to_owned)
        .or_else(|| version_in_release_file(&process, &process.strip_root(Path::new(&libjvm.path))))
        .unwrap_or_default();
    let attach_disabled = counters
        .text("sun.rt.jvmCapabilities")
        .map_or_else(|| disables_attach(&arguments), |bits| bits.starts_with('0'));
    let agent_path = loaded_agent(&process, mappings);
    Seen::Jvm(Box::new(Jvm {
        vm: if openj9 { Vm::OpenJ9 } else { Vm::HotSpot },
        java_version,
        main,
        agent_path,
        attach_disabled,
        inspected: true,
        process,
    }))
}

/// A process of another user whose command line starts with `java`.
fn closed_jvm(process: Process) -> Option<Jvm> {
    let arguments = process.arguments();
    let program = Path::new(arguments.first()?).file_name()?.to_str()?.to_owned();
    (program == "java").then(|| Jvm {
        vm: Vm::HotSpot,
        java_version: String::new(),
        main: main_class::of_arguments(&arguments),
        agent_path: None,
        attach_disabled: disables_attach(&arguments),
        inspected: false,
        process,
    })
}

fn disables_attach(arguments: &[String]) -> bool {
    arguments
        .iter()
        .rev()
        .find_map(|argument| match argument.as_str() {
            "-XX:+DisableAttachMechanism" => Some(true),
            "-XX:-DisableAttachMechanism" => Some(false),
            _ => None,
        })
        .unwrap_or(false)
}

/// `JAVA_VERSION` of the JDK's `release` file, which stands some directories
/// above `lib/server/libjvm.so`.
fn version_in_release_file(process: &Process, libjvm: &Path) -> Option<String> {
    libjvm.ancestors().skip(1).take(4).find_map(|directory| {
        let bytes = target_file::read(process, &directory.join("release"), LARGEST_RELEASE_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        Some(line.trim_matches('"').to_owned())
    })
}

impl Jvm {
    /// The feature release: 17 for `17.0.15`, 8 for `1.8.0_402`.
    pub fn java_feature(&self) -> Option<u32> {
        feature_release(&self.java_version)
    }

    /// Main class or jar without its package or directory.
    pub fn short_name(&self) -> &str {
        main_class::short(&self.main)
    }

    /// Says why Headway cannot attach to this JVM, as far as that can be seen
    /// from outside.
    ///
    /// # Errors
    /// The reason.
    pub fn check_attachable(&self) -> Result<(), Failure> {
        self.check_supported()?;
        let pid = self.process.pid;
        if !self.inspected || !users::may_act_for(self.process.euid) {
            return Err(self.process.not_inspectable());
        }
        if self.attach_disabled {
            return Err(Failure::AttachDisabled { pid });
        }
        if let Some(state) = self.process.stopped_state() {
            return Err(Failure::Stopped { pid, state, tracer: self.process.tracer });
        }
        Ok(())
    }

    /// Says why this virtual machine is not one that Headway works on.
    fn check_supported(&self) -> Result<(), Failure> {
        let pid = self.process.pid;
        if self.vm != Vm::HotSpot {
            return Err(Failure::NotHotSpot { pid });
        }
        match self.java_feature() {
            Some(feature) if feature < OLDEST_JAVA => Err(Failure::TooOld { pid, version: self.java_version.clone() }),
            _ => Ok(()),
        }
    }
}

/// The feature release of a Java version.
fn feature_release(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_releases_of_old_and_new_versions() {
        assert_eq!(feature_release("17.0.15"), Some(17));
        assert_eq!(feature_release("25-ea"), Some(25));
        assert_eq!(feature_release("1.8.0_402"), Some(8));
        assert_eq!(feature_release(""), None);
    }

    #[test]
    fn the_last_attach_flag_wins() {
        let given = |words: &[&str]| disables_attach(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert!(!given(&["java", "Main"]));
        assert!(given(&["java", "-XX:+DisableAttachMechanism", "Main"]));
        assert!(!given(&["java", "-XX:+DisableAttachMechanism", "-XX:-DisableAttachMechanism"]));
    }
}
