//! One comparison: JVMTI's stack against the walker's.

use crate::jvmti::{FrameInfo, Jni, MethodId, OwnedMonitor};
use crate::seen::Seen;
use crate::{collections, Probe};
use headway_hotspot::held::held_at;
use headway_hotspot::{
    decode, key_words, method_names, monitor, monitor_slots, owner_frames, thread, walk_light, DecodeOptions,
    DecodedFrame, FrameRecord, Layout, LiveMemory, Memory, Method, MonitorPlace, RecordKind, WalkCache, WalkEnd,
    WalkResult,
};

const LIMIT: usize = 4096;

/// Where a comparison happens.
#[derive(Clone, Copy)]
pub enum Context {
    ContendedEnter,
    NativeMethod,
}

impl Context {
    fn name(self) -> &'static str {
        match self {
            Context::ContendedEnter => "enter",
            Context::NativeMethod => "native",
        }
    }
}

/// Takes the current stack twice and compares.
pub fn check(probe: &Probe, jni: Jni, context: Context) {
    let java_thread = probe.java_thread(jni);
    let memory = probe.memory(java_thread);
    let mut records = vec![FrameRecord::default(); LIMIT];
    let Some(start) = thread::start_from_anchor(&probe.layout, &memory, java_thread) else {
        // A thread that ends takes its own monitor without any Java frame.
        let has_frames = probe.jvmti.stack(LIMIT).is_some_and(|frames| !frames.is_empty());
        probe.seen.lock().unwrap().count(if has_frames { "no_start" } else { "no_java_frames" });
        return;
    };
    let collections_before = collections();
    let walk = walk_light(&probe.layout, &memory, start, &mut records);
    let records = &records[..walk.frames];
    let (frames, undecodable) = decode(&probe.layout, &memory, records, DecodeOptions::default());
    let Some(expected) = probe.jvmti.stack(LIMIT) else {
        probe.seen.lock().unwrap().count("no_jvmti_stack");
        return;
    };
    let mut seen = probe.seen.lock().unwrap();
    let seen = &mut *seen;
    let cache = seen.caches.entry(java_thread);
    let cache = cache.or_insert_with(|| WalkCache::new(LIMIT));
    let keys_before: Vec<[u64; 2]> = cache.records().map(FrameRecord::key).collect();
    let again = cache.walk(&probe.layout, &memory, start);
    let is_other = !cache.records().map(FrameRecord::key).eq(keys_before);
    // Chunks may be moved between the two walks, and then one of them stops.
    let comparable = again.end == walk.end;
    let reused: Vec<FrameRecord> = cache.records().copied().collect();
    let unequal = reused.iter().zip(records).find(|(reused, fresh)| !is_same(reused, fresh));
    let same = comparable && reused.len() == records.len() && unequal.is_none();
    *seen.counters.entry("frames_reused".into()).or_default() += again.reused as u64;
    *seen.counters.entry("frames_walked".into()).or_default() += again.frames as u64;
    *seen.counters.entry("walks_same".into()).or_default() += u64::from(again.same);
    if !same {
        seen.difference("reuse_unequal", || format!("{walk:?} {again:?} {unequal:x?}"));
    }
    if again.same && is_other {
        seen.difference("same_but_other", || format!("{walk:?} {again:?}"));
    }
    seen.count(&format!("checks_{}", context.name()));
    count_kinds(seen, records, walk);
    let comparison = Comparison { probe, memory: &memory, expected: &expected, frames: &frames };
    if undecodable > 0 {
        seen.difference("undecodable", || comparison.side_by_side(records, walk));
    }
    if comparison.equal() {
        seen.count("equal");
    } else if walk.end == WalkEnd::ReturnBarrier && comparison.is_prefix() {
        seen.count("cut_at_return_barrier");
    } else {
        seen.difference("unequal", || comparison.side_by_side(records, walk));
    }
    check_key(seen, &comparison, records, walk);
    let monitors = compare_monitors(seen, &comparison, records, java_thread);
    // The walk keeps what the frame pointer held, and references are read at different times: a
    // collection between them moves what they refer to.
    if !monitors.is_empty() && collections() != collections_before {
        seen.count("monitors_moved");
    } else {
        for (name, text) in monitors {
            seen.difference(name, || text);
        }
    }
    for frame in &expected {
        check_method(seen, probe, jni, &memory, frame);
    }
}

