//! Owners seen at work: threads are sampled while others wait for them, and only
//! then, so that a recording can say what the owner of a lock, a permit or a result
//! did meanwhile.
//!
//! A few times a second all threads are looked at: whoever has been waiting for more
//! than a few milliseconds is waiting for somebody. That is the owner of its monitor,
//! read while the waiter pins the monitor (or, where the monitor does not know it yet, by the lock stacks
//! of all threads); the owner that it saw when it parked; or a
//! thread that has, or makes, what is waited for there
//! ([`exchanged`](crate::exchanged)). Of these so many as fit the budget are
//! visited: one that waits itself is copied without being woken
//! ([`waiting`](super::waiting)), one that runs gets a perf event for a while
//! ([`armed`](super::armed)). What
//! the recording knows without samples, that an owner was itself blocked or parked,
//! is left out.

use super::armed::ArmedThreads;
use super::decoding::Decoding;
use super::sources::Sources;
use super::subjects::Subject;
use super::waiting::Waiting;
use crate::agent::Agent;
use crate::exchanged::Key;
use crate::state::Begun;
use crate::threads::Slot;
use headway_host::Root;
use headway_model::event::{OwnerSample, ParkLimit, Sample, SampleState};
use headway_model::{ChainId, DurationNs, Event, LockId, Loss, ThreadId, TimeNs};
use headway_sample::task;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A lock's waiter is walked as well if it has been blocked for so long: if that is a deadlock, its stack is asked for.
const MAY_BE_STUCK_NS: u64 = 500_000_000;
/// Time between two looks while somebody waits, and while nobody does.
const LOOKS_NS: (u64, u64) = (20_000_000, 60_000_000);
/// Threads visited at a look.
const MAX_VISITS: usize = 6;
/// Threads that run and have a perf event at a time.
const MAX_ARMED: usize = 4;
/// An event is closed when nobody has been seen to wait for its thread for so long. Contentions that are shorter
/// than two looks are apart are seldom seen, so the owner of a lock keeps its event for longer.
const ARMED_NS: u64 = 500_000_000;
const OWNER_ARMED_NS: u64 = 2_000_000_000;
/// Things waited for that are looked at.
const MAX_WAITED_FOR: usize = 64;
/// Waits without a call chain whose threads' stacks are walked at a look, each once.
const MAX_WALKS: usize = 4;
/// Things waited for without a call chain that are kept: others have to find room, too.
const MAX_UNPLACED: usize = 16;
/// Longest time that one look stands for.
const MAX_WEIGHT_NS: u64 = 500_000_000;

/// Something that somebody waits for.
#[derive(Clone, Copy, Debug)]
struct WaitedFor {
    lock: LockId,
    chain: ChainId,
    waiters: u32,
    /// `NONE` where nobody owns it.
    owner: ThreadId,
    /// True if who owns it is all there is to know: a monitor.
    is_owned: bool,
    /// The `ObjectMonitor*`, 0 where it is none.
    monitor: u64,
    /// Its object, where somebody owns it of whom it does not know.
    unnamed: Option<u64>,
}

/// See the module.
pub struct Owners {
    agent: &'static Agent,
    waiting: Waiting,
    waited_for: Vec<WaitedFor>,
    candidates: Vec<(Subject, WaitedFor)>,
    /// Threads that run and have a perf event.
    armed: ArmedThreads<WaitedFor>,
    /// Where their switches are counted.
    root: Root,
    last_ns: u64,
    next_ns: u64,
    turn: usize,
    walks: Walks,
}

/// Whose stacks are walked at a look: threads take turns.
#[derive(Clone, Copy, Debug, Default)]
struct Walks {
    /// How many more.
    left: usize,
    /// The place of the thread that is looked at.
    place: usize,
    /// Threads before this place had their turn.
    from: usize,
}

impl Walks {
    /// A look begins. Those that had no turn at the last one come first.
    fn begin(&mut self, most: usize) {
        if self.left > 0 {
            self.from = 0;
        }
        self.left = most;
    }

    /// True if it is this thread's turn, and takes it.
    fn take(&mut self) -> bool {
        let is_due = self.left > 0 && self.place >= self.from;
        if is_due {
            self.left -= 1;
            self.from = self.place + 1;
        }
        is_due
    }
}

