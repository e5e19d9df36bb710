//! What ids of the table stand for.
//!
//! The ids here are dense (0 is "unknown"), and what a reader cannot distinguish
//! has one id: chains that differ only in how their code was compiled, methods
//! of the same readable name. Names come from the profiled program, so they are
//! bounded in length here, once.

use crate::contract::{self, Frame, Lock, Thread};
use crate::projection::StandIns;
use headway_analysis::names::{is_machinery, method, past_machinery, thread_group};
use headway_analysis::report::UNKNOWN;
use headway_model::event::{LockDef, ThreadDef};
use headway_model::{ChainId, Dictionary, Event, LockId, MethodId, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Names longer than this are cut; no class or thread of a sane program has one.
const LONGEST: usize = 1000;
/// The kinds of threads from this on are of the JVM itself.
pub(crate) const JVM: u8 = 2;
/// The kind of carriers of virtual threads.
const CARRIER: u8 = 3;

/// The names of a recording.
#[derive(Clone, Debug)]
pub struct Names {
    dictionary: Dictionary,
    texts: Interned<String>,
    threads: Vec<Thread>,
    thread_ids: FxHashMap<ThreadId, u32>,
    /// What stands for several threads: by group, kind, and whether for all of them.
    stand_ins: FxHashMap<(u32, u8, bool), u32>,
    locks: Vec<Lock>,
    lock_ids: FxHashMap<LockId, u32>,
    class_locks: FxHashMap<u32, u32>,
    /// What stands for all locks of one name, by name and class.
    title_locks: FxHashMap<(u32, u32), u32>,
    /// What stands for those locks of a name that are not kept apart, by name and class.
    other_locks: FxHashMap<(u32, u32), u32>,
    frames: Vec<Frame>,
    frame_ids: FxHashMap<(u32, u32), u32>,
    methods: FxHashMap<MethodId, u32>,
    chains: Interned<Vec<u32>>,
    chain_ids: FxHashMap<(ChainId, u16), u32>,
    owner_ids: FxHashMap<(ChainId, u16), u32>,
    parts: FxHashMap<(ChainId, u16), u32>,
}

#[derive(Clone, Debug)]
struct Interned<T> {
    ids: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn new(zero: T) -> Interned<T> {
        Interned { ids: [(zero.clone(), 0)].into_iter().collect(), values: vec![zero] }
    }

    fn id(&mut self, value: T) -> u32 {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = self.values.len() as u32;
        self.ids.insert(value.clone(), id);
        self.values.push(value);
        id
    }
}

impl Default for Names {
    fn default() -> Names {
        let unknown_lock = Lock { name: UNKNOWN.into(), short: UNKNOWN.into(), class: 0, title: 0 };
        Names {
            dictionary: Dictionary::default(),
            texts: Interned::new(UNKNOWN.to_owned()),
            threads: vec![Thread { name: UNKNOWN.into(), key: "unknown#0".into(), ..Thread::default() }],
            thread_ids: FxHashMap::default(),
            stand_ins: FxHashMap::default(),
            locks: vec![unknown_lock],
            lock_ids: FxHashMap::default(),
            class_locks: FxHashMap::default(),
            title_locks: FxHashMap::default(),
            other_locks: FxHashMap::default(),
            frames: vec![Frame::default()],
            frame_ids: FxHashMap::default(),
            methods: FxHashMap::default(),
            chains: Interned::new(Vec::new()),
            chain_ids: FxHashMap::default(),
            owner_ids: FxHashMap::default(),
            parts: FxHashMap::default(),
        }
    }
}

impl Names {
    /// Takes in a definition.
    pub fn feed(&mut self, event: &Event) {
        self.dictionary.feed(event);
        match event {
            Event::Method(id, _) => {
                self.methods.remove(id);
            }
            // A lock's name may become known later than the lock.
            Event::Lock(def) => {
                if let Some(id) = self.lock_ids.get(&def.id).copied() {
                    self.locks[id as usize] = self.read_lock(def.id);
                }
            }
            Event::Thread(def) => {
                if let Some(id) = self.thread_ids.get(&def.id).copied() {
                    self.threads[id as usize] = self.read_thread(def.id);
                }
            }
            _ => {}
        }
    }

    /// A text's id.
    pub fn text(&mut self, text: &str) -> u32 {
        self.texts.id(bounded(text))
    }

    /// A thread's id.
    pub fn thread(&mut self, id: ThreadId) -> u32 {
        if id.is_none() {
            return 0;
        }
        if let Some(known) = self.thread_ids.get(&id) {
            return *known;
        }
        let thread = self.read_thread(id);
        self.threads.push(thread);
        let place = self.threads.len() as u32 - 1;
        self.thread_ids.insert(id, place);
        place
    }

    fn stand_in(&mut self, thread: u32, all: bool) -> u32 {
        let of_thread = self.threads.get(thread as usize).filter(|_| thread > 0);
        let Some((group, kind)) = of_thread.map(|thread| (thread.group, thread.kind)) else { return 0 };
        let next = self.threads.len() as u32;
        let known = *self.stand_ins.entry((group, kind, all)).or_insert(next);
        if known == next {
            let name = self.texts.values[group as usize].clone();
            // How many it stands for is counted in the end.
            let key = format!("{name}#{}{kind}", if all { "all" } else { "rest" });
            self.threads.push(Thread { name, group, kind, others: 1, key });
        }
        known
    }

    /// Counts the threads that others stand for: those `folded` with their stand-in,
    /// and all of each group.
    pub fn count_stand_ins(&mut self, folded: impl Iterator<Item = (u32, u32)>) {
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        for (_, stand_in) in folded {
            *counts.entry(stand_in).or_default() += 1;
        }
        for thread in self.threads.iter().skip(1).filter(|thread| thread.others == 0) {
            if let Some(stand_in) = self.stand_ins.get(&(thread.group, thread.kind, true)) {
                *counts.entry(*stand_in).or_default() += 1;
            }
        }
        for (stand_in, count) in counts {
            if let Some(thread) = self.threads.get_mut(stand_in as usize) {
                thread.others = count;
            }
        }
    }

    /// The thread as the recording defines it.
    pub fn definition(&self, id: ThreadId) -> Option<&ThreadDef> {
        self.dictionary.thread(id)
    }

    /// Every thread that the recording defines.
    pub fn definitions(&self) -> impl Iterator<Item = &ThreadDef> {
        self.dictionary.threads()
    }

    fn read_thread(&mut self, id: ThreadId) -> Thread {
        let def = self.dictionary.thread(id);
        let kind = match def {
            Some(def) if def.is_carrier() => CARRIER,
            Some(def) if def.is_service => JVM,
            Some(def) if def.is_virtual => 1,
            _ if id.0 & ThreadId::NATIVE != 0 => JVM,
            _ => 0,
        };
        let (name, group) = match def {
            Some(def) if !def.name.is_empty() => (bounded(&def.name), thread_group::fold(&bounded(&def.name))),
            Some(def) if def.is_virtual => (format!("virtual thread #{}", id.0), "virtual thread #*".to_owned()),
            _ if kind == JVM => (format!("native thread {}", id.0 & !ThreadId::NATIVE), "native thread *".to_owned()),
            _ => (format!("thread #{}", id.0), "thread #*".to_owned()),
        };
        let key = match id.0 & ThreadId::NATIVE {
            // No thread: keys of threads have a number.
            _ if id == ThreadId::SOME_VIRTUAL => name.clone(),
            0 => format!("{name}#{}", id.0),
            _ => format!("{name}#n{}", id.0 & !ThreadId::NATIVE),
        };
        Thread { name, group: self.text(&group), kind, others: 0, key }
    }

    /// A lock's id.
    pub fn lock(&mut self, id: LockId) -> u32 {
        if id.is_none() {
            return 0;
        }
        if let Some(known) = self.lock_ids.get(&id) {
            return *known;
        }
        let lock = self.read_lock(id);
        self.locks.push(lock);
        let place = self.locks.len() as u32 - 1;
        self.lock_ids.insert(id, place);
        place
    }

    /// The id of a blocker of which only the class is known.
    pub fn lock_of_class(&mut self, class: &str) -> u32 {
        if class.is_empty() {
            return 0;
        }
        let text = self.text(&method::readable_class(class));
        if let Some(known) = self.class_locks.get(&text) {
            return *known;
        }
        let name = self.texts.values[text as usize].clone();
        let short = method::without_package(&name).to_owned();
        let title = self.text(&short);
        self.locks.push(Lock { name, short, class: text, title });
        let place = self.locks.len() as u32 - 1;
        self.class_locks.insert(text, place);
        place
    }

    /// The id under which something that is no object has a place among locks.
    pub fn named(&mut self, name: &str) -> u32 {
        let text = self.text(name);
        if let Some(known) = self.class_locks.get(&text) {
            return *known;
        }
        let name = self.texts.values[text as usize].clone();
        self.locks.push(Lock { name: name.clone(), short: name, class: text, title: text });
        let place = self.locks.len() as u32 - 1;
        self.class_locks.insert(text, place);
        place
    }

    /// The definitions taken in so far.
    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn read_lock(&mut self, id: LockId) -> Lock {
        let unknown = LockDef::default();
        let def = self.dictionary.lock(id).unwrap_or(&unknown).clone();
        let class = match def.class.is_empty() {
            true if id == LockId::NONE => "(none)".to_owned(), // who parks need not name one
            true => "(unknown class)".to_owned(),
            false => method::readable_class(&bounded(&def.class)),
        };
        let object = match def.identity_hash {
            0 if id == LockId::NONE => class.clone(),
            0 => format!("{class}#{}", id.0),
            hash => format!("{class}@{hash:x}"),
        };
        let (name, short) = match def.name.is_empty() {
            true => (object.clone(), method::without_package(&object).to_owned()),
            false => (format!("{} ({object})", bounded(&def.name)), bounded(&def.name)),
        };
        let title = match def.name.is_empty() {
            true => self.text(method::without_package(&class)),
            // `Transaction (this)` is what any method calls its own object.
            false => self.text(def.name.strip_suffix(" (this)").unwrap_or(&def.name)),
        };
        Lock { name, short, class: self.text(&class), title }
    }

    /// The id of a chain from the frame with index `from` on.
    pub fn chain(&mut self, chain: ChainId, from: u16) -> u32 {
        if chain.is_none() {
            return 0;
        }
        if let Some(known) = self.chain_ids.get(&(chain, from)) {
            return *known;
        }
        let Some(def) = self.dictionary.chain(chain).cloned() else { return 0 };
        let frames = def.chain.frames.iter().skip(from as usize);
        let frames: Vec<u32> = frames.map(|frame| self.frame(frame.method, frame.line)).collect();
        let id = if frames.is_empty() { 0 } else { self.chains.id(frames) };
        self.chain_ids.insert((chain, from), id);
        id
    }

    /// The id of a chain up to the frame with index `end`, that one left out.
    pub fn chain_up_to(&mut self, chain: ChainId, end: u16) -> u32 {
        if let Some(known) = self.parts.get(&(chain, end)) {
            return *known;
        }
        let Some(def) = self.dictionary.chain(chain).cloned() else { return 0 };
        let frames = def.chain.frames.iter().take(end as usize);
        let frames: Vec<u32> = frames.map(|frame| self.frame(frame.method, frame.line)).collect();
        let id = if frames.is_empty() { 0 } else { self.chains.id(frames) };
        self.parts.insert((chain, end), id);
        id
    }

    /// The id of an owner's chain: from the frame that holds the lock on, and
    /// from there the first that is not the machinery of waiting itself.
    pub fn owner_chain(&mut self, chain: ChainId, from: u16) -> u32 {
        if let Some(known) = self.owner_ids.get(&(chain, from)) {
            return *known;
        }
        let whole = self.chain(chain, from);
        let skipped = self.machinery(whole);
        let id = if skipped == 0 { whole } else { self.chain(chain, from.saturating_add(skipped as u16)) };
        self.owner_ids.insert((chain, from), id);
        id
    }

    /// True if debug information could not prove which callee frame `at` is.
    pub fn is_approximate(&self, chain: ChainId, at: u16) -> bool {
        let frame = self.dictionary.chain(chain).and_then(|def| def.chain.frames.get(at as usize));
        frame.is_some_and(|frame| frame.approximate)
    }

    fn frame(&mut self, method: MethodId, line: u32) -> u32 {
        let name = self.method(method);
        if let Some(known) = self.frame_ids.get(&(name, line)) {
            return *known;
        }
        let file = self.dictionary.method(method).map_or_else(String::new, |def| bounded(&def.source_file));
        let jdk = is_jdk(&self.texts.values[name as usize]);
        self.frames.push(Frame { method: name, line, jdk, file, source: String::new() });
        let id = self.frames.len() as u32 - 1;
        self.frame_ids.insert((name, line), id);
        id
    }

    fn method(&mut self, id: MethodId) -> u32 {
        if let Some(known) = self.methods.get(&id) {
            return *known;
        }
        let name = match self.dictionary.method(id) {
            Some(def) => method::readable(def).full,
            None => format!("(unknown method #{})", id.0),
        };
        let text = self.text(&name);
        self.methods.insert(id, text);
        text
    }

    /// Frames at the leaf that are the machinery of waiting and locking itself, and helpers that only release a lock of
    /// `java.util.concurrent`: their caller had it.
    fn machinery(&self, chain: u32) -> usize {
        let Some(frames) = self.chains.values.get(chain as usize) else { return 0 };
        past_machinery(frames, |frame| Some(self.method_of(*frame)), is_machinery)
    }

    fn method_of(&self, frame: u32) -> &str {
        let text = self.frames.get(frame as usize).map_or(0, |frame| frame.method);
        self.texts.values.get(text as usize).map_or("", String::as_str)
    }

    /// Text of the method that each chain is about, by chain.
    pub fn acting_methods(&self) -> Vec<u32> {
        let chains = self.chains.values.iter().enumerate();
        let acting = chains.map(|(id, frames)| frames.get(self.machinery(id as u32)).or(frames.first()).copied());
        acting.map(|frame| frame.and_then(|frame| self.frames.get(frame as usize)).map_or(0, |f| f.method)).collect()
    }

    /// Lets `source` find the text of source lines, by file and method and line.
    pub fn add_sources(&mut self, mut source: impl FnMut(&str, &str, u32) -> Option<String>) {
        for frame in self.frames.iter_mut().filter(|frame| frame.line > 0 && !frame.file.is_empty()) {
            let method = self.texts.values.get(frame.method as usize).map_or("", String::as_str);
            frame.source = source(method, &frame.file, frame.line).unwrap_or_default();
        }
    }

    /// All texts.
    pub fn texts(&self) -> &[String] {
        &self.texts.values
    }

    /// All threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// All locks.
    pub fn locks(&self) -> &[Lock] {
        &self.locks
    }

    /// All frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// All chains.
    pub fn chains(&self) -> &[Vec<u32>] {
        &self.chains.values
    }
}

impl StandIns for Names {
    fn group(&mut self, thread: u32) -> u32 {
        match self.threads.get(thread as usize).is_some_and(|thread| thread.others > 0) {
            true => thread,
            false => self.stand_in(thread, true),
        }
    }

    fn rest_of_group(&mut self, thread: u32) -> u32 {
        self.stand_in(thread, false)
    }

    fn lock_name(&mut self, lock: u32) -> u32 {
        let of_lock = self.locks.get(lock as usize).filter(|_| lock > 0);
        let Some((class, title)) = of_lock.map(|lock| (lock.class, lock.title)) else { return 0 };
        let next = self.locks.len() as u32;
        let known = *self.title_locks.entry((title, class)).or_insert(next);
        if known == next {
            let name = self.texts.values[title as usize].clone();
            self.locks.push(Lock { short: name.clone(), name, class, title });
        }
        known
    }

    fn rest_of_name(&mut self, lock: u32) -> u32 {
        let of_lock = self.locks.get(lock as usize).filter(|_| lock > 0);
        let Some((class, title)) = of_lock.map(|lock| (lock.class, lock.title)) else { return 0 };
        let next = self.locks.len() as u32;
        let known = *self.other_locks.entry((title, class)).or_insert(next);
        if known == next {
            let text = |id: u32| self.texts.values[id as usize].as_str();
            let (title_text, class_text) = (text(title), text(class));
            let name = match title_text == method::without_package(class_text) {
                true => format!("{class_text} (others)"),
                false => format!("{title_text} (others, {class_text})"),
            };
            self.locks.push(Lock { short: format!("{title_text} (others)"), name, class, title });
        }
        known
    }
}

/// The names that an answer mentions.
#[derive(Debug)]
pub(crate) struct Mentioned<'a> {
    names: &'a Names,
    texts: Ids,
    threads: Ids,
    locks: Ids,
    frames: Ids,
    chains: Ids,
}

