//! Which rows count for a query.

use crate::contract::{Aspect, Filter, Kind, Scope, Stacks};
use crate::keys;
use crate::names::Names;
use crate::recording::Recording;
use crate::table::{Row, STACKS, TOTALS};
use std::collections::HashSet;

/// A scope, looked up in a recording's names once, so that a row is decided by
/// its numbers.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    recording: &'a Recording,
    pub from: u64,
    pub to: u64,
    kinds: u32,
    services: bool,
    threads: Option<Vec<bool>>,
    locks: Option<Vec<bool>>,
    chains: Option<Vec<bool>>,
    /// Which of a row's call stacks has a condition, and the chains that meet it.
    stacks: Option<(Aspect, Vec<bool>)>,
    /// With no value where the recording has none such.
    picks: Vec<(Aspect, Option<u32>)>,
    /// The keys of those.
    pub unknown: Vec<String>,
    /// True if the scope itself is about stacks or owners, which totals do not have.
    pub by_stack: bool,
}

/// True for what the totals of short contentions have.
pub(crate) fn is_of_totals(by: Aspect) -> bool {
    matches!(
        by,
        Aspect::Kind
            | Aspect::LockClass
            | Aspect::LockName
            | Aspect::Lock
            | Aspect::ContenderThread
            | Aspect::ContenderGroup
            | Aspect::Time
            | Aspect::ThreadKind
    )
}

impl<'a> Selection<'a> {
    pub fn of(recording: &'a Recording, scope: &Scope) -> Selection<'a> {
        let names = recording.names();
        let filter = &scope.filter;
        let picks: Vec<(Aspect, Option<u32>)> =
            scope.within.iter().map(|pick| (pick.by, keys::find(pick, names))).collect();
        let missing = scope.within.iter().zip(&picks).filter(|(_, (_, value))| value.is_none());
        let unknown = missing.map(|(pick, _)| pick.key.clone()).collect();
        Selection {
            recording,
            from: scope.from,
            to: scope.to.max(scope.from),
            kinds: scope.kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u32),
            services: filter.services,
            threads: both(threads(filter, names), chosen(scope.threads.as_deref(), names)),
            locks: locks(filter, names),
            chains: chains(filter, names),
            stacks: scope.stacks.as_ref().map(|wanted| (wanted.of, stacks(wanted, names))),
            picks,
            unknown,
            by_stack: scope.stacks.is_some()
                || !filter.method.is_empty()
                || scope.within.iter().any(|pick| !is_of_totals(pick.by)),
        }
    }

    /// True if a row counts where threads, locks, kinds and time are asked for.
    #[inline]
    pub fn takes_as_total(&self, row: &Row) -> bool {
        let other = if self.by_stack { TOTALS } else { STACKS };
        row.flags & other == 0 && self.takes(row)
    }

    /// True if the row counts (as far as it lies in the range), whichever projection
    /// it is of.
    #[inline]
    pub fn takes(&self, row: &Row) -> bool {
        if self.kinds & 1 << row.kind == 0 || row.start >= self.to || row.start + row.span <= self.from {
            return false;
        }
        let has = |set: &Option<Vec<bool>>, id: u32| set.as_ref().is_none_or(|set| set.get(id as usize) == Some(&true));
        if !has(&self.threads, row.thread) || !has(&self.locks, row.lock) {
            return false;
        }
        if self.chains.is_some() && !has(&self.chains, row.chain) && !has(&self.chains, row.owner_chain) {
            return false;
        }
        if self
            .stacks
            .as_ref()
            .is_some_and(|(of, set)| !set.get(self.recording.value(*of, row) as usize).copied().unwrap_or(false))
        {
            return false;
        }
        if !self.services && row.kind > Kind::Juc as u8 && self.recording.thread_kind(row.thread) >= crate::names::JVM {
            return false;
        }
        self.picks.iter().all(|(by, value)| match by {
            Aspect::Time => true,
            _ => Some(self.recording.value(*by, row)) == *value,
        })
    }
}

/// Which names match, by id; `None` if all do.
fn matching<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<Vec<bool>> {
    if wanted.is_empty() {
        return None;
    }
    if let Some(whole) = wanted.strip_prefix('=') {
        return Some(names.map(|name| name == whole).collect());
    }
    let wanted = wanted.to_lowercase();
    Some(names.map(|name| name.to_lowercase().contains(&wanted)).collect())
}

/// By a thread's name, or that of its group.
fn threads(filter: &Filter, names: &Names) -> Option<Vec<bool>> {
    let groups = matching(&filter.thread, names.texts().iter().map(String::as_str))?;
    let threads = matching(&filter.thread, names.threads().iter().map(|thread| thread.name.as_str()))?;
    let group = |place: usize| names.threads().get(place).is_some_and(|thread| groups[thread.group as usize]);
    Some(threads.into_iter().enumerate().map(|(place, named)| named || group(place)).collect())
}

/// The threads that are chosen by their keys.
fn chosen(keys: Option<&[String]>, names: &Names) -> Option<Vec<bool>> {
    let keys: HashSet<&str> = keys?.iter().map(String::as_str).collect();
    Some(names.threads().iter().map(|thread| keys.contains(thread.key.as_str())).collect())
}

/// What meets two conditions.
fn both(one: Option<Vec<bool>>, other: Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.into_iter().zip(other).map(|(one, other)| one && other).collect()),
        (one, other) => one.or(other),
    }
}

/// By a lock's name, what the code calls it, or its class.
fn locks(filter: &Filter, names: &Names) -> Option<Vec<bool>> {
    let texts = matching(&filter.lock, names.texts().iter().map(String::as_str))?;
    let locks = matching(&filter.lock, names.locks().iter().map(|lock| lock.name.as_str()))?;
    let named_so = |text: u32| texts[text as usize];
    let class =
        |place: usize| names.locks().get(place).is_some_and(|lock| named_so(lock.class) || named_so(lock.title));
    Some(locks.into_iter().enumerate().map(|(place, named)| named || class(place)).collect())
}

fn chains(filter: &Filter, names: &Names) -> Option<Vec<bool>> {
    let texts = matching(&filter.method, names.texts().iter().map(String::as_str))?;
    let frames: Vec<bool> =
        names.frames().iter().enumerate().map(|(place, frame)| place > 0 && texts[frame.method as usize]).collect();
    Some(names.chains().iter().map(|chain| chain.iter().any(|frame| frames[*frame as usize])).collect())
}

/// The chains on which all the methods wanted are, and none of the others.
fn stacks(wanted: &Stacks, names: &Names) -> Vec<bool> {
    if !matches!(wanted.of, Aspect::ContenderChain | Aspect::OwnerChain | Aspect::Inside) {
        return Vec::new();
    }
    let named = |method: &String| -> Vec<bool> { names.texts().iter().map(|text| text == method).collect() };
    let (with, without): (Vec<_>, Vec<_>) =
        (wanted.with.iter().map(named).collect(), wanted.without.iter().map(named).collect());
    let has = |chain: &[u32], texts: &Vec<bool>| {
        chain.iter().any(|frame| names.frames().get(*frame as usize).is_some_and(|frame| texts[frame.method as usize]))
    };
    let meets = |chain: &[u32]| with.iter().all(|one| has(chain, one)) && !without.iter().any(|one| has(chain, one));
    names.chains().iter().map(|chain| meets(chain)).collect()
}
