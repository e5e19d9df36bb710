//! Samples for which the VM is asked: the stacks of threads that have run, at
//! the places where the VM can stop them.
//!
//! * All that are due at once, at a safepoint (`--engine jvmti`).
//! * Each by itself, by a handshake: only threads that are running, and nobody
//!   waits for another (`--engine handshake`).
//!
//! A thread is due when it has used CPU time for an interval since its last
//! sample, and the sample weighs what it has used. Both engines see a thread
//! where it polls, not where it was: behind loops and calls, never inside what
//! compiled code does without polling.

use super::decoding::Decoding;
use super::latency::Latencies;
use super::plan::Source;
use super::subjects::Subject;
use crate::agent::Agent;
use crate::jni::{Global, Jni};
use crate::jvmti::table::FrameInfo;
use headway_hotspot::Memory;
use headway_model::event::{Sample, SampleState};
use headway_model::{DurationNs, Event, Loss, TimeNs};
use headway_sample::task;
use headway_sample::timer::CallFrame;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Deepest stack that is taken.
const MAX_FRAMES: usize = 1024;
/// How often the VM is asked for threads that are not known yet.
const LOOK_FOR_THREADS: Duration = Duration::from_millis(200);
/// `_thread_in_native` and `_thread_blocked` of the VM's `JavaThreadState`.
const IN_NATIVE: u32 = 4;
/// See [`IN_NATIVE`].
const BLOCKED: u32 = 10;

/// A thread that is asked.
struct Target {
    vm_thread: u64,
    object: Global,
    /// CPU time that its samples stand for so far.
    sampled_ns: u64,
}

/// A thread whose turn it is.
struct Due {
    subject: Subject,
    state: u32,
    cpu_ns: u64,
    used_ns: u64,
}

/// See the module.
pub struct Asking {
    agent: &'static Agent,
    jni: Jni,
    one_by_one: bool,
    interval_ns: u64,
    own_os_id: u32,
    targets: HashMap<u32, Target>,
    looked: Option<Instant>,
    frames: Vec<FrameInfo>,
    latencies: Latencies,
}

impl Asking {
    /// On a thread that is one of Java's; `None` where the VM is not asked.
    pub fn new(agent: &'static Agent, jni: Option<Jni>, source: Source, interval_ns: u64) -> Option<Asking> {
        let one_by_one = match source {
            Source::Handshake => true,
            Source::Safepoint => false,
            Source::Perf { .. } | Source::Timer | Source::CallTrace(_) | Source::Nothing => return None,
        };
        Some(Asking {
            agent,
            jni: jni?,
            one_by_one,
            interval_ns,
            own_os_id: task::current(),
            targets: HashMap::new(),
            looked: None,
            frames: vec![FrameInfo::EMPTY; MAX_FRAMES],
            latencies: Latencies::default(),
        })
    }

