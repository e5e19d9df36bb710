//! How much more memory a process's control group may use.
//!
//! The kernel kills a process of a group that needs more, without a word to it.

use crate::error::Failure;
use crate::jvm::control_groups;
use crate::jvm::process::Process;
use std::fs;
use std::path::Path;

/// What a recording may take: one of locks took up to 43 MiB, and the program needs some, too.
const NEEDED: u64 = 64 << 20;

/// Makes sure that the groups of the process have room for a recording.
///
/// # Errors
/// They have not.
pub fn check(process: &Process) -> Result<(), Failure> {
    let Ok(groups) = fs::read_to_string(process.directory().join("cgroup")) else { return Ok(()) };
    match control_groups::directories(&groups, "memory").filter_map(|directory| left_in(&directory)).min() {
        Some(left) if left < NEEDED => Err(Failure::NoRoomForMemory { pid: process.pid, left, needed: NEEDED }),
        _ => Ok(()),
    }
}

/// What a group may still use. Copies of files count as used, but make room as soon as it is needed.
fn left_in(directory: &Path) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = text("memory.stat").unwrap_or_default();
    let of = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok());
    // In version 1, the numbers of a group and of those in it begin with `total_`.
    let files = |kind: &str| of(&format!("total_{kind}_file")).or_else(|| of(&format!("{kind}_file"))).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(files("active") + files("inactive"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_leaves_what_its_limit_is_above_its_use_without_copies_of_files() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(left_in(directory.path()), None);
        write("memory.current", "900\n");
        write("memory.max", "max\n");
        assert_eq!(left_in(directory.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(left_in(directory.path()), Some(100));
        write("memory.stat", "anon 500\nactive_file 150\ninactive_file 200\n");
        assert_eq!(left_in(directory.path()), Some(450));
        write("memory.max", "300\n");
        assert_eq!(left_in(directory.path()), Some(0));
    }

    #[test]
    fn version_1_is_read_with_the_groups_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("memory.usage_in_bytes", "900\n");
        write("memory.limit_in_bytes", "1000\n");
        write("memory.stat", "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 50\n");
        assert_eq!(left_in(directory.path()), Some(450));
    }
}
