//! The constants of a chunk: which ones events refer to, which of them stand in
//! the chunk already, and the checkpoint event that brings the rest.
//!
//! Methods, chains and locks keep their model ids as constant numbers. Threads,
//! classes, symbols and groups are numbered here, and a number is never used
//! again within a recording: the JDK's reader takes a constant of the previous
//! chunk for one of the same number in the next. Threads' own ids would not do:
//! some readers take no number beyond 32 bits.

use crate::encode::Encoder;
use crate::hash::{IdFlags, IdTable};
use crate::schema::{self, id, TypeId};
use headway_model::event::{LockDef, ThreadDef};
use headway_model::{CallChain, ChainId, Dictionary, FrameKind, LockId, Loss, Method, MethodId, Seq, ThreadId};
use std::collections::HashMap;
use std::sync::Arc;

/// Constants of one type, encoded.
#[derive(Default)]
struct Pool {
    /// Those that are not written yet.
    count: u64,
    entries: Encoder,
    /// Those that the chunk has already.
    written_count: u64,
    written: Encoder,
}

impl Pool {
    fn add(&mut self, key: u64) -> &mut Encoder {
        self.count += 1;
        self.entries.varint(key);
        &mut self.entries
    }
}

/// Names that were given a number in this chunk.
type Numbered = HashMap<Arc<str>, u64>;

/// See the module's description.
#[derive(Default)]
pub(crate) struct Constants {
    /// Numbers given so far, over all chunks.
    numbers: u64,
    symbols: Numbered,
    classes: Numbered,
    groups: Numbered,
    threads: IdTable<u64>,
    /// Threads whose constants are written or wanted.
    known_threads: IdFlags,
    chains: IdFlags,
    methods: IdFlags,
    /// Class numbers of the locks.
    locks: IdTable<u64>,
    /// Places of the locks' last events in the chunk.
    places: IdTable<u64>,
    /// The same for parks and unparks.
    park_place: u64,
    no_stack_written: bool,
    wanted_threads: Vec<ThreadId>,
    wanted_chains: Vec<ChainId>,
    wanted_locks: Vec<LockId>,
    pools: [Pool; POOLS.len()],
    /// Events that define locks and threads, to be written before those that use
    /// them.
    definitions: Encoder,
    statics_written: bool,
}

/// Types that have a pool of their own here.
const POOLS: [TypeId; 9] = [
    id::THREAD_GROUP,
    id::THREAD,
    id::SYMBOL,
    id::CLASS,
    id::METHOD,
    id::STACK_TRACE,
    id::LOCK,
    id::SOURCE_FILE,
    id::APPROXIMATE_FRAMES,
];
const GROUP: usize = 0;
const THREAD: usize = 1;
const SYMBOL: usize = 2;
const CLASS: usize = 3;
const METHOD: usize = 4;
const STACK: usize = 5;
const LOCK: usize = 6;
const SOURCE: usize = 7;
const APPROXIMATE: usize = 8;

impl Constants {
    /// Forgets what the previous chunk holds; numbers go on.
    pub(crate) fn begin_chunk(&mut self) {
        *self = Constants { numbers: self.numbers, ..Constants::default() };
    }

