//! The Firefox Profiler's processed format: threads with their samples (or
//! contentions) moment by moment. Opens at profiler.firefox.com, which
//! keeps the file in the browser.

use crate::Style;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags, MarkerFieldFormat,
    MarkerLocations, MarkerTiming, ProcessHandle, Profile as Document, ReferenceTimestamp, SamplingInterval,
    StackHandle, StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp, WeightType,
};
use headway_analysis::method::{CallTree, Moment, Origin, Profile, ProfileThread, Unit};
use headway_model::FrameKind;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

/// Threads that are shown at first; the rest is one click away.
const MOST_VISIBLE: usize = 30;

/// Writes a profile that has its moments.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let document = document(profile, style);
    if !in_milliseconds(profile, style.unit(profile)) {
        return serde_json::to_writer(out, &document).map_err(io::Error::from);
    }
    let mut value = serde_json::to_value(&document).map_err(io::Error::from)?;
    weights_in_milliseconds(&mut value);
    serde_json::to_writer(out, &value).map_err(io::Error::from)
}

/// Weights of times are milliseconds and fractions, which the library does not
/// write: it was given microseconds.
fn weights_in_milliseconds(document: &mut serde_json::Value) {
    let threads = document.get_mut("threads").and_then(serde_json::Value::as_array_mut);
    for thread in threads.into_iter().flatten() {
        let weights = thread.pointer_mut("/samples/weight").and_then(serde_json::Value::as_array_mut);
        for weight in weights.into_iter().flatten() {
            if let Some(micros) = weight.as_f64() {
                *weight = (micros / 1e3).into();
            }
        }
    }
}

fn document(profile: &Profile, style: &Style) -> Document {
    let interval = interval(profile, style.unit(profile));
    let in_milliseconds = in_milliseconds(profile, style.unit(profile));
    let start = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::from_nanos(profile.start.0));
    let mut document = Document::new(&style.title, start, SamplingInterval::from_nanos(interval));
    document.set_symbolicated(true);
    let name = profile.recording.java_arguments.split_whitespace().next().unwrap_or("java");
    let process = document.add_process(name, profile.recording.pid, Timestamp::from_nanos_since_reference(0));
    let categories = Categories::new(&mut document);
    let mut writer =
        Writer { document, profile, process, interval, in_milliseconds, categories, stacks: HashMap::new() };
    let mut heaviest: Vec<(u64, ThreadHandle)> = Vec::new();
    for moments in profile.moments.chunk_by(|a, b| a.thread == b.thread) {
        let weight = moments.iter().map(|moment| moment.weight.in_unit(profile.tree.unit())).sum();
        if let Some(thread) = writer.thread(moments, style.unit(profile)) {
            heaviest.push((weight, thread));
        }
    }
    heaviest.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    for (index, (_, thread)) in heaviest.into_iter().take(MOST_VISIBLE).enumerate() {
        writer.document.add_initial_visible_thread(thread);
        if index == 0 {
            writer.document.add_initial_selected_thread(thread);
        }
    }
    writer.document
}

/// True if weights are times, which blocked time is, and samples that stand for different
/// times; samples that stand for whole numbers of one interval are counted.
fn in_milliseconds(profile: &Profile, unit: Unit) -> bool {
    let interval = interval(profile, unit);
    let is_counted = |moment: &Moment| moment.weight.ns % interval == 0;
    profile.measure.is_blocked_time() || (unit == Unit::Nanoseconds && !profile.moments.iter().all(is_counted))
}

/// The sampling interval: a microsecond for blocked time, which is not sampled.
fn interval(profile: &Profile, unit: Unit) -> u64 {
    if profile.measure.is_blocked_time() {
        return 1_000;
    }
    if unit == Unit::Samples {
        return 1_000_000;
    }
    let shortest = profile.moments.iter().map(|moment| moment.weight.ns).filter(|ns| *ns > 0).min();
    shortest.unwrap_or(1_000_000).max(1_000)
}

struct Categories {
    by_kind: [CategoryHandle; 4],
    native: CategoryHandle,
    lock: CategoryHandle,
}

impl Categories {
    fn new(document: &mut Document) -> Categories {
        let native = document.add_category("Native", CategoryColor::Blue);
        Categories {
            by_kind: [
                document.add_category("Interpreted", CategoryColor::Orange),
                document.add_category("Compiled", CategoryColor::Green),
                document.add_category("Inlined", CategoryColor::LightGreen),
                native,
            ],
            native,
            lock: document.add_category("Lock", CategoryColor::Red),
        }
    }

    fn of(&self, origin: Origin, kind: FrameKind) -> CategoryHandle {
        match (origin, kind) {
            (Origin::Native, _) => self.native,
            (Origin::Lock, _) => self.lock,
            (Origin::Java, FrameKind::Interpreted) => self.by_kind[0],
            (Origin::Java, FrameKind::Compiled) => self.by_kind[1],
            (Origin::Java, FrameKind::Inlined) => self.by_kind[2],
            (Origin::Java, FrameKind::Native) => self.by_kind[3],
            _ => CategoryHandle::OTHER,
        }
    }
}

