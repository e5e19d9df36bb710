//! How long threads waited for a CPU, by the kernel's own account.
//!
//! Samples come by CPU time. A thread that must wait for a CPU in the middle of
//! the target is in the target for longer than it runs there, and a faster target
//! would have to wait less often; so what it waited since its last sample is a part
//! of the sample's weight. Without that, gains come out too small by the part of the
//! time in which other programs have the CPUs.
//!
//! The kernel counts as waiting also what passes between a thread's being woken and
//! its running, which is no part of the target and would not become shorter with it.
//! So what a thread waited is left out if it was woken since its last sample.

use crate::agent::Agent;
use crate::threads::Slot;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Most threads whose files are kept open.
const MAX_OPEN: usize = 512;
/// Longest wait that one sample is given.
const MOST_NS: u64 = 100_000_000;

/// See the module. Used by the sampling thread and by the one that makes
/// experiments.
#[derive(Default)]
pub struct RunQueue {
    threads: Mutex<HashMap<u32, Waits>>,
}

struct Waits {
    file: File,
    last_ns: u64,
    resumed: u64,
}

impl RunQueue {
    /// What a thread waited since the last call for it, without being woken in
    /// between; 0 where the kernel does not say.
    pub fn since_last(&self, slot: &Slot) -> u64 {
        let os_id = slot.os_id.load(Ordering::Relaxed);
        let resumed = slot.observed.resumed.load(Ordering::Relaxed);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = threads.get_mut(&os_id) {
            let Some(now) = waited(&known.file) else {
                // It ended; its number may become another thread's.
                threads.remove(&os_id);
                return 0;
            };
            let since = now.saturating_sub(known.last_ns);
            known.last_ns = now;
            let was_woken = std::mem::replace(&mut known.resumed, resumed) != resumed;
            return if was_woken { 0 } else { since.min(MOST_NS) };
        }
        if threads.len() >= MAX_OPEN {
            threads.clear();
        }
        let opened = open(os_id).and_then(|file| Some(Waits { last_ns: waited(&file)?, file, resumed }));
        if let Some(waits) = opened {
            threads.insert(os_id, waits);
        }
        0
    }

    /// What each application thread waited so far, by the kernel's number.
    pub fn of_all(&self, agent: &Agent) -> BTreeMap<u32, u64> {
        let os_ids = agent.threads.iter().map(|slot| slot.os_id.load(Ordering::Relaxed));
        os_ids.filter_map(|os_id| Some((os_id, waited(&open(os_id)?)?))).collect()
    }
}

fn open(os_id: u32) -> Option<File> {
    File::open(format!("/proc/self/task/{os_id}/schedstat")).ok()
}

/// The second number of `schedstat`: ns spent waiting on a run queue.
fn waited(file: &File) -> Option<u64> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(text.get(..length)?).ok()?)
}

fn parse(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(parse("1234567 89 12\n"), Some(89));
        assert_eq!(parse(""), None);
    }
}