    /// Bytes of constants that wait to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.definitions.bytes.len() + self.pools.iter().map(|pool| pool.entries.bytes.len()).sum::<usize>()
    }

    /// Notes that an event refers to a thread.
    #[inline]
    pub(crate) fn thread(&mut self, thread: ThreadId) -> u64 {
        if thread.is_none() {
            return 0;
        }
        if self.known_threads.insert(thread.0) {
            self.wanted_threads.push(thread);
        }
        match self.threads.get(thread.0) {
            Some(number) => number,
            None => self.new_thread(thread),
        }
    }

    fn new_thread(&mut self, thread: ThreadId) -> u64 {
        let number = self.number();
        self.threads.insert(thread.0, number);
        number
    }

    /// The stack trace of a standard event: never none.
    #[inline]
    pub(crate) fn stack(&mut self, chain: ChainId) -> u64 {
        if chain.is_some() {
            return self.chain(chain);
        }
        if !self.no_stack_written {
            self.put_no_stack();
        }
        schema::NO_STACK
    }

    /// A place in a lock's order as a step from the lock's event before.
    #[inline]
    pub(crate) fn step(&mut self, lock: LockId, seq: Seq) -> u64 {
        if seq.is_none() {
            return 0;
        }
        let before = self.places.get(lock.0).unwrap_or(0);
        self.places.insert(lock.0, seq.0);
        step(before, seq.0)
    }

    /// The same for the order of all parks and unparks.
    #[inline]
    pub(crate) fn park_step(&mut self, seq: Seq) -> u64 {
        if seq.is_none() {
            return 0;
        }
        step(std::mem::replace(&mut self.park_place, seq.0), seq.0)
    }

    /// Notes that an event refers to a chain.
    #[inline]
    pub(crate) fn chain(&mut self, chain: ChainId) -> u64 {
        if chain.is_some() && self.chains.insert(chain.0) {
            self.wanted_chains.push(chain);
        }
        chain.0
    }

    /// Notes that an event refers to a lock; gives the number of its class.
    #[inline]
    pub(crate) fn lock(&mut self, lock: LockId, dictionary: &Dictionary) -> u64 {
        if let Some(class) = self.locks.get(lock.0) {
            return class;
        }
        self.new_lock(lock, dictionary)
    }

    fn new_lock(&mut self, lock: LockId, dictionary: &Dictionary) -> u64 {
        if lock.is_none() {
            return 0;
        }
        let Some(def) = dictionary.lock(lock) else {
            return 0;
        };
        let class = self.class(&def.class);
        self.locks.insert(lock.0, class);
        self.wanted_locks.push(lock);
        class
    }

    /// A lock was defined again; what stands in the chunk is out of date.
    pub(crate) fn lock_changed(&mut self, lock: LockId) {
        if self.locks.get(lock.0).is_some() {
            self.wanted_locks.push(lock);
        }
    }

    /// A thread was defined, perhaps again.
    pub(crate) fn thread_changed(&mut self, thread: ThreadId) {
        self.known_threads.insert(thread.0);
        self.wanted_threads.push(thread);
    }

    /// The number of a class by its dotted name; 0 for the empty name.
    pub(crate) fn class(&mut self, dotted: &Arc<str>) -> u64 {
        if dotted.is_empty() {
            return 0;
        }
        self.class_or_native(dotted)
    }

    /// Like [`Self::class`], but the empty name gets a class too: the JDK's
    /// tools fail on a method without one.
    fn class_or_native(&mut self, dotted: &Arc<str>) -> u64 {
        if let Some(number) = self.classes.get(dotted) {
            return *number;
        }
        let number = self.number();
        let symbol = self.symbol(&file_name_of_class(dotted));
        self.classes.insert(dotted.clone(), number);
        let entry = self.pools[CLASS].add(number);
        entry.varint(0); // class loader
        entry.varint(symbol);
        entry.varint(0); // package
        entry.int(0); // modifiers
        entry.byte(0); // hidden
        number
    }

    fn symbol(&mut self, text: &str) -> u64 {
        if let Some(number) = self.symbols.get(text) {
            return *number;
        }
        let number = self.number();
        self.symbols.insert(text.into(), number);
        self.pools[SYMBOL].add(number).symbol(text);
        number
    }

    fn group(&mut self, name: &Arc<str>) -> u64 {
        if name.is_empty() {
            return 0;
        }
        if let Some(number) = self.groups.get(name) {
            return *number;
        }
        let number = self.number();
        self.groups.insert(name.clone(), number);
        let entry = self.pools[GROUP].add(number);
        entry.varint(0); // parent
        entry.string(name);
        number
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Resolves everything that events referred to since the last call. What
    /// the dictionary does not know (yet) is asked for again when the next
    /// event refers to it.
    pub(crate) fn resolve(&mut self, ticks: u64, dictionary: &Dictionary) {
        for thread in std::mem::take(&mut self.wanted_threads) {
            match dictionary.thread(thread) {
                Some(def) => self.put_thread(ticks, def),
                None => {
                    self.known_threads.remove(thread.0);
                }
            }
        }
        for lock in std::mem::take(&mut self.wanted_locks) {
            match dictionary.lock(lock) {
                Some(def) => self.put_lock(ticks, def),
                None => {
                    self.locks.remove(lock.0);
                }
            }
        }
        for chain in std::mem::take(&mut self.wanted_chains) {
            match dictionary.chain(chain) {
                Some(def) => self.put_chain(chain, &def.chain, dictionary),
                None => {
                    self.chains.remove(chain.0);
                }
            }
        }
    }

    /// Every thread that the dictionary knows, so that a chunk says who was
    /// there, also those that did nothing worth an event.
    pub(crate) fn all_threads(&mut self, dictionary: &Dictionary) {
        for thread in dictionary.threads() {
            self.thread(thread.id);
        }
    }

    fn put_thread(&mut self, ticks: u64, def: &ThreadDef) {
        let number = self.thread(def.id);
        let group = self.group(&def.group);
        let is_java = def.id.0 & ThreadId::NATIVE == 0;
        let entry = self.pools[THREAD].add(number);
        entry.string(&def.name);
        entry.varint(u64::from(def.os_id));
        if is_java {
            entry.string(&def.name);
            entry.varint(def.id.0);
        } else {
            entry.null_string();
            entry.varint(0);
        }
        entry.varint(group);
        entry.byte(u8::from(def.is_virtual));
        if def.is_service {
            self.definitions.event(|e| {
                e.byte(id::SERVICE_THREAD);
                e.varint(ticks);
                e.varint(number);
            });
        }
    }

    fn put_lock(&mut self, ticks: u64, def: &LockDef) {
        let class = self.class(&def.class);
        self.pools[LOCK].add(def.id.0).string(&lock_label(def));
        self.definitions.event(|e| {
            e.byte(id::LOCK_DEFINITION);
            e.varint(ticks);
            e.varint(def.id.0);
            e.varint(class);
            e.int(def.identity_hash as i32);
            e.string(&def.name);
        });
    }

    fn put_chain(&mut self, key: ChainId, chain: &CallChain, dictionary: &Dictionary) {
        for frame in &chain.frames {
            if self.methods.insert(frame.method.0) {
                self.put_method(frame.method, dictionary);
            }
        }
        let entry = self.pools[STACK].add(key.0);
        entry.byte(u8::from(chain.truncated));
        entry.varint(chain.frames.len() as u64);
        for frame in &chain.frames {
            entry.varint(frame.method.0);
            entry.int(frame.line as i32);
            entry.int(frame.bci);
            entry.varint(frame_type(frame.kind));
        }
        let approximate: Vec<String> =
            chain.frames.iter().enumerate().filter(|(_, f)| f.approximate).map(|(i, _)| i.to_string()).collect();
        if !approximate.is_empty() {
            self.pools[APPROXIMATE].add(key.0).string(&approximate.join(","));
        }
    }

    fn put_no_stack(&mut self) {
        self.no_stack_written = true;
        let class = self.class_or_native(&"".into());
        let (name, descriptor) = (self.symbol(schema::NO_STACK_METHOD), self.symbol("()V"));
        let method = self.pools[METHOD].add(schema::NO_STACK);
        for value in [class, name, descriptor, 0, 0] {
            method.varint(value);
        }
        let stack = self.pools[STACK].add(schema::NO_STACK);
        // Not truncated; one frame: its method, line, place in it and type.
        for value in [0, 1, schema::NO_STACK, 0, 0, frame_type(FrameKind::Native)] {
            stack.varint(value);
        }
    }

    /// A method that nobody can name still gets a constant: the JDK's tools
    /// fail on a frame without a method.
    fn put_method(&mut self, key: MethodId, dictionary: &Dictionary) {
        let unknown = Method { name: "[unknown]".into(), ..Method::default() };
        let method = dictionary.method(key).map_or(&unknown, |m| m);
        let class = self.class_or_native(&method.class);
        let name = self.symbol(&method.name);
        let descriptor = self.symbol(if method.descriptor.is_empty() { "()V" } else { &method.descriptor });
        let source = if method.source_file.is_empty() { 0 } else { self.symbol(&method.source_file) };
        let entry = self.pools[METHOD].add(key.0);
        entry.varint(class);
        entry.varint(name);
        entry.varint(descriptor);
        entry.int(method.access_flags as i32);
        entry.byte(u8::from(method.hidden));
        if source != 0 {
            self.pools[SOURCE].add(key.0).varint(source);
        }
    }

    /// The checkpoint event with everything that waits, or `None`. `delta` is
    /// the distance to the previous checkpoint of the chunk, 0 for the first.
    pub(crate) fn checkpoint(&self, ticks: u64, delta: i64) -> Option<Vec<u8>> {
        let mut waiting: Vec<(TypeId, u64, &[u8])> = POOLS
            .iter()
            .zip(&self.pools)
            .filter(|(_, pool)| pool.count > 0)
            .map(|(ty, pool)| (*ty, pool.count, pool.entries.bytes.as_slice()))
            .collect();
        let statics = if self.statics_written { Vec::new() } else { statics() };
        waiting.extend(statics.iter().map(|(ty, pool)| (*ty, pool.count, pool.entries.bytes.as_slice())));
        if waiting.is_empty() {
            return None;
        }
        Some(checkpoint_event(ticks, delta, &waiting))
    }

    /// Bytes that the chunk's constants have taken so far.
    pub(crate) fn written_bytes(&self) -> usize {
        self.pools.iter().map(|pool| pool.written.bytes.len()).sum()
    }

    /// A checkpoint event with all constants of the chunk, which ends the chunk and
    /// depends on no other: some readers follow no further ones.
    pub(crate) fn whole_checkpoint(&self, ticks: u64) -> Vec<u8> {
        let all = POOLS.iter().zip(&self.pools).filter(|(_, pool)| pool.written_count > 0);
        let mut constants: Vec<(TypeId, u64, &[u8])> =
            all.map(|(ty, pool)| (*ty, pool.written_count, pool.written.bytes.as_slice())).collect();
        let statics = statics();
        constants.extend(statics.iter().map(|(ty, pool)| (*ty, pool.count, pool.entries.bytes.as_slice())));
        checkpoint_event(ticks, 0, &constants)
    }

    /// Events that define the locks and threads among what waits.
    pub(crate) fn definitions(&self) -> &[u8] {
        &self.definitions.bytes
    }

    /// What waited is written.
    pub(crate) fn written(&mut self) {
        self.statics_written = true;
        self.definitions.bytes.clear();
        for pool in &mut self.pools {
            pool.written_count += std::mem::take(&mut pool.count);
            pool.written.bytes.append(&mut pool.entries.bytes);
        }
    }
}