impl<'a> Mentioned<'a> {
    pub fn of(names: &'a Names) -> Mentioned<'a> {
        let [texts, threads, locks, frames, chains] = std::array::from_fn(|_| Ids::default());
        Mentioned { names, texts, threads, locks, frames, chains }
    }

    pub fn text(&mut self, id: u32) {
        self.texts.add(id);
    }

    pub fn thread(&mut self, id: u32) {
        self.threads.add(id);
        self.text(self.names.threads().get(id as usize).map_or(0, |thread| thread.group));
    }

    pub fn lock(&mut self, id: u32) {
        self.locks.add(id);
        if let Some(lock) = self.names.locks().get(id as usize) {
            self.text(lock.class);
            self.text(lock.title);
        }
    }

    pub fn chain(&mut self, id: u32) {
        if !self.chains.add(id) {
            return;
        }
        // Call stacks share most of their frames.
        for frame in self.names.chains().get(id as usize).into_iter().flatten() {
            if self.frames.add(*frame) {
                self.text(self.names.frames().get(*frame as usize).map_or(0, |frame| frame.method));
            }
        }
    }

    pub fn into_names(self) -> contract::Names {
        let names = self.names;
        contract::Names {
            texts: self.texts.of(names.texts()),
            threads: self.threads.of(names.threads()),
            locks: self.locks.of(names.locks()),
            frames: self.frames.of(names.frames()),
            chains: self.chains.of(names.chains()),
        }
    }
}

/// A set of ids, which are dense: a bit each.
#[derive(Debug, Default)]
struct Ids(Vec<u64>);

impl Ids {
    /// True if the id was not in the set.
    fn add(&mut self, id: u32) -> bool {
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let known = self.0.get_mut(word);
        known.is_some_and(|known| {
            let is_new = *known & bit == 0;
            *known |= bit;
            is_new
        })
    }