    /// How long the VM took to answer.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Takes the samples that are due.
    pub fn round<'a>(
        &mut self,
        subjects: impl Iterator<Item = &'a Subject>,
        decoding: &mut Decoding,
        batch: &mut Vec<Event>,
    ) {
        let subjects: Vec<&Subject> =
            subjects.filter(|subject| subject.is_java() && subject.os_id != self.own_os_id).collect();
        self.look_for_threads(&subjects);
        let due: Vec<Due> = subjects.into_iter().filter_map(|subject| self.due(subject)).collect();
        match self.one_by_one {
            true => due.iter().for_each(|due| batch.extend(self.ask(due, decoding))),
            false => self.ask_all(&due, decoding, batch),
        }
    }

    /// Forgets threads that ended: these are all that live.
    pub fn keep(&mut self, alive: &[u32]) {
        let ended: Vec<u32> = self.targets.keys().copied().filter(|os_id| !alive.contains(os_id)).collect();
        for target in ended.iter().filter_map(|os_id| self.targets.remove(os_id)) {
            self.jni.let_go(target.object);
        }
    }

    fn is_known(&self, subject: &Subject) -> bool {
        self.targets.get(&subject.os_id).is_some_and(|target| target.vm_thread == subject.vm_thread)
    }

    fn look_for_threads(&mut self, subjects: &[&Subject]) {
        let is_early = self.looked.is_some_and(|looked| looked.elapsed() < LOOK_FOR_THREADS);
        if is_early || subjects.iter().all(|subject| self.is_known(subject)) {
            return;
        }
        self.looked = Some(Instant::now());
        for thread in self.agent.jvmti.all_threads().unwrap_or_default() {
            let vm_thread = self.agent.java.vm_thread(self.jni, thread);
            let subject = subjects.iter().find(|subject| subject.vm_thread == vm_thread && vm_thread != 0);
            if let Some(subject) = subject.filter(|subject| !self.is_known(subject)) {
                self.introduce(subject, thread);
            }
            self.jni.forget(thread);
        }
    }

    fn introduce(&mut self, subject: &Subject, thread: crate::jni::Ref) {
        let Some(object) = self.jni.hold(thread) else { return };
        let sampled_ns = task::cpu_time_ns(subject.os_id).unwrap_or(0);
        let target = Target { vm_thread: subject.vm_thread, object, sampled_ns };
        if let Some(before) = self.targets.insert(subject.os_id, target) {
            self.jni.let_go(before.object);
        }
    }

    fn state(&self, subject: &Subject) -> Option<u32> {
        let known = self.agent.hotspot.known()?;
        known.memory.read_u32(subject.vm_thread + known.layout.thread.state)
    }

    /// A thread that waits keeps what it used until it is seen running: where it
    /// waits is not where it used it.
    fn due(&self, subject: &Subject) -> Option<Due> {
        let target = self.targets.get(&subject.os_id).filter(|target| target.vm_thread == subject.vm_thread)?;
        let cpu_ns = task::cpu_time_ns(subject.os_id)?;
        let used_ns = cpu_ns.saturating_sub(target.sampled_ns);
        // Rounds are an interval apart, of which the thread had nearly all.
        if used_ns.saturating_mul(2) < self.interval_ns {
            return None;
        }
        let state = self.state(subject)?;
        (state != BLOCKED).then_some(Due { subject: *subject, state, cpu_ns, used_ns })
    }

    fn ask(&mut self, due: &Due, decoding: &mut Decoding) -> Option<Event> {
        let time = TimeNs(task::monotonic_ns());
        let target = self.targets.get(&due.subject.os_id)?;
        let before_ns = task::cpu_time_ns(due.subject.os_id)?;
        let asked = Instant::now();
        let count = self.agent.jvmti.stack_of(target.object.as_ref(), &mut self.frames).ok()?;
        let took = asked.elapsed();
        let after_ns = task::cpu_time_ns(due.subject.os_id);
        self.latencies.add(took, executor(due.state, before_ns, after_ns));
        let frames = calls(self.frames.get(..count)?);
        Some(self.sample(due, time, &frames, decoding))
    }

    fn ask_all(&mut self, due: &[Due], decoding: &mut Decoding, batch: &mut Vec<Event>) {
        let objects: Vec<_> =
            due.iter().filter_map(|due| Some(self.targets.get(&due.subject.os_id)?.object.as_ref())).collect();
        if objects.is_empty() || objects.len() != due.len() {
            return;
        }
        let time = TimeNs(task::monotonic_ns());
        let asked = Instant::now();
        let Ok(stacks) = self.agent.jvmti.stacks_of(&objects, MAX_FRAMES) else {
            self.agent.losses.add(Loss::SampleLost, due.len() as u64);
            return;
        };
        self.latencies.add(asked.elapsed(), Executor::VmThread);
        for (due, stack) in due.iter().zip(&stacks) {
            let sample = self.sample(due, time, &calls(stack), decoding);
            batch.push(sample);
        }
    }

    fn sample(&mut self, due: &Due, time: TimeNs, frames: &[CallFrame], decoding: &mut Decoding) -> Event {
        if let Some(target) = self.targets.get_mut(&due.subject.os_id) {
            target.sampled_ns = due.cpu_ns;
        }
        let chain = decoding.told(frames, frames.len() >= MAX_FRAMES);
        let state = if due.state == IN_NATIVE { SampleState::Native } else { SampleState::Java };
        let weight = DurationNs(due.used_ns);
        Event::Sample(Sample { time, thread: due.subject.thread, chain, state, weight, cpu: None })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.keep(&[]);
    }
}

fn calls(frames: &[FrameInfo]) -> Vec<CallFrame> {
    let call =
        |frame: &FrameInfo| CallFrame { bci: i32::try_from(frame.location).unwrap_or(-1), method: frame.method as u64 };
    frames.iter().map(call).collect()
}

/// Who took a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// The thread itself, at a poll.
    Target,
    /// The sampling thread, while the thread was in native code or waited.
    Requester,
    /// The VM's thread, at a safepoint.
    VmThread,
    /// It is not known.
    Unknown,
}

/// A thread that used no CPU time meanwhile did not take its own stack. One that
/// ran Java code and used some did, at its next poll.
fn executor(state: u32, before_ns: u64, after_ns: Option<u64>) -> Executor {
    match after_ns {
        Some(after_ns) if after_ns == before_ns => Executor::Requester,
        Some(_) if state != IN_NATIVE && state != BLOCKED => Executor::Target,
        _ => Executor::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_used_no_time_took_nothing() {
        const IN_JAVA: u32 = 8;
        assert_eq!(executor(IN_JAVA, 5, Some(5)), Executor::Requester);
        assert_eq!(executor(IN_JAVA, 5, Some(6)), Executor::Target);
        assert_eq!(executor(IN_NATIVE, 5, Some(6)), Executor::Unknown);
        assert_eq!(executor(IN_JAVA, 5, None), Executor::Unknown);
    }
}
