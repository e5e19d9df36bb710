//! From a chunk's constants to model definitions, each made when an event
//! first needs it.

use super::intern::Interner;
use super::pools::{Named, Pools, RawFrame, RawThread};
use crate::hash::{IdMap, IdTable};
use crate::schema::NO_STACK;
use headway_model::event::{ExitCause, LockDef, ParkOutcome, SampleState, ThreadDef, WaitOutcome};
use headway_model::{CallChain, ChainId, Event, Frame, FrameKind, LockId, Loss, Method, MethodId, ThreadId};
use std::sync::Arc;

/// A chunk's constants and the model ids they have been given.
pub(crate) struct Resolver {
    pub(crate) pools: Pools,
    threads: IdTable<ThreadId>,
    methods: IdTable<MethodId>,
    chains: IdTable<ChainId>,
    locks: IdTable<LockId>,
    classes: IdMap<u64, Arc<str>>,
    frame_kinds: IdMap<u64, FrameKind>,
    exit_causes: IdTable<ExitCause>,
    nothing: Arc<str>,
}

/// Groups of threads that belong to the JVM or the JDK.
const SERVICE_GROUPS: [&str; 3] = ["system", "InnocuousThreadGroup", CARRIERS];
/// Carriers of virtual threads, and the timer of their scheduler (JDK 25), which earlier versions of Headway took for a
/// thread of the application.
const CARRIERS: &str = "CarrierThreads";

impl Resolver {
    pub(crate) fn new(pools: Pools) -> Resolver {
        Resolver {
            pools,
            threads: IdTable::default(),
            methods: IdTable::default(),
            chains: IdTable::default(),
            locks: IdTable::default(),
            classes: IdMap::default(),
            frame_kinds: IdMap::default(),
            exit_causes: IdTable::default(),
            nothing: "".into(),
        }
    }

    /// Defines all threads of the chunk: which ones there were matters even
    /// where they did nothing.
    pub(crate) fn define_threads(&mut self, interner: &mut Interner, out: &mut Vec<Event>) {
        for (key, raw) in std::mem::take(&mut self.pools.threads) {
            let def = self.thread_def(key, &raw);
            if def.id.is_some() {
                self.threads.insert(key, interner.thread(def, out));
            }
        }
    }

    fn thread_def(&self, key: u64, raw: &RawThread) -> ThreadDef {
        let os_name = self.pools.text(&raw.os_name).unwrap_or_default();
        let java_name = self.pools.text(&raw.java_name);
        let group = self.pools.named(Named::ThreadGroup, raw.group).cloned().unwrap_or_default();
        // Some makers write -1 for threads without a Java identity.
        let is_java = raw.java_id != 0 && raw.java_id as i64 > 0 && raw.java_id & ThreadId::NATIVE == 0;
        let guessed = !is_java || SERVICE_GROUPS.contains(&&*group);
        let is_service = self.pools.is_service(key, raw).unwrap_or(guessed) || &*group == CARRIERS;
        let id = match (is_java, raw.os_id as u32) {
            (true, _) => ThreadId(raw.java_id),
            (false, 0) => ThreadId::NONE,
            (false, os_id) => ThreadId::native(os_id),
        };
        ThreadDef {
            id,
            os_id: raw.os_id as u32,
            name: java_name.filter(|name| !name.is_empty()).unwrap_or(os_name),
            group,
            is_virtual: raw.is_virtual,
            is_service,
        }
    }

    #[inline]
    pub(crate) fn thread(&self, key: u64) -> ThreadId {
        if key == 0 {
            return ThreadId::NONE;
        }
        self.threads.get(key).unwrap_or(ThreadId::NONE)
    }

    #[inline]
    pub(crate) fn chain(&mut self, key: u64, interner: &mut Interner, out: &mut Vec<Event>) -> ChainId {
        if key == 0 || (key == NO_STACK && self.pools.names_service_threads) {
            return ChainId::NONE;
        }
        match self.chains.get(key) {
            Some(id) => id,
            None => self.new_chain(key, interner, out),
        }
    }