struct Writer<'a> {
    document: Document,
    profile: &'a Profile,
    process: ProcessHandle,
    interval: u64,
    in_milliseconds: bool,
    categories: Categories,
    stacks: HashMap<(ThreadHandle, u32), StackHandle>,
}

impl Writer<'_> {
    /// Adds a thread with all its moments.
    fn thread(&mut self, moments: &[Moment], unit: Unit) -> Option<ThreadHandle> {
        let described = self.profile.threads.get(moments.first()?.thread as usize)?;
        let start = self.time(moments.first()?);
        let is_main = described.name == "main";
        let thread = self.document.add_thread(self.process, kernel_id(described), start, is_main);
        self.document.set_thread_name(thread, &described.name);
        let weight_type = if self.in_milliseconds { WeightType::TracingMs } else { WeightType::Samples };
        self.document.set_thread_samples_weight_type(thread, weight_type);
        for moment in moments {
            let stack = self.stack(thread, moment.context);
            let time = self.time(moment);
            let on_cpu = if moment.waiting { 0 } else { moment.weight.ns };
            self.document.add_sample(thread, time, stack, CpuDelta::from_nanos(on_cpu), self.weight(moment, unit));
            if self.profile.measure.is_blocked_time() {
                self.blocked(thread, moment, stack);
            }
        }
        Some(thread)
    }

    fn time(&self, moment: &Moment) -> Timestamp {
        Timestamp::from_nanos_since_reference(moment.time.since(self.profile.start).0)
    }

    fn weight(&self, moment: &Moment, unit: Unit) -> i32 {
        let weight = match unit {
            Unit::Samples => moment.weight.count,
            Unit::Nanoseconds => {
                let one = if self.in_milliseconds { 1_000 } else { self.interval };
                (moment.weight.ns + one / 2) / one
            }
        };
        i32::try_from(weight.max(1)).unwrap_or(i32::MAX)
    }

    fn stack(&mut self, thread: ThreadHandle, context: u32) -> Option<StackHandle> {
        let mut stack = None;
        for at in self.profile.tree.path(context) {
            stack = match self.stacks.get(&(thread, at)) {
                Some(known) => Some(*known),
                None => {
                    let new = self.new_stack(thread, stack, at);
                    self.stacks.insert((thread, at), new);
                    Some(new)
                }
            };
        }
        stack
    }

    fn new_stack(&mut self, thread: ThreadHandle, caller: Option<StackHandle>, at: u32) -> StackHandle {
        let tree: &CallTree = &self.profile.tree;
        let (origin, kind) = tree.context(at).map_or((Origin::Unknown, FrameKind::default()), |context| {
            (tree.method(context.method).origin, context.kind)
        });
        let label = self.document.intern_string(&tree.text(at));
        let category_pair = self.categories.of(origin, kind).into();
        let frame = FrameInfo { frame: Frame::Label(label), category_pair, flags: FrameFlags::empty() };
        let frame = self.document.intern_frame(thread, frame);
        self.document.intern_stack(thread, caller, frame)
    }

    /// A contention as a span on the thread's line.
    fn blocked(&mut self, thread: ThreadHandle, moment: &Moment, stack: Option<StackHandle>) {
        let end = moment.time + headway_model::DurationNs(moment.weight.ns);
        let end = Timestamp::from_nanos_since_reference(end.since(self.profile.start).0);
        let lock = self.document.intern_string(&self.profile.tree.text(moment.context));
        let marker = self.document.add_marker(thread, MarkerTiming::Interval(self.time(moment), end), Blocked { lock });
        if let Some(stack) = stack {
            self.document.set_marker_stack(thread, marker, Some(stack));
        }
    }
}

/// The kernel's number of a thread, or for a virtual one a number of its own.
fn kernel_id(thread: &ProfileThread) -> u32 {
    match thread.os_id {
        0 => 1 << 31 | (thread.id.0 as u32 & (u32::MAX >> 1)),
        os_id => os_id,
    }
}

/// A thread was blocked on a lock.
#[derive(Clone, Debug)]
struct Blocked {
    lock: StringHandle,
}

impl StaticSchemaMarker for Blocked {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Blocked";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.lock}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.lock}");
    const LOCATIONS: MarkerLocations =
        MarkerLocations::MARKER_CHART.union(MarkerLocations::MARKER_TABLE).union(MarkerLocations::TIMELINE_OVERVIEW);
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "lock",
        label: "Lock",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, profile: &mut Document) -> StringHandle {
        profile.intern_string("Blocked")
    }

    fn category(&self, _: &mut Document) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.lock
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}
