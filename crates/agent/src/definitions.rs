//! Definitions found by application threads (methods, chains, locks, threads),
//! on their way to the draining thread.
//!
//! The lock in here is taken only when something is seen for the first time.
//! While it is held nothing of the VM is called, so that a thread which holds
//! it always gets on: some callers stand where a safepoint must wait for them.

use headway_model::event::{Degraded, LockDef, StopTheWorld, ThreadDef, ThreadPoint};
use headway_model::stack::ChainDef;
use headway_model::{Event, LockId, Method, MethodId, TimeNs};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes known about something.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// As an event says it.
    Event(Event),
    /// What a developer calls a lock.
    LockName(LockId, Arc<str>),
}

/// Definitions not yet drained, and the methods known so far.
#[derive(Default)]
pub struct Definitions {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    queue: Vec<Definition>,
    methods: HashMap<Arc<Method>, MethodId>,
    last_method: MethodId,
    /// True while somebody drains.
    wanted: bool,
    at: Phase,
    refused: u64,
}

/// How far a recording is.
#[derive(Clone, Copy, Default)]
enum Phase {
    /// Threads are defined for one that has not begun.
    Begins,
    /// It goes on, or there is none.
    #[default]
    Goes,
    /// It ended then, and what it has is still collected.
    Ended(TimeNs),
}

impl Inner {
    fn push(&mut self, definition: Definition) {
        match (self.wanted, self.queue.len() < MAX_WAITING) {
            (true, true) => self.queue.push(definition),
            (true, false) => self.refused += 1,
            (false, _) => {}
        }
    }
}

/// Most definitions that wait to be drained; what comes beyond is counted.
const MAX_WAITING: usize = 1 << 20;

impl Definitions {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while pushing leaves the queue whole; go on with it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: Event) {
        self.lock().push(Definition::Event(event));
    }

    /// Says whether a recording is under way: otherwise nothing is kept.
    pub fn set_wanted(&self, wanted: bool) {
        let mut inner = self.lock();
        inner.wanted = wanted;
        inner.at = if wanted { Phase::Begins } else { Phase::Goes };
        let old = std::mem::take(&mut inner.queue);
        drop(inner);
        drop(old);
    }

    /// The recording has begun: starts and ends of threads are in its events now.
    pub fn begun(&self) {
        self.lock().at = Phase::Goes;
    }

    /// The recording is about to end, at `time`; does nothing the second time.
    pub fn ends(&self, time: TimeNs) {
        let mut inner = self.lock();
        if let Phase::Goes = inner.at {
            inner.at = Phase::Ended(time);
        }
    }

    /// How many definitions found no room since the last call.
    pub fn take_refused(&self) -> u64 {
        std::mem::take(&mut self.lock().refused)
    }

    /// The id of a method with these names; defines it if it is new.
    pub fn method(&self, method: Method) -> MethodId {
        let mut inner = self.lock();
        if let Some(id) = inner.methods.get(&method) {
            return *id;
        }
        let id = MethodId(inner.last_method.0 + 1);
        inner.last_method = id;
        let method = Arc::new(method);
        inner.methods.insert(method.clone(), id);
        inner.push(Definition::Event(Event::Method(id, method)));
        id
    }

    /// The names of a method with this id. Looks at all methods.
    pub fn method_of(&self, id: MethodId) -> Option<Arc<Method>> {
        let inner = self.lock();
        inner.methods.iter().find(|(_, known)| **known == id).map(|(method, _)| method.clone())
    }

    /// Forgets which methods are known: from now on they get new ids, larger
    /// than the one returned.
    pub fn forget_methods(&self) -> MethodId {
        let mut inner = self.lock();
        let last = inner.last_method;
        // Freed without the lock, which threads wait for that hold up
        // safepoints.
        let old = std::mem::take(&mut inner.methods);
        drop(inner);
        drop(old);
        last
    }

    /// Defines a chain.
    pub fn chain(&self, chain: ChainDef) {
        self.push(Event::Chain(Arc::new(chain)));
    }

    /// Defines a thread, or renames it.
    pub fn thread(&self, thread: ThreadDef) {
        self.push(Event::Thread(thread));
    }

    /// Gives a lock its readable name.
    pub fn lock_name(&self, lock: LockId, name: Arc<str>) {
        self.lock().push(Definition::LockName(lock, name));
    }

    /// Defines a lock.
    pub fn lock_object(&self, lock: LockDef) {
        self.push(Event::Lock(lock));
    }

    /// A mechanism stepped aside while the recording is under way.
    pub fn degraded(&self, mechanism: &str, reason: &str) {
        let degraded = Degraded { mechanism: mechanism.into(), reason: reason.into() };
        self.push(Event::Degraded(degraded));
    }

    /// All application threads were stopped.
    pub fn pause(&self, pause: StopTheWorld) {
        self.push(Event::StopTheWorld(pause));
    }

    /// A thread was parked already when the recording began.
    pub fn found_under_way(&self, begin: Event) {
        self.push(begin);
    }

    /// A thread started or ended after threads were defined for a recording, and before that begins; or when it had ended,
    /// and its last samples are taken: then it did so at the end, at the earliest. Without this it would count as alive from
    /// the recording's begin to its end.
    pub fn came_or_went(&self, what: fn(ThreadPoint) -> Event, mut point: ThreadPoint) {
        let mut inner = self.lock();
        match inner.at {
            Phase::Begins => {}
            Phase::Ended(time) => point.time = point.time.min(time),
            Phase::Goes => return,
        }
        inner.push(Definition::Event(what(point)));
    }

    /// Takes what has been defined since the last call.
    pub fn take(&self) -> Vec<Definition> {
        std::mem::take(&mut self.lock().queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::ThreadId;

    #[test]
    fn a_method_is_defined_once() {
        let definitions = Definitions::default();
        definitions.set_wanted(true);
        let method = Method { name: "run".into(), ..Method::default() };
        let method_again = method.clone();
        let first = definitions.method(method.clone());
        assert_eq!(definitions.method(method.clone()), first);
        let other = definitions.method(Method { name: "stop".into(), ..Method::default() });
        assert_ne!(other, first);
        let taken = definitions.take();
        assert_eq!(taken[0], Definition::Event(Event::Method(first, Arc::new(method))));
        assert_eq!(taken.len(), 2);
        assert!(definitions.take().is_empty());
        let last = definitions.forget_methods();
        assert!(definitions.method(method_again) > last);
        definitions.set_wanted(false);
        definitions.lock_name(LockId(1), "nobody wants this".into());
        assert!(definitions.take().is_empty());
    }

    #[test]
    fn a_thread_that_comes_or_goes_while_a_recording_begins_or_ends_is_no_thread_of_all_of_it() {
        let definitions = Definitions::default();
        let at = |time| ThreadPoint { time: TimeNs(time), thread: ThreadId(7) };
        let goes = |time| definitions.came_or_went(Event::ThreadEnd, at(time));
        let ended = |time| Definition::Event(Event::ThreadEnd(at(time)));
        definitions.set_wanted(true);
        goes(5);
        assert_eq!(definitions.take(), [ended(5)]);
        definitions.begun();
        goes(6);
        assert!(definitions.take().is_empty(), "the recording's events have it");
        definitions.ends(TimeNs(9));
        definitions.ends(TimeNs(20));
        goes(8);
        definitions.came_or_went(Event::ThreadStart, at(12));
        assert_eq!(
            definitions.take(),
            [ended(8), Definition::Event(Event::ThreadStart(at(9)))],
            "no later than its end"
        );
        definitions.set_wanted(false);
        goes(13);
        assert!(definitions.take().is_empty());
    }
}
