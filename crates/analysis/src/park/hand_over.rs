//! Hands over what the replay of parks found: contentions reported by one event,
//! conditional waits, and what had not ended when the recording did.

use super::event::{ParkEvent, ParkEventKind};
use super::replay::{parked_of, ParkReplay, Parked};
use super::wait::{ParkWait, Waker};
use crate::monitor::going::ReadOwners;
use crate::monitor::hand_over::Told;
use crate::monitor::lock::Origin;
use crate::monitor::{Basis, Contention, ContentionSink, Kind, OpenContention, Owner, OwnerId, OwnersById, Slice};
use headway_model::event::MonitorEntered;
use headway_model::{ChainId, DurationNs, ThreadId, TimeNs};
use std::ops::Range;

impl ParkReplay {
    /// A conditional wait: also a contention whose owner is who ended it.
    pub(super) fn wait(&mut self, wait: ParkWait, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        self.waits.push(wait);
        if !wait.synchronizer.is_conditional() {
            return;
        }
        let owner = owners.intern(Owner {
            lock: wait.blocker,
            thread: wait.waker.thread,
            chain: wait.waker.chain,
            frame: 0,
            approximate: false,
        });
        let (mut slices, some) = slices(&wait, owner);
        let contention = Contention {
            kind: Kind::Conditional,
            start: wait.start,
            duration: wait.end.since(wait.start),
            thread: wait.thread,
            chain: wait.chain,
            lock: wait.blocker,
            after_wait: false,
            bound: false,
            in_flight: wait.outcome.is_none(),
            slices: &[],
            shared: None,
            owners,
        };
        self.hand_over.finish(contention, slices.get_mut(some).unwrap_or_default(), sink);
    }

    /// A park of a recording that has only its end.
    pub(super) fn told_at_end(&mut self, event: &ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        let ParkEventKind::End { waker, .. } = event.kind else { return };
        let Some((parked, outcome)) = parked_of(event) else { return };
        if parked.start == TimeNs(0) || parked.start > event.time {
            self.counts.unpaired += 1;
            return;
        }
        if !parked.what.synchronizer.is_lock() {
            let waker = Waker { thread: waker, chain: ChainId::NONE, time: event.time, seq: 0 };
            let wait = parked.wait(event.thread, event.time, Some(outcome), waker);
            self.wait(wait, owners, sink);
        } else if parked.blocker.is_some() {
            // Without an object there is no lock to be blocked on, only a class.
            self.tell(event, &parked, Basis::SeenAtEnter, owners, sink);
        }
    }

    /// A contention of which only what the park itself says is known.
    pub(super) fn tell(
        &mut self,
        event: &ParkEvent,
        parked: &Parked,
        basis: Basis,
        owners: &mut OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        let lock = parked.blocker;
        let owner = owners.intern(Owner::thread(lock, parked.owner));
        let basis = if basis == Basis::SeenAtEnter && !owner.is_known() { Basis::NoMark } else { basis };
        let entered = MonitorEntered {
            time: event.time,
            start: parked.start,
            thread: event.thread,
            lock,
            chain: parked.chain,
            ..MonitorEntered::default()
        };
        let after_wait = parked.what.after_wait;
        self.told.push(Told { kind: Kind::Juc, event: entered, owner, basis, after_wait, bound: false });
        if self.told.len() >= self.bounds.pending_events {
            self.give_told(TimeNs(u64::MAX), owners, sink);
        }
    }

    pub(super) fn give_told(&mut self, watermark: TimeNs, owners: &OwnersById, sink: &mut impl ContentionSink) {
        let mut told = std::mem::take(&mut self.told);
        told.retain(|contention| {
            let ready = contention.event.time <= watermark;
            if ready {
                self.hand_over.give_told(contention, owners, sink);
            }
            !ready
        });
        self.told = told;
    }

    /// The stream is over: hands over what still waits, with what is still
    /// parked counted up to `end`. `active` says when a thread was last seen to
    /// do something.
    pub(crate) fn finish(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        read: &ReadOwners,
        owners: &mut OwnersById,
        sink: &mut impl ContentionSink,
    ) -> Vec<OpenContention> {
        self.listed = (0..self.locks.len() as u32).collect();
        self.advance(TimeNs(u64::MAX), owners, sink);
        let mut open = Vec::new();
        let last_lost = self.last_lost;
        for (lock, replay) in self.locks.iter_mut() {
            replay.note_lost(last_lost);
            for blocked in replay.take_blocked(end) {
                if active(blocked.thread) > blocked.start || replay.may_have_lost_end(&blocked) {
                    self.counts.ends_lost += 1;
                    continue;
                }
                let mut contention = OpenContention {
                    thread: blocked.thread,
                    chain: blocked.chain,
                    lock: *lock,
                    start: blocked.start,
                    owner: ThreadId::NONE,
                    owner_from: TimeNs(0),
                    owner_until: TimeNs(0),
                    is_read: false,
                    after_wait: blocked.origin != Origin::Enter,
                    is_older_than_recording: false,
                };
                let seen = (blocked.owner_at_begin(), blocked.start);
                self.hand_over.give_open(*lock, replay, blocked, read, owners, sink);
                contention.set_owner(self.hand_over.last_owner(owners, seen));
                open.push(contention);
            }
        }
        self.finish_waits(end, active, owners, sink);
        open.sort_by_key(|contention| (contention.start, contention.thread));
        open
    }

    fn finish_waits(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        owners: &mut OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        let mut waiting: Vec<(ThreadId, Parked)> =
            self.parkers.iter().filter_map(|(thread, parker)| Some((*thread, parker.parked?))).collect();
        waiting.retain(|(thread, parked)| !parked.what.synchronizer.is_lock() && active(*thread) <= parked.start);
        waiting.retain(|(_, parked)| self.last_lost < parked.start_seq);
        waiting.sort_by_key(|(thread, parked)| (parked.start, *thread));
        for (thread, parked) in waiting {
            let wait = parked.wait(thread, end, None, Waker::default());
            self.wait(wait, owners, sink);
        }
    }
}

/// Until the unpark the wait is its waker's; then it is nobody's. Also which of
/// these two are longer than nothing.
fn slices(wait: &ParkWait, owner: OwnerId) -> ([Slice; 2], Range<usize>) {
    let known = owner.is_known();
    let given = if known { wait.waker.time.max(wait.start).min(wait.end) } else { wait.start };
    let after = if known { Basis::WakeUp } else { Basis::NoMark };
    let slice = |from: TimeNs, to: TimeNs, owner, basis| Slice {
        start: from,
        duration: to.since(from),
        stop_the_world: DurationNs::ZERO,
        owner,
        basis,
        owner_blocked: false,
        stands_for: 1,
    };
    let both = [slice(wait.start, given, owner, Basis::Exit), slice(given, wait.end, OwnerId::UNKNOWN, after)];
    (both, usize::from(given <= wait.start)..if given < wait.end { 2 } else { 1 })
}
