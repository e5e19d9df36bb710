//! Threads of a process: `/proc/self/task`.

use crate::kept::KeptFile;
use crate::root::{failure, garbled, HostError, Root};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the scheduler reports of a thread, since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time ready to run but waiting for a CPU. A wait that goes on is not in it
    /// yet. Contains, on most kernels, what the control group's quota held back.
    pub wait_ns: u64,
    /// How often it was put on a CPU.
    pub slices: u64,
}

/// Kernel ids of the process's threads.
///
/// # Errors
/// The list cannot be read.
pub fn ids(root: &Root) -> Result<Vec<u32>, HostError> {
    let path = root.path("/proc/self/task");
    let entries = fs::read_dir(&path).map_err(|error| failure(&path, error))?;
    let id = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(entries.filter_map(id).collect())
}

/// How many threads the process has: one call, however many.
///
/// # Errors
/// The list cannot be read.
pub fn count(root: &Root) -> Result<u64, HostError> {
    let path = root.path("/proc/self/task");
    let list = fs::metadata(&path).map_err(|error| failure(&path, error))?;
    // As of every directory: one link from each entry, from itself and its parent.
    Ok(list.nlink().saturating_sub(2))
}

/// The kernel's name of a thread.
///
/// # Errors
/// It ended, or its name cannot be read.
pub fn name(root: &Root, thread: u32) -> Result<String, HostError> {
    Ok(root.read(&format!("/proc/self/task/{thread}/comm"))?.trim_end_matches('\n').to_owned())
}

/// A thread's run-queue wait.
///
/// # Errors
/// It ended, or the kernel keeps no such statistics.
pub fn schedule(root: &Root, thread: u32) -> Result<Schedule, HostError> {
    let path = schedule_path(thread);
    parse_schedule(&root.read(&path)?, &root.path(&path))
}

/// The file of a thread's run-queue wait, to be kept open for
/// [`schedule_from`].
pub fn schedule_file(root: &Root, thread: u32) -> KeptFile {
    KeptFile::new(root, &schedule_path(thread))
}

/// A thread's run-queue wait, from its file that is kept open.
///
/// # Errors
/// It ended, or the kernel keeps no such statistics.
pub fn schedule_from(file: &mut KeptFile) -> Result<Schedule, HostError> {
    let parsed = parse_schedule(&String::from_utf8_lossy(file.read(|_| false)?), Path::new(""));
    parsed.map_err(|_| garbled(file.path(), SCHEDULE_LACKS))
}

const SCHEDULE_LACKS: &str = "three numbers in a line of its own";

fn schedule_path(thread: u32) -> String {
    format!("/proc/self/task/{thread}/schedstat")
}

fn parse_schedule(text: &str, path: &Path) -> Result<Schedule, HostError> {
    let garbled = || garbled(path, SCHEDULE_LACKS);
    // Without its end the line may be cut off within a number.
    let mut numbers = text.strip_suffix('\n').ok_or_else(garbled)?.split_ascii_whitespace().map(str::parse);
    match [numbers.next(), numbers.next(), numbers.next()] {
        [Some(Ok(run_ns)), Some(Ok(wait_ns)), Some(Ok(slices))] => Ok(Schedule { run_ns, wait_ns, slices }),
        _ => Err(garbled()),
    }
}

/// A thread's CPU time in clock ticks, as nanoseconds: for where there is
/// nothing finer.
///
/// # Errors
/// It ended, or its statistics cannot be read.
pub fn cpu_ns(root: &Root, thread: u32) -> Result<u64, HostError> {
    let path = format!("/proc/self/task/{thread}/stat");
    let text = root.read(&path)?;
    let ticks = || {
        // The name may contain anything, also parentheses.
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let user: u64 = fields.nth(11)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        // A field after it shows that this one is whole.
        fields.next().and(Some(user.saturating_add(system)))
    };
    let ticks = ticks().ok_or_else(|| root.garbled(&path, "user and system time"))?;
    Ok(ticks.saturating_mul(root.tick_ns))
}

/// How often a thread gave up its CPU by itself: to wait, sleep or block.
///
/// # Errors
/// It ended, or its status cannot be read.
pub fn voluntary_switches(root: &Root, thread: u32) -> Result<u64, HostError> {
    let path = format!("/proc/self/task/{thread}/status");
    let text = root.read(&path)?;
    let count = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).ok_or_else(|| root.garbled(&path, "count of voluntary switches"))
}