    fn new_chain(&mut self, key: u64, interner: &mut Interner, out: &mut Vec<Event>) -> ChainId {
        let Some(stack) = self.pools.stacks.get(&key).copied() else {
            self.chains.insert(key, ChainId::NONE);
            return ChainId::NONE;
        };
        let mut frames = Vec::with_capacity(stack.len);
        for index in stack.first..stack.first + stack.len {
            let mut raw = self.pools.frames[index];
            raw.approximate |= self.pools.is_approximate(key, index - stack.first);
            frames.push(self.frame(raw, interner, out));
        }
        let chain = CallChain { frames, truncated: stack.truncated };
        let id = interner.chain(key, chain, out);
        self.chains.insert(key, id);
        id
    }

    fn frame(&mut self, raw: RawFrame, interner: &mut Interner, out: &mut Vec<Event>) -> Frame {
        let method = match self.methods.get(raw.method) {
            Some(id) => id,
            None => self.new_method(raw.method, interner, out),
        };
        let kind = self.frame_kind(u64::from(raw.kind));
        // Native frames of some makers say -1 or 0xffff.
        let line = if raw.line as i32 > 0 && kind != FrameKind::Native { raw.line } else { 0 };
        Frame { method, bci: raw.bci, line, kind, approximate: raw.approximate }
    }

    fn frame_kind(&mut self, key: u64) -> FrameKind {
        let pools = &self.pools;
        *self.frame_kinds.entry(key).or_insert_with(|| match pools.named(Named::FrameType, key).map(|name| &**name) {
            Some("Interpreted") => FrameKind::Interpreted,
            Some("Inlined") => FrameKind::Inlined,
            Some("JIT compiled" | "C1 compiled") => FrameKind::Compiled,
            Some("Native" | "C++" | "Kernel") => FrameKind::Native,
            _ => FrameKind::Interpreted,
        })
    }

    fn new_method(&mut self, key: u64, interner: &mut Interner, out: &mut Vec<Event>) -> MethodId {
        let Some(raw) = self.pools.methods.get(&key).cloned() else {
            return MethodId::NONE;
        };
        let text = |name| self.pools.text(name).unwrap_or_default();
        let (name, source_file) = (text(&raw.name), self.pools.source_file(key, &raw).unwrap_or_default());
        let descriptor = text(&raw.descriptor);
        let class = self.class(raw.class);
        // A native function has no descriptor; its maker had to put one there.
        let descriptor = if class.is_empty() { self.nothing.clone() } else { descriptor };
        let method = Method { class, name, descriptor, source_file, access_flags: raw.modifiers, hidden: raw.hidden };
        let id = interner.method(key, method, out);
        self.methods.insert(key, id);
        id
    }

    /// The dotted name of a class; empty if there is none.
    pub(crate) fn class(&mut self, key: u64) -> Arc<str> {
        if key == 0 {
            return self.nothing.clone();
        }
        if let Some(name) = self.classes.get(&key) {
            return name.clone();
        }
        let name = self.pools.classes.get(&key).and_then(|name| self.pools.text(name)).unwrap_or_default();
        let name: Arc<str> = spelled(&dotted(&name)).into();
        self.classes.insert(key, name.clone());
        name
    }

    /// A lock of a Headway recording, by the number of its constant.
    #[inline]
    pub(crate) fn lock(&mut self, key: u64, interner: &mut Interner, out: &mut Vec<Event>) -> LockId {
        if key == 0 {
            return LockId::NONE;
        }
        match self.locks.get(key) {
            Some(id) => id,
            None => self.new_lock(key, interner, out).unwrap_or(LockId(key)),
        }
    }

    fn new_lock(&mut self, key: u64, interner: &mut Interner, out: &mut Vec<Event>) -> Option<LockId> {
        let raw = self.pools.locks.get(&key).cloned()?;
        let def = LockDef {
            id: LockId::NONE,
            class: self.class(raw.class),
            identity_hash: raw.identity_hash,
            name: self.pools.text(&raw.name).unwrap_or_default(),
        };
        let id = interner.lock(key, def, out);
        self.locks.insert(key, id);
        Some(id)
    }

