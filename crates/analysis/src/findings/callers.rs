//! From where a stack's method was called.

use super::locks::short;
use crate::names::{NameId, Names, PathFrame, PathId};
use crate::returned::class;

/// The innermost method of the application.
pub(super) fn of_application(path: PathId, names: &Names) -> Option<NameId> {
    let frames = names.frames(path);
    let plumbing = names.plumbing(&frames);
    frames.iter().map(|frame| frame.name).find(|name| !names.is_part_of(plumbing, *name))
}

/// The application's method for which the one that a chain begins with was called, if that is a library's or the JDK's.
pub(super) fn called_for(path: PathId, names: &Names) -> Option<NameId> {
    let frames = names.frames(path);
    let first = frames.get(names.skip_machinery(&frames))?.name;
    of_application(path, names).filter(|_| names.is_part_of(names.plumbing(&frames), first))
}

/// How the method that a chain begins with was called: in a library or the JDK, by which method of the application.
pub(super) fn called(path: PathId, names: &Names) -> Option<(&'static str, String)> {
    match called_for(path, names) {
        Some(_) => caller_elsewhere(path, names),
        None => caller(path, names).map(|from| ("called from", from)),
    }
}

/// The method that called the one that a chain begins with, without the
/// machinery between them and without recursion.
fn caller(path: PathId, names: &Names) -> Option<String> {
    let frames = names.frames(path);
    let at = names.skip_machinery(&frames);
    let method = frames.get(at)?.name;
    frames[at + 1..].iter().find(|frame| frame.name != method).map(|frame| short(frame.name, names))
}

/// The nearest caller in another class, which says more than the next method
/// of the same machinery; in a library or the JDK, the application's that called it. With the words
/// for how it was called.
pub(super) fn caller_elsewhere(path: PathId, names: &Names) -> Option<(&'static str, String)> {
    let frames = names.frames(path);
    let at = names.skip_machinery(&frames);
    let first = frames.get(at)?.name;
    let own = class(first, names);
    let plumbing = names.plumbing(&frames);
    let is_called_for = names.is_part_of(plumbing, first);
    let is_elsewhere = |frame: &&PathFrame| match is_called_for {
        true => !names.is_part_of(plumbing, frame.name),
        false => class(frame.name, names) != own,
    };
    let Some((between, frame)) = frames[at + 1..].iter().enumerate().find(|(_, frame)| is_elsewhere(frame)) else {
        return caller(path, names).map(|from| ("called from", from));
    };
    let called = match (between, is_called_for) {
        (0, _) => "called from",
        (_, true) => "called through a library from",
        (_, false) => "called indirectly from",
    };
    Some((called, short(frame.name, names)))
}