impl Owners {
    /// Looks at nobody yet.
    pub fn new(agent: &'static Agent) -> Owners {
        Owners {
            agent,
            waiting: Waiting::on_demand(agent),
            waited_for: Vec::with_capacity(MAX_WAITED_FOR),
            candidates: Vec::new(),
            armed: ArmedThreads::new(task::monotonic_ns()),
            root: Root::default(),
            last_ns: task::monotonic_ns(),
            next_ns: 0,
            turn: 0,
            walks: Walks::default(),
        }
    }

    /// Looks who waits for whom, if it is time, and visits those who are waited for.
    /// `arms` says whether running ones get events in `sources`, which has no others.
    pub fn round(&mut self, sources: &mut Sources, arms: bool, decoding: &mut Decoding, batch: &mut Vec<Event>) {
        let now = task::monotonic_ns();
        if now < self.next_ns {
            return;
        }
        self.find_waiters(now, decoding);
        let is_calm = self.waited_for.is_empty();
        self.next_ns = now + self.pause_ns();
        let since = now.saturating_sub(self.last_ns).min(MAX_WEIGHT_NS);
        self.last_ns = now;
        if !is_calm {
            self.find_owners(now);
            self.visit(since, now, sources, arms, decoding, batch);
        }
        if arms {
            self.disarm(now, sources);
        }
    }

    /// How long to wait before the next round, at most: whoever ends the recording, or the JVM, waits
    /// until it is over. A round before the next look is due does nothing.
    pub fn pause(&self) -> Duration {
        Duration::from_nanos(self.pause_ns().min(LOOKS_NS.1))
    }

    fn pause_ns(&self) -> u64 {
        let busy = LOOKS_NS.0 * self.agent.samples.slower();
        if self.waited_for.is_empty() {
            busy.max(LOOKS_NS.1)
        } else {
            busy
        }
    }

    /// What a sample of a running thread stands for. A lock's recorded contentions show whether others were
    /// blocked at that moment; of anything else that somebody waits for, only a look just before shows it.
    pub fn running(&self, subject: &Subject, sample: Sample) -> Option<OwnerSample> {
        let (waited, seen) = self.armed.get(subject.os_id)?;
        let fresh = seen + 2 * LOOKS_NS.0 * self.agent.samples.slower() >= sample.time.0;
        match fresh {
            true => Some(waited.sample(sample)),
            false => {
                waited.owner.is_some().then(|| WaitedFor { chain: ChainId::NONE, waiters: 0, ..*waited }.sample(sample))
            }
        }
    }

    fn find_waiters(&mut self, now: u64, decoding: &mut Decoding) {
        self.waited_for.clear();
        let lasts = |start: TimeNs, ns: u64| now.saturating_sub(start.0) >= ns;
        let is_long = |start: TimeNs| lasts(start, OwnerSample::AFTER.0);
        let agent = self.agent;
        // Where the kernel refuses to read stacks, no walk succeeds.
        self.walks.begin(if agent.losses.get(Loss::SampleUnreadable) == 0 { MAX_WALKS } else { 0 });
        for (place, slot) in agent.threads.iter().enumerate() {
            self.walks.place = place;
            if let Some(enter) = slot.enter.peek().filter(|enter| is_long(enter.start)) {
                let still = || slot.enter.peek().is_some_and(|now| now.start == enter.start);
                let monitor = agent.hotspot.pending_monitor(slot.vm_thread());
                let wants_chain = enter.chain.is_some() || lasts(enter.start, MAY_BE_STUCK_NS);
                if self.is_known(monitor, wants_chain) {
                    continue;
                }
                let (owner, unnamed) = self.owner_of_pending(monitor, still);
                let (place, known) = ((slot, enter.start), (enter.lock, enter.chain));
                let chain = match lasts(enter.start, MAY_BE_STUCK_NS) {
                    true => self.chain_of(place, known, still, decoding),
                    false => enter.chain,
                };
                let lock = enter.lock;
                self.add(WaitedFor { lock, chain, waiters: 1, owner, is_owned: true, unnamed, monitor });
            } else if let Some(reenter) = slot.reenter.peek() {
                // It was notified: it waits for the monitor, and no longer for whoever notifies.
                if is_long(reenter.start) {
                    self.add_reentering(slot, &reenter);
                }
            } else if slot.found_blocked.load(Ordering::Relaxed) != 0 {
                // Since before the recording.
                let pending = || agent.hotspot.pending_monitor(slot.vm_thread());
                let monitor = pending();
                if self.is_known(monitor, false) {
                    continue;
                }
                let (owner, unnamed) = self.owner_of_pending(monitor, || slot.is_blocked_throughout(pending()));
                let (lock, chain) = (LockId(slot.found_lock.load(Ordering::Relaxed)), ChainId::NONE);
                self.add(WaitedFor { lock, chain, waiters: 1, owner, is_owned: true, unnamed, monitor });
            } else if let Some(park) = slot.parks.park.peek().filter(|park| is_long(park.time)) {
                let (lock, owner) = (park.blocker, park.owner);
                let still = || slot.parks.park.start() == Some(park.time);
                // A lock is found by its owner; who only lets time pass waits for nobody.
                let walks = owner == ThreadId::NONE && (lock.is_some() || park.limit == ParkLimit::None)
                    || owner.is_some() && lasts(park.time, MAY_BE_STUCK_NS);
                let chain = match walks {
                    true => self.chain_of((slot, park.time), (lock, park.chain), still, decoding),
                    false => park.chain,
                };
                self.add(WaitedFor { lock, chain, waiters: 1, owner, is_owned: false, unnamed: None, monitor: 0 });
            } else if let Some(wait) = slot.wait.peek().filter(|wait| is_long(wait.start)) {
                let (lock, owner) = (wait.lock, ThreadId::NONE);
                let still = || slot.wait.peek().is_some_and(|now| now.start == wait.start);
                let chain = self.chain_of((slot, wait.start), (lock, wait.chain), still, decoding);
                self.add(WaitedFor { lock, chain, waiters: 1, owner, is_owned: false, unnamed: None, monitor: 0 });
            }
        }
    }