    /// A lock that is known by an address and a class.
    pub(crate) fn lock_at(
        &mut self,
        address: u64,
        class: u64,
        interner: &mut Interner,
        out: &mut Vec<Event>,
    ) -> LockId {
        if address == 0 {
            return LockId::NONE;
        }
        if let Some(id) = self.locks.get(address) {
            return id;
        }
        // In a Headway recording the address is the number of a lock.
        if let Some(id) = self.new_lock(address, interner, out) {
            return id;
        }
        let def = LockDef { class: self.class(class), ..LockDef::default() };
        interner.lock(address, def, out)
    }

    /// The state that a sampler on the wall clock saw a thread in.
    pub(crate) fn sample_state(&self, key: u64) -> SampleState {
        match self.pools.named(Named::ThreadState, key) {
            Some(state) if state.contains("RUNNABLE") || state.contains("DEFAULT") => SampleState::Runnable,
            _ => SampleState::Waiting,
        }
    }

    /// True where a thread state says that the thread slept or waited.
    pub(crate) fn is_sleeping(&self, key: u64) -> bool {
        self.pools.named(Named::ThreadState, key).is_some_and(|state| &**state == "STATE_SLEEPING")
    }

    #[inline]
    pub(crate) fn exit_cause(&mut self, key: u64) -> ExitCause {
        match self.exit_causes.get(key) {
            Some(cause) => cause,
            None => self.new_exit_cause(key),
        }
    }

    fn new_exit_cause(&mut self, key: u64) -> ExitCause {
        let cause = match self.pools.named(Named::ExitCause, key) {
            Some(name) if &**name == "wait" => ExitCause::Wait,
            Some(_) => ExitCause::Exit,
            // Any number may stand there: not worth remembering.
            None => return ExitCause::Exit,
        };
        self.exit_causes.insert(key, cause);
        cause
    }

    /// How a wait ended; `None` where the recording has no such constant.
    pub(crate) fn wait_outcome(&self, key: u64) -> Option<WaitOutcome> {
        match &**self.pools.named(Named::WaitOutcome, key)? {
            "timed out" => Some(WaitOutcome::TimedOut),
            "interrupted" => Some(WaitOutcome::Interrupted),
            _ => Some(WaitOutcome::Notified),
        }
    }

    pub(crate) fn park_outcome(&self, key: u64) -> ParkOutcome {
        match self.pools.named(Named::ParkOutcome, key).map(|name| &**name) {
            Some("unparked") => ParkOutcome::Unparked,
            Some("timed out") => ParkOutcome::TimedOut,
            Some("interrupted") => ParkOutcome::Interrupted,
            Some("spurious") => ParkOutcome::Spurious,
            _ => ParkOutcome::Unknown,
        }
    }

    pub(crate) fn loss(&self, key: u64) -> Option<Loss> {
        Loss::from_name(self.pools.named(Named::LossCause, key)?)
    }

    /// A string of the string pool.
    pub(crate) fn string(&self, key: u64) -> Arc<str> {
        self.pools.named(Named::String, key).cloned().unwrap_or_default()
    }
}

/// A class name of a JFR file in dotted form. The plus in front of a hidden
/// class's address becomes the slash that `Class.getName` shows.
fn dotted(name: &str) -> String {
    let dots = name.replace('/', ".");
    match dots.rfind("+0x") {
        Some(plus) => format!("{}/{}", &dots[..plus], &dots[plus + 1..]),
        None => dots,
    }
}

/// A class as sources spell it: `[I` is `int[]`, `[Ljava.lang.String;` is
/// `java.lang.String[]`.
fn spelled(name: &str) -> String {
    match name.starts_with('[') {
        true => headway_model::class_name::of_descriptor(name),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{dotted, spelled};

    #[test]
    fn class_names_become_those_of_sources() {
        for (name, expected) in [
            ("java/lang/Object", "java.lang.Object"),
            ("[I", "int[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("A$$Lambda+0x0000000800c03000", "A$$Lambda/0x0000000800c03000"),
            ("", ""),
        ] {
            assert_eq!(spelled(&dotted(name)), expected);
        }
    }
}
