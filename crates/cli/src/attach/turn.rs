//! Command lines that attach to one JVM wait for each other until the agent is
//! loaded, so that the second finds the first one's.
//!
//! A lock (`flock`) on the JVM's own library, opened for reading through the
//! target's root: nothing is written, and nothing is left behind when a command
//! line is killed. JVMs of one JDK share it, which costs them a moment. It is a
//! courtesy: where it cannot be had in time (another user may hold it for ever,
//! a command line may be stopped) we go on, and the agent's own guard keeps the
//! process safe.

use crate::interrupt;
use crate::jvm::process::Process;
use crate::jvm::target_file;
use rustix::fs::{flock, FlockOperation};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Longest time to wait for other command lines.
const WAIT: Duration = Duration::from_secs(10);
/// How often the lock is tried.
const TRY_EVERY: Duration = Duration::from_millis(5);

/// Our turn, until it goes out of scope.
#[derive(Debug)]
pub struct Turn {
    _lock: Option<OwnedFd>,
}

impl Turn {
    /// Waits for our turn, at most so long that nobody can keep us for ever.
    pub fn wait(process: &Process) -> Turn {
        let Some(lock) = library(process) else { return Turn { _lock: None } };
        let deadline = Instant::now() + WAIT;
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > deadline || interrupt::came() {
                return Turn { _lock: None };
            }
            thread::sleep(TRY_EVERY);
        }
        Turn { _lock: Some(lock) }
    }
}

/// The library of the virtual machine, opened for reading.
fn library(process: &Process) -> Option<OwnedFd> {
    let mappings = process.mappings().ok()?;
    let libjvm = mappings.iter().find(|mapping| mapping.file_name() == "libjvm.so")?;
    target_file::open(process, &process.strip_root(Path::new(&libjvm.path))).ok().map(OwnedFd::from)
}