    /// A thread that acquires its monitor again after `Object.wait`.
    fn add_reentering(&mut self, slot: &Slot, reenter: &Begun) {
        let monitor = self.agent.hotspot.waiting_monitor(slot.vm_thread());
        if self.is_known(monitor, reenter.chain.is_some()) {
            return;
        }
        let still = || slot.reenter.peek().is_some_and(|now| now.start == reenter.start);
        let (owner, unnamed) = self.owner_of_pending(monitor, still);
        let (lock, chain) = (reenter.lock, reenter.chain);
        self.add(WaitedFor { lock, chain, waiters: 1, owner, is_owned: true, unnamed, monitor });
    }

    /// One more waits for this monitor, whose owner was looked up for another one (with a call chain, if this one could have one),
    /// or there is no room for more: with thousands of blocked threads, this is where most of them end.
    fn is_known(&mut self, monitor: u64, wants_chain: bool) -> bool {
        let known = self.waited_for.iter_mut().find(|known| monitor != 0 && known.monitor == monitor);
        match known {
            Some(known) if known.chain.is_some() || !wants_chain => {
                known.waiters += 1;
                true
            }
            known => known.is_none() && self.waited_for.len() >= MAX_WAITED_FOR,
        }
    }

    /// The call chain of a thread's wait for `lock` since then: the `known` one, or the one with which it was
    /// seen; else it is seen now, if `still` the same wait goes on afterwards. `NONE` where that of another one
    /// who waits for the lock will do.
    fn chain_of(
        &mut self,
        (slot, since): (&Slot, TimeNs),
        (lock, known): (LockId, ChainId),
        still: impl Fn() -> bool,
        decoding: &mut Decoding,
    ) -> ChainId {
        let generation = self.agent.chains.generation();
        let found = || slot.exchanged.seen.found(since, generation);
        if let Some(chain) = Some(known).filter(|chain| chain.is_some()).or_else(found) {
            return chain;
        }
        let is_known = |waited: &WaitedFor| lock.is_some() && waited.lock == lock && waited.chain.is_some();
        if self.waited_for.iter().any(is_known) || !self.walks.take() {
            return ChainId::NONE;
        }
        let subject = Subject::of_slot(self.agent, slot);
        let found = subject.and_then(|subject| self.waiting.look(&subject, decoding)).filter(|_| still());
        let chain = found.map_or(ChainId::NONE, |(chain, _)| chain);
        slot.exchanged.seen.waits(since, chain, generation);
        chain
    }

    /// The owner of a monitor that a thread is blocked on, or its object if the
    /// monitor does not know its owner. Its address means that monitor as long as the thread is blocked (or comes
    /// out of a wait, which keeps it, too); so whether it `still` is, is looked at afterwards.
    fn owner_of_pending(&self, monitor: u64, still: impl Fn() -> bool) -> (ThreadId, Option<u64>) {
        let owner = self.agent.owner_of(monitor);
        let object = if owner.is_some() { 0 } else { self.agent.hotspot.object_owned_by_somebody(monitor) };
        match still() {
            true => (owner, (object != 0).then_some(object)),
            false => (ThreadId::NONE, None),
        }
    }

