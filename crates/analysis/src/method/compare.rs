//! How alike two trees of calling contexts are, and where they differ.
//!
//! Both numbers are those of Zhuang et al. (Accurate, efficient, and adaptive
//! calling context profiling, PLDI 2006), as Hofer's thesis defines them
//! (section 3.4.2): contexts of two trees are equivalent if they are the same
//! method and their callers are equivalent; the weight of an edge is the weight
//! of the callee itself, so that the weights of all edges add up to the whole.

use super::call_tree::CallTree;
use super::weight::{Unit, Weight};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// An edge is hot if its weight is at least this part of the hottest edge's,
/// by default: the threshold of the literature.
pub const HOT_EDGE_THRESHOLD: f64 = 0.1;

/// How alike two trees are. All numbers are fractions, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Degree of overlap: the smaller of both relative weights, summed over the
    /// edges that both have. 1 for trees of the same shape and shares. Falls
    /// with the number of rarely seen contexts even where nothing changed; see
    /// the coverage for what matters.
    pub overlap: f64,
    /// Part of the second tree's hot edges that are hot in the first, too.
    pub hot_edge_coverage: f64,
    /// Part of the first tree's hot edges that are hot in the second, too.
    pub hot_edge_coverage_back: f64,
    /// The threshold of the hot edges, relative to the hottest.
    pub threshold: f64,
    /// Hot edges of the first tree.
    pub hot_edges_before: u64,
    /// Hot edges of the second tree.
    pub hot_edges_after: u64,
}

/// A method in two profiles. Shares are parts of each profile's whole, so that
/// recordings of different length compare.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodChange {
    /// `pkg.Class.method`.
    pub method: String,
    /// Spent in its own code, before.
    pub self_before: Weight,
    /// Spent in its own code, after.
    pub self_after: Weight,
    /// Part of the whole that it itself took, before.
    pub self_share_before: f64,
    /// Part of the whole that it itself took, after.
    pub self_share_after: f64,
    /// Part of the whole with all that it called, before.
    pub total_share_before: f64,
    /// Part of the whole with all that it called, after.
    pub total_share_after: f64,
    /// True if the change of its own share is more than the chance of sampling
    /// explains in 19 of 20 cases.
    pub significant: bool,
}

impl MethodChange {
    /// How much its own share grew.
    pub fn self_growth(&self) -> f64 {
        self.self_share_after - self.self_share_before
    }

    /// How much its share grew, with all that it called.
    pub fn total_growth(&self) -> f64 {
        self.total_share_after - self.total_share_before
    }
}

/// Two trees side by side.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    before: &'a CallTree,
    after: &'a CallTree,
    unit: Unit,
    /// For each context of `after` the equivalent one of `before`.
    equivalent: Vec<Option<u32>>,
    /// For each method of `after` the one of `before`.
    methods: Vec<Option<u32>>,
    /// How many independent looks each of them rests on.
    looks: (u64, u64),
}