fn checkpoint_event(ticks: u64, delta: i64, constants: &[(TypeId, u64, &[u8])]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.event(|e| {
        e.varint(u64::from(id::CHECKPOINT));
        e.varint(ticks);
        e.varint(0); // duration
        e.signed(delta);
        e.byte(1); // ends a flush
        e.varint(constants.len() as u64);
        for (ty, count, entries) in constants {
            e.varint(u64::from(*ty));
            e.varint(*count);
            e.bytes.extend_from_slice(entries);
        }
    });
    encoder.bytes
}

/// 1 + the zigzag-encoded difference to the next number: small for numbers close by.
fn step(before: u64, seq: u64) -> u64 {
    schema::zigzag(seq.wrapping_sub(before).wrapping_sub(1)).wrapping_add(1)
}

/// How far back another place in the same order is; see the schema.
#[inline]
pub(crate) fn back(from: Seq, to: Seq) -> u64 {
    match to {
        Seq::NONE => 0,
        _ => schema::zigzag(from.0.wrapping_sub(to.0)).wrapping_add(1),
    }
}

/// What other tools show for a lock: `Inventory.lock (com.acme.Inventory@7eadbeef)`.
fn lock_label(def: &LockDef) -> String {
    let identity = match def.identity_hash {
        0 => format!("{}#{}", def.class, def.id.0),
        hash => format!("{}@{hash:x}", def.class),
    };
    match &*def.name {
        "" => identity,
        name => format!("{name} ({identity})"),
    }
}

