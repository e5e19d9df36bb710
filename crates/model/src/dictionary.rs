//! Definitions by id: the constants that events refer to.

use crate::event::{Event, LockDef, ThreadDef};
use crate::id::{ChainId, LockId, MethodId, ThreadId};
use crate::near::NearMap;
use crate::stack::{ChainDef, Method};
use std::sync::Arc;

/// What threads, methods, chains and locks are called. Fed with the events
/// that define them; later definitions of the same id replace earlier ones.
///
/// The agent keeps one that its tables bound; an analysis of a file keeps what
/// the file defines.
#[derive(Debug, Default, Clone)]
pub struct Dictionary {
    threads: NearMap<ThreadId, ThreadDef>,
    methods: NearMap<MethodId, Arc<Method>>,
    chains: NearMap<ChainId, Arc<ChainDef>>,
    locks: NearMap<LockId, LockDef>,
}

impl Dictionary {
    /// Takes in a definition; other events change nothing.
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::Thread(def) => {
                self.threads.insert(def.id, def.clone());
            }
            Event::Method(id, method) => {
                self.methods.insert(*id, method.clone());
            }
            Event::Chain(def) => {
                self.chains.insert(def.id, def.clone());
            }
            Event::Lock(def) => {
                self.locks.insert(def.id, def.clone());
            }
            _ => {}
        }
    }

    /// The thread with this id.
    pub fn thread(&self, id: ThreadId) -> Option<&ThreadDef> {
        self.threads.get(&id)
    }

    /// The method with this id.
    pub fn method(&self, id: MethodId) -> Option<&Arc<Method>> {
        self.methods.get(&id)
    }

    /// The chain with this id.
    pub fn chain(&self, id: ChainId) -> Option<&Arc<ChainDef>> {
        self.chains.get(&id)
    }

    /// The lock with this id.
    pub fn lock(&self, id: LockId) -> Option<&LockDef> {
        self.locks.get(&id)
    }

    /// All threads, in no particular order.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadDef> {
        self.threads.values()
    }

    /// All locks, in no particular order.
    pub fn locks(&self) -> impl Iterator<Item = &LockDef> {
        self.locks.values()
    }

    /// Every definition as the event that makes it, methods before the chains
    /// that name them.
    pub fn definitions(&self) -> impl Iterator<Item = Event> + '_ {
        let threads = self.threads.values().cloned().map(Event::Thread);
        let methods = self.methods.iter().map(|(id, method)| Event::Method(*id, method.clone()));
        let chains = self.chains.values().cloned().map(Event::Chain);
        let locks = self.locks.values().cloned().map(Event::Lock);
        threads.chain(methods).chain(chains).chain(locks)
    }

    /// Forgets a lock whose object died and whose events are all written.
    pub fn forget_lock(&mut self, id: LockId) {
        self.locks.remove(&id);
    }

    /// Forgets a thread that ended and whose events are all written.
    pub fn forget_thread(&mut self, id: ThreadId) {
        self.threads.remove(&id);
    }

    /// Forgets all threads.
    pub fn forget_threads(&mut self) {
        self.threads.clear();
    }

    /// Forgets all chains and methods, and gives back their memory.
    pub fn forget_all_code(&mut self) {
        self.chains = NearMap::default();
        self.methods = NearMap::default();
    }

    /// Forgets chains and methods up to these ids: nothing refers to them any
    /// more.
    pub fn forget_code(&mut self, chains: ChainId, methods: MethodId) {
        self.chains.retain(|id, _| *id > chains);
        self.methods.retain(|id, _| *id > methods);
    }

    /// Takes in what only `other` defines, and returns it, so that it can be
    /// forgotten again.
    pub fn complete(&mut self, other: &Dictionary) -> Dictionary {
        let is_missing = |definition: &Event| match definition {
            Event::Thread(def) => self.thread(def.id).is_none(),
            Event::Method(id, _) => self.method(*id).is_none(),
            Event::Chain(def) => self.chain(def.id).is_none(),
            Event::Lock(def) => self.lock(def.id).is_none(),
            _ => false,
        };
        let mut added = Dictionary::default();
        other.definitions().filter(is_missing).for_each(|definition| added.feed(&definition));
        added.definitions().for_each(|definition| self.feed(&definition));
        added
    }

    /// Forgets everything that `other` defines.
    pub fn forget_all_of(&mut self, other: &Dictionary) {
        self.threads.retain(|id, _| !other.threads.contains_key(id));
        self.methods.retain(|id, _| !other.methods.contains_key(id));
        self.chains.retain(|id, _| !other.chains.contains_key(id));
        other.locks.keys().for_each(|id| self.forget_lock(*id));
    }

    /// How many definitions there are.
    pub fn len(&self) -> usize {
        self.threads.len() + self.methods.len() + self.chains.len() + self.locks.len()
    }

    /// True if nothing is defined.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_one_adds_can_be_forgotten_again() {
        let lock = |id, name: &str| Event::Lock(LockDef { id: LockId(id), name: name.into(), ..LockDef::default() });
        let thread = |id| Event::Thread(ThreadDef { id: ThreadId(id), ..ThreadDef::default() });
        let (mut own, mut other) = (Dictionary::default(), Dictionary::default());
        [lock(1, "own"), thread(1)].iter().for_each(|definition| own.feed(definition));
        [lock(1, "other"), lock(2, "other"), thread(2)].iter().for_each(|definition| other.feed(definition));
        let added = own.complete(&other);
        let name = |dictionary: &Dictionary, id| dictionary.lock(LockId(id)).map(|lock| lock.name.to_string());
        assert_eq!((name(&own, 1), name(&own, 2)), (Some("own".to_owned()), Some("other".to_owned())));
        assert_eq!((own.len(), added.len()), (4, 2));
        own.forget_all_of(&added);
        assert_eq!((own.len(), name(&own, 1)), (2, Some("own".to_owned())));
        assert!(own.thread(ThreadId(1)).is_some());
    }

    #[test]
    fn its_definitions_make_the_same_dictionary() {
        let mut first = Dictionary::default();
        let thread = ThreadDef { id: ThreadId(1), name: "main".into(), ..ThreadDef::default() };
        let lock = LockDef { id: LockId(2), class: "Foo".into(), ..LockDef::default() };
        first.feed(&Event::Thread(thread.clone()));
        first.feed(&Event::Lock(lock.clone()));
        first.feed(&Event::Method(MethodId(3), Arc::new(Method::default())));
        let mut second = Dictionary::default();
        first.definitions().for_each(|event| second.feed(&event));
        assert_eq!(second.len(), 3);
        assert_eq!((second.thread(ThreadId(1)), second.lock(LockId(2))), (Some(&thread), Some(&lock)));
        assert!(second.method(MethodId(3)).is_some());
    }
}
