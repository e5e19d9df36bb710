//! What things are called: readable names by id, interned.

mod libraries;
pub mod method;
pub mod thread_group;
mod vm_threads;

use headway_model::event::{LockDef, ThreadDef};
use headway_model::stack::ChainDef;
use headway_model::{ChainId, Dictionary, Event, LockId, MethodId, ThreadId};
use method::MethodName;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Where there is no lock object: who parks need not name one.
pub(crate) const NO_OBJECT: &str = "(none)";

/// Stands for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextId(u32);

/// Stands for a readable method name. Methods of the same readable name
/// (overloads, copies of hidden classes) have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NameId(u32);

/// Stands for a chain as a reader sees it: methods and lines. Chains that
/// differ only in how their code was compiled have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PathId(u32);

/// A frame as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathFrame {
    pub name: NameId,
    pub line: u32,
}

/// Where a method comes from: what its name does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    /// `Inventory.java`; empty if unknown.
    pub file: Arc<str>,
    /// True for a function that belongs to no class.
    pub is_native: bool,
}

/// Names of threads, methods, chains and locks.
#[derive(Debug, Default)]
pub(crate) struct Names {
    dictionary: Dictionary,
    texts: Interner<String>,
    methods: Interner<MethodName>,
    /// By `NameId`.
    sources: Vec<Source>,
    paths: Interner<Arc<[PathFrame]>>,
    by_method: FxHashMap<MethodId, NameId>,
    by_chain: FxHashMap<(ChainId, u16), PathId>,
    /// Classes of synchronizers that are not the JDK's.
    synchronizers: Vec<String>,
    /// Groups of threads asked for lately, each at the place of its thread.
    groups: Vec<(ThreadId, TextId)>,
    /// True where locks of one name and class are to have one text: those of two recordings.
    without_identity: bool,
    /// The thread of each group asked for; none where there were several.
    only: FxHashMap<TextId, Option<ThreadId>>,
}

/// Places for groups of threads asked for lately.
const GROUPS: usize = 128;

impl Names {
    /// `without_identity` where locks of one name and class are to have one text.
    pub fn new(without_identity: bool) -> Names {
        Names { without_identity, ..Names::default() }
    }

