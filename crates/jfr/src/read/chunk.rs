//! One chunk: its types, its constants, then its events one by one.

use super::cursor::Cursor;
use super::info::InfoGatherer;
use super::intern::Interner;
use super::plan::{EventKind, Plan, Slot, Ticks, Values};
use super::pools::Pools;
use super::problem::Problem;
use super::resolve::Resolver;
use super::schema::{Schema, Wire};
use super::source::RawChunk;
use super::window::{Next, Window};
use crate::hash::IdMap;
use headway_model::event::{
    CpuLoad, Degraded, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait,
    MonitorWaited, Park, RecordingInfo, Sample, SampleState, SelfCost, StopTheWorld, ThreadPoint, WaitOutcome,
};
use headway_model::{DurationNs, Event, Seq, ThreadId, TimeNs};

/// Safepoints whose end is awaited; there is only ever one at a time.
const MAX_OPEN_SAFEPOINTS: usize = 16;

/// See the module's description.
pub(crate) struct Chunk {
    number: usize,
    window: Window,
    schema: Schema,
    plans: Vec<Plan>,
    plan_of: IdMap<u64, usize>,
    ticks: Ticks,
    resolver: Resolver,
    values: Values,
    undecodable: u64,
    has_safepoints: bool,
    intervals: Intervals,
    /// Id and begin.
    open_safepoints: Vec<(u64, u64)>,
}

/// Time that a sample stands for where its recording tells it as a setting.
#[derive(Default)]
struct Intervals {
    cpu: u64,
    wall: u64,
}

impl Intervals {
    /// async-profiler tells nanoseconds; JFR's `period` is not what a sample
    /// stands for, since it samples a few threads at a time only.
    fn of(info: &RecordingInfo) -> Intervals {
        let nanos = |name: &str| {
            let setting = info.settings.iter().find(|(setting, _)| setting == name);
            setting.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
        };
        Intervals { cpu: nanos("jdk.ExecutionSample#interval"), wall: nanos("jdk.ExecutionSample#wall") }
    }
}

/// What a step through a chunk's events came to.
pub(crate) enum Step {
    /// Definitions (perhaps none) and then at most one event went to `out`.
    Events,
    /// The chunk is over.
    End(Option<Problem>),
}

/// Where a chunk's parts are, found by walking over all its events once. The
/// offsets in the header are not needed for that, so neither a torn nor an
/// unfinished chunk is a special case.
struct Survey {
    metadata: Option<u64>,
    checkpoints: Vec<u64>,
}

impl Survey {
    fn of(window: &mut Window) -> Survey {
        let mut survey = Survey { metadata: None, checkpoints: Vec::new() };
        window.rewind();
        while let Next::Event { at, ty, .. } = window.next() {
            match ty {
                0 => survey.metadata = Some(at),
                1 => survey.checkpoints.push(at),
                _ => {}
            }
        }
        survey
    }
}

/// The event at an offset that was surveyed.
fn body_at(window: &mut Window, at: u64) -> Option<Cursor<'_>> {
    window.seek(at);
    match window.next() {
        Next::Event { body, .. } => Some(body),
        _ => None,
    }
}

impl Chunk {
    /// Reads a chunk's types and constants; `None` if it has no usable types.
    pub(crate) fn open(raw: RawChunk, number: usize, problems: &mut Vec<Problem>) -> Option<Chunk> {
        let ticks = Ticks::new(&raw.header);
        let mut window = Window::new(raw.body, &raw.header);
        let survey = Survey::of(&mut window);
        let schema = survey.metadata.and_then(|at| body_at(&mut window, at)).and_then(Schema::parse);
        let Some(schema) = schema else {
            problems.push(Problem::Metadata(number));
            return None;
        };
        let mut pools = Pools::default();
        let mut intact = true;
        for at in survey.checkpoints {
            let read = body_at(&mut window, at).and_then(|body| pools.checkpoint(&schema, body));
            intact &= read.is_some();
        }
        if !intact {
            problems.push(Problem::Constants(number));
        }
        window.rewind();
        let mut chunk = Chunk {
            number,
            window,
            plans: Vec::new(),
            plan_of: IdMap::default(),
            ticks,
            resolver: Resolver::new(pools),
            values: Values::default(),
            undecodable: 0,
            has_safepoints: false,
            intervals: Intervals::default(),
            open_safepoints: Vec::new(),
            schema,
        };
        chunk.make_plans();
        Some(chunk)
    }

    fn make_plans(&mut self) {
        for (index, ty) in self.schema.types.iter().enumerate() {
            if ty.wire == Wire::Fields && ty.is_event {
                self.plan_of.insert(ty.id, self.plans.len());
                self.plans.push(Plan::new(index, &self.schema));
            }
        }
    }

    /// Threads of the chunk, to be told before its events.
    pub(crate) fn define_threads(&mut self, interner: &mut Interner, out: &mut Vec<Event>) {
        self.resolver.define_threads(interner, out);
    }

