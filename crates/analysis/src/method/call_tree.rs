//! A finished tree of calling contexts, with readable names: plain data for
//! reports, flame graphs, comparisons and exports.

use super::weight::{Unit, Weight};
use headway_model::FrameKind;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The name of the node that stands for frames that are not known.
pub const UNKNOWN_FRAMES: &str = "(unknown frames)";

/// The name of the node that stands for time in which a lock had no owner, or none that is known.
pub const NO_OWNER: &str = "(hand-off, or owner not known)";

/// What a node of a tree is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// A method of a class.
    #[default]
    Java,
    /// A function of native code.
    Native,
    /// A thread or a group of threads.
    Threads,
    /// A lock.
    Lock,
    /// Something that is not known.
    Unknown,
}

/// What is known of a method (or of what else a node stands for).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method<'a> {
    /// `pkg.Class.method`.
    pub name: &'a str,
    /// `Inventory.java`; empty if unknown.
    pub source_file: &'a str,
    /// What it is.
    pub origin: Origin,
}

/// A context: a method together with the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The caller's context; the root is its own.
    pub parent: u32,
    /// Index of the method, for [`CallTree::method`].
    pub method: u32,
    /// Line of the method's code; 0 where lines are not distinguished.
    pub line: u32,
    /// What kind of code it ran in when it was last seen.
    pub kind: FrameKind,
    /// Weight of the method itself.
    pub own: Weight,
    /// Weight of the method and all that it called.
    pub total: Weight,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    name: Arc<str>,
    source_file: Arc<str>,
    origin: Origin,
}

/// See the module's description. Contexts are numbered; parents come before
/// their children, and 0 is the root, which is no method.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    contexts: Vec<Context>,
    methods: Vec<Entry>,
    /// Children of a context: a range of `children`, which ends where that of
    /// the next context begins.
    starts: Vec<u32>,
    children: Vec<u32>,
}

/// Time spent in a method, wherever it was called from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodTotal {
    /// Index of the method.
    pub method: u32,
    /// Spent in its own code.
    pub own: Weight,
    /// Spent in it and in what it called; a recursive method counts once.
    pub total: Weight,
}

impl CallTree {
    /// The root.
    pub const ROOT: u32 = 0;

    /// How many contexts there are, the root among them.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// True if nothing was weighed.
    pub fn is_empty(&self) -> bool {
        self.total().is_zero()
    }

    /// The weight of everything.
    pub fn total(&self) -> Weight {
        self.contexts.first().map_or(Weight::default(), |root| root.total)
    }

    /// The unit in which weights are best reported: time, unless the samples do not
    /// say what time they stand for.
    pub fn unit(&self) -> Unit {
        match self.total() {
            Weight { ns: 0, count: 1.. } => Unit::Samples,
            _ => Unit::Nanoseconds,
        }
    }

    /// A context by its number.
    pub fn context(&self, context: u32) -> Option<&Context> {
        self.contexts.get(context as usize)
    }

    /// All contexts but the root with their numbers, parents first.
    pub fn contexts(&self) -> impl DoubleEndedIterator<Item = (u32, &Context)> {
        self.contexts.iter().enumerate().skip(1).map(|(index, context)| (index as u32, context))
    }

    /// The contexts below one.
    pub fn children(&self, context: u32) -> &[u32] {
        let at = context as usize;
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.and_then(|(from, to)| self.children.get(*from as usize..*to as usize)).unwrap_or_default()
    }

