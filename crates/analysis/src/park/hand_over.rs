//! Hands over what the replay of parks found: stretches told by one event,
//! conditional waits, and what had not ended when the recording did.

use super::event::{ParkEvent, ParkEventKind};
use super::replay::{parked_of, ParkReplay, Parked};
use super::wait::{ParkWait, Waker};
use crate::monitor::going::ReadOwners;
use crate::monitor::hand_over::Told;
use crate::monitor::lock::Origin;
use crate::monitor::{Basis, Holder, HolderId, Holders, Kind, OpenContention, Slice, Stretch, StretchSink};
use headway_model::event::MonitorEntered;
use headway_model::{ChainId, DurationNs, ThreadId, TimeNs};
use std::ops::Range;

impl ParkReplay {
    /// A conditional wait: also a stretch whose owner is who ended it.
    pub(super) fn wait(&mut self, wait: ParkWait, holders: &mut Holders, sink: &mut impl StretchSink) {
        self.waits.push(wait);
        if !wait.synchronizer.is_conditional() {
            return;
        }
        let holder = holders.intern(Holder {
            lock: wait.blocker,
            thread: wait.waker.thread,
            chain: wait.waker.chain,
            frame: 0,
            approximate: false,
        });
        let (mut slices, some) = slices(&wait, holder);
        let stretch = Stretch {
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
            holders,
        };
        self.hand_over.finish(stretch, slices.get_mut(some).unwrap_or_default(), sink);
    }

    /// A park of a recording that has only its end.
    pub(super) fn told_at_end(&mut self, event: &ParkEvent, holders: &mut Holders, sink: &mut impl StretchSink) {
        let ParkEventKind::End { waker, .. } = event.kind else { return };
        let Some((parked, outcome)) = parked_of(event) else { return };
        if parked.start == TimeNs(0) || parked.start > event.time {
            self.counts.unpaired += 1;
            return;
        }
        if !parked.what.synchronizer.is_lock() {
            let waker = Waker { thread: waker, chain: ChainId::NONE, time: event.time, seq: 0 };
            let wait = parked.wait(event.thread, event.time, Some(outcome), waker);
            self.wait(wait, holders, sink);
        } else if parked.blocker.is_some() {
            // Without an object there is no lock to be blocked on, only a class.
            self.tell(event, &parked, Basis::SeenAtEnter, holders, sink);
        }
    }

    /// A blocked stretch of which only what the park itself says is known.
    pub(super) fn tell(
        &mut self,
        event: &ParkEvent,
        parked: &Parked,
        basis: Basis,
        holders: &mut Holders,
        sink: &mut impl StretchSink,
    ) {
        let lock = parked.blocker;
        let holder = holders.intern(Holder::thread(lock, parked.owner));
        let basis = if basis == Basis::SeenAtEnter && !holder.is_known() { Basis::NoMark } else { basis };
        let entered = MonitorEntered {
            time: event.time,
            start: parked.start,
            thread: event.thread,
            lock,
            chain: parked.chain,
            ..MonitorEntered::default()
        };
        let after_wait = parked.what.after_wait;
        self.told.push(Told { kind: Kind::Juc, event: entered, holder, basis, after_wait, bound: false });
        if self.told.len() >= self.bounds.pending_events {
            self.give_told(TimeNs(u64::MAX), holders, sink);
        }
    }

    pub(super) fn give_told(&mut self, watermark: TimeNs, holders: &Holders, sink: &mut impl StretchSink) {
        let mut told = std::mem::take(&mut self.told);
        told.retain(|stretch| {
            let ready = stretch.event.time <= watermark;
            if ready {
                self.hand_over.give_told(stretch, holders, sink);
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
        holders: &mut Holders,
        sink: &mut impl StretchSink,
    ) -> Vec<OpenContention> {
        self.listed = (0..self.locks.len() as u32).collect();
        self.advance(TimeNs(u64::MAX), holders, sink);
        let mut open = Vec::new();
        let last_lost = self.last_lost;
        for (lock, replay) in self.locks.iter_mut() {
            replay.note_lost(last_lost);
            for blocked in replay.take_blocked(end) {
                if active(blocked.thread) > blocked.start || replay.may_have_lost_end(&blocked) {
                    self.counts.ends_lost += 1;
                    continue;
                }
                let mut stretch = OpenContention {
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
                self.hand_over.give_open(*lock, replay, blocked, read, holders, sink);
                stretch.set_owner(self.hand_over.last_owner(holders, seen));
                open.push(stretch);
            }
        }
        self.finish_waits(end, active, holders, sink);
        open.sort_by_key(|stretch| (stretch.start, stretch.thread));
        open
    }

    fn finish_waits(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        holders: &mut Holders,
        sink: &mut impl StretchSink,
    ) {
        let mut waiting: Vec<(ThreadId, Parked)> =
            self.parkers.iter().filter_map(|(thread, parker)| Some((*thread, parker.parked?))).collect();
        waiting.retain(|(thread, parked)| !parked.what.synchronizer.is_lock() && active(*thread) <= parked.start);
        waiting.retain(|(_, parked)| self.last_lost < parked.start_seq);
        waiting.sort_by_key(|(thread, parked)| (parked.start, *thread));
        for (thread, parked) in waiting {
            let wait = parked.wait(thread, end, None, Waker::default());
            self.wait(wait, holders, sink);
        }
    }
}

/// Until the unpark the wait is its waker's; then it is nobody's. Also which of
/// these two are longer than nothing.
fn slices(wait: &ParkWait, holder: HolderId) -> ([Slice; 2], Range<usize>) {
    let known = holder.is_known();
    let given = if known { wait.waker.time.max(wait.start).min(wait.end) } else { wait.start };
    let after = if known { Basis::WakeUp } else { Basis::NoMark };
    let slice = |from: TimeNs, to: TimeNs, holder, basis| Slice {
        start: from,
        duration: to.since(from),
        stop_the_world: DurationNs::ZERO,
        holder,
        basis,
        holder_blocked: false,
        stands_for: 1,
    };
    let both = [slice(wait.start, given, holder, Basis::Exit), slice(given, wait.end, HolderId::UNKNOWN, after)];
    (both, usize::from(given <= wait.start)..if given < wait.end { 2 } else { 1 })
}
