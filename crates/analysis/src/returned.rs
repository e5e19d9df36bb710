//! Who ended a wait: of the call stack of the thread that woke the waiter, the method that says most. Findings and the
//! table of waits name the same one.

use crate::names::{NameId, Names, PathFrame};

/// From where what was waited for came: the first method outside of plumbing, and
/// who called it for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Returned {
    /// The method.
    pub by: NameId,
    /// The method both for waiting and for returning, if that is another one.
    pub called_from: Option<NameId>,
}

impl Returned {
    /// The end of a wait, by the stack of who ended it. Where threads of one kind take
    /// something and return it, both stacks have the method that does both, which is
    /// where they had it. Else the first method that belongs to another class than
    /// the one that waits, which only passes on what happened.
    pub fn of(ended: &[PathFrame], waits: &[PathFrame], method: NameId, names: &Names) -> Option<Returned> {
        let plumbing = names.plumbing(ended);
        let is_own = |frame: &PathFrame| !names.is_part_of(plumbing, frame.name);
        let by = ended.iter().position(is_own)?;
        let name = |at: usize| ended.get(at).map(|frame| frame.name);
        if let Some(both) = had(ended, waits, names).map(|had| ended.len() - had) {
            return Some(Returned { by: name(by)?, called_from: name(both).filter(|_| both > by) });
        }
        let waits_in = class(method, names);
        let other = ended.iter().skip(by).filter(|frame| is_own(frame));
        let elsewhere = other.map(|frame| frame.name).find(|name| class(*name, names) != waits_in);
        Some(Returned { by: elsewhere.or(name(by))?, called_from: None })
    }
}

/// Frames from the root on that two stacks, leaf first, have in common.
pub(crate) fn in_common(a: &[PathFrame], b: &[PathFrame]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a.name == b.name).count()
}

/// Frames from the root on up to the application's method that both waits for
/// something and returns it, which is where it is had.
pub(crate) fn had(ended: &[PathFrame], waits: &[PathFrame], names: &Names) -> Option<usize> {
    let common = in_common(ended, waits);
    let plumbing = names.plumbing(ended);
    let at = (ended.len() - common..ended.len())
        .find(|at| ended.get(*at).is_some_and(|frame| !names.is_part_of(plumbing, frame.name)))?;
    Some(ended.len() - at)
}

/// The class of a method, in its readable name.
pub(crate) fn class(method: NameId, names: &Names) -> String {
    let full = names.method_name(method).map_or("", |name| name.full.as_str());
    full.rsplit_once('.').map_or("", |(class, _)| class).to_owned()
}