    /// What a method's index stands for.
    pub fn method(&self, method: u32) -> Method<'_> {
        self.methods.get(method as usize).map_or(
            Method { name: "", source_file: "", origin: Origin::Unknown },
            |entry| Method { name: &entry.name, source_file: &entry.source_file, origin: entry.origin },
        )
    }

    /// How many methods there are; their indexes are below this.
    pub fn methods(&self) -> u32 {
        self.methods.len() as u32
    }

    /// The way from the root to a context, both ends included but the root.
    pub fn path(&self, context: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = context;
        while let Some(context) = self.context(at).filter(|_| at != Self::ROOT) {
            path.push(at);
            at = context.parent;
        }
        path.reverse();
        path
    }

    /// `pkg.Class.method`, with `:line` where lines are distinguished.
    pub fn text(&self, context: u32) -> String {
        let Some(context) = self.context(context) else { return String::new() };
        let name = self.method(context.method).name;
        match context.line {
            0 => name.to_owned(),
            line => format!("{name}:{line}"),
        }
    }

    /// Every method's own and total weight, heaviest own first.
    pub fn flat(&self) -> Vec<MethodTotal> {
        let mut totals: Vec<MethodTotal> = (0..self.methods())
            .map(|method| MethodTotal { method, own: Weight::default(), total: Weight::default() })
            .collect();
        for (_, context) in self.contexts() {
            let outermost = !self.is_within(context.method, context.parent);
            if let Some(sum) = totals.get_mut(context.method as usize) {
                sum.own += context.own;
                if outermost {
                    sum.total += context.total;
                }
            }
        }
        let unit = self.unit();
        totals.retain(|sum| !sum.total.is_zero());
        totals.sort_by(|a, b| {
            let key = |sum: &MethodTotal| std::cmp::Reverse((sum.own.in_unit(unit), sum.total.in_unit(unit)));
            key(a).cmp(&key(b)).then_with(|| self.method(a.method).name.cmp(self.method(b.method).name))
        });
        totals
    }

    /// True if `method` is at or above `context`.
    fn is_within(&self, method: u32, context: u32) -> bool {
        let mut at = context;
        while let Some(context) = self.context(at).filter(|_| at != Self::ROOT) {
            if context.method == method {
                return true;
            }
            at = context.parent;
        }
        false
    }

    /// The contexts with most weight of their own, heaviest first.
    pub fn hottest(&self, most: usize) -> Vec<u32> {
        let unit = self.unit();
        let mut hot: Vec<u32> =
            self.contexts().filter(|(_, context)| !context.own.is_zero()).map(|(index, _)| index).collect();
        hot.sort_by_key(|index| std::cmp::Reverse(self.context(*index).map_or(0, |context| context.own.in_unit(unit))));
        hot.truncate(most);
        hot
    }

    /// The part of the tree below a context, as a tree of its own. What belongs
    /// to the context itself is left out.
    pub fn below(&self, context: u32) -> CallTree {
        let mut builder = TreeBuilder::default();
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        places.insert(context, Self::ROOT);
        for (index, context) in self.contexts() {
            if let Some(parent) = places.get(&context.parent).copied() {
                let place = builder.below(parent, self.method(context.method), context.line, context.kind);
                builder.weigh(place, context.own);
                places.insert(index, place);
            }
        }
        builder.finish()
    }

    /// Who calls the methods that `accepts` lets through, upside down: below
    /// the root the methods, below each the methods that called it, and so on
    /// to the first caller. What lies within another accepted method counts
    /// for the outer one only.
    pub fn callers_of(&self, accepts: impl Fn(&str) -> bool) -> CallTree {
        let wanted: Vec<bool> = (0..self.methods()).map(|method| accepts(self.method(method).name)).collect();
        let is_wanted = |method: u32| wanted.get(method as usize).copied().unwrap_or_default();
        let mut builder = TreeBuilder::default();
        for (index, context) in self.contexts().filter(|(_, context)| is_wanted(context.method)) {
            let path = self.path(index);
            let above = path.split_last().map_or(&[][..], |(_, above)| above);
            if above.iter().filter_map(|at| self.context(*at)).any(|context| is_wanted(context.method)) {
                continue;
            }
            let mut at = Self::ROOT;
            for caller in path.iter().rev().filter_map(|at| self.context(*at)) {
                at = builder.below(at, self.method(caller.method), caller.line, caller.kind);
            }
            builder.weigh(at, context.total);
        }
        builder.finish()
    }
}

/// Puts a tree together from ways from the root and weights.
#[derive(Debug)]
pub struct TreeBuilder {
    contexts: Vec<Context>,
    methods: Vec<Entry>,
    method_ids: FxHashMap<(Arc<str>, Origin), u32>,
    below: FxHashMap<(u32, u32, u32), u32>,
}

impl Default for TreeBuilder {
    fn default() -> TreeBuilder {
        let root = Context {
            parent: CallTree::ROOT,
            method: u32::MAX,
            line: 0,
            kind: FrameKind::default(),
            own: Weight::default(),
            total: Weight::default(),
        };
        TreeBuilder {
            contexts: vec![root],
            methods: Vec::new(),
            method_ids: FxHashMap::default(),
            below: FxHashMap::default(),
        }
    }
}

impl TreeBuilder {
    /// The context of a call from `parent` (a number that this gave, or the
    /// root's).
    pub fn below(&mut self, parent: u32, method: Method<'_>, line: u32, kind: FrameKind) -> u32 {
        let method = self.method(method);
        if let Some(context) = self.below.get(&(parent, method, line)) {
            return *context;
        }
        let context = self.contexts.len() as u32;
        let nothing = Weight::default();
        self.contexts.push(Context { parent, method, line, kind, own: nothing, total: nothing });
        self.below.insert((parent, method, line), context);
        context
    }

    fn method(&mut self, method: Method<'_>) -> u32 {
        let name: Arc<str> = method.name.into();
        if let Some(id) = self.method_ids.get(&(name.clone(), method.origin)) {
            return *id;
        }
        let id = self.methods.len() as u32;
        self.methods.push(Entry { name: name.clone(), source_file: method.source_file.into(), origin: method.origin });
        self.method_ids.insert((name, method.origin), id);
        id
    }

    /// Adds to a context's own weight.
    pub fn weigh(&mut self, context: u32, weight: Weight) {
        if let Some(context) = self.contexts.get_mut(context as usize) {
            context.own += weight;
        }
    }

    /// The tree.
    pub fn finish(mut self) -> CallTree {
        for context in &mut self.contexts {
            context.total = context.own;
        }
        for index in (1..self.contexts.len()).rev() {
            let Some(context) = self.contexts.get(index).copied() else { continue };
            if let Some(parent) = self.contexts.get_mut(context.parent as usize) {
                parent.total += context.total;
            }
        }
        let (starts, children) = adjacency(&self.contexts);
        CallTree { contexts: self.contexts, methods: self.methods, starts, children }
    }
}

/// Children of all contexts, one after the other, heaviest first, and where
/// each context's begin.
fn adjacency(contexts: &[Context]) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (1..contexts.len() as u32).collect();
    let key = |index: &u32| {
        let context = contexts.get(*index as usize);
        context.map(|context| (context.parent, std::cmp::Reverse((context.total.ns, context.total.count)), *index))
    };
    order.sort_by_key(key);
    let mut starts = vec![0u32; contexts.len() + 1];
    for context in contexts.iter().skip(1) {
        if let Some(count) = starts.get_mut(context.parent as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    (starts, order)
}
