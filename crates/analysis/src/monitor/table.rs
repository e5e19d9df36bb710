//! The locks of a replay: as many as its bound allows, found by id, each place
//! used again at constant cost.
//!
//! When the table is full, a new lock takes the place of one on which nothing is
//! going on. A hand goes round the places and looks at a few of them each time
//! (as the clock algorithm of page replacement does), so that a program with a
//! million short-lived locks costs the same per event as one with a hundred.

use super::lock::LockReplay;
use super::Kind;
use crate::by_id::Places;
use headway_model::LockId;
use std::ops::{Deref, DerefMut};

/// Places that the hand looks at for one new lock.
const LOOKS: usize = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct LockTable {
    ids: Places<LockId>,
    locks: Vec<(LockId, LockReplay)>,
    latest: (LockId, u32),
    hand: usize,
    kind: Kind,
    most: usize,
}

impl LockTable {
    /// Room for `most` locks of this kind.
    pub fn new(kind: Kind, most: usize) -> LockTable {
        let latest = (LockId::NONE, 0);
        LockTable { ids: Places::default(), locks: Vec::new(), latest, hand: 0, kind, most: most.max(1) }
    }

    /// The place of a lock.
    #[inline]
    pub fn find(&mut self, id: LockId) -> Option<u32> {
        if self.latest.0 == id && id.is_some() {
            return Some(self.latest.1);
        }
        let index = self.ids.get(id)?;
        self.latest = (id, index);
        Some(index)
    }

    /// The place of a lock, made if there is none; `None` if there is no room and
    /// no idle lock was found.
    #[inline]
    pub fn find_or_add(&mut self, id: LockId) -> Option<u32> {
        match self.find(id) {
            Some(index) => Some(index),
            None => self.add(id),
        }
    }

    fn add(&mut self, id: LockId) -> Option<u32> {
        if self.locks.len() < self.most {
            let index = self.locks.len() as u32;
            self.locks.push((id, LockReplay::new(id, self.kind)));
            self.known(id, index);
            return Some(index);
        }
        let index = self.idle_place()?;
        self.replace(index, id);
        Some(index)
    }

    /// The next idle lock that the hand meets, if it does so soon.
    fn idle_place(&mut self) -> Option<u32> {
        for _ in 0..LOOKS.min(self.locks.len()) {
            let index = self.advance_hand();
            if self.locks.get(index).is_some_and(|(_, replay)| replay.is_idle()) {
                return Some(index as u32);
            }
        }
        None
    }

    /// The next lock that is only waiting for a watermark, if the hand meets one
    /// soon: settled, it is idle.
    pub fn place_to_settle(&mut self) -> Option<u32> {
        for _ in 0..LOOKS.min(self.locks.len()) {
            let index = self.advance_hand();
            if self.locks.get(index).is_some_and(|(_, replay)| replay.could_settle()) {
                return Some(index as u32);
            }
        }
        None
    }

    fn advance_hand(&mut self) -> usize {
        let index = self.hand;
        self.hand = if index + 1 < self.locks.len() { index + 1 } else { 0 };
        index
    }

    /// Gives the place of a lock to another one. It stays listed if it was.
    pub fn replace(&mut self, index: u32, id: LockId) {
        let Some((old, replay)) = self.locks.get_mut(index as usize) else { return };
        self.ids.remove(*old);
        *old = id;
        replay.begin_anew(id);
        self.known(id, index);
    }

    fn known(&mut self, id: LockId, index: u32) {
        self.ids.insert(id, index);
        self.latest = (id, index);
    }
}

impl Deref for LockTable {
    type Target = [(LockId, LockReplay)];

    fn deref(&self) -> &[(LockId, LockReplay)] {
        &self.locks
    }
}

impl DerefMut for LockTable {
    fn deref_mut(&mut self) -> &mut [(LockId, LockReplay)] {
        &mut self.locks
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::Counts;
    use super::super::order::{LockEvent, LockEventKind};
    use super::super::OwnersById;
    use super::*;
    use headway_model::{ChainId, ThreadId, TimeNs};

    #[test]
    fn a_full_table_gives_the_places_of_idle_locks_to_new_ones() {
        let mut table = LockTable::new(Kind::Monitor, 4);
        let places: Vec<_> = (1..=4).map(|id| table.find_or_add(LockId(id))).collect();
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(3)]);
        table[1].1.listed = true;
        assert_eq!(table.find_or_add(LockId(9)), Some(0));
        assert_eq!((table.find(LockId(1)), table.find(LockId(2))), (None, Some(1)));
        assert_eq!(table.find_or_add(LockId(10)), Some(1));
        assert!(table[1].1.listed, "its place is still in the list");
        assert_eq!((table.find(LockId(9)), table.len()), (Some(0), 4));
    }

    #[test]
    fn a_place_that_is_used_again_asks_for_no_memory() {
        let event = |kind, seq, thread| LockEvent {
            seq,
            time: TimeNs(seq),
            start: TimeNs(0),
            thread: ThreadId(thread),
            other: ThreadId::NONE,
            chain: ChainId(1),
            owner_frame: 0,
            flag: false,
            nested: false,
            kind,
        };
        let (mut owners, mut counts) = (OwnersById::new(64), Counts::default());
        let mut table = LockTable::new(Kind::Monitor, 1);
        let mut marks = Vec::new();
        for id in 1..=8 {
            let place = table.find_or_add(LockId(id)).map(|place| place as usize);
            let replay = &mut table[place.unwrap_or(usize::MAX)].1;
            let kinds = [(LockEventKind::Enter, 1), (LockEventKind::Exit, 2), (LockEventKind::Entered, 1)];
            for (seq, (kind, thread)) in (1..).zip(kinds) {
                let event = event(kind, seq, thread);
                assert!(replay.order.pass(&event));
                replay.replay(&event, &mut owners, &mut counts);
            }
            let done = replay.take_done(TimeNs(9));
            assert_eq!((done.len(), done.spilled()), (1, false));
            assert_eq!(replay.marks(), 2, "those of the lock before are gone");
            marks.push(replay.marks_address());
            replay.rest();
        }
        assert!(marks.windows(2).all(|pair| pair[0] == pair[1]), "{marks:?}");
    }
}
