//! A recording that ends by itself when nobody wants it any more.
//!
//! `headway top` begins one of its own and ends it when it quits. Killed, it
//! cannot; so it touches a file as long as it lives, and a thread here ends the
//! recording, as the command `detach` would, when that was not done for a while.
//! The thread is the VM's only while it does so.

use super::publish::is_fresh;
use crate::agent::Agent;
use crate::callbacks::guarded;
use crate::drain::MaskedSignals;
use crate::{jni, session};
use headway_model::TimeNs;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// See the module. The thread ends when this is dropped.
pub struct Lease {
    _held: Sender<()>,
}

impl Lease {
    /// Watches `file` on behalf of the recording that began at `started`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn begin(agent: &'static Agent, file: PathBuf, started: TimeNs) -> std::io::Result<Lease> {
        let (lease, ended) = mpsc::channel();
        let _masked = MaskedSignals::all_but_faults();
        let thread = std::thread::Builder::new().name("headway-lease".to_owned());
        thread.spawn(move || {
            if expires(&file, &ended) {
                guarded(|_| give_up(agent, started, file));
            }
        })?;
        Ok(Lease { _held: lease })
    }
}

/// Waits until the file is old (true) or the recording ends otherwise.
fn expires(file: &Path, ended: &Receiver<()>) -> bool {
    loop {
        match ended.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) if is_fresh(file) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            _ => return false,
        }
    }
}

fn give_up(agent: &'static Agent, started: TimeNs, file: PathBuf) {
    let recording = jni::attached(c"headway-lease", |jni| session::abandon(agent, jni, started));
    // What its holder left behind: nobody else looks for it. The directory goes
    // if that was all.
    let recording = recording.flatten().filter(|recording| recording.parent() == file.parent());
    let left = [Some(file.clone()), recording, agent_library(&file)];
    for path in left.into_iter().flatten() {
        let _ = fs::remove_file(path);
    }
    if let Some(directory) = file.parent() {
        let _ = fs::remove_dir(directory);
    }
}

/// The library's file, if it was brought to where the lease is.
fn agent_library(lease: &Path) -> Option<PathBuf> {
    Some(lease.parent()?.join("libheadway.so")).filter(|library| library.is_file())
}
