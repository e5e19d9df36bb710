//! The end of a recording, which takes a bounded time however much is queued and
//! however slow the disk is: the program that is profiled must be able to end, and
//! whoever says `stop` gets an answer.
//!
//! A thread that does not finish in time is left alone. It goes on as long as the
//! process does, but touches nothing of a VM that dies: each of its looks into the
//! VM's memory passes a [`Gate`], which is closed before the VM goes on dying.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the end of a recording may take, unless asked for otherwise.
pub const WITHIN: Duration = Duration::from_secs(1);
/// How often a thread is looked at that is about to end.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// When whoever waits for the end of a recording goes on.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

/// What became of a thread.
#[derive(Debug)]
pub enum Ended {
    /// It ended.
    Well,
    /// It panicked.
    Panicked,
    /// It is still running.
    Not(JoinHandle<()>),
}

impl Deadline {
    /// So long from now.
    pub fn within(time: Duration) -> Deadline {
        let now = Instant::now();
        // A time beyond all clocks is far enough away.
        Deadline(now.checked_add(time).unwrap_or(now + Duration::from_secs(86_400)))
    }

    /// An earlier deadline: when this share of what is left now has passed.
    pub fn after(self, share: f64) -> Deadline {
        Deadline::within(self.left().mul_f64(share))
    }

    /// A deadline so much later.
    pub fn later_by(self, time: Duration) -> Deadline {
        Deadline(self.0.checked_add(time).unwrap_or(self.0))
    }

    /// What is left of the time.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Waits for a lock until then.
    pub fn lock<T>(self, mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if self.left().is_zero() => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Waits until then for a thread to end.
    pub fn join(self, thread: JoinHandle<()>) -> Ended {
        while !thread.is_finished() && !self.left().is_zero() {
            thread::sleep(LOOK_EVERY);
        }
        match thread.is_finished() {
            true => thread.join().map_or(Ended::Panicked, |()| Ended::Well),
            false => Ended::Not(thread),
        }
    }

    /// Waits until then for an answer; `None` also if nobody is left to give one.
    pub fn answer<T>(self, answered: &Receiver<T>) -> Result<T, RecvTimeoutError> {
        answered.recv_timeout(self.left())
    }
}

/// Who passes it may look into the VM's memory.
#[derive(Debug, Default)]
pub struct Gate {
    is_closed: Mutex<bool>,
}

impl Gate {
    /// Looks, if the VM is not about to die.
    pub fn pass<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let is_closed = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        (!*is_closed).then(look)
    }

    /// Waits until nobody looks any more, which takes as long as reading a few
    /// words; from then on nobody does.
    pub fn close(&self) {
        *self.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn who_does_not_end_in_time_is_left_alone() {
        let (goes_on, told) = mpsc::channel::<()>();
        let slow = thread::spawn(move || while told.recv().is_ok() {});
        let Ended::Not(slow) = Deadline::within(Duration::from_millis(5)).join(slow) else { panic!("it ended") };
        drop(goes_on);
        assert!(matches!(Deadline::within(Duration::from_secs(60)).join(slow), Ended::Well));
        let failing = thread::spawn(|| std::panic::resume_unwind(Box::new(())));
        assert!(matches!(Deadline::within(Duration::from_secs(60)).join(failing), Ended::Panicked));
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_beyond_the_deadline() {
        let mutex = Mutex::new(1);
        let held = mutex.lock().unwrap();
        assert!(Deadline::within(Duration::from_millis(5)).lock(&mutex).is_none());
        drop(held);
        assert!(Deadline::within(Duration::ZERO).lock(&mutex).is_some());
    }

    #[test]
    fn nobody_passes_a_closed_gate() {
        let gate = Gate::default();
        assert_eq!(gate.pass(|| 1), Some(1));
        gate.close();
        assert_eq!(gate.pass(|| 1), None);
    }

    #[test]
    fn a_deadline_has_parts() {
        let whole = Deadline::within(Duration::from_secs(100));
        let part = whole.after(0.5).left().as_secs();
        assert!((49..=50).contains(&part), "{part}");
        assert!(Deadline::within(Duration::MAX).left() > Duration::from_secs(3600));
    }
}