    /// True if the chunk declares a type whose name begins like this.
    pub(crate) fn declares(&self, prefix: &str) -> bool {
        self.schema.types.iter().any(|ty| ty.name.starts_with(prefix))
    }

    /// What the chunk says about the recording, on top of what is known.
    pub(crate) fn info(&mut self, known: RecordingInfo) -> RecordingInfo {
        let mut gatherer = InfoGatherer::new(known);
        self.window.rewind();
        while let Next::Event { ty, mut body, .. } = self.window.next() {
            let Some(plan) = self.plan_of.get(&ty).map(|index| &self.plans[*index]) else {
                continue;
            };
            match plan.kind {
                EventKind::Info => {
                    let read = gatherer.event(plan.ty, &mut body, &self.schema, &self.resolver);
                    self.undecodable += u64::from(read.is_none());
                }
                EventKind::LockDefinition => {
                    let lock_type = &self.schema.types[plan.ty];
                    let read = self.resolver.pools.lock(lock_type, &self.schema, &mut body);
                    self.undecodable += u64::from(read.is_none());
                }
                EventKind::SafepointEnd => self.has_safepoints = true,
                _ => {}
            }
        }
        self.window.rewind();
        let info = gatherer.finish();
        self.intervals = Intervals::of(&info);
        info
    }

    /// Reads the next event.
    pub(crate) fn step(&mut self, interner: &mut Interner, out: &mut Vec<Event>) -> Step {
        loop {
            let (ty, mut body) = match self.window.next() {
                Next::Event { ty, body, .. } => (ty, body),
                Next::End => return Step::End(self.undecodable_problem()),
                Next::Broken(at) => return Step::End(Some(Problem::BrokenEvents(self.number, at))),
                Next::Failed(error) => return Step::End(Some(Problem::Read(self.window.pos(), error))),
            };
            let Some(index) = self.plan_of.get(&ty).copied() else {
                continue;
            };
            let plan = &self.plans[index];
            match plan.kind {
                EventKind::Info | EventKind::LockDefinition | EventKind::Reserve => {}
                EventKind::Other => {
                    out.push(Event::Other(plan.name.clone()));
                    return Step::Events;
                }
                kind => {
                    if plan.read(&mut body, &self.schema, &self.ticks, &mut self.values).is_none() {
                        self.undecodable += 1;
                        continue;
                    }
                    if let Some(event) = self.event(kind, interner, out) {
                        out.push(event);
                    }
                    return Step::Events;
                }
            }
        }
    }

    fn undecodable_problem(&self) -> Option<Problem> {
        (self.undecodable > 0).then_some(Problem::Undecodable(self.number, self.undecodable))
    }

    /// How many events were skipped as damaged.
    pub(crate) fn undecodable(&self) -> u64 {
        self.undecodable
    }

    #[inline]
    fn start(&self) -> TimeNs {
        TimeNs(self.values.get(Slot::Start))
    }

    #[inline]
    fn end(&self) -> TimeNs {
        self.start() + DurationNs(self.values.get(Slot::Duration))
    }

    #[inline]
    fn thread(&self, slot: Slot) -> ThreadId {
        self.resolver.thread(self.values.get(slot))
    }

    #[inline]
    fn seq(&self) -> Seq {
        Seq(self.values.get(Slot::Seq))
    }

