//! How many more threads a process may create.
//!
//! The JVM's attach mechanism creates a thread, and HotSpot ends the program if it cannot.

use crate::error::Failure;
use crate::jvm::control_groups;
use crate::jvm::process::{all_pids, Process};
use std::fs;
use std::path::Path;

/// Room for the thread of the attach mechanism, for those of Headway, and for a few of the program.
const NEEDED: u64 = 16;
/// CAP_SYS_ADMIN and CAP_SYS_RESOURCE: who has one of them may exceed the limit of its user.
const BEYOND_LIMITS: u64 = 1 << 21 | 1 << 24;

/// Makes sure that the process can create the threads that attaching to it takes.
///
/// # Errors
/// It cannot.
pub fn check(process: &Process) -> Result<(), Failure> {
    let of_user = left_to_user(process).map(|left| (left, "the limit of its user (`ulimit -u`)"));
    let of_group = left_to_group(process).map(|left| (left, "its control group (pids.max)"));
    match of_user.into_iter().chain(of_group).min() {
        Some((left, limit)) if left < NEEDED => {
            Err(Failure::NoRoomForThreads { pid: process.pid, left, limit, needed: NEEDED })
        }
        _ => Ok(()),
    }
}

/// What RLIMIT_NPROC leaves: it is a limit for all threads of the user.
fn left_to_user(process: &Process) -> Option<u64> {
    if process.uid == 0 || process.capabilities & BEYOND_LIMITS != 0 {
        return None;
    }
    let limit = most_processes(&fs::read_to_string(process.directory().join("limits")).ok()?)?;
    let of_user = all_pids().into_iter().filter_map(Process::read).filter(|other| other.uid == process.uid);
    Some(limit.saturating_sub(of_user.map(|other| other.threads).sum()))
}

/// The soft limit; `None` if there is none.
fn most_processes(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max processes"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the process's control group and those around it leave.
fn left_to_group(process: &Process) -> Option<u64> {
    control_groups::of(process, "pids").iter().filter_map(|directory| left_in(directory)).min()
}

fn left_in(directory: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(number("pids.max")?.saturating_sub(number("pids.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_what_counts() {
        let limits = |soft: &str| {
            most_processes(&format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax stack size  8388608  unlimited  bytes\nMax processes  {soft}  200  processes\n"
            ))
        };
        assert_eq!(limits("100"), Some(100));
        assert_eq!(limits("unlimited"), None);
        assert_eq!(most_processes(""), None);
    }

    #[test]
    fn a_group_leaves_what_its_limit_is_above_its_threads() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(left_in(directory.path()), None);
        write("pids.current", "90\n");
        write("pids.max", "100\n");
        assert_eq!(left_in(directory.path()), Some(10));
        write("pids.max", "80\n");
        assert_eq!(left_in(directory.path()), Some(0));
        write("pids.max", "max\n");
        assert_eq!(left_in(directory.path()), None);
    }

    #[test]
    fn this_process_has_threads_and_a_user() {
        let own = Process::read(std::process::id()).unwrap();
        assert!(own.threads >= 1 && own.uid == rustix::process::getuid().as_raw());
        assert!(check(&own).is_ok());
    }
}