    fn add(&mut self, waited: WaitedFor) {
        if waited.lock == LockId::NONE && waited.chain == ChainId::NONE && waited.owner == ThreadId::NONE {
            return;
        }
        if let Some(known) = self.waited_for.iter_mut().find(|known| known.is_same(&waited)) {
            known.waiters += 1;
            if known.chain == ChainId::NONE {
                known.chain = waited.chain;
            }
            return;
        }
        let unplaced = |waited: &&WaitedFor| waited.chain == ChainId::NONE && !waited.is_owned;
        let has_room = self.waited_for.len() < MAX_WAITED_FOR
            && (!unplaced(&&waited) || self.waited_for.iter().filter(unplaced).count() < MAX_UNPLACED);
        if has_room {
            self.waited_for.push(waited);
        }
    }

    /// Threads that are waited for and not blocked or parked themselves.
    fn find_owners(&mut self, now: u64) {
        self.candidates.clear();
        let has_unnamed = self.waited_for.iter().any(|waited| waited.unnamed.is_some());
        for slot in self.agent.threads.iter() {
            let waits = slot.enter.peek().is_some()
                || slot.parks.park.peek().is_some()
                || slot.wait.peek().is_some()
                || slot.found_blocked.load(Ordering::Relaxed) != 0
                || slot.reenter.peek().is_some();
            if waits {
                continue;
            }
            let thread = self.agent.hotspot.mounted_on(slot);
            let waited = self.waited_for.iter().find(|waited| waited.by(thread, slot));
            let waited = waited.or_else(|| if has_unnamed { self.locked_by(slot) } else { None });
            // While a thread may have no event, samples of when it waits would stand for all that it does.
            let may_be_seen = |subject: &Subject| !self.armed.rests(subject.os_id, now);
            let subject = waited.and_then(|_| Subject::of_slot(self.agent, slot)).filter(may_be_seen);
            self.candidates.extend(subject.zip(waited.copied()));
        }
    }

    /// What is waited for that this thread has locked, by its own lock stack. The monitor still has an
    /// owner that it does not know, and its object is where it was: both as before.
    fn locked_by(&self, slot: &Slot) -> Option<&WaitedFor> {
        let hotspot = &self.agent.hotspot;
        let locked = hotspot.lock_stack(slot.vm_thread());
        let still = |waited: &&WaitedFor| {
            let is_locked =
                |object| locked.contains(&object) && hotspot.object_owned_by_somebody(waited.monitor) == object;
            waited.unnamed.is_some_and(is_locked)
        };
        self.waited_for.iter().find(still)
    }

    fn visit(
        &mut self,
        since: u64,
        now: u64,
        sources: &mut Sources,
        arms: bool,
        decoding: &mut Decoding,
        batch: &mut Vec<Event>,
    ) {
        let all = self.candidates.len();
        if all == 0 {
            return;
        }
        let visits = all.min(MAX_VISITS);
        // One of those that are left out is visited for all of them, by turns.
        let weight = since.saturating_mul(all as u64) / visits as u64;
        self.turn = self.turn.wrapping_add(visits);
        for at in 0..visits {
            let Some((subject, waited)) = self.candidates.get((self.turn + at) % all).copied() else { continue };
            match self.waiting.look(&subject, decoding) {
                // It did not wait: all threads were stopped for a collection.
                Some(_) if !decoding.nothing_moved_since(TimeNs(now)) => {}
                Some((chain, thread)) => {
                    let (time, weight) = (TimeNs(task::monotonic_ns()), DurationNs(weight));
                    let sample = Sample { time, thread, chain, state: SampleState::Waiting, weight, cpu: None };
                    batch.push(Event::OwnerSample(waited.sample(sample)));
                }
                None if arms => self.arm(subject, waited, now, sources),
                None => {}
            }
            self.armed.see(subject.os_id, waited, now);
        }
    }