/// Compiled code may keep a reference in that register, and a collection between the two walks
/// move what it refers to.
fn is_same(reused: &FrameRecord, fresh: &FrameRecord) -> bool {
    let fp = if fresh.kind == RecordKind::Compiled { fresh.fp } else { reused.fp };
    FrameRecord { fp, ..*reused } == *fresh
}

fn count_kinds(seen: &mut Seen, records: &[FrameRecord], walk: WalkResult) {
    seen.count(&format!("end_{:?}", walk.end));
    for record in records {
        seen.count(&format!("frames_{:?}", record.kind));
        if record.deoptimized {
            seen.count("frames_deoptimized");
        }
        if record.on_heap {
            seen.count("frames_on_heap");
        }
    }
}

struct Comparison<'a> {
    probe: &'a Probe,
    memory: &'a LiveMemory,
    expected: &'a [FrameInfo],
    frames: &'a [DecodedFrame],
}

impl Comparison<'_> {
    fn same(&self, (expected, frame): (&FrameInfo, &DecodedFrame)) -> bool {
        !frame.approximate
            && method_of(self.memory, expected.method) == frame.method
            && expected.location == i64::from(frame.bci)
    }

    fn is_prefix(&self) -> bool {
        self.frames.len() <= self.expected.len() && self.expected.iter().zip(self.frames).all(|pair| self.same(pair))
    }

    fn equal(&self) -> bool {
        self.frames.len() == self.expected.len() && self.is_prefix()
    }

    fn side_by_side(&self, records: &[FrameRecord], walk: WalkResult) -> String {
        use std::fmt::Write;
        let layout = &self.probe.layout;
        let name = |method| {
            method_names(layout, self.memory, method)
                .map_or(format!("{method:#x}"), |n| format!("{}.{}", n.class, n.name))
        };
        let mut text = format!("{:?}, {} records\n", walk.end, records.len());
        for i in 0..self.expected.len().max(self.frames.len()) {
            let theirs =
                self.expected.get(i).map(|e| format!("{}@{}", name(method_of(self.memory, e.method)), e.location));
            let ours = self.frames.get(i).map(|f| {
                let record = &records[f.record as usize];
                format!("{}@{} {:?} {:?}", name(f.method), f.bci, f.kind, record)
            });
            let mark = match (self.expected.get(i), self.frames.get(i)) {
                (Some(e), Some(f)) if self.same((e, f)) => ' ',
                _ => '!',
            };
            let _ = writeln!(text, "{mark} {:60} | {}", theirs.unwrap_or_default(), ours.unwrap_or_default());
        }
        text
    }
}

fn method_of(memory: &LiveMemory, id: MethodId) -> u64 {
    memory.read_u64(id as u64).unwrap_or(0)
}

/// Equal keys must mean equal stacks.
fn check_key(seen: &mut Seen, comparison: &Comparison<'_>, records: &[FrameRecord], walk: WalkResult) {
    let mut words = vec![0; 2 * records.len() + 1];
    let key = key_words(records, walk.end, &mut words).expect("room for the key").to_vec();
    let stack: Vec<(u64, i64)> =
        comparison.expected.iter().map(|e| (method_of(comparison.memory, e.method), e.location)).collect();
    if walk.end == WalkEnd::ReturnBarrier || seen.keys.len() > 200_000 {
        return;
    }
    let known = seen.keys.entry(key).or_insert_with(|| stack.clone());
    if *known != stack {
        seen.difference("key_aliases", || comparison.side_by_side(records, walk));
    }
}

