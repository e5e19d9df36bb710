//! Locks that a developer would call the same: one lock, or the locks of many like
//! objects.
//!
//! Locks with a name are grouped by name and class, others by class. What a method calls its own
//! object, `Transaction (this)`, counts as its class. A class that everybody locks on
//! (`Object`, a `ReentrantLock`) says nothing: there, where it is acquired and by whom it
//! is owned most distinguishes locks, which holds for every instance wherever it was
//! allocated. For bins of a map, that is the application's method that owned them.

use crate::aggregate::Aggregate;
use crate::monitor::OwnersById;
use crate::names::{NameId, Names, PathFrame, PathId};
use headway_model::event::LockDef;
use headway_model::quantity::grouped;
use headway_model::LockId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Locks of one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockGroup {
    /// `Inventory.lock`, or the class without its package where there is no name.
    pub name: String,
    /// Their readable class.
    pub class: String,
    /// Some of them; all, if it is one.
    pub first: LockId,
    /// How many.
    pub count: u64,
}

/// All locks with blocked time, in groups.
#[derive(Debug, Default)]
pub(crate) struct LockGroups {
    groups: Vec<LockGroup>,
    of_lock: FxHashMap<LockId, usize>,
}

type Site = (Option<PathFrame>, Option<NameId>);
type Key = (Arc<str>, Arc<str>, Site);

impl LockGroups {
    pub fn new(aggregate: &Aggregate, owners: &OwnersById, names: &mut Names) -> LockGroups {
        let sites = sites(aggregate, owners, names);
        let mut groups = LockGroups::default();
        let mut by_key: FxHashMap<Key, usize> = FxHashMap::default();
        for totals in aggregate.locks().iter().filter(|totals| totals.lock.is_some() && totals.total > 0) {
            let lock = totals.lock;
            let (name, class) = names.lock(lock).map(|def| (own_name(def), def.class.clone())).unwrap_or_default();
            let site = sites.get(&lock).copied().unwrap_or_default();
            let place = *by_key.entry((name, class, site)).or_insert_with_key(|(name, ..)| {
                let class = names.lock_class_text(lock);
                let name = match name.is_empty() {
                    true => crate::names::method::without_package(&class).to_owned(),
                    false => name.to_string(),
                };
                groups.groups.push(LockGroup { name, class, first: lock, count: 0 });
                groups.groups.len() - 1
            });
            groups.of_lock.insert(lock, place);
            if let Some(group) = groups.groups.get_mut(place) {
                group.count += 1;
            }
        }
        groups
    }

    /// The place of the lock's group.
    pub fn place(&self, lock: LockId) -> Option<usize> {
        self.of_lock.get(&lock).copied()
    }

    /// The group at this place.
    pub fn get(&self, place: usize) -> Option<&LockGroup> {
        self.groups.get(place)
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// What a table, and a sentence, call the group, if it is of several locks.
    pub fn several(&self, place: usize, names: &Names) -> Option<(String, String)> {
        let group = self.get(place).filter(|group| group.count > 1)?;
        Some((self.text(place, names), group.name.clone()))
    }

    /// What a table calls the group: the lock itself where it is the only one.
    pub fn text(&self, place: usize, names: &Names) -> String {
        match self.get(place) {
            Some(group) if group.count > 1 => {
                format!("{} ({} locks of {})", group.name, grouped(group.count), group.class)
            }
            group => names.lock_text(group.map_or(LockId::NONE, |group| group.first)),
        }
    }
}

/// What the code calls this lock; empty if that is only its class: `Transaction (this)`, as any method of a
/// `Transaction` calls it, is the same lock to who has no name for it.
fn own_name(def: &LockDef) -> Arc<str> {
    match def.name.strip_suffix(" (this)") {
        Some(class) if class == crate::names::method::without_package(&def.class) => Arc::default(),
        Some(class) => class.into(),
        None => def.name.clone(),
    }
}

/// Where locks whose class says nothing are acquired, and by whom owned, most.
fn sites(aggregate: &Aggregate, owners: &OwnersById, names: &mut Names) -> FxHashMap<LockId, Site> {
    let mut sites: FxHashMap<LockId, (Site, u64, u64)> = FxHashMap::default();
    for totals in aggregate.locks() {
        if names.lock(totals.lock).is_some_and(crate::names::says_nothing) {
            sites.insert(totals.lock, Default::default());
        }
    }
    if sites.is_empty() {
        return FxHashMap::default();
    }
    for (side, ns) in aggregate.sides() {
        let Some((site, most, _)) = sites.get_mut(&side.lock).filter(|(_, most, _)| *most < ns) else { continue };
        *most = ns;
        site.0 = names.path(side.chain, 0).and_then(|path| {
            let frames = names.frames(path);
            frames.get(names.skip_machinery(&frames)).copied()
        });
    }
    for (id, owner) in owners.all() {
        let ns = aggregate.held_ns(id);
        let Some((site, _, most)) = sites.get_mut(&owner.lock).filter(|(_, _, most)| *most < ns) else { continue };
        *most = ns;
        let path = names.owner_path(owner.chain, owner.frame);
        site.1 = match is_bin(owner.lock, names) {
            true => path.and_then(|path| of_application(path, names)),
            false => path.and_then(|path| names.acting_method(path)),
        };
    }
    let of_lock = |(lock, (site, ..)): (LockId, (Site, u64, u64))| match is_bin(lock, names) {
        // What writers and removers of a map wait for is the same bin.
        true => (lock, (None, site.1)),
        false => (lock, site),
    };
    sites.into_iter().map(of_lock).collect()
}

fn is_bin(lock: LockId, names: &Names) -> bool {
    names.lock(lock).is_some_and(|def| def.name.starts_with(crate::names::BIN))
}

/// The method of the application that called the map.
fn of_application(path: PathId, names: &Names) -> Option<NameId> {
    let frames = names.frames(path);
    let plumbing = names.plumbing(&frames);
    frames.iter().map(|frame| frame.name).find(|name| !names.is_part_of(plumbing, *name))
}