    fn arm(&mut self, subject: Subject, waited: WaitedFor, now: u64, sources: &mut Sources) {
        if self.armed.has(subject.os_id) || self.armed.rests(subject.os_id, now) {
            return;
        }
        if !self.armed.can_be_more(now) {
            return;
        }
        if self.armed.len() >= MAX_ARMED && waited.owner.is_some() {
            self.make_room(sources);
        }
        // Where none can be had, only owners that wait are seen, as their coverage says.
        if self.armed.len() < MAX_ARMED && sources.add(subject).is_ok() {
            self.armed.insert(subject.os_id, waited, now, slices(&self.root, subject.os_id).unwrap_or(u64::MAX));
        }
    }

    /// Of a lock one thread is the owner, of anything else many threads may be what is waited for: these make way.
    fn make_room(&mut self, sources: &mut Sources) {
        let other = self.armed.iter().filter(|(_, waited, _)| waited.owner.is_none()).min_by_key(|(_, _, seen)| *seen);
        let Some(other) = other.map(|(thread, ..)| thread) else { return };
        self.armed.remove(other, slices(&self.root, other));
        self.close_others(sources);
    }

    fn disarm(&mut self, now: u64, sources: &mut Sources) {
        let root = &self.root;
        let keeps = |waited: &WaitedFor, seen: u64| seen + waited.armed_ns() > now;
        if self.armed.release(now, keeps, |os_id| slices(root, os_id)) {
            self.close_others(sources);
        }
    }

    fn close_others(&self, sources: &mut Sources) {
        let kept: Vec<u32> = self.armed.iter().map(|(thread, ..)| thread).collect();
        sources.keep(&kept);
    }
}

/// How often a thread has been on a CPU.
fn slices(root: &Root, os_id: u32) -> Option<u64> {
    headway_host::task::schedule(root, os_id).ok().map(|schedule| schedule.slices)
}

impl WaitedFor {
    /// True if whoever is seen to end one of these waits ends the other, too. Two monitors that do not
    /// know their owners may have different ones, though threads wait for them in one place.
    fn is_same(&self, other: &WaitedFor) -> bool {
        (self.owner, self.unnamed) == (other.owner, other.unnamed)
            && (self.lock.is_some() && self.lock == other.lock || self.chain.is_some() && self.chain == other.chain)
    }

    fn by(&self, thread: ThreadId, slot: &Slot) -> bool {
        if self.owner.is_some() && self.owner == thread {
            return true;
        }
        // Where it is not known where others wait, what a thread does meanwhile is of no use.
        let keys = [Key::of_lock(self.lock), Key::of_chain(self.chain)];
        !self.is_owned
            && self.chain.is_some()
            && keys.into_iter().flatten().any(|key| slot.exchanged.is_waited_for(key))
    }

    /// How long its thread keeps an event after somebody was seen to wait.
    fn armed_ns(&self) -> u64 {
        if self.owner.is_some() {
            OWNER_ARMED_NS
        } else {
            ARMED_NS
        }
    }

    fn sample(&self, sample: Sample) -> OwnerSample {
        OwnerSample { sample, lock: self.lock, waiter_chain: self.chain, waiters: self.waiters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_at_being_walked_and_each_gets_one() {
        let mut walks = Walks::default();
        let mut look = || {
            walks.begin(2);
            let mut walked = Vec::new();
            for place in 0..5 {
                walks.place = place;
                walked.extend(walks.take().then_some(place));
            }
            walked
        };
        assert_eq!([look(), look(), look(), look()], [vec![0, 1], vec![2, 3], vec![4], vec![0, 1]]);
    }

    #[test]
    fn monitors_without_a_known_owner_are_not_mixed_up_because_threads_wait_in_one_place() {
        let waited = |lock: u64, owned: Option<(u64, u64)>| WaitedFor {
            lock: LockId(lock),
            chain: ChainId(7),
            waiters: 1,
            owner: ThreadId::NONE,
            is_owned: true,
            monitor: owned.map_or(0, |(monitor, _)| monitor),
            unnamed: owned.map(|(_, object)| object),
        };
        let first = waited(1, Some((0x10, 0x1000)));
        assert!(first.is_same(&waited(1, Some((0x10, 0x1000)))), "two who wait for one");
        assert!(!first.is_same(&waited(2, Some((0x20, 0x2000)))), "two of a map's bins");
        assert!(waited(3, None).is_same(&waited(4, None)), "two queues of one place, as before");
        let unseen = |lock| WaitedFor { chain: ChainId::NONE, ..waited(lock, None) };
        assert!(!unseen(3).is_same(&unseen(4)) && unseen(3).is_same(&unseen(3)), "two of unknown places");
    }
}
