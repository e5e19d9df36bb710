//! One chunk: its types, its constants, then its events one by one.

use super::cursor::Cursor;
use super::detail::{Detail, Places};
use super::info::InfoGatherer;
use super::intern::Interner;
use super::kinds::{self, EventKind};
use super::plan::{Plan, Ticks, Values};
use super::pools::Pools;
use super::problem::Problem;
use super::resolve::Resolver;
use super::schema::{Schema, Wire};
use super::source::RawChunk;
use super::survey::{body_at, Survey};
use super::window::{Next, Window};
use crate::hash::IdTable;
use headway_model::event::RecordingInfo;
use headway_model::Event;

/// See the module's description.
pub(crate) struct Chunk {
    number: usize,
    window: Window,
    schema: Schema,
    plans: Vec<Plan>,
    plan_of: IdTable<u32>,
    survey: Survey,
    ticks: Ticks,
    pub(super) resolver: Resolver,
    /// Of the event that is being read.
    pub(super) values: Values,
    undecodable: u64,
    pub(super) last_detail: Detail,
    pub(super) places: Places,
    pub(super) has_safepoints: bool,
    pub(super) intervals: Intervals,
    /// Id and begin.
    pub(super) open_safepoints: Vec<(u64, u64)>,
}

/// Time that a sample stands for where its recording reports it as a setting.
#[derive(Default)]
pub(super) struct Intervals {
    pub(super) cpu: u64,
    pub(super) wall: u64,
}

impl Intervals {
    /// async-profiler writes nanoseconds; JFR's `period` is not what a sample
    /// stands for, since it samples a few threads at a time only.
    ///
    /// async-profiler's `interval` is that of its `engine`, which may be the wall clock;
    /// `wall` is there if it samples by the wall clock too. 0 stands for a default.
    fn of(info: &RecordingInfo) -> Intervals {
        let setting = |name: &str| {
            let found = info.settings.iter().find(|(setting, _)| setting == name);
            found.map(|(_, value)| value.as_str())
        };
        let nanos = |name: &str, default: u64| {
            let value = setting(name)?.parse().ok()?;
            Some(if value == 0 { default } else { value })
        };
        let of_engine = "jdk.ExecutionSample#interval";
        let (wall, engine_ns) = match setting("jdk.ActiveRecording#engine") {
            Some("wall") => (of_engine, ASYNC_WALL_NS),
            _ => ("jdk.ExecutionSample#wall", ASYNC_CPU_NS),
        };
        Intervals { cpu: nanos(of_engine, engine_ns).unwrap_or(0), wall: nanos(wall, ASYNC_WALL_NS).unwrap_or(0) }
    }
}

/// async-profiler's default intervals, as its documentation has them: 10 ms of CPU
/// time, 50 ms of the wall clock.
const ASYNC_CPU_NS: u64 = 10_000_000;
const ASYNC_WALL_NS: u64 = 50_000_000;

/// JFR's samplers, the best one first: by CPU time; threads that run Java; threads
/// that are in native code, most of which wait there.
const SAMPLERS: [&str; 3] = ["jdk.CPUTimeSample", "jdk.ExecutionSample", "jdk.NativeMethodSample"];

/// True if a checkpoint event, `body` being what follows its type number, says that
/// there is none before it.
fn stands_alone(mut body: Cursor<'_>) -> bool {
    let (_start, _duration, distance) = (body.long(), body.long(), body.long());
    distance == Some(0)
}

