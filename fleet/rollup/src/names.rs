//! Names of locks and call stacks, as reports have them, and their ids.

use crate::identity;
use crate::rows::{Site, Stack};
use headway_analysis::names::{is_machinery, method, readable_lock, says_nothing};
use headway_model::event::{LockDef, ThreadDef};
use headway_model::{ChainId, Dictionary, Event, LockId, MethodId, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names longer than this are cut; no class of a sane program has one.
const LONGEST: usize = 1_000;
/// What stands behind the last frame of a stack whose root is missing.
const CUT_OFF: &str = "(root missing)";

/// The names of a recording.
#[derive(Debug, Default)]
pub(crate) struct Names {
    dictionary: Dictionary,
    methods: FxHashMap<MethodId, Arc<str>>,
    chains: FxHashMap<(ChainId, u16), Option<i64>>,
    owners: FxHashMap<(ChainId, u16), Option<i64>>,
    stacks: BTreeMap<i64, Vec<Arc<str>>>,
    sites: BTreeMap<i64, Site>,
}

impl Names {
    /// Takes in a definition.
    pub fn feed(&mut self, event: &Event) {
        if let Event::Method(id, _) = event {
            self.methods.remove(id);
        }
        self.dictionary.feed(event);
    }

    pub fn thread(&self, id: ThreadId) -> Option<&ThreadDef> {
        self.dictionary.thread(id)
    }

    pub fn is_virtual(&self, id: ThreadId) -> bool {
        self.thread(id).is_some_and(|def| def.is_virtual)
    }

    /// The id of a stack from the frame with index `from` on; `None` if it is not known.
    pub fn stack(&mut self, chain: ChainId, from: u16) -> Option<i64> {
        if chain.is_none() {
            return None;
        }
        if let Some(known) = self.chains.get(&(chain, from)) {
            return *known;
        }
        let frames = self.frames(chain, from);
        let id = (!frames.is_empty()).then(|| self.add_stack(frames));
        self.chains.insert((chain, from), id);
        id
    }

    /// The same of an owner: without the machinery of waiting at its leaf.
    pub fn owner_stack(&mut self, chain: ChainId, from: u16) -> Option<i64> {
        if let Some(known) = self.owners.get(&(chain, from)) {
            return *known;
        }
        let frames = self.frames(chain, from);
        let skipped = frames.iter().position(|frame| !is_machinery(frame)).unwrap_or(0);
        let id = self.stack(chain, from.saturating_add(skipped as u16));
        self.owners.insert((chain, from), id);
        id
    }

    /// The id of a stack that a report shows, its frames with lines.
    pub fn shown_stack(&mut self, frames: &[String]) -> Option<i64> {
        let frames: Vec<Arc<str>> = frames.iter().map(|frame| bounded(without_line(frame)).into()).collect();
        (!frames.is_empty()).then(|| self.add_stack(frames))
    }

    fn add_stack(&mut self, frames: Vec<Arc<str>>) -> i64 {
        let id = identity::stack(frames.iter().map(|frame| &**frame));
        self.stacks.entry(id).or_insert(frames);
        id
    }

    fn frames(&mut self, chain: ChainId, from: u16) -> Vec<Arc<str>> {
        let Some(def) = self.dictionary.chain(chain).cloned() else { return Vec::new() };
        let frames = def.chain.frames.iter().skip(usize::from(from));
        let mut frames: Vec<Arc<str>> = frames.map(|frame| self.method(frame.method)).collect();
        if def.chain.truncated && !frames.is_empty() {
            frames.push(CUT_OFF.into());
        }
        frames
    }

    fn method(&mut self, id: MethodId) -> Arc<str> {
        if let Some(known) = self.methods.get(&id) {
            return known.clone();
        }
        // An unknown one must not have an id that differs from recording to recording.
        let text = self.dictionary.method(id).map(|def| bounded(&method::readable(def).full).to_owned());
        let text: Arc<str> = text.unwrap_or_else(|| "(unknown method)".into()).into();
        self.methods.insert(id, text.clone());
        text
    }

    /// True if only where it is acquired distinguishes the lock from others.
    pub fn says_nothing(&self, lock: LockId) -> bool {
        self.dictionary.lock(lock).is_some_and(|def| says_nothing(&readable_lock(def)))
    }

    /// The id of a lock's site. `acquired` is a stack that acquired it, for locks that
    /// nothing else distinguishes.
    pub fn site(&mut self, lock: LockId, kind: &str, acquired: Option<i64>) -> i64 {
        let def = self.dictionary.lock(lock).map(readable_lock);
        let (class, member) = match (def, lock) {
            (_, FOLDED) => ("(folded: memory bound)".to_owned(), String::new()),
            (_, LockId::NONE) => ("(none)".to_owned(), self.acquiring_member(acquired)),
            (None, _) => ("(unknown class)".to_owned(), String::new()),
            (Some(def), _) => (class_text(&def), self.member(&def, acquired)),
        };
        let id = identity::site(&class, &member, kind);
        self.sites.entry(id).or_insert_with(|| Site { id, class, member, kind: kind.to_owned() });
        id
    }

    fn member(&self, def: &LockDef, acquired: Option<i64>) -> String {
        match says_nothing(def) {
            true => match self.acquiring_member(acquired) {
                place if place.is_empty() => bounded(&def.name).to_owned(),
                place if def.name.is_empty() => place,
                place => format!("{} {place}", bounded(&def.name)),
            },
            false => bounded(&def.name).to_owned(),
        }
    }

    fn acquiring_member(&self, acquired: Option<i64>) -> String {
        let frames = acquired.and_then(|id| self.stacks.get(&id));
        let acting = frames.and_then(|frames| frames.iter().find(|frame| !is_machinery(frame)).or(frames.first()));
        acting.map(|frame| format!("at {frame}")).unwrap_or_default()
    }

    /// Sites and stacks that were asked for.
    pub fn into_rows(self) -> (Vec<Site>, Vec<Stack>) {
        let texts = |frames: Vec<Arc<str>>| frames.iter().map(|frame| frame.to_string()).collect();
        let stacks = self.stacks.into_iter().map(|(id, frames)| Stack { id, frames: texts(frames) });
        (self.sites.into_values().collect(), stacks.collect())
    }
}

/// Stands for locks that a memory bound did not let us keep apart.
pub(crate) const FOLDED: LockId = LockId(u64::MAX);

fn class_text(def: &LockDef) -> String {
    match def.class.is_empty() {
        true => "(unknown class)".to_owned(),
        false => bounded(&method::readable_class(&def.class)).to_owned(),
    }
}

/// `pkg.Class.method` of `pkg.Class.method:17`.
fn without_line(frame: &str) -> &str {
    match frame.rsplit_once(':') {
        Some((method, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => method,
        _ => frame,
    }
}

fn bounded(text: &str) -> &str {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::stack::{CallChain, ChainDef, Frame, FrameKind, Method};

    fn frame(method: u64, line: u32) -> Frame {
        Frame { method: MethodId(method), bci: -1, line, kind: FrameKind::Compiled, approximate: false }
    }

    fn names() -> Names {
        let mut names = Names::default();
        let methods = ["java.util.concurrent.locks.ReentrantLock.lock", "com.acme.A.run", "com.acme.B.run"];
        for (id, method) in (1..).zip(methods) {
            let (class, name) = method.rsplit_once('.').expect("a class and a name");
            let method = Method { class: class.into(), name: name.into(), ..Method::default() };
            names.feed(&Event::Method(MethodId(id), Arc::new(method)));
        }
        for (id, frames) in [(1, vec![frame(1, 9), frame(2, 7)]), (2, vec![frame(1, 9), frame(2, 8)])] {
            let chain = CallChain { frames, truncated: false };
            names.feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain })));
        }
        let lock = |id, class: &str, name: &str| {
            Event::Lock(LockDef { id: LockId(id), class: class.into(), name: name.into(), ..LockDef::default() })
        };
        names.feed(&lock(1, "com.acme.A", "A.lock"));
        names.feed(&lock(2, "java.util.concurrent.locks.ReentrantLock$NonfairSync", ""));
        names.feed(&lock(3, "com.acme.Row", ""));
        names
    }

    #[test]
    fn lines_are_in_no_id() {
        let mut names = names();
        let first = names.stack(ChainId(1), 0);
        assert!(first.is_some());
        assert_eq!(names.stack(ChainId(2), 0), first);
        let shown = ["java.util.concurrent.locks.ReentrantLock.lock:322", "com.acme.A.run"].map(str::to_owned);
        assert_eq!(names.shown_stack(&shown), first);
        assert_eq!(names.owner_stack(ChainId(1), 0), names.stack(ChainId(1), 1));
        assert_eq!(names.stack(ChainId(9), 0), None);
    }

    #[test]
    fn locks_are_called_what_tells_them_apart() {
        let mut names = names();
        let acquired = names.stack(ChainId(1), 0);
        for lock in 1..4 {
            names.site(LockId(lock), "monitor", acquired);
        }
        let (sites, _) = names.into_rows();
        let mut members: Vec<_> = sites.iter().map(|site| (&*site.class, &*site.member)).collect();
        members.sort_unstable();
        assert_eq!(
            members,
            [
                ("com.acme.A", "A.lock"),
                ("com.acme.Row", ""),
                ("java.util.concurrent.locks.ReentrantLock$NonfairSync", "at com.acme.A.run")
            ]
        );
    }
}
