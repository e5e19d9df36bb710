//! The sampling thread: opens what samples each thread, decodes copies as they
//! come, and hands samples to the draining thread. It belongs to no Java thread
//! and calls nothing of the VM.

use super::asking::Asking;
use super::decoding::{Copied, Decoding};
use super::owners::Owners;
use super::plan::{Plan, Source};
use super::sources::Sources;
use super::subjects::Subject;
use super::waiting::Waiting;
use crate::agent::{Agent, Observer, Sampled};
use crate::clock;
use crate::ending::{Deadline, Ended, WITHIN};
use crate::jni::{self, Jni};
use crate::masked_signals::MaskedSignals;
use crate::observing::observer;
use headway_model::event::{RecordingInfo, Sample, SampleState, ThreadDef};
use headway_model::{DurationNs, Event, Loss, ThreadId, TimeNs};
use headway_sample::perf::Record;
use headway_sample::task;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often threads that are not Java's are looked for.
const LOOK_FOR_THREADS: Duration = Duration::from_secs(1);
/// Threads that ended are looked for at most this often where they do not say so.
const TAKE_LEAVE: Duration = Duration::from_millis(200);
/// How often memory that was read from files is given back.
const RELEASE_FILES: Duration = Duration::from_secs(5);
/// A sample is in its ring at most this long after its time.
const WRITTEN_WITHIN_NS: u64 = 20_000_000;
/// Shortest and longest pause between two rounds.
const PAUSES: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(20));

/// The session's end of the sampling thread.
pub struct SamplerHandle {
    agent: &'static Agent,
    stop: Arc<AtomicBool>,
    cost: Arc<Cost>,
    thread: Option<JoinHandle<()>>,
}

/// What sampling costs so far.
#[derive(Default)]
pub struct Cost {
    memory_bytes: AtomicU64,
    /// How long the VM took to give stacks, in words.
    answers: Mutex<Option<String>>,
}

impl Cost {
    fn set_answers(&self, said: String) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }
}

impl SamplerHandle {
    /// Memory of its rings.
    pub fn memory_bytes(&self) -> u64 {
        self.cost.memory_bytes.load(Ordering::Relaxed)
    }

    /// How long the VM took to give stacks, where it is asked.
    pub fn answers(&self) -> Option<String> {
        self.cost.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops sampling and closes everything; the last samples are handed over, if
    /// there is time. In a VM that dies, whoever asks it for stacks may wait for ever.
    pub fn finish(&mut self, deadline: Deadline) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            match deadline.join(thread) {
                Ended::Well => {}
                Ended::Panicked => self.agent.losses.add(Loss::Panic, 1),
                Ended::Not(_) => self.agent.losses.add(Loss::SampleLost, 1),
            }
        }
        self.agent.samples.end();
    }
}

impl Drop for SamplerHandle {
    fn drop(&mut self) {
        self.finish(Deadline::within(WITHIN));
    }
}

/// Starts the sampling thread. What is only known in the end is added to `info`,
/// the recording's.
pub fn spawn(agent: &'static Agent, plan: Plan, info: Arc<RecordingInfo>) -> io::Result<SamplerHandle> {
    agent.samples.begin(clock::now(), plan.owners);
    let stop = Arc::new(AtomicBool::new(false));
    let cost = Arc::new(Cost::default());
    let (stopped, shared) = (stop.clone(), cost.clone());
    let _masked = MaskedSignals::all_but_faults();
    let thread = std::thread::Builder::new().name("headway-sample".to_owned()).spawn(move || {
        let _own = agent.own_cost.own_thread();
        let _ends = Ends(agent);
        let sample = |jni: Option<Jni>| {
            if let Some(sampler) = Sampler::new(agent, plan, jni) {
                sampler.run(&stopped, &shared, info);
            }
        };
        if !plan.source.asks() {
            sample(None);
        } else if jni::attached(c"headway-sample", |jni| sample(Some(jni))).is_none() {
            agent.definitions.degraded("cpu", "no samples: the VM refuses the thread that would ask it for stacks");
        }
    });
    let thread = thread.inspect_err(|_| agent.samples.end())?;
    Ok(SamplerHandle { agent, stop, cost, thread: Some(thread) })
}

/// However sampling ends, the recording must not wait for more samples.
struct Ends(&'static Agent);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.samples.end();
    }
}

/// CPU time between two samples of a thread, now and before it was last changed.
struct Interval {
    wanted_ns: u64,
    ns: u64,
    before_ns: u64,
    changed: TimeNs,
}

impl Interval {
    fn new(ns: u64) -> Interval {
        Interval { wanted_ns: ns, ns, before_ns: ns, changed: TimeNs(0) }
    }

    fn change(&mut self, ns: u64) {
        *self = Interval { ns, before_ns: self.ns, changed: clock::now(), ..*self };
    }

    /// What a sample that was taken then stands for, per tick.
    fn at(&self, time_ns: u64) -> u64 {
        if time_ns < self.changed.0 {
            self.before_ns
        } else {
            self.ns
        }
    }
}