    fn event(&mut self, kind: EventKind, interner: &mut Interner, out: &mut Vec<Event>) -> Option<Event> {
        let chain = self.resolver.chain(self.values.get(Slot::Stack), interner, out);
        let number = |slot| self.values.get(slot);
        let (start, end, thread, seq) = (self.start(), self.end(), self.thread(Slot::Thread), self.seq());
        let lock = match (number(Slot::Lock), number(Slot::Address)) {
            (0, 0) => headway_model::LockId::NONE,
            (0, address) => {
                let class = number(Slot::Class);
                self.resolver.lock_at(address, class, interner, out)
            }
            (key, _) => self.resolver.lock(key, interner, out),
        };
        let number = |slot| self.values.get(slot);
        let other = self.thread(Slot::Other);
        let timeout = DurationNs(number(Slot::Timeout));
        Some(match kind {
            EventKind::MonitorEnter => {
                Event::MonitorEnter(MonitorEnter { time: start, thread, lock, seq, chain, owner: other })
            }
            EventKind::MonitorEntered => Event::MonitorEntered(MonitorEntered {
                time: end,
                start,
                thread,
                lock,
                seq,
                chain,
                previous_owner: other,
            }),
            EventKind::MonitorExit => Event::MonitorExit(MonitorExit {
                time: start,
                thread,
                lock,
                seq,
                chain,
                holder_frame: number(Slot::HolderFrame).min(u64::from(u16::MAX)) as u16,
                holder_approximate: number(Slot::HolderApproximate) != 0,
                cause: self.resolver.exit_cause(number(Slot::Cause)),
            }),
            EventKind::MonitorWait => {
                Event::MonitorWait(MonitorWait { time: start, thread, lock, seq, chain, timeout })
            }
            EventKind::MonitorNotify => {
                Event::MonitorNotify(MonitorNotify { time: start, thread, waiter: other, lock, seq })
            }
            EventKind::MonitorWaited => Event::MonitorWaited(MonitorWaited {
                time: end,
                start,
                thread,
                lock,
                seq,
                chain,
                timeout,
                outcome: self.wait_outcome(),
                notifier: other,
            }),
            EventKind::MonitorReentered => Event::MonitorReentered(MonitorReentered {
                time: end,
                start,
                thread,
                lock,
                start_seq: Seq(number(Slot::StartSeq)),
                seq,
                chain,
                bound: number(Slot::Bound) != 0,
            }),
            EventKind::Park => {
                let blocker_class = self.resolver.class(self.values.get(Slot::Class));
                Event::Park(Park { time: end, start, thread, chain, blocker_class, blocker: lock, ..Park::default() })
            }
            EventKind::JavaSample | EventKind::NativeSample | EventKind::WallSample | EventKind::WaitingSample => {
                Event::Sample(Sample {
                    time: start,
                    thread,
                    chain,
                    state: self.sample_state(kind),
                    weight: self.weight(kind),
                    cpu: None,
                })
            }
            EventKind::ThreadStart => Event::ThreadStart(ThreadPoint { time: start, thread: self.subject() }),
            EventKind::ThreadEnd => Event::ThreadEnd(ThreadPoint { time: start, thread: self.subject() }),
            EventKind::StopTheWorld => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            // Collections stop the world inside safepoints, which say it better.
            EventKind::GcPause if self.has_safepoints => return None,
            EventKind::GcPause => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            EventKind::SafepointBegin => {
                self.open_safepoints.truncate(MAX_OPEN_SAFEPOINTS - 1);
                self.open_safepoints.push((number(Slot::SafepointId), start.0));
                return None;
            }
            EventKind::SafepointEnd => return self.safepoint(end),
            EventKind::Loss => Event::Lost(self.resolver.loss(number(Slot::Cause))?, number(Slot::Count)),
            EventKind::Degraded => Event::Degraded(Degraded {
                mechanism: self.values.text(Slot::Mechanism),
                reason: self.values.text(Slot::Reason),
            }),
            EventKind::CpuLoad => Event::CpuLoad(CpuLoad {
                time: start,
                jvm_user: self.values.float(Slot::JvmUser),
                jvm_system: self.values.float(Slot::JvmSystem),
                machine_total: self.values.float(Slot::MachineTotal),
            }),
            EventKind::SelfCost => Event::SelfCost(SelfCost {
                time: start,
                own_cpu: DurationNs(number(Slot::OwnCpu)),
                attach_pause: DurationNs(number(Slot::AttachPause)),
                memory_bytes: number(Slot::Memory),
            }),
            EventKind::Flush => Event::Watermark(start),
            EventKind::Info | EventKind::LockDefinition | EventKind::Reserve | EventKind::Other => return None,
        })
    }

    /// The thread that a start or end is about; some makers name it only as
    /// the event's own thread.
    fn subject(&self) -> ThreadId {
        match self.thread(Slot::Subject) {
            ThreadId::NONE => self.thread(Slot::Thread),
            subject => subject,
        }
    }

    fn wait_outcome(&self) -> WaitOutcome {
        let timed_out = self.values.get(Slot::TimedOut) != 0;
        match self.resolver.wait_outcome(self.values.get(Slot::Outcome)) {
            Some(outcome) => outcome,
            None if timed_out => WaitOutcome::TimedOut,
            None => WaitOutcome::Notified,
        }
    }

    fn weight(&self, kind: EventKind) -> DurationNs {
        let told = self.values.get(Slot::Weight);
        let interval = match kind {
            EventKind::JavaSample => self.intervals.cpu,
            EventKind::WallSample => self.intervals.wall,
            _ => 0,
        };
        match told {
            0 => DurationNs(interval.saturating_mul(self.values.get(Slot::Samples).max(1))),
            _ => DurationNs(told),
        }
    }

    fn sample_state(&self, kind: EventKind) -> SampleState {
        match kind {
            EventKind::NativeSample => SampleState::Native,
            EventKind::WallSample => self.resolver.sample_state(self.values.get(Slot::State)),
            EventKind::WaitingSample => SampleState::Waiting,
            _ => SampleState::Java,
        }
    }

    fn safepoint(&mut self, end: TimeNs) -> Option<Event> {
        let id = self.values.get(Slot::SafepointId);
        let index = self.open_safepoints.iter().position(|(open, _)| *open == id)?;
        let start = TimeNs(self.open_safepoints.swap_remove(index).1);
        Some(Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }))
    }
}