    /// What the ids of the set stand for.
    fn of<T: Clone>(&self, all: &[T]) -> BTreeMap<u32, T> {
        let bits = |(word, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        let ids = self.0.iter().enumerate().flat_map(bits);
        ids.filter_map(|id| Some((id as u32, all.get(id)?.clone()))).collect()
    }
}

/// At most so many bytes; what is cut is said.
pub(crate) fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... ({} bytes)", &text[..end], text.len())
}

/// True for the JDK's own classes, and for native code.
fn is_jdk(method: &str) -> bool {
    const PREFIXES: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "org.openjdk.jmh.generated."];
    !method.contains('.') || PREFIXES.iter().any(|prefix| method.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_end_is_cut_and_says_so() {
        let name = bounded(&"ü".repeat(5000));
        assert!(name.len() < 1100 && name.ends_with("... (10000 bytes)"), "{name}");
        assert_eq!(bounded("short"), "short");
    }

    #[test]
    fn the_same_place_in_the_code_is_one_chain() {
        use headway_model::stack::{CallChain, ChainDef, Frame, FrameKind, Method};
        use std::sync::Arc;
        let mut names = Names::default();
        let method = Method { class: "com.acme.A".into(), name: "run".into(), ..Method::default() };
        names.feed(&Event::Method(MethodId(1), Arc::new(method)));
        for (id, kind) in [(1, FrameKind::Interpreted), (2, FrameKind::Compiled)] {
            let frame = Frame { method: MethodId(1), bci: 3, line: 7, kind, approximate: false };
            let chain = CallChain { frames: vec![frame], truncated: false };
            names.feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain })));
        }
        let id = names.chain(ChainId(1), 0);
        assert_eq!(names.chain(ChainId(2), 0), id);
        assert_eq!(names.acting_methods()[id as usize], names.text("com.acme.A.run"));
        assert_eq!(names.chain(ChainId(9), 0), 0);
    }
}
