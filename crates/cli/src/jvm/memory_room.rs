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
    let free_swap = free_swap(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
    let groups = control_groups::of(process, "memory");
    match groups.iter().filter_map(|directory| left_in(directory, free_swap)).min() {
        Some(left) if left < NEEDED => Err(Failure::NoRoomForMemory { pid: process.pid, left, needed: NEEDED }),
        _ => Ok(()),
    }
}

/// What a group may still use. Copies of files, and what the kernel remembers of names, count as used, but make room as
/// soon as it is needed; so does swap, where the group may use it.
fn left_in(directory: &Path, free_swap: u64) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = text("memory.stat").unwrap_or_default();
    let of = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok());
    // In version 1, the numbers of a group and of those in it begin with `total_`.
    let files = |kind: &str| of(&format!("total_{kind}_file")).or_else(|| of(&format!("{kind}_file"))).unwrap_or(0);
    let reclaimable = files("active") + files("inactive") + of("slab_reclaimable").unwrap_or(0);
    let swap = text("memory.swap.max").map_or(0, |most| match most.trim().parse::<u64>() {
        Ok(most) => most.saturating_sub(number("memory.swap.current").unwrap_or(0)),
        Err(_) => u64::MAX,
    });
    Some(limit.saturating_sub(used.saturating_sub(reclaimable)).saturating_add(swap.min(free_swap)))
}

/// Bytes of swap that the machine has left.
fn free_swap(memory: &str) -> u64 {
    let line = memory.lines().find_map(|line| line.strip_prefix("SwapFree:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.map_or(0, |kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_leaves_what_its_limit_is_above_its_use_without_copies_of_files() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(left_in(directory.path(), 0), None);
        write("memory.current", "900\n");
        write("memory.max", "max\n");
        assert_eq!(left_in(directory.path(), 0), None);
        write("memory.max", "1000\n");
        assert_eq!(left_in(directory.path(), 0), Some(100));
        write("memory.stat", "anon 500\nactive_file 150\ninactive_file 200\n");
        assert_eq!(left_in(directory.path(), 0), Some(450));
        write("memory.stat", "inactive_file 350\nslab_reclaimable 20\n");
        assert_eq!(left_in(directory.path(), 0), Some(470));
        write("memory.max", "300\n");
        assert_eq!(left_in(directory.path(), 0), Some(0));
    }

    #[test]
    fn swap_is_room_where_the_group_may_use_it_and_the_machine_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("memory.current", "900\n");
        write("memory.max", "1000\n");
        assert_eq!(left_in(directory.path(), 5_000), Some(100));
        write("memory.swap.max", "max\n");
        assert_eq!(left_in(directory.path(), 5_000), Some(5_100));
        write("memory.swap.max", "300\n");
        write("memory.swap.current", "100\n");
        assert_eq!((left_in(directory.path(), 5_000), left_in(directory.path(), 0)), (Some(300), Some(100)));
        assert_eq!(free_swap("MemFree:  7 kB\nSwapFree:       12 kB\n"), 12 << 10);
        assert_eq!(free_swap("MemFree:  7 kB\n"), 0);
    }

    #[test]
    fn version_1_is_read_with_the_groups_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("memory.usage_in_bytes", "900\n");
        write("memory.limit_in_bytes", "1000\n");
        write("memory.stat", "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 50\n");
        assert_eq!(left_in(directory.path(), 0), Some(450));
    }
}