    /// Takes in a definition. One that comes again replaces the earlier one.
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::Method(id, _) => drop(self.by_method.remove(id)),
            // Its name may not be what it was.
            Event::Thread(def) => {
                if let Some(known) = self.groups.get_mut(place_of_group(def.id)) {
                    *known = NO_GROUP;
                }
            }
            _ => {}
        }
        match event {
            Event::Lock(def) => match renamed_lock(def) {
                Some(def) => self.dictionary.feed(&Event::Lock(def)),
                None => self.dictionary.feed(event),
            },
            _ => self.dictionary.feed(event),
        }
    }

    pub fn thread(&self, id: ThreadId) -> Option<&ThreadDef> {
        self.dictionary.thread(id)
    }

    pub fn lock(&self, id: LockId) -> Option<&LockDef> {
        self.dictionary.lock(id)
    }

    /// True for a thread that is known to be virtual.
    pub fn is_virtual(&self, id: ThreadId) -> bool {
        self.thread(id).is_some_and(|def| def.is_virtual)
    }

    /// See [`ThreadDef::is_carrier`].
    pub fn is_carrier(&self, id: ThreadId) -> bool {
        self.thread(id).is_some_and(ThreadDef::is_carrier)
    }

    /// The thread's name, or what can be said instead.
    pub fn thread_text(&self, id: ThreadId) -> String {
        match self.thread(id) {
            Some(def) if !def.name.is_empty() => whole_name(id, &def.name).to_owned(),
            Some(def) if def.is_virtual => format!("virtual thread #{}", id.0),
            _ if id.0 & ThreadId::NATIVE != 0 => {
                format!("native thread {}", id.0 & !ThreadId::NATIVE)
            }
            _ if id == ThreadId::NONE => crate::report::UNKNOWN.to_owned(),
            _ => format!("thread #{}", id.0),
        }
    }

    /// The group of the thread's name.
    pub fn group_text(&self, id: ThreadId) -> String {
        match self.thread(id) {
            Some(def) if !def.name.is_empty() => thread_group::fold(whole_name(id, &def.name)),
            Some(def) if def.is_virtual => "virtual thread #*".to_owned(),
            _ if id == ThreadId::NONE => crate::report::UNKNOWN.to_owned(),
            _ => "thread #*".to_owned(),
        }
    }

    pub fn group(&mut self, id: ThreadId) -> TextId {
        let place = place_of_group(id);
        match self.groups.get(place) {
            Some((known, group)) if *known == id && id.is_some() => return *group,
            Some(_) => {}
            None => self.groups = vec![NO_GROUP; GROUPS],
        }
        let text = self.group_text(id);
        let group = TextId(self.texts.intern(text));
        self.only.entry(group).and_modify(|only| *only = only.filter(|only| *only == id)).or_insert(Some(id));
        if let Some(known) = self.groups.get_mut(place) {
            *known = (id, group);
        }
        group
    }

    /// The name of a group, or of its thread where only one was asked for.
    pub fn group_or_thread(&self, group: TextId) -> String {
        let only = self.only.get(&group).copied().flatten();
        only.map_or_else(|| self.text(group).to_owned(), |only| self.thread_text(only))
    }

    /// True if several threads of the group were asked for.
    pub fn is_several(&self, group: TextId) -> bool {
        self.only.get(&group).is_some_and(Option::is_none)
    }

    pub fn lock_class(&mut self, id: LockId) -> TextId {
        let text = self.lock_class_text(id);
        TextId(self.texts.intern(text))
    }

    /// The readable class of the lock object.
    pub fn lock_class_text(&self, id: LockId) -> String {
        match self.lock(id) {
            Some(def) if !def.class.is_empty() => method::readable_class(&def.class),
            _ if id == LockId::NONE => NO_OBJECT.to_owned(),
            _ => "(unknown class)".to_owned(),
        }
    }

    /// `Inventory.lock (com.acme.Inventory$1@1a2b3c)`.
    pub fn lock_text(&self, id: LockId) -> String {
        let object = self.lock_object_text(id);
        match self.lock(id) {
            Some(def) if !def.name.is_empty() => format!("{} ({object})", def.name),
            _ => object,
        }
    }

    /// What a sentence calls the lock: `Inventory.lock`, else `Inventory$1@1a2b3c`.
    pub fn lock_short(&self, id: LockId) -> String {
        match self.lock(id) {
            Some(def) if !def.name.is_empty() => def.name.to_string(),
            _ => method::without_package(&self.lock_object_text(id)).to_owned(),
        }
    }

    fn lock_object_text(&self, id: LockId) -> String {
        let class = self.lock_class_text(id);
        if self.without_identity {
            return class;
        }
        match self.lock(id) {
            Some(def) if def.identity_hash != 0 => format!("{class}@{:x}", def.identity_hash),
            _ if id == LockId::NONE => class,
            _ => format!("{class}#{}", id.0),
        }
    }

    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id.0).map_or("", String::as_str)
    }

    pub fn method_name(&self, id: NameId) -> Option<&MethodName> {
        self.methods.get(id.0)
    }

    /// True if the method of this name is part of its stack's plumbing.
    pub fn is_part_of(&self, plumbing: Plumbing, id: NameId) -> bool {
        self.method_name(id).is_none_or(|name| plumbing.has(&name.full))
    }

    /// The plumbing of a stack.
    pub fn plumbing(&self, frames: &[PathFrame]) -> Plumbing {
        Plumbing::of(frames.iter().filter_map(|frame| self.method_name(frame.name)).map(|name| name.full.as_str()))
    }

    /// Where the method of this name comes from.
    pub fn source(&self, id: NameId) -> Source {
        self.sources.get(id.0 as usize).cloned().unwrap_or_default()
    }

    /// The chain as it was defined.
    pub fn chain(&self, id: ChainId) -> Option<Arc<ChainDef>> {
        self.dictionary.chain(id).cloned()
    }

    /// The readable name of a method; methods never defined have one too.
    pub fn method(&mut self, id: MethodId) -> NameId {
        if let Some(name) = self.by_method.get(&id) {
            return *name;
        }
        let name = match self.dictionary.method(id) {
            Some(def) => method::readable(def),
            None => {
                let text = format!("(unknown method #{})", id.0);
                MethodName { full: text.clone(), short: text }
            }
        };
        let name = NameId(self.methods.intern(name));
        if name.0 as usize == self.sources.len() {
            let def = self.dictionary.method(id);
            self.sources.push(def.map_or_else(Source::default, |def| Source {
                file: def.source_file.clone(),
                is_native: def.class.is_empty(),
            }));
        }
        self.by_method.insert(id, name);
        name
    }

    /// The chain from the frame with index `from` on; `None` if unknown.
    pub fn path(&mut self, chain: ChainId, from: u16) -> Option<PathId> {
        if chain.is_none() {
            return None;
        }
        if let Some(path) = self.by_chain.get(&(chain, from)) {
            return Some(*path);
        }
        let def = self.dictionary.chain(chain)?.clone();
        let frames: Vec<PathFrame> = def
            .chain
            .frames
            .iter()
            .skip(from as usize)
            .map(|frame| PathFrame { name: self.method(frame.method), line: frame.line })
            .collect();
        if frames.is_empty() {
            return None;
        }
        let path = PathId(self.paths.intern(frames.into()));
        self.by_chain.insert((chain, from), path);
        Some(path)
    }

    /// The chain of the frame that holds a lock: from `from` on, and from
    /// there the first frame that is not the waiting machinery itself.
    pub fn owner_path(&mut self, chain: ChainId, from: u16) -> Option<PathId> {
        let path = self.path(chain, from)?;
        let frames = self.frames(path);
        match self.skip_machinery(&frames) {
            0 => Some(path),
            skipped => self.path(chain, from.saturating_add(skipped as u16)),
        }
    }

    /// The definitions.
    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The same, with all frames where they are those of a lock's own methods.
    pub fn owner_chain(&mut self, chain: ChainId, from: u16) -> Option<PathId> {
        let path = self.path(chain, from)?;
        let first = self.frames(path).first().copied();
        let name = first.and_then(|frame| self.method_name(frame.name));
        match name.is_some_and(|name| name.full.starts_with("java.lang.Object.")) {
            true => self.owner_path(chain, from),
            false => Some(path),
        }
    }

    /// True if debug information could not prove which callee frame `at` is.
    pub fn is_approximate(&self, chain: ChainId, at: u16) -> bool {
        self.dictionary
            .chain(chain)
            .and_then(|def| def.chain.frames.get(at as usize))
            .is_some_and(|frame| frame.approximate)
    }

    pub fn frames(&self, path: PathId) -> Arc<[PathFrame]> {
        self.paths.get(path.0).cloned().unwrap_or_default()
    }

    /// The method that a chain is about: its first frame that is not the
    /// machinery of waiting and locking itself.
    pub fn acting_method(&self, path: PathId) -> Option<NameId> {
        let frames = self.frames(path);
        let at = self.skip_machinery(&frames);
        frames.get(at).or(frames.first()).map(|frame| frame.name)
    }

    /// Which frame of an owner's stack probably has the lock on which threads are blocked with `waiter`: the outermost
    /// one of the method in which they are blocked, else the outermost one of the application.
    pub fn owning_frame(&mut self, owner: ChainId, waiter: ChainId) -> u16 {
        let path = self.path(owner, 0).map(|path| self.frames(path)).unwrap_or_default();
        let blocked_in = self.path(waiter, 0).and_then(|path| self.acting_method(path));
        let same = path.iter().rposition(|frame| Some(frame.name) == blocked_in);
        let plumbing = self.plumbing(&path);
        let own = || path.iter().rposition(|frame| !self.is_part_of(plumbing, frame.name));
        let at = same.or_else(own).unwrap_or(path.len().saturating_sub(1));
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// Index of the first frame that is not waiting machinery; 0 if all are. A helper that only releases a lock of
    /// `java.util.concurrent`, `Session.unlock`, is machinery, too: its caller had the lock.
    pub fn skip_machinery(&self, frames: &[PathFrame]) -> usize {
        let full = |frame: &PathFrame| self.method_name(frame.name).map(|name| name.full.as_str());
        past_machinery(frames, full, |full| self.is_machinery(full))
    }

    fn is_machinery(&self, full: &str) -> bool {
        is_machinery(full) || self.synchronizers.iter().any(|synchronizer| passes_on(full, synchronizer))
    }

    /// The class is a developer's own synchronizer: its methods are machinery.
    pub fn synchronizer(&mut self, lock: LockId) {
        const MOST: usize = 64;
        let class = self.lock_class_text(lock);
        if self.synchronizers.len() < MOST && !self.synchronizers.contains(&class) {
            self.synchronizers.push(class);
        }
    }

    /// `pkg.Class.method:line`; without the line where it is not known.
    pub fn frame_text(&self, frame: PathFrame) -> String {
        let name = self.method_name(frame.name).map_or("", |name| &name.full);
        match frame.line {
            0 => name.to_owned(),
            line => format!("{name}:{line}"),
        }
    }

    /// The chain from its acting method on: without the machinery of waiting and
    /// locking at its leaf.
    pub fn acting_text(&self, path: PathId) -> Vec<String> {
        let frames = self.frames(path);
        frames.iter().skip(self.skip_machinery(&frames)).map(|frame| self.frame_text(*frame)).collect()
    }

    /// The whole chain, leaf first.
    pub fn path_text(&self, path: PathId) -> Vec<String> {
        self.frames(path).iter().map(|frame| self.frame_text(*frame)).collect()
    }
}

