//! Ids that hold over all chunks of a recording.
//!
//! A chunk numbers its constants as it likes. Here the same contents always get
//! the same id: the chunk's own number if that is still free (so a recording of
//! Headway's keeps its ids), otherwise a new one.

use crate::hash::{Digest, IdMap, IdSet};
use headway_model::event::{LockDef, ThreadDef};
use headway_model::stack::ChainDef;
use headway_model::{CallChain, ChainId, Event, LockId, Method, MethodId, ThreadId};
use std::collections::HashMap;
use std::sync::Arc;

/// Ids in use and how to get one that is not.
struct Ids {
    used: IdSet<u64>,
    next: u64,
}

impl Default for Ids {
    fn default() -> Ids {
        // Beyond what makers of recordings count to, and below the sign bit.
        Ids { used: IdSet::default(), next: 1 << 60 }
    }
}

impl Ids {
    fn claim(&mut self, wish: u64) -> u64 {
        if wish != 0 && self.used.insert(wish) {
            return wish;
        }
        loop {
            self.next += 1;
            if self.used.insert(self.next) {
                return self.next;
            }
        }
    }
}

/// See the module's description.
pub(crate) struct Interner {
    seeds: (u64, u64),
    method_ids: Ids,
    methods: HashMap<Arc<Method>, MethodId>,
    chain_ids: Ids,
    /// By digest of the frames: the frames themselves would fill memory.
    chains: HashMap<u128, ChainId>,
    lock_ids: Ids,
    locks: HashMap<(u64, Arc<str>), LockId>,
    lock_defs: IdMap<u64, LockDef>,
    threads: IdMap<u64, ThreadDef>,
}

impl Default for Interner {
    fn default() -> Interner {
        Interner {
            seeds: Digest::seeds(),
            method_ids: Ids::default(),
            methods: HashMap::new(),
            chain_ids: Ids::default(),
            chains: HashMap::new(),
            lock_ids: Ids::default(),
            locks: HashMap::new(),
            lock_defs: IdMap::default(),
            threads: IdMap::default(),
        }
    }
}

impl Interner {
    /// A thread; its definition goes to `out` unless it went there before.
    pub(crate) fn thread(&mut self, def: ThreadDef, out: &mut Vec<Event>) -> ThreadId {
        let id = def.id;
        if self.threads.get(&id.0) != Some(&def) {
            self.threads.insert(id.0, def.clone());
            out.push(Event::Thread(def));
        }
        id
    }

    /// A method with the number `wish` in its chunk.
    pub(crate) fn method(&mut self, wish: u64, method: Method, out: &mut Vec<Event>) -> MethodId {
        if let Some(id) = self.methods.get(&method) {
            return *id;
        }
        let id = MethodId(self.method_ids.claim(wish));
        let method = Arc::new(method);
        self.methods.insert(method.clone(), id);
        out.push(Event::Method(id, method));
        id
    }

    /// A chain with the number `wish` in its chunk.
    pub(crate) fn chain(&mut self, wish: u64, chain: CallChain, out: &mut Vec<Event>) -> ChainId {
        let digest = self.digest(&chain);
        if let Some(id) = self.chains.get(&digest) {
            return *id;
        }
        let id = ChainId(self.chain_ids.claim(wish));
        self.chains.insert(digest, id);
        out.push(Event::Chain(Arc::new(ChainDef { id, chain })));
        id
    }

    fn digest(&self, chain: &CallChain) -> u128 {
        let mut digest = Digest::new(self.seeds);
        digest.word(u64::from(chain.truncated));
        digest.word(chain.frames.len() as u64);
        for frame in &chain.frames {
            digest.word(frame.method.0);
            digest.word((u64::from(frame.bci as u32) << 32) | u64::from(frame.line));
            digest.word(((frame.kind as u64) << 1) | u64::from(frame.approximate));
        }
        digest.finish()
    }

    /// A lock by what its maker identifies it with: an id of Headway's or an
    /// address. `def.id` is not looked at.
    pub(crate) fn lock(&mut self, key: u64, mut def: LockDef, out: &mut Vec<Event>) -> LockId {
        let ids = &mut self.lock_ids;
        let id = *self.locks.entry((key, def.class.clone())).or_insert_with(|| LockId(ids.claim(key)));
        def.id = id;
        if self.lock_defs.get(&id.0) != Some(&def) {
            self.lock_defs.insert(id.0, def.clone());
            out.push(Event::Lock(def));
        }
        id
    }
}