impl<'a> Comparison<'a> {
    /// Puts two trees side by side.
    pub fn new(before: &'a CallTree, after: &'a CallTree) -> Comparison<'a> {
        let methods = same_methods(before, after);
        let equivalent = equivalent_contexts(before, after, &methods);
        let timed = before.unit() == Unit::Nanoseconds && after.unit() == Unit::Nanoseconds;
        let unit = if timed { Unit::Nanoseconds } else { Unit::Samples };
        let looks = (before.total().count, after.total().count);
        Comparison { before, after, unit, equivalent, methods, looks }
    }

    /// Says at how many random instants each side was sampled, if it was: all that is seen at one
    /// instant is one look, and contentions that were added up were not looked at.
    pub fn sampled_at(mut self, before: Option<u64>, after: Option<u64>) -> Comparison<'a> {
        let at_most = |looks: u64, instants: Option<u64>| instants.map_or(looks, |instants| looks.min(instants));
        self.looks = (at_most(self.looks.0, before), at_most(self.looks.1, after));
        self
    }

    /// The unit in which both are weighed.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// How alike they are; an edge is hot from `threshold` of the hottest on.
    pub fn agreement(&self, threshold: f64) -> Agreement {
        let hottest = |tree: &CallTree| tree.contexts().map(|(_, context)| self.of(context.own)).max().unwrap_or(0);
        let (limit_before, limit_after) = (hottest(self.before) as f64, hottest(self.after) as f64);
        let is_hot = |own: u64, hottest: f64| own > 0 && own as f64 >= threshold * hottest;
        let own_before = |context: u32| self.before.context(context).map_or(0, |context| self.of(context.own));
        let mut agreement = Agreement { threshold, ..Agreement::default() };
        let mut both = 0u64;
        for (index, context) in self.after.contexts() {
            let after = self.of(context.own);
            agreement.hot_edges_after += u64::from(is_hot(after, limit_after));
            let Some(equivalent) = self.equivalent_of(index) else { continue };
            let before = own_before(equivalent);
            agreement.overlap += self.share(before, self.before).min(self.share(after, self.after));
            both += u64::from(is_hot(after, limit_after) && is_hot(before, limit_before));
        }
        let hot_before = self.before.contexts().filter(|(_, context)| is_hot(self.of(context.own), limit_before));
        agreement.hot_edges_before = hot_before.count() as u64;
        agreement.hot_edge_coverage = ratio(both, agreement.hot_edges_after);
        agreement.hot_edge_coverage_back = ratio(both, agreement.hot_edges_before);
        agreement
    }

    /// Every method's change, most own time gained first.
    pub fn methods(&self) -> Vec<MethodChange> {
        let before: FxHashMap<u32, _> = self.before.flat().into_iter().map(|sum| (sum.method, sum)).collect();
        let mut seen: Vec<u32> = Vec::new();
        let mut changes = Vec::new();
        for after in self.after.flat() {
            let same = self.methods.get(after.method as usize).copied().flatten();
            seen.extend(same);
            let (own, total) =
                same.and_then(|same| before.get(&same)).map_or_else(Default::default, |sum| (sum.own, sum.total));
            let name = self.after.method(after.method).name;
            changes.push(self.change(name, (own, total), (after.own, after.total)));
        }
        seen.sort_unstable();
        for (method, sum) in before {
            if seen.binary_search(&method).is_err() {
                let name = self.before.method(method).name;
                changes.push(self.change(name, (sum.own, sum.total), Default::default()));
            }
        }
        changes.sort_by(|a, b| b.self_growth().total_cmp(&a.self_growth()).then_with(|| a.method.cmp(&b.method)));
        changes
    }

    /// The contexts of both trees: way from the root (leaf last) and own weight
    /// before and after.
    pub fn contexts(&self) -> Vec<(Vec<String>, Weight, Weight)> {
        let mut matched = vec![false; self.before.len()];
        let mut contexts = Vec::new();
        let texts = |tree: &CallTree, context| tree.path(context).into_iter().map(|at| tree.text(at)).collect();
        for (index, context) in self.after.contexts() {
            let before = self.equivalent_of(index);
            let own = before.and_then(|before| self.before.context(before)).map_or(Weight::default(), |c| c.own);
            if let Some(mark) = before.and_then(|before| matched.get_mut(before as usize)) {
                *mark = true;
            }
            if !own.is_zero() || !context.own.is_zero() {
                contexts.push((texts(self.after, index), own, context.own));
            }
        }
        for (index, context) in self.before.contexts() {
            if !context.own.is_zero() && !matched.get(index as usize).copied().unwrap_or_default() {
                contexts.push((texts(self.before, index), context.own, Weight::default()));
            }
        }
        contexts
    }

    /// The context of the first tree that is equivalent to this one of the
    /// second.
    pub fn equivalent_of(&self, after: u32) -> Option<u32> {
        self.equivalent.get(after as usize).copied().flatten()
    }

    fn change(&self, method: &str, before: (Weight, Weight), after: (Weight, Weight)) -> MethodChange {
        let share_before = |weight| self.share(self.of(weight), self.before);
        let share_after = |weight| self.share(self.of(weight), self.after);
        let mut change = MethodChange {
            method: method.to_owned(),
            self_before: before.0,
            self_after: after.0,
            self_share_before: share_before(before.0),
            self_share_after: share_after(after.0),
            total_share_before: share_before(before.1),
            total_share_after: share_after(after.1),
            significant: false,
        };
        let error = standard_error(change.self_share_before, self.looks.0)
            .hypot(standard_error(change.self_share_after, self.looks.1));
        change.significant = change.self_growth().abs() > 1.96 * error;
        change
    }

    fn of(&self, weight: Weight) -> u64 {
        weight.in_unit(self.unit)
    }

    fn share(&self, own: u64, tree: &CallTree) -> f64 {
        ratio(own, self.of(tree.total()))
    }
}

/// Of a share that was estimated from so many samples. A share that was never
/// seen may still be as large as a sample or so.
fn standard_error(share: f64, samples: u64) -> f64 {
    let samples = samples.max(1) as f64;
    let share = share.clamp(0.5 / samples.max(1.0), 1.0);
    (share * (1.0 - share).max(0.0) / samples).sqrt()
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn same_methods(before: &CallTree, after: &CallTree) -> Vec<Option<u32>> {
    let key = |tree: &'_ CallTree, method| {
        let method = tree.method(method);
        (method.name.to_owned(), method.origin)
    };
    let known: FxHashMap<_, u32> = (0..before.methods()).map(|method| (key(before, method), method)).collect();
    (0..after.methods()).map(|method| known.get(&key(after, method)).copied()).collect()
}

fn equivalent_contexts(before: &CallTree, after: &CallTree, methods: &[Option<u32>]) -> Vec<Option<u32>> {
    let below: FxHashMap<(u32, u32, u32), u32> =
        before.contexts().map(|(index, context)| ((context.parent, context.method, context.line), index)).collect();
    let mut equivalent: Vec<Option<u32>> = vec![None; after.len()];
    if let Some(root) = equivalent.first_mut() {
        *root = Some(CallTree::ROOT);
    }
    for (index, context) in after.contexts() {
        let parent = equivalent.get(context.parent as usize).copied().flatten();
        let method = methods.get(context.method as usize).copied().flatten();
        let same = parent.zip(method).and_then(|(parent, method)| below.get(&(parent, method, context.line)).copied());
        if let Some(slot) = equivalent.get_mut(index as usize) {
            *slot = same;
        }
    }
    equivalent
}
