//! What Headway's own events add to the standard event behind them, and places in
//! the order of locks, which are written as steps.

use super::chunk::Chunk;
use super::plan::Values;
use super::slot::slot;
use crate::hash::IdTable;
use crate::schema::unzigzag;
use headway_model::Seq;

/// The values of the last detail event.
#[derive(Clone, Copy, Default)]
pub(crate) struct Detail {
    start: u64,
    thread: u64,
    pub(super) seq_step: u64,
    pub(super) start_back: u64,
    pub(super) unpark_back: u64,
    pub(super) outcome: u64,
    pub(super) owner: u64,
    pub(super) waker: u64,
    pub(super) weight: u64,
    pub(super) cpu_from_one: u64,
}

impl Detail {
    pub(super) fn of(values: &Values) -> Detail {
        Detail {
            start: values.get(slot!("startTime")),
            thread: values.get(slot!("eventThread")),
            seq_step: values.get(slot!("seqStep")),
            start_back: values.get(slot!("startBack")),
            unpark_back: values.get(slot!("unparkBack")),
            outcome: values.get(slot!("outcome")),
            owner: values.get(slot!("owner")),
            waker: values.get(slot!("waker")),
            weight: values.get(slot!("weight")),
            cpu_from_one: values.get(slot!("cpu")),
        }
    }
}

/// The newest places in the orders of locks, by the numbers of their constants.
#[derive(Default)]
pub(crate) struct Places {
    locks: IdTable<u64>,
    parks: u64,
    /// An event is missing, and with it the step to those behind it.
    pub(super) lost: bool,
}

impl Places {
    #[inline]
    pub(super) fn lock(&mut self, key: u64, step: u64) -> Seq {
        if step == 0 || self.lost {
            return Seq::NONE;
        }
        let place = after(self.locks.get(key).unwrap_or(0), step);
        self.locks.insert(key, place);
        Seq(place)
    }

    #[inline]
    pub(super) fn park(&mut self, step: u64) -> Seq {
        if step == 0 || self.lost {
            return Seq::NONE;
        }
        self.parks = after(self.parks, step);
        Seq(self.parks)
    }
}

fn after(before: u64, step: u64) -> u64 {
    before.wrapping_add(unzigzag(step.wrapping_sub(1))).wrapping_add(1)
}

/// A place so far before another one; see the schema.
pub(super) fn before(from: Seq, back: u64) -> Seq {
    match back {
        0 => Seq::NONE,
        _ if from.is_none() => Seq::NONE,
        _ => Seq(from.0.wrapping_sub(unzigzag(back.wrapping_sub(1)))),
    }
}

impl Chunk {
    /// The detail of the event that was just read; empty if it has none.
    #[inline]
    pub(super) fn detail(&mut self) -> Detail {
        let detail = std::mem::take(&mut self.last_detail);
        if detail.start == self.values.get(slot!("startTime")) && detail.thread == self.values.get(slot!("eventThread"))
        {
            return detail;
        }
        Detail::default()
    }

    /// The place of the event that was just read in its lock's order; `detail` is
    /// that of an event that has no such field.
    #[inline]
    pub(super) fn lock_place(&mut self, detail: Option<&Detail>) -> Seq {
        let step = detail.map_or(self.values.get(slot!("seqStep")), |detail| detail.seq_step);
        if step == 0 {
            // As recordings of format version 1 have it.
            return Seq(self.values.get(slot!("seq")));
        }
        let lock = match self.values.get(slot!("lock")) {
            0 => self.values.get(slot!("address")),
            lock => lock,
        };
        self.places.lock(lock, step)
    }

    /// The same for parks and unparks.
    pub(super) fn park_place(&mut self, detail: Option<&Detail>) -> Seq {
        match detail.map_or(self.values.get(slot!("seqStep")), |detail| detail.seq_step) {
            0 => Seq(self.values.get(slot!("seq"))),
            step => self.places.park(step),
        }
    }
}
