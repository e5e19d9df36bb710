//! Taking out what a recording put into the process, and what could not be taken
//! out: each hook and binding is reported with its reason, and tried again by every
//! later `stop`, `status` and `detach` and, for some minutes, by a thread.

use crate::agent::{guarded, Agent, Observer};
use crate::jni::{self, Jni};
use crate::masked_signals::MaskedSignals;
use crate::reply::{InPlace, Reply};
use crate::vm;
use headway_hook::protection;
use headway_hook::sys::linux::Linux;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// How long the thread waits before it tries again: longer each time.
const WAITS_S: [u64; 12] = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60];

/// See the module.
#[derive(Default)]
pub struct Removal {
    /// A thread tries again.
    is_tried: AtomicBool,
    /// The VM dies: everything stays as it is.
    is_over: AtomicBool,
}

impl InPlace {
    /// What is in the process without any effect: it passes through.
    pub fn inert(name: &str, what: impl Into<String>, reason: impl fmt::Display) -> InPlace {
        InPlace { name: name.to_owned(), what: what.into(), live: false, reason: reason.to_string() }
    }

    /// What still has an effect.
    pub fn live(name: &str, what: impl Into<String>, reason: impl fmt::Display) -> InPlace {
        InPlace { live: true, ..InPlace::inert(name, what, reason) }
    }
}

/// Takes out every hook and binding; what stays. While nothing is recorded.
pub fn take_out(agent: &'static Agent, jni: Option<Jni>) -> Vec<InPlace> {
    let mut left = agent.hooks.remove(agent);
    if let Some(jni) = jni {
        left.extend(agent.observer.undo(agent, jni));
        left.extend(agent.parks.remove(agent, jni));
    }
    if agent.debug_info.is_switched() {
        if let Ok(libjvm) = vm::libjvm() {
            agent.debug_info.switch_back(&libjvm);
        }
    }
    left.extend(protection::restore(&Linux).into_iter().map(|pages| {
        let rights = if pages.rights.execute { "writable and executable" } else { "writable" };
        let what = format!("{} bytes at {:#x} are {rights}", pages.range.len(), pages.range.start);
        InPlace::live("memory-protection", what, format!("their rights could not be given back: {}", pages.reason))
    }));
    left
}

/// The same with a thread that goes on trying if something stays.
pub fn take_out_for_good(agent: &'static Agent) {
    if !take_out(agent, jni::of_current_thread()).is_empty() {
        keep_trying(agent);
    }
}

/// Tries again, unless something is recorded, and puts what stays into the reply;
/// what is live makes a command fail that would have succeeded.
pub fn report(agent: &'static Agent, jni: Jni, reply: &mut Reply) {
    let session = agent.session.lock().unwrap_or_else(PoisonError::into_inner);
    if session.is_some() {
        return;
    }
    reply.in_place = take_out(agent, Some(jni));
    if let Some(error) = &mut reply.error {
        let stays = reply.in_place.iter().map(|left| format!("; still in place: {}: {}", left.what, left.reason));
        error.extend(stays);
    }
    if reply.exit_code == 0 && reply.in_place.iter().any(|left| left.live) {
        reply.exit_code = 1;
    }
    if !reply.in_place.is_empty() {
        keep_trying(agent);
    }
}

/// The VM dies, and keeps what is in it.
pub fn give_up(agent: &Agent) {
    agent.removal.is_over.store(true, Ordering::SeqCst);
}

/// True once the VM dies: whatever is tidied up then only delays its end.
pub fn is_given_up(agent: &Agent) -> bool {
    agent.removal.is_over.load(Ordering::SeqCst)
}

fn keep_trying(agent: &'static Agent) {
    if agent.removal.is_tried.swap(true, Ordering::AcqRel) {
        return;
    }
    let _masked = MaskedSignals::all_but_faults();
    let thread = std::thread::Builder::new().name("headway-remove".to_owned()).spawn(move || {
        guarded(|_| try_for_minutes(agent));
        agent.removal.is_tried.store(false, Ordering::Release);
    });
    if thread.is_err() {
        // The next command tries again.
        agent.removal.is_tried.store(false, Ordering::Release);
    }
}

/// Ends when nothing is left, something is recorded (whose end tries again), the VM
/// dies, or after the last wait.
fn try_for_minutes(agent: &'static Agent) {
    for wait in WAITS_S {
        std::thread::sleep(Duration::from_secs(wait));
        if is_given_up(agent) {
            return;
        }
        let session = match agent.session.try_lock() {
            Ok(session) => session,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // A command is carried out, which tries itself if it ends a recording.
            Err(TryLockError::WouldBlock) => continue,
        };
        if session.is_some() {
            return;
        }
        let left = jni::attached(c"headway-remove", |jni| take_out(agent, Some(jni)));
        if left.is_none_or(|left| left.is_empty()) {
            return;
        }
    }
}