/// What a lock on which a ConcurrentHashMap synchronizes is called.
pub(crate) const BIN: &str = "bin of a ConcurrentHashMap";

/// The lock as reports name it.
pub fn readable_lock(def: &LockDef) -> LockDef {
    renamed_lock(def).unwrap_or_else(|| def.clone())
}

/// True for a readable lock whose name and class serve for anything: only where it is
/// acquired distinguishes it from others.
pub fn says_nothing(def: &LockDef) -> bool {
    (def.name.is_empty() && is_common(&def.class)) || def.name.starts_with(BIN)
}

/// True for a class whose instances serve as locks of anything.
fn is_common(class: &str) -> bool {
    class.starts_with("java.") || class.starts_with("javax.") || class.starts_with('[') || class.ends_with("[]")
}

/// A lock by another name, where the recorded one is that of the code that happens to
/// return it, and says nothing about what it is.
fn renamed_lock(def: &LockDef) -> Option<LockDef> {
    const NODES: [&str; 4] = ["Node", "TreeBin", "ReservationNode", "ForwardingNode"];
    let node = def.class.strip_prefix("java.util.concurrent.ConcurrentHashMap$");
    if node.is_some_and(|node| NODES.contains(&node)) {
        // Nodes of all kinds are bins: they are replaced by each other.
        let class = "java.util.concurrent.ConcurrentHashMap$Node".into();
        return Some(LockDef { name: BIN.into(), class, ..def.clone() });
    }
    let of_collection = def.name.strip_suffix("()").and_then(|call| call.split_once('.'));
    let says_nothing = of_collection.is_some_and(|(class, _)| is_collection(class));
    says_nothing.then(|| LockDef { name: "".into(), ..def.clone() })
}

