//! Where the values of an event go, by the names of their fields. A field of the schema has a place because it
//! stands there; which one, the compiler finds out.

use super::kinds;
use crate::schema::{Type, WRITTEN_EVENTS};

/// Fields of the schema that nobody asks for.
const UNREAD: &[&str] = &["parentThread", "gcId", "name", "blockingOperation"];

/// Fields that only others write, or earlier versions did.
const FOREIGN: &[&str] = &["seq", "startSeq", "unpark", "safepointId"];

/// Fields that say what another one says, which is asked for.
const ALIASES: &[(&str, &str)] = &[
    ("sampledThread", "eventThread"),
    ("parkedClass", "monitorClass"),
    ("previousOwner", "owner"),
    ("notifier", "owner"),
    ("waiter", "owner"),
    ("target", "owner"),
    ("blocker", "lock"),
    ("samplingPeriod", "weight"),
    ("waiters", "count"),
    ("lostSamples", "count"),
    ("amount", "count"),
    ("waiterStackTrace", "ownerStackTrace"),
];

/// A place for the values of one field, or of several with the same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

/// The slot of a field that is asked for by name; one that no event has does not compile.
macro_rules! slot {
    ($field:literal) => {
        const {
            match $crate::read::slot::Slot::named($field) {
                Some(slot) => slot,
                None => panic!("no event has such a field"),
            }
        }
    };
}
pub(crate) use slot;

/// Room for every slot that there could be, so that none has to be compared with a bound.
pub(crate) const SLOTS: usize = 1 << u8::BITS;

impl Slot {
    /// The slot of the values of a field.
    pub(super) const fn named(field: &str) -> Option<Slot> {
        let mut at = 0;
        while at < ALIASES.len() {
            if is_same(ALIASES[at].0, field) {
                return FIELDS.place(ALIASES[at].1);
            }
            at += 1;
        }
        FIELDS.place(field)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of the fields that are asked for, each once.
struct Fields {
    names: [&'static str; SLOTS],
    count: usize,
}

const FIELDS: Fields = Fields::all();

impl Fields {
    const fn all() -> Fields {
        let mut fields = Fields { names: [""; SLOTS], count: 0 };
        let mut table = 0;
        while table < WRITTEN_EVENTS.len() {
            fields.add_types(WRITTEN_EVENTS[table]);
            table += 1;
        }
        let mut at = 0;
        while at < FOREIGN.len() {
            fields.add(FOREIGN[at]);
            at += 1;
        }
        fields
    }

    const fn add_types(&mut self, types: &[Type]) {
        let mut at = 0;
        while at < types.len() {
            let mut field = 0;
            while field < types[at].fields.len() && !kinds::is_apart(types[at].id) {
                self.add(types[at].fields[field].name);
                field += 1;
            }
            at += 1;
        }
    }

    const fn add(&mut self, field: &'static str) {
        let mut at = 0;
        while at < ALIASES.len() {
            if is_same(ALIASES[at].0, field) {
                return;
            }
            at += 1;
        }
        if self.place(field).is_none() && !contains(UNREAD, field) {
            self.names[self.count] = field;
            self.count += 1;
        }
    }

    const fn place(&self, field: &str) -> Option<Slot> {
        let mut at = 0;
        while at < self.count {
            if is_same(self.names[at], field) {
                return Some(Slot(at as u8));
            }
            at += 1;
        }
        None
    }
}

const fn contains(names: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < names.len() {
        if is_same(names[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_and_its_aliases_have_one_slot_and_others_have_their_own() {
        assert_eq!(Slot::named("sampledThread"), Slot::named("eventThread"));
        assert_eq!(Slot::named("target"), Some(slot!("owner")));
        assert_ne!(slot!("owner"), slot!("lock"));
        assert_eq!([Slot::named("blockingOperation"), Slot::named("producer"), Slot::named("")], [None; 3]);
        for (alias, field) in ALIASES {
            assert!(FIELDS.place(alias).is_none() && FIELDS.place(field).is_some(), "{alias}");
        }
    }

    #[test]
    fn slots_are_numbered_without_gaps() {
        let names = &FIELDS.names[..FIELDS.count];
        for (number, name) in names.iter().enumerate() {
            assert_eq!(Slot::named(name).map(Slot::index), Some(number), "{name}");
        }
    }
}