struct Sampler {
    agent: &'static Agent,
    plan: Plan,
    interval: Interval,
    sources: Sources,
    decoding: Decoding,
    asking: Option<Asking>,
    waiting: Option<Waiting>,
    owners: Option<Owners>,
    batch: Vec<Event>,
    refused: HashSet<u32>,
    /// What the table of threads had seen when ended threads were last looked for.
    changes: u64,
    /// When that was.
    left: Instant,
    /// CPU time of this thread that was counted already.
    counted: DurationNs,
}

impl Sampler {
    fn new(agent: &'static Agent, plan: Plan, jni: Option<Jni>) -> Option<Sampler> {
        if matches!(plan.source, Source::Perf { kernel: true }) {
            if let Err(error) = agent.samples.lasting.read_kernel(&agent.own_cost) {
                agent.definitions.degraded("cpu", &format!("the kernel's functions have no names: {error}"));
            }
        }
        let failed = |error: &io::Error| agent.definitions.degraded("cpu", &format!("no samples: {error}"));
        Some(Sampler {
            agent,
            plan,
            interval: Interval::new(plan.interval_ns),
            sources: Sources::new(plan).inspect_err(failed).ok()?,
            decoding: Decoding::new(agent, plan.only_owners)?,
            asking: Asking::new(agent, jni, plan.source, plan.interval_ns),
            waiting: plan.wall.then(|| Waiting::new(agent, plan.interval_ns)),
            owners: plan.owners.then(|| Owners::new(agent)),
            batch: Vec::new(),
            refused: HashSet::new(),
            changes: 0,
            left: Instant::now(),
            counted: DurationNs::ZERO,
        })
    }

    fn run(mut self, stop: &AtomicBool, cost: &Cost, info: Arc<RecordingInfo>) {
        self.introduce_myself();
        if self.plan.eager {
            task::go_first();
        }
        let only_owners = self.plan.only_owners;
        for slot in self.agent.threads.iter().filter(|_| !only_owners) {
            if let Some(subject) = Subject::of_slot(self.agent, slot) {
                self.add(subject);
            }
        }
        let mut look = Instant::now();
        let mut release = look + RELEASE_FILES;
        while !stop.load(Ordering::SeqCst) {
            if !only_owners {
                self.add_started();
            }
            if !only_owners && Instant::now() >= look {
                self.add_native();
                look = Instant::now() + LOOK_FOR_THREADS;
            }
            self.follow_budget();
            if Instant::now() >= release {
                self.decoding.release_files();
                release = Instant::now() + RELEASE_FILES;
            }
            self.round();
            cost.memory_bytes.store(self.sources.memory_bytes() as u64, Ordering::Relaxed);
            if let Some(asking) = self.asking.as_ref().filter(|asking| !asking.latencies().is_empty()) {
                cost.set_answers(asking.latencies().to_string());
            }
            if self.plan.source.asks() {
                std::thread::park_timeout(Duration::from_nanos(self.plan.interval_ns));
            } else if self.sources.wait(self.pause()) || (!only_owners && self.have_come_or_gone()) {
                self.take_leave(&task::all());
            }
        }
        self.round();
        self.tell_answers(&info);
        self.decoding.end();
    }

    /// Samples as often as the governor wants.
    fn follow_budget(&mut self) {
        let wanted = self.interval.wanted_ns.saturating_mul(self.agent.samples.sparser());
        if self.plan.eager || self.plan.only_owners || wanted == self.interval.ns {
            return;
        }
        self.round();
        self.agent.losses.add(Loss::ThreadUnsampled, self.sources.set_interval(wanted));
        if let Some(waiting) = &mut self.waiting {
            waiting.set_interval(wanted);
        }
        self.interval.change(wanted);
    }

    /// Adds what is known of the VM's answers to the recording's settings.
    fn tell_answers(&mut self, info: &RecordingInfo) {
        let Some(asking) = &self.asking else { return };
        let mut info = info.clone();
        info.settings.extend(asking.latencies().settings());
        self.agent.samples.push(&mut vec![Event::Recording(Arc::new(info))]);
    }

    fn introduce_myself(&self) {
        let os_id = task::current();
        self.agent.definitions.thread(ThreadDef {
            id: ThreadId::native(os_id),
            os_id,
            name: "headway-sample".into(),
            group: "".into(),
            is_virtual: false,
            is_service: true,
        });
    }

    /// A ring holds three samples and more, and there are places for as many per
    /// thread.
    fn pause(&self) -> Duration {
        if self.plan.eager {
            return Duration::from_millis(1);
        }
        if let Some(owners) = self.owners.as_ref().filter(|_| self.plan.only_owners) {
            return owners.pause();
        }
        Duration::from_nanos(self.interval.ns.saturating_mul(2)).clamp(PAUSES.0, PAUSES.1)
    }

    fn add_started(&mut self) {
        for started in self.agent.samples.take_started() {
            if let Some(subject) = Subject::of_new(self.agent, started) {
                self.add(subject);
            }
        }
    }

