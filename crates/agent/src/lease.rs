//! A recording that ends by itself when nobody wants it any more.
//!
//! A command line that begins a recording for itself (`headway record`, `headway top`), or
//! has parks counted (`headway parks`), ends it, too. Killed, it cannot; so it keeps a lock
//! (`flock`) on a file as long as it lives, also while it is stopped, and the kernel gives
//! the lock back however it dies. A thread here tries the lock and ends the recording, as
//! the command `detach` would, when nobody has it. It also ends a recording that is longer
//! than it was to be, should the command line hang, and one of which the observer of threads
//! says that it is of no use. The thread is the VM's only while it does so.

use crate::agent::{guarded, Agent, Observer};
use crate::held::is_held;
use crate::jni::{self, Jni};
use crate::masked_signals::MaskedSignals;
use crate::observing::observer;
use crate::options::Terms;
use headway_model::TimeNs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often the lock is tried.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After so long, a command line that lives has taken the reply.
const TAKES_REPLY_WITHIN: Duration = Duration::from_secs(2);
/// What says that it does not live.
pub const GONE: &str = "the command line that began it is gone";
/// What follows if it cannot be watched.
const WITHOUT_LEASE: &str = "if the command line is killed, the recording goes on";

/// Ends the recording that began then, for this reason, and takes the agent out; where its
/// file is, unless parks were only counted. `None` if another one is under way.
pub type Abandon = fn(&'static Agent, Jni, TimeNs, &str) -> Option<Option<PathBuf>>;

/// See the module. The thread ends when this is dropped.
pub struct Lease {
    _held: Sender<()>,
}

impl Lease {
    /// Watches the terms of the recording that began at `started`, and has it abandoned
    /// when they are over; `None` without any, or if no thread can be started, which the recording says. The command
    /// line takes the file `reply`.
    pub fn begin(
        agent: &'static Agent,
        terms: Terms,
        reply: Option<PathBuf>,
        started: TimeNs,
        abandon: Abandon,
    ) -> Option<Lease> {
        if terms.file.is_none() && terms.duration.is_none() && !observer().is_wanted() {
            return None;
        }
        // Some file systems show no locks across mounts; or it was killed meanwhile.
        let shows_lock = terms.file.as_deref().is_none_or(is_held);
        if !shows_lock {
            degraded(agent, "no lock is seen on its file");
        }
        let (lease, ended) = mpsc::channel();
        let _masked = MaskedSignals::all_but_faults();
        let thread = std::thread::Builder::new().name("headway-lease".to_owned());
        let thread = thread.spawn(move || {
            let _own = agent.own_cost.own_thread();
            let lives = Lives { shows_lock, reply };
            if let Some(reason) = expires(&terms, &lives, &ended, || observer().refusal()) {
                let end = || jni::attached(c"headway-lease", |jni| abandon(agent, jni, started, &reason)).flatten();
                guarded(|_| give_up(end, &terms, lives.reply, &reason));
            }
        });
        thread.inspect_err(|error| degraded(agent, &error.to_string())).ok().map(|_| Lease { _held: lease })
    }
}

fn degraded(agent: &Agent, why: &str) {
    agent.definitions.degraded("lease", &format!("{WITHOUT_LEASE}: {why}"));
}

/// How a command line is known to live.
struct Lives {
    /// By its lock.
    shows_lock: bool,
    /// Where that is not seen: it takes this file.
    reply: Option<PathBuf>,
}

impl Lives {
    /// False if the command line whose lease is `file` is surely gone, so long after it asked for a recording.
    fn still(&self, file: &Path, since: Duration) -> bool {
        if self.shows_lock {
            return is_held(file);
        }
        !is_missing(file) && (since < TAKES_REPLY_WITHIN || self.reply.as_deref().is_none_or(is_missing))
    }
}

/// True if there is no such file; false also if that cannot be found out.
pub fn is_missing(file: &Path) -> bool {
    file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Waits until the terms are over, and says why; `None` if the recording ended otherwise.
fn expires(terms: &Terms, lives: &Lives, ended: &Receiver<()>, refusal: impl Fn() -> Option<String>) -> Option<String> {
    let begun = Instant::now();
    loop {
        let left = terms.duration.map_or(LOOK_EVERY, |duration| duration.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            return Some("its time is over".to_owned());
        }
        let refused = refusal();
        if refused.is_some() {
            return refused;
        }
        match ended.recv_timeout(left.min(LOOK_EVERY)) {
            Err(RecvTimeoutError::Timeout) => {
                if terms.file.as_deref().is_some_and(|file| !lives.still(file, begun.elapsed())) {
                    return Some(GONE.to_owned());
                }
            }
            _ => return None,
        }
    }
}

fn give_up(end: impl FnOnce() -> Option<Option<PathBuf>>, terms: &Terms, reply: Option<PathBuf>, reason: &str) {
    let Some(recording) = end() else { return };
    let mut left = Vec::from_iter(terms.file.clone());
    match recording {
        Some(recording) if terms.is_ephemeral => left.push(recording),
        Some(recording) => {
            eprintln!("headway: the recording ended, because {reason}; it is in {}", recording.display())
        }
        None => {}
    }
    // Stopped or slow, it comes back for its directory.
    if terms.file.as_deref().is_some_and(is_held) {
        return;
    }
    // What the command line left behind: nobody else looks for it. The directory goes
    // if that was all.
    left.extend(terms.file.as_deref().and_then(agent_library));
    left.extend(reply);
    for path in left {
        let _ = fs::remove_file(path);
    }
    if let Some(directory) = terms.file.as_deref().and_then(Path::parent) {
        let _ = fs::remove_dir(directory);
    }
}

/// The library's file, if it was brought to where the lease is.
fn agent_library(lease: &Path) -> Option<PathBuf> {
    Some(lease.parent()?.join("libheadway.so")).filter(|library| library.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    fn locked(name: &str) -> (PathBuf, File) {
        let path = std::env::temp_dir().join(format!("headway-{name}-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        // SAFETY: an open file.
        assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }, 0);
        (path, file)
    }

    #[test]
    fn a_lock_is_seen_until_its_owner_is_gone() {
        let (path, file) = locked("lease-seen");
        assert!(is_held(&path));
        drop(file);
        assert!(!is_held(&path));
        fs::remove_file(&path).unwrap();
        assert!(!is_held(&path), "nobody has a file that is gone");
    }

    #[test]
    fn terms_end_with_the_lock_the_time_or_the_recording() {
        let (path, file) = locked("lease-terms");
        let terms = |duration| Terms { file: Some(path.clone()), duration, is_ephemeral: false };
        let (held, ended) = mpsc::channel();
        let lives = Lives { shows_lock: true, reply: None };
        let expires =
            |duration, refused: Option<&str>| expires(&terms(duration), &lives, &ended, || refused.map(str::to_owned));
        assert_eq!(expires(Some(Duration::from_millis(20)), None).as_deref(), Some("its time is over"));
        assert_eq!(expires(None, Some("of no use")).as_deref(), Some("of no use"));
        drop(file);
        assert_eq!(expires(None, None).as_deref(), Some("the command line that began it is gone"));
        drop(held);
        assert_eq!(expires(Some(Duration::from_secs(60)), None), None);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn where_no_lock_is_seen_a_command_line_lives_that_takes_its_reply() {
        let place = |name: &str| std::env::temp_dir().join(format!("headway-lease-{name}-{}", std::process::id()));
        let (file, reply) = (place("unlocked"), place("reply"));
        let lives = Lives { shows_lock: false, reply: Some(reply.clone()) };
        fs::write(&file, "").unwrap();
        fs::write(&reply, "").unwrap();
        assert!(lives.still(&file, Duration::from_secs(1)), "it may not have looked yet");
        assert!(!lives.still(&file, TAKES_REPLY_WITHIN));
        fs::remove_file(&reply).unwrap();
        assert!(lives.still(&file, TAKES_REPLY_WITHIN));
        fs::remove_file(&file).unwrap();
        assert!(!lives.still(&file, Duration::ZERO), "it took its directory with it");
    }

    #[test]
    fn what_a_gone_command_line_left_goes_with_the_recording() {
        let directory = std::env::temp_dir().join(format!("headway-lease-gone-{}", std::process::id()));
        let place = |name: &str| directory.join(name);
        let give_up = |is_ephemeral, ended: Option<Option<PathBuf>>| {
            fs::create_dir_all(&directory).unwrap();
            for name in ["lease", "libheadway.so", "recording.jfr", "reply.json"] {
                fs::write(place(name), "").unwrap();
            }
            let terms = Terms { file: Some(place("lease")), duration: None, is_ephemeral };
            super::give_up(|| ended, &terms, Some(place("reply.json")), "of a test");
            ["lease", "libheadway.so", "recording.jfr"].map(|name| place(name).exists())
        };
        assert_eq!(give_up(true, None), [true, true, true], "another recording is under way");
        assert_eq!(give_up(false, Some(Some(place("recording.jfr")))), [false, false, true]);
        assert_eq!(give_up(true, Some(Some(place("recording.jfr")))), [false, false, false]);
        assert!(!directory.exists());
    }
}