/// Each monitor that JVMTI says a frame entered must be among those found for
/// that frame; every monitor found must be one that the thread owns.
/// A monitor that is about to be acquired (again) is named by frames, too.
/// Gives what differs: a counter and what was seen.
fn compare_monitors(
    seen: &mut Seen,
    comparison: &Comparison<'_>,
    records: &[FrameRecord],
    java_thread: u64,
) -> Vec<(&'static str, String)> {
    let (probe, memory) = (comparison.probe, comparison.memory);
    let mut differences = Vec::new();
    let Some(owned) = probe.jvmti.owned_monitors() else {
        seen.count("no_owned_monitors");
        return differences;
    };
    let slots = monitor_slots(&probe.layout, memory, records, comparison.frames, DecodeOptions::default());
    // A local reference is the address of a plain reference.
    let object = |monitor: &OwnedMonitor| memory.read_u64(monitor.monitor as u64).unwrap_or(0);
    for monitor in owned.iter().filter(|monitor| monitor.depth >= 0) {
        let owner_frames = owner_frames(&probe.layout, memory, records, &slots, object(monitor));
        let depth = monitor.depth as u32;
        let unknown = slots.iter().any(|slot| slot.frame == depth && slot.place == MonitorPlace::Unknown);
        match owner_frames.contains(&depth) {
            true => seen.count("monitors_found"),
            false if unknown => seen.count("monitors_at_unknown_places"),
            false => {
                differences.push(("monitors_unequal", format!("depth {depth} of {slots:?}, owners {owner_frames:?}")))
            }
        }
    }
    let objects: Vec<u64> = owned.iter().map(object).collect();
    let awaited = thread::pending_monitor(&probe.layout, memory, java_thread)
        .filter(|monitor| *monitor != 0)
        .and_then(|pending| monitor::object(&probe.layout, memory, pending))
        .unwrap_or(0);
    for slot in &slots {
        let record = &records[slot.record as usize];
        for held in held_at(&probe.layout, memory, record, slot.place) {
            if held != awaited && !objects.contains(&held) {
                differences.push(("monitors_not_owned", format!("{slot:?} {held:#x} {objects:x?}")));
            }
        }
    }
    differences
}

/// Names and lines of methods seen for the first time.
fn check_method(seen: &mut Seen, probe: &Probe, jni: Jni, memory: &LiveMemory, frame: &FrameInfo) {
    let address = method_of(memory, frame.method);
    if !seen.methods.insert(address) {
        return;
    }
    seen.count("methods");
    let layout = &probe.layout;
    if !names_agree(probe, jni, memory, frame.method, address) {
        seen.difference("names_unequal", || {
            let (name, descriptor) = probe.jvmti.method_name(frame.method).unwrap_or_default();
            let (class, source) = probe.jvmti.declaring_class(jni, frame.method).unwrap_or_default();
            let ours = method_names(layout, memory, address);
            format!("{class} {name} {descriptor} {source} | {ours:?}")
        });
    }
    match lines_agree(probe, layout, memory, frame.method, address) {
        Some(true) => seen.count("line_tables"),
        None => seen.count("without_line_table"),
        Some(false) => seen.difference("lines_unequal", || format!("{:?}", method_names(layout, memory, address))),
    }
}

fn names_agree(probe: &Probe, jni: Jni, memory: &LiveMemory, id: MethodId, address: u64) -> bool {
    let Some(ours) = method_names(&probe.layout, memory, address) else {
        return false;
    };
    let (name, descriptor) = probe.jvmti.method_name(id).expect("method name");
    let (class, source) = probe.jvmti.declaring_class(jni, id).expect("class");
    // JVMTI writes `Lcom/acme/Foo;`, and `Lcom/acme/Foo.0x...;` for a hidden class.
    let class = class.trim_start_matches('L').trim_end_matches(';');
    let class = match class.split_once(".0x") {
        Some((name, address)) => format!("{}/0x{address}", name.replace('/', ".")),
        None => class.replace('/', "."),
    };
    *ours.name == *name && *ours.descriptor == *descriptor && *ours.class == *class && *ours.source_file == *source
}

/// `None` where JVMTI has no line table (native methods, `-g:none`).
fn lines_agree(probe: &Probe, layout: &Layout, memory: &LiveMemory, id: MethodId, address: u64) -> Option<bool> {
    let method = Method::at(layout, memory, address)?;
    let Some(table) = probe.jvmti.line_table(id) else {
        return method.line(0).is_some().then_some(false);
    };
    let size = method.code_size()? as i32;
    let line_of = |bci: i32| {
        let entry = table.iter().filter(|entry| entry.start <= i64::from(bci)).max_by_key(|entry| entry.start);
        entry.map(|entry| entry.line as u32)
    };
    Some((0..size).all(|bci| method.line(bci) == line_of(bci)))
}