    fn add_native(&mut self) {
        let all = task::all();
        self.take_leave(&all);
        self.refused.retain(|os_id| all.contains(os_id));
        for os_id in all {
            if self.sources.has_os_id(os_id) || self.refused.contains(&os_id) {
                continue;
            }
            let java = self.agent.threads.iter().any(|slot| slot.os_id.load(Ordering::Relaxed) == os_id);
            match (java, Subject::of_native(self.agent, os_id)) {
                (false, Some(subject)) => self.add(subject),
                _ => {
                    self.refused.insert(os_id);
                }
            }
        }
    }

    /// True if threads came or went since this was last so, some time ago.
    fn have_come_or_gone(&mut self) -> bool {
        let changes = self.agent.threads.changes();
        let is_due = changes != self.changes && self.left.elapsed() >= TAKE_LEAVE;
        if is_due {
            self.changes = changes;
            self.left = Instant::now();
        }
        is_due
    }

    /// Of threads that ended, whose last samples are looked at before.
    fn take_leave(&mut self, alive: &[u32]) {
        self.round();
        self.sources.keep(alive);
        if let Some(asking) = &mut self.asking {
            asking.keep(alive);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.keep(alive);
        }
    }

    fn add(&mut self, subject: Subject) {
        if self.sources.has(&subject) {
            return;
        }
        // What it recorded whose number this thread has now.
        if self.sources.has_os_id(subject.os_id) {
            self.round();
        }
        match self.sources.add(subject) {
            Ok(()) if self.plan.eager => {
                observer().sampled_into(self.agent, subject.vm_thread, self.sources.ring_of(subject.os_id));
            }
            Ok(()) => {}
            // It ended meanwhile; what the kernel calls that depends on what was asked.
            Err(_) if task::cpu_time_ns(subject.os_id).is_none() => {}
            // Timers leave out the VM's own threads, as the plan says; where they
            // only take the place of rings that found no room, it has not.
            Err(error) if error.kind() == io::ErrorKind::Unsupported && !self.plan.source.is_perf() => {
                self.refused.insert(subject.os_id);
            }
            Err(error) => {
                // One line for all of them; each is counted.
                if self.agent.losses.get(Loss::ThreadUnsampled) == 0 {
                    self.agent.definitions.degraded("cpu", &format!("some threads are not sampled: {error}"));
                }
                self.refused.insert(subject.os_id);
                self.agent.losses.add(Loss::ThreadUnsampled, 1);
            }
        }
    }

    /// Says what this thread used since it last did.
    fn count_cost(&mut self) {
        let now = clock::thread_cpu();
        self.agent.own_cost.sampled(now - self.counted);
        self.counted = now;
    }

    /// Takes what has been copied, and says up to when nothing is missing.
    fn round(&mut self) {
        let begun = clock::now();
        self.count_cost();
        let Sampler { sources, decoding, asking, waiting, owners, batch, agent, plan, interval, .. } = self;
        let all = sources.drain(&mut |subject, record| match record {
            Record::Sample(sample) => {
                let copied = Copied {
                    time: TimeNs(sample.time_ns),
                    cpu: sample.cpu,
                    registers: sample.registers,
                    stack: sample.stack,
                    kernel: sample.kernel,
                    weight: DurationNs(interval.at(sample.time_ns).saturating_mul(sample.ticks)),
                };
                let decoded = match sample.calls {
                    Some(count) => decoding.traced(subject, &copied, count),
                    None => decoding.running(subject, &copied),
                };
                if plan.eager && subject.is_java() {
                    let seen = decoding.seen(decoded.chain);
                    let Sample { time, thread, .. } = decoded;
                    let sampled = Sampled { vm_thread: subject.vm_thread, thread, time, ticks: sample.ticks };
                    observer().sampled(agent, &sampled, &seen);
                }
                match (plan.only_owners, &owners) {
                    (true, Some(owners)) => {
                        let sample = Sample { state: SampleState::Runnable, ..decoded };
                        batch.extend(owners.running(subject, sample).map(Event::OwnerSample));
                    }
                    _ => batch.push(Event::Sample(decoded)),
                }
            }
            Record::Lost(count) => agent.losses.add(Loss::SampleLost, count),
            Record::Throttled => {}
        });
        if plan.eager {
            observer().collect(agent);
        }
        if let Some(asking) = asking {
            asking.round(sources.subjects(), decoding, batch);
        }
        if let Some(waiting) = waiting {
            waiting.round(sources.subjects(), decoding, batch);
        }
        if let Some(owners) = owners {
            // Every default recording has this; it looks at threads and monitors of the VM.
            agent.vm_memory.pass(|| owners.round(sources, plan.only_owners, decoding, batch));
        }
        let refused = agent.samples.push(batch);
        if refused > 0 {
            agent.losses.add(Loss::SampleLost, refused);
        }
        if all {
            agent.samples.set_settled(TimeNs(begun.0.saturating_sub(WRITTEN_WITHIN_NS)));
        }
    }
}