/// The number of a frame type, an index into [`schema::FRAME_TYPES`].
fn frame_type(kind: FrameKind) -> u64 {
    match kind {
        FrameKind::Interpreted => 0,
        FrameKind::Compiled => 1,
        FrameKind::Inlined => 2,
        FrameKind::Native => 3,
    }
}

/// Constants that are the same in every recording.
fn statics() -> Vec<(TypeId, Pool)> {
    let named = |ty, names: &mut dyn Iterator<Item = (u64, &str)>| {
        let mut pool = Pool::default();
        names.for_each(|(key, name)| pool.add(key).string(name));
        (ty, pool)
    };
    let numbered = |names: &'static [&'static str]| names.iter().enumerate().map(|(i, name)| (i as u64, *name));
    vec![
        named(id::FRAME_TYPE, &mut numbered(&schema::FRAME_TYPES)),
        named(id::THREAD_STATE, &mut [schema::RUNNABLE, schema::WAITING].into_iter()),
        named(id::EXIT_CAUSE, &mut numbered(&schema::EXIT_CAUSES)),
        named(id::WAIT_OUTCOME, &mut numbered(&schema::WAIT_OUTCOMES)),
        named(id::PARK_OUTCOME, &mut numbered(&schema::PARK_OUTCOMES)),
        named(id::LOSS_CAUSE, &mut Loss::ALL.iter().enumerate().map(|(i, loss)| (i as u64, loss.name()))),
    ]
}

/// A dotted class name as JFR files have it: with slashes, the slash in front
/// of a hidden class's address as a plus.
fn file_name_of_class(dotted: &str) -> String {
    dotted.replace('/', "+").replace('.', "/")
}
