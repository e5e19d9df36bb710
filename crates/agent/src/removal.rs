//! Taking out what a recording put into the process, and what could not be taken
//! out: each hook and binding is reported with its reason, and tried again by every
//! later `stop`, `status` and `detach` and, for some minutes, by a thread.

use crate::agent::{guarded, Agent, Observer};
use crate::hooks::HOOKS;
use crate::jni::{self, Jni};
use crate::masked_signals::MaskedSignals;
use crate::observing::observer;
use crate::park::parks;
use crate::reply::{InPlace, Reply};
use crate::vm;
use headway_hook::protection;
use headway_hook::sys::linux::Linux;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the thread waits before it tries again: longer each time.
const WAITS_S: [u64; 12] = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60];

/// A thread tries again.
static IS_TRIED: AtomicBool = AtomicBool::new(false);
/// The VM dies: everything stays as it is.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Does some work if nothing is recorded, and holds off that a recording begins
/// meanwhile.
pub type WhileIdle = fn(&mut dyn FnMut()) -> Idle;

/// What became of that work.
pub enum Idle {
    /// It was done.
    Worked,
    /// Something is recorded.
    Recording,
    /// A command is carried out, which tries itself if it ends a recording.
    Changing,
}

/// Takes out every hook and binding; what stays. While nothing is recorded.
fn take_out(agent: &'static Agent, jni: Option<Jni>) -> Vec<InPlace> {
    let mut left = HOOKS.remove(agent);
    if let Some(jni) = jni {
        left.extend(observer().undo(agent, jni));
        left.extend(parks().remove(agent, jni));
    }
    if agent.chains.debug_info.is_switched() {
        if let Ok(libjvm) = vm::libjvm() {
            agent.chains.debug_info.switch_back(&libjvm);
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
pub fn take_out_for_good(agent: &'static Agent, while_idle: WhileIdle) {
    if !take_out(agent, jni::of_current_thread()).is_empty() {
        keep_trying(while_idle);
    }
}

/// Tries again and puts what stays into the reply; what is live makes a command fail
/// that would have succeeded. While nothing is recorded.
pub fn report(agent: &'static Agent, jni: Jni, reply: &mut Reply, while_idle: WhileIdle) {
    reply.in_place = take_out(agent, Some(jni));
    if let Some(error) = &mut reply.error {
        let stays = reply.in_place.iter().map(|left| format!("; still in place: {}: {}", left.what, left.reason));
        error.extend(stays);
    }
    if reply.exit_code == 0 && reply.in_place.iter().any(|left| left.live) {
        reply.exit_code = 1;
    }
    if !reply.in_place.is_empty() {
        keep_trying(while_idle);
    }
}

/// The VM dies, and keeps what is in it.
pub fn give_up() {
    IS_OVER.store(true, Ordering::SeqCst);
}

/// True once the VM dies: whatever is tidied up then only delays its end.
pub fn is_given_up() -> bool {
    IS_OVER.load(Ordering::SeqCst)
}

fn keep_trying(while_idle: WhileIdle) {
    if IS_TRIED.swap(true, Ordering::AcqRel) {
        return;
    }
    let _masked = MaskedSignals::all_but_faults();
    let thread = std::thread::Builder::new().name("headway-remove".to_owned()).spawn(move || {
        guarded(|agent| {
            try_again(&WAITS_S, while_idle, || jni::attached(c"headway-remove", |jni| take_out(agent, Some(jni))));
        });
        IS_TRIED.store(false, Ordering::Release);
    });
    if thread.is_err() {
        // The next command tries again.
        IS_TRIED.store(false, Ordering::Release);
    }
}

/// Ends when nothing is left, something is recorded (whose end tries again), the VM
/// dies, or after the last wait.
fn try_again(
    waits_s: &[u64],
    while_idle: impl Fn(&mut dyn FnMut()) -> Idle,
    take_out: impl Fn() -> Option<Vec<InPlace>>,
) {
    for wait in waits_s {
        std::thread::sleep(Duration::from_secs(*wait));
        if is_given_up() {
            return;
        }
        let mut left = None;
        match while_idle(&mut || left = take_out()) {
            Idle::Worked if left.is_none_or(|left| left.is_empty()) => return,
            Idle::Recording => return,
            Idle::Worked | Idle::Changing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How many of five tries were made, and how often something was taken out.
    fn tries(states: [Idle; 5], left: impl Fn(usize) -> Option<Vec<InPlace>>) -> (usize, usize) {
        let (tries, works) = (Cell::new(0), Cell::new(0));
        let states = Cell::new(states.into_iter());
        let while_idle = |work: &mut dyn FnMut()| {
            tries.set(tries.get() + 1);
            let mut rest = states.replace([const { Idle::Changing }; 5].into_iter());
            let state = rest.next().unwrap();
            states.set(rest);
            if matches!(state, Idle::Worked) {
                work();
            }
            state
        };
        let take_out = || {
            works.set(works.get() + 1);
            left(works.get())
        };
        try_again(&[0; 5], while_idle, take_out);
        (tries.get(), works.get())
    }

    #[test]
    fn what_stays_is_tried_again_until_it_is_gone_or_something_is_recorded() {
        use Idle::{Changing, Recording, Worked};
        let stays = || Some(vec![InPlace::live("a", "a trap", "a reason")]);
        let all = || [const { Worked }; 5];
        assert_eq!(tries(all(), |_| stays()), (5, 5));
        assert_eq!(tries(all(), |time| if time < 3 { stays() } else { Some(Vec::new()) }), (3, 3));
        assert_eq!(tries(all(), |_| None), (1, 1), "a VM that lets no thread in");
        assert_eq!(tries([Changing, Worked, Changing, Recording, Worked], |_| stays()), (4, 1));
    }
}
