//! One chunk: its types, its constants, then its events one by one.

use super::cursor::Cursor;
use super::info::InfoGatherer;
use super::intern::Interner;
use super::plan::{EventKind, Plan, Ticks, Values};
use super::pools::Pools;
use super::problem::Problem;
use super::resolve::Resolver;
use super::schema::{Schema, Wire};
use super::source::RawChunk;
use super::window::{Next, Window};
use crate::hash::IdMap;
use headway_model::event::RecordingInfo;
use headway_model::Event;

/// See the module's description.
pub(crate) struct Chunk {
    number: usize,
    window: Window,
    schema: Schema,
    plans: Vec<Plan>,
    plan_of: IdMap<u64, usize>,
    ticks: Ticks,
    pub(super) resolver: Resolver,
    /// Of the event that is being read.
    pub(super) values: Values,
    undecodable: u64,
    pub(super) has_safepoints: bool,
    pub(super) intervals: Intervals,
    /// Id and begin.
    pub(super) open_safepoints: Vec<(u64, u64)>,
}

/// Time that a sample stands for where its recording tells it as a setting.
#[derive(Default)]
pub(super) struct Intervals {
    pub(super) cpu: u64,
    pub(super) wall: u64,
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
}