/// True for the simple name of a class of the JDK that hands out whatever it was given.
fn is_collection(class: &str) -> bool {
    const ENDS: [&str; 8] = ["Map", "List", "Set", "Queue", "Deque", "Iterator", "Entry", "Reference"];
    const NAMES: [&str; 8] =
        ["Collections", "Objects", "Optional", "ThreadLocal", "Supplier", "Function", "Vector", "Hashtable"];
    NAMES.contains(&class)
        || (!class.contains('.')
            && JDK_PREFIXES.iter().any(|prefix| class.strip_prefix(prefix).is_some_and(|rest| ENDS.contains(&rest))))
}

/// What collections of the JDK are called before `Map`, `List` and so on.
const JDK_PREFIXES: [&str; 19] = [
    "",
    "Hash",
    "LinkedHash",
    "Tree",
    "Concurrent",
    "ConcurrentHash",
    "ConcurrentSkipList",
    "Weak",
    "WeakHash",
    "Identity",
    "IdentityHash",
    "Array",
    "Linked",
    "CopyOnWriteArray",
    "Sorted",
    "Navigable",
    "Atomic",
    "Soft",
    "Enum",
];

const NO_GROUP: (ThreadId, TextId) = (ThreadId::NONE, TextId(0));

fn place_of_group(id: ThreadId) -> usize {
    id.0 as usize % GROUPS
}

/// Methods of the JDK and of pools' libraries, and adapters that compilers make: what
/// they do, they do for somebody.
pub fn is_plumbing(full: &str) -> bool {
    const PREFIXES: [&str; 17] = [
        "java.",
        "javax.",
        "jdk.",
        "sun.",
        "com.sun.",
        "com.zaxxer.hikari.",
        "org.apache.commons.pool",
        "org.apache.commons.dbcp",
        "org.apache.tomcat.jdbc.",
        "org.apache.tomcat.dbcp.",
        "com.mchange.",
        "com.alibaba.druid.",
        "org.vibur.",
        "io.agroal.",
        "io.r2dbc.pool.",
        "reactor.pool.",
        "stormpot.",
    ];
    !full.contains('.') || full.contains("(lambda)") || PREFIXES.iter().any(|prefix| full.starts_with(prefix))
}

/// Which methods of a stack do what they do for somebody: those of the JDK and of pools,
/// and those of well-known libraries where the stack has methods of neither. A library
/// that runs by itself, as a broker or a database does, is the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plumbing {
    with_libraries: bool,
}

