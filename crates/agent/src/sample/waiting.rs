//! Samples of threads that wait, taken without waking them.
//!
//! A waiting thread keeps its last Java frame in the VM's thread object. The
//! stack from there on is copied, and then it is looked whether the thread ran
//! meanwhile: if it used CPU time, or its last Java frame or its state changed,
//! the copy is worth nothing and is counted. A thread that has not run since it
//! was last visited stands where it stood.

use super::decoding::Decoding;
use super::subjects::Subject;
use crate::agent::Agent;
use headway_hotspot::{thread, Memory, Registers};
use headway_model::event::{Sample, SampleState};
use headway_model::{ChainId, DurationNs, Event, Loss, ThreadId, TimeNs};
use headway_sample::task;
use std::collections::HashMap;

/// Most threads visited at a time; more take turns, and weigh as much more.
const MAX_VISITS: usize = 128;
/// Bytes of stack copied.
const STACK_BYTES: usize = 32 << 10;
/// Bytes copied below the last Java frame: the return address may be there.
const BELOW: u64 = 16;
/// Most threads that are remembered: all that there can be.
const MAX_KNOWN: usize = crate::threads::CAPACITY;
/// Longest time that one visit stands for.
const MAX_WEIGHT_NS: u64 = 10_000_000_000;
/// `_thread_in_native` and `_thread_blocked` of the VM's `JavaThreadState`.
const WAITING_STATES: [u32; 2] = [4, 10];

/// How a thread stood at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stand {
    cpu_ns: u64,
    state: u32,
    start: Option<Registers>,
}

/// What the last visit to a thread found.
struct Visit {
    time: TimeNs,
    stand: Stand,
    /// Its chain and who it was, if it waited.
    found: Found,
}

type Found = Option<(ChainId, ThreadId)>;

/// See the module.
pub struct Waiting {
    agent: &'static Agent,
    interval_ns: u64,
    visits: HashMap<u32, Visit>,
    generation: u64,
    copy: Vec<u8>,
    /// A thread that runs while it is copied counts as a loss; where running ones are
    /// sampled, too, it is none.
    counts_moved: bool,
}

impl Waiting {
    /// Visits each thread once per interval.
    pub fn new(agent: &'static Agent, interval_ns: u64) -> Waiting {
        let copy = vec![0; STACK_BYTES];
        Waiting { agent, interval_ns, visits: HashMap::new(), generation: 0, copy, counts_moved: true }
    }

    /// Visits each thread once per this interval from now on.
    pub fn set_interval(&mut self, interval_ns: u64) {
        self.interval_ns = interval_ns;
    }

    /// Visits those that it is asked about ([`Waiting::look`]).
    pub fn on_demand(agent: &'static Agent) -> Waiting {
        Waiting { counts_moved: false, ..Waiting::new(agent, 0) }
    }

    /// Visits the threads whose turn it is.
    pub fn round<'a>(
        &mut self,
        subjects: impl Iterator<Item = &'a Subject>,
        decoding: &mut Decoding,
        batch: &mut Vec<Event>,
    ) {
        self.forget_what_changed();
        let now = task::monotonic_ns();
        let last = |subject: &Subject| self.visits.get(&subject.os_id).map_or(0, |visit| visit.time.0);
        let mut due: Vec<(u64, &Subject)> =
            subjects.filter(|subject| subject.is_java()).map(|subject| (last(subject), subject)).collect();
        due.retain(|(last, _)| now.saturating_sub(*last) >= self.interval_ns);
        due.sort_by_key(|(last, subject)| (*last, subject.os_id));
        for (_, subject) in due.into_iter().take(MAX_VISITS) {
            batch.extend(self.visit(subject, decoding).map(Event::Sample));
        }
    }

    /// Forgets threads that ended: these are all that live.
    pub fn keep(&mut self, alive: &[u32]) {
        self.visits.retain(|os_id, _| alive.contains(os_id));
    }

    /// Where a thread waits now, and who it is; `None` if it does not wait.
    pub fn look(&mut self, subject: &Subject, decoding: &mut Decoding) -> Option<(ChainId, ThreadId)> {
        self.forget_what_changed();
        self.found(subject, decoding).and_then(|(_, _, found)| found)
    }

    /// When, when it was looked at before, and where it waits.
    fn found(&mut self, subject: &Subject, decoding: &mut Decoding) -> Option<(TimeNs, Option<TimeNs>, Found)> {
        let time = TimeNs(task::monotonic_ns());
        let stand = self.stand(subject)?;
        let before = self.visits.remove(&subject.os_id);
        let found = match &before {
            Some(before) if before.stand == stand && before.found.is_some() => before.found,
            _ => self.waits_at(subject, stand, decoding),
        };
        if self.visits.len() >= MAX_KNOWN {
            self.visits.clear();
        }
        self.visits.insert(subject.os_id, Visit { time, stand, found });
        Some((time, before.map(|before| before.time), found))
    }

    fn forget_what_changed(&mut self) {
        if self.generation != self.agent.chains.generation() {
            self.generation = self.agent.chains.generation();
            self.visits.clear();
        }
    }

    fn visit(&mut self, subject: &Subject, decoding: &mut Decoding) -> Option<Sample> {
        let (time, before, found) = self.found(subject, decoding)?;
        let (chain, thread) = found?;
        let weight = DurationNs(time.since(before?).0.min(MAX_WEIGHT_NS));
        Some(Sample { time, thread, chain, state: SampleState::Waiting, weight, cpu: None })
    }

    fn stand(&self, subject: &Subject) -> Option<Stand> {
        let known = self.agent.hotspot.known()?;
        let (layout, memory) = (&known.layout, &known.memory);
        Some(Stand {
            state: memory.read_u32(subject.vm_thread + layout.thread.state)?,
            start: thread::start_from_anchor(layout, memory, subject.vm_thread),
            cpu_ns: task::cpu_time_ns(subject.os_id)?,
        })
    }

    /// Where the thread waits; `None` if it does not.
    fn waits_at(&mut self, subject: &Subject, stand: Stand, decoding: &mut Decoding) -> Option<(ChainId, ThreadId)> {
        let start = stand.start.filter(|_| WAITING_STATES.contains(&stand.state))?;
        let from = start.sp.checked_sub(BELOW)?;
        let length = usize::try_from(subject.stack_end.checked_sub(from)?).ok()?.min(STACK_BYTES);
        let mut copy = std::mem::take(&mut self.copy);
        let copied = copy.get_mut(..length).map_or(Ok(0), |copy| task::copy_own_memory(from, copy));
        let still = self.stand(subject) == Some(stand);
        let found = match (still, &copied) {
            (true, Ok(1..)) => {
                let stack = copied.ok().and_then(|copied| copy.get(..copied)).unwrap_or_default();
                Some(decoding.waiting(subject, start, from, stack))
            }
            // Nothing mapped there is a thread that ended.
            (true, Err(error)) if error.raw_os_error() != Some(libc::EFAULT) => {
                if self.agent.losses.get(Loss::SampleUnreadable) == 0 {
                    let lost = "waiting threads are not sampled: the kernel refuses process_vm_readv";
                    self.agent.definitions.degraded("wall", &format!("{lost}: {error}"));
                }
                self.agent.losses.add(Loss::SampleUnreadable, 1);
                None
            }
            // On a CPU all the while: it does not wait, and nothing is dropped.
            _ if stand.state == WAITING_STATES[0] || !self.counts_moved => None,
            _ => {
                self.agent.losses.add(Loss::SampleMoved, 1);
                None
            }
        };
        self.copy = copy;
        found
    }
}
