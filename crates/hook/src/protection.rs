//! Making memory writable for a moment, and what becomes of its rights.
//!
//! Rights are looked at, widened and given back under one lock, so that two
//! changes on one page do not take each other's widened rights for the page's
//! own. Pages that could not be given their rights back are remembered: they are
//! tried again ([`restore`]) and reported ([`left_writable`]).

use crate::error::HookError;
use crate::sys::{pages, Mapping, Protection, Sys};
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// Pages that are writable although they were not when we came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftWritable {
    /// The pages.
    pub range: Range<usize>,
    /// The rights they are to have.
    pub rights: Protection,
    /// What the system said.
    pub reason: String,
}

#[derive(Default)]
struct State {
    left: Vec<LeftWritable>,
    fallback: Option<String>,
}

static STATE: Mutex<State> = Mutex::new(State { left: Vec::new(), fallback: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|held| held.into_inner())
}

/// Why code had to be written by making its pages writable, if that happened
/// since the last call: they were writable and executable meanwhile.
pub fn take_fallback() -> Option<String> {
    state().fallback.take()
}

/// Code is written by making its pages writable, because the better way failed.
pub(crate) fn note_fallback(reason: &io::Error) {
    state().fallback = Some(reason.to_string());
}

/// Pages that could not be given their rights back so far.
pub fn left_writable() -> Vec<LeftWritable> {
    state().left.clone()
}

/// Tries again to give pages their rights back; what is left then.
pub fn restore(sys: &dyn Sys) -> Vec<LeftWritable> {
    let mut state = state();
    state.left.retain_mut(|left| {
        // SAFETY: the rights are those the pages had before we wrote there.
        match unsafe { sys.protect(left.range.clone(), left.rights) } {
            Ok(()) => false,
            Err(error) => {
                left.reason = error.to_string();
                true
            }
        }
    });
    state.left.clone()
}

/// Runs `change` while all pages of `range` can be written, then gives them their
/// rights back. That this failed is no error here: the change is made.
///
/// # Errors
/// The pages cannot be made writable; nothing is changed then.
pub(crate) fn while_writable<T>(
    sys: &dyn Sys,
    range: Range<usize>,
    change: impl FnOnce() -> T,
) -> Result<T, HookError> {
    let mut state = state();
    let mappings = mappings_of(sys, pages(range))?;
    let widened = widen(sys, &mappings);
    let changed = widened.map(|()| change());
    for mapping in mappings.iter().filter(|mapping| !mapping.protection.write) {
        // SAFETY: the rights are those the pages had; only our own writing, which
        // is over, needed more.
        if let Err(error) = unsafe { sys.protect(mapping.range.clone(), mapping.protection) } {
            let reason = error.to_string();
            state.left.retain(|left| left.range != mapping.range);
            state.left.push(LeftWritable { range: mapping.range.clone(), rights: mapping.protection, reason });
        }
    }
    changed
}

/// The mapped parts of whole pages, each with its rights.
fn mappings_of(sys: &dyn Sys, wanted: Range<usize>) -> Result<Vec<Mapping>, HookError> {
    let mut mappings = sys.mappings().map_err(HookError::MapUnreadable)?;
    for mapping in &mut mappings {
        let overlap = &mut mapping.range;
        *overlap = overlap.start.max(wanted.start)..overlap.end.min(wanted.end);
    }
    mappings.retain(|mapping| !mapping.range.is_empty());
    let covered: usize = mappings.iter().map(|mapping| mapping.range.len()).sum();
    match covered == wanted.len() {
        true => Ok(mappings),
        false => Err(HookError::ProtectDenied {
            address: wanted.start,
            error: io::Error::new(io::ErrorKind::NotFound, "not all of it is mapped"),
        }),
    }
}

fn widen(sys: &dyn Sys, mappings: &[Mapping]) -> Result<(), HookError> {
    for mapping in mappings.iter().filter(|mapping| !mapping.protection.write) {
        // SAFETY: mapped pages; no right is taken away.
        unsafe { sys.protect(mapping.range.clone(), mapping.protection.writable()) }
            .map_err(|error| HookError::ProtectDenied { address: mapping.range.start, error })?;
    }
    Ok(())
}
