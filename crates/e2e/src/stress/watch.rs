//! What a process uses, read from outside while it runs.

use std::fs;
use std::path::PathBuf;

/// What a process uses at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory.
    pub resident_bytes: u64,
    /// Open files.
    pub files: usize,
}

/// What process `pid` uses now; `None` if it is gone.
pub fn usage(pid: u32) -> Option<Usage> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let status = fs::read_to_string(process.join("status")).ok()?;
    let resident_bytes = resident_bytes(&status)?;
    let files = fs::read_dir(process.join("fd")).ok()?.count();
    Some(Usage { resident_bytes, files })
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Resident memory over a round.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    samples: Vec<u64>,
}

impl Memory {
    /// Adds a sample, taken at regular intervals.
    pub fn add(&mut self, usage: Usage) {
        self.samples.push(usage.resident_bytes);
    }

    /// Median of the third and of the last quarter, in bytes. The first half is
    /// left out: a JVM that compiles and loads classes grows at first.
    pub fn settled_and_last(&self) -> Option<(u64, u64)> {
        let n = self.samples.len();
        if n < 8 {
            return None;
        }
        Some((median(&self.samples[n / 2..n * 3 / 4])?, median(&self.samples[n * 3 / 4..])?))
    }
}

fn median(samples: &[u64]) -> Option<u64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_status() {
        assert_eq!(resident_bytes("Name:\tjava\nVmRSS:\t  123 kB\nThreads:\t4\n"), Some(123 * 1024));
        assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn growth_is_told_from_warming_up() {
        let mut memory = Memory::default();
        for resident_bytes in [1, 5, 9, 10, 10, 10, 10, 10, 30, 30, 30, 30] {
            memory.add(Usage { resident_bytes, files: 0 });
        }
        assert_eq!(memory.settled_and_last(), Some((10, 30)));
    }

    #[test]
    fn our_own_process_uses_something() {
        let usage = usage(std::process::id()).unwrap_or_default();
        assert!(usage.resident_bytes > 0 && usage.files > 0);
    }
}