impl Plumbing {
    /// The plumbing of a stack, from the full names of its methods.
    pub fn of<'a>(mut methods: impl Iterator<Item = &'a str>) -> Plumbing {
        Plumbing { with_libraries: methods.any(|full| !is_plumbing(full) && !is_library(full)) }
    }

    /// True if this method of the stack is plumbing.
    pub fn has(self, full: &str) -> bool {
        is_plumbing(full) || (self.with_libraries && is_library(full))
    }
}

/// Libraries and frameworks that programs are built on.
fn is_library(full: &str) -> bool {
    libraries::PREFIXES.iter().any(|prefix| full.starts_with(prefix))
}

/// Methods through which every wait or lock goes, whoever calls it.
pub fn is_machinery(full: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "java.lang.Object.wait",
        "java.lang.Object.notify",
        "java.lang.VirtualThread.park",
        "java.lang.VirtualThread.yieldContinuation",
        "java.lang.System$1.parkVirtual",
        "java.lang.System$2.park",
        "jdk.internal.misc.VirtualThreads.",
        "jdk.internal.misc.Unsafe.",
        "jdk.internal.vm.Continuation.",
        "sun.misc.Unsafe.",
    ];
    if let Some(rest) = full.strip_prefix("java.util.concurrent.") {
        return is_synchronizer(rest);
    }
    // Native code on top has no class and so no dot. A dot is near the beginning, where a loop finds it sooner than a
    // search made for long texts.
    let has_class = full.bytes().any(|byte| byte == b'.');
    let may_be = matches!(full.as_bytes().first(), Some(b'j' | b's'));
    !has_class || (may_be && PREFIXES.iter().any(|prefix| full.starts_with(prefix)))
}

/// True for a method of a class through which threads wait for each other, its
/// name without `java.util.concurrent.`.
fn is_synchronizer(rest: &str) -> bool {
    const CLASSES: [&str; 9] = [
        "CountDownLatch",
        "CyclicBarrier",
        "Semaphore",
        "Phaser",
        "Exchanger",
        "FutureTask",
        "CompletableFuture",
        "ForkJoinTask",
        "TimeUnit",
    ];
    if rest.starts_with("locks.") || rest.starts_with("ForkJoinPool.managedBlock") {
        return true;
    }
    if rest.starts_with("ForkJoinPool.unmanagedBlock") || rest.starts_with("ForkJoinPool.compensatedBlock") {
        return true;
    }
    let outer = rest.split(['.', '$']).next().unwrap_or(rest);
    outer.ends_with("Queue") || outer.ends_with("Deque") || CLASSES.contains(&outer)
}

/// Index of the first frame that is no machinery, past helpers that only release a lock; 0 if all are, or the first is
/// none. `full` is a frame's `pkg.Class.method`.
pub fn past_machinery<'a, F>(
    frames: &[F],
    full: impl Fn(&F) -> Option<&'a str>,
    is_machinery: impl Fn(&str) -> bool,
) -> usize {
    let own = |frame: &F| full(frame).is_some_and(|full| !is_machinery(full));
    let at = frames.iter().position(own).unwrap_or(0);
    if at == 0 {
        return 0;
    }
    let helpers = frames.iter().skip(at).take_while(|frame| full(frame).is_some_and(releases)).count();
    (at..=at + helpers).rfind(|at| frames.get(*at).is_some_and(own)).unwrap_or(at)
}

/// True for a method whose name says that it releases a lock.
fn releases(full: &str) -> bool {
    full.rsplit('.').next().is_some_and(|method| method.starts_with("unlock"))
}

/// True for a method of a developer's own synchronizer of this class: any of
/// the class itself, and those of the class around it that only pass on to it.
fn passes_on(full: &str, synchronizer: &str) -> bool {
    const VERBS: [&str; 9] =
        ["lock", "unlock", "tryLock", "acquire", "tryAcquire", "release", "await", "signal", "enter"];
    let Some((class, method)) = full.rsplit_once('.') else { return false };
    let outer = synchronizer.split('$').next().unwrap_or(synchronizer);
    class == synchronizer || (class == outer && VERBS.iter().any(|verb| method.starts_with(verb)))
}

/// Gives equal values the same small number.
#[derive(Debug)]
struct Interner<T> {
    ids: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { ids: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    fn intern(&mut self, value: T) -> u32 {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = self.values.len() as u32;
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    fn get(&self, id: u32) -> Option<&T> {
        self.values.get(id as usize)
    }
}

/// Of threads that are not Java's, only the beginning of the name is known.
fn whole_name(id: ThreadId, name: &str) -> &str {
    if id.0 & ThreadId::NATIVE != 0 {
        vm_threads::whole(name)
    } else {
        name
    }
}