/// What a step through a chunk's events came to.
pub(crate) enum Step {
    /// Definitions (perhaps none) and then at most one event went to `out`.
    Events,
    /// The chunk is over.
    End(Option<Problem>),
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
        // One that points to none before it has all that those had.
        let begin = survey.checkpoints.iter().rposition(|at| body_at(&mut window, *at).is_some_and(stands_alone));
        for at in survey.checkpoints.iter().skip(begin.unwrap_or(0)) {
            let read = body_at(&mut window, *at).and_then(|body| pools.checkpoint(&schema, body));
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
            plan_of: IdTable::default(),
            survey,
            ticks,
            resolver: Resolver::new(pools),
            values: Values::default(),
            undecodable: 0,
            last_detail: Detail::default(),
            places: Places::default(),
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
                self.plan_of.insert(ty.id, self.plans.len() as u32);
                self.plans.push(Plan::new(index, &self.schema));
            }
        }
    }

    /// Threads of the chunk, to be reported before its events.
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
        let wanted = self.types_of(|kind| kinds::is_apart(kind) && kind != kinds::RESERVE);
        self.resolver.pools.names_service_threads = !self.types_of(|kind| kind == kinds::SERVICE_THREAD).is_empty();
        let ends = self.types_of(|kind| kind == kinds::SAFEPOINT_END);
        self.has_safepoints = ends.iter().any(|ty| self.survey.saw(*ty));
        if !self.has_safepoints {
            // Without ends, begins say of no pause how long it was: they are counted by name only.
            let begins = self.plans.iter_mut().filter(|plan| plan.kind == kinds::SAFEPOINT_BEGIN);
            begins.for_each(|plan| plan.kind = kinds::OTHER);
        }
        if let Some(sampler) = self.choose_sampler() {
            gatherer.sampler(sampler);
        }
        let places = std::mem::take(&mut self.survey).places_of(&wanted, &mut self.window);
        for at in places {
            self.window.seek(at);
            let Next::Event { ty, mut body, .. } = self.window.next() else { continue };
            let Some(plan) = self.plan_of.get(ty).and_then(|index| self.plans.get(index as usize)) else {
                continue;
            };
            let read = match plan.kind {
                kind if kinds::is_info(kind) => gatherer.event(plan.ty, &mut body, &self.schema, &self.resolver),
                kinds::SERVICE_THREAD => {
                    self.resolver.pools.service_thread(&self.schema.types[plan.ty], &self.schema, &mut body)
                }
                _ => self.resolver.pools.lock(&self.schema.types[plan.ty], &self.schema, &mut body),
            };
            self.undecodable += u64::from(read.is_none());
        }
        self.window.rewind();
        let info = gatherer.finish();
        self.intervals = Intervals::of(&info);
        info
    }

    /// Samplers of JFR look at the same threads in different ways, so that their
    /// samples must not be added up: one counts, the others are counted by name
    /// only. `None` for recordings of other makers.
    fn choose_sampler(&mut self) -> Option<&'static str> {
        if self.declares("headway.") || self.declares("profiler.") {
            return None;
        }
        let schema = &self.schema;
        let survey = &self.survey;
        let seen = |name: &&&str| schema.id_of(name).is_some_and(|ty| survey.saw(ty));
        let chosen = SAMPLERS.iter().find(seen).copied()?;
        let unused = |name: &str| SAMPLERS.contains(&name) && name != chosen;
        self.plans.iter_mut().filter(|plan| unused(&plan.name)).for_each(|plan| plan.kind = kinds::OTHER);
        Some(chosen)
    }

    /// Numbers of the types of some kinds of events.
    fn types_of(&self, is_wanted: impl Fn(EventKind) -> bool) -> Vec<u64> {
        let of_kind = self.plans.iter().filter(|plan| is_wanted(plan.kind));
        of_kind.filter_map(|plan| self.schema.types.get(plan.ty)).map(|ty| ty.id).collect()
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
            let Some(plan) = self.plan_of.get(ty).and_then(|index| self.plans.get(index as usize)) else {
                continue;
            };
            match plan.kind {
                kind if kinds::is_apart(kind) => {}
                kinds::OTHER => {
                    out.push(Event::Other(plan.name.clone()));
                    return Step::Events;
                }
                kind => {
                    if plan.read(&mut body, &self.schema, &self.ticks, &mut self.values).is_none() {
                        self.undecodable += 1;
                        self.places.lost = true;
                        continue;
                    }
                    if kinds::is_detail(kind) {
                        self.last_detail = Detail::of(&self.values);
                        continue;
                    }
                    if self.contended(kind, interner, out) {
                        return Step::Events;
                    }
                    if let Some(event) = self.event(kind, interner, out) {
                        out.push(event);
                    }
                    return Step::Events;
                }
            }
        }
    }

    /// How much of the chunk was read, and its length.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.window.pos(), self.window.len())
    }

    fn undecodable_problem(&self) -> Option<Problem> {
        (self.undecodable > 0).then_some(Problem::Undecodable(self.number, self.undecodable))
    }

    /// How many events were skipped as damaged.
    pub(crate) fn undecodable(&self) -> u64 {
        self.undecodable
    }
}
