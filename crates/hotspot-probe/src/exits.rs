//! Contended exits: what the walker says about the releasing thread, against
//! what the program itself wrote down before it released.
//!
//! The hook runs while the thread may be in Java state: it must not wait for
//! anything that another thread holds across a safepoint. So what it saw is kept apart,
//! never locked around calls to the VM.

use crate::seen::Seen;
use crate::{Probe, PROBE};
use headway_hook::sys::linux::Linux;
use headway_hook::{Detour, Image, Known};
use headway_hotspot::{
    decode, method_names, monitor, monitor_slots, owner_frames, thread, walk_light, DecodeOptions, DecodedFrame,
    FrameRecord, LiveMemory, WalkEnd,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicUsize, Ordering};
use std::sync::Mutex;

static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static SLOTS: Mutex<Option<HashMap<u64, &'static AtomicI32>>> = Mutex::new(None);
static CHECKED: AtomicI64 = AtomicI64::new(0);
static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

/// Puts the hook in. At VMInit no thread contends yet.
pub fn install(libjvm: &Image) {
    static LINUX: Linux = Linux;
    let function = Known::ContendedExit.resolve(libjvm).expect("function");
    let hook = exit_hook as *const ();
    let context = Known::ContendedExit.context();
    // SAFETY: the hook has the function's signature and is never unloaded.
    let detour = unsafe { Detour::prepare(&function, hook, context, &LINUX) }.expect("detour");
    ORIGINAL.store(detour.original() as usize, Ordering::Release);
    // SAFETY: at VMInit nobody is inside the function.
    unsafe { detour.install(&mut || Ok(())) }.expect("hook installed");
}

/// The slot of a thread.
pub fn slot(java_thread: u64) -> i64 {
    let mut slots = SLOTS.lock().unwrap();
    let slots = slots.get_or_insert_default();
    let slot = slots.entry(java_thread).or_insert_with(|| Box::leak(Box::default()));
    (&raw const **slot) as i64
}

/// How many contended exits were checked.
pub fn checked() -> i64 {
    CHECKED.load(Ordering::Relaxed)
}

/// What the hook saw.
pub fn seen() -> String {
    SEEN.lock().unwrap().get_or_insert_default().to_string()
}

extern "C" fn exit_hook(monitor: u64, java_thread: u64, waiter: u64, fp: u64, _: u64) -> usize {
    if let Some(probe) = PROBE.get() {
        check(probe, monitor, java_thread, fp);
    }
    let original = ORIGINAL.load(Ordering::Acquire);
    // SAFETY: the function's own code, with its own arguments.
    unsafe {
        let original: extern "C" fn(u64, u64, u64) -> usize = std::mem::transmute(original);
        original(monitor, java_thread, waiter)
    }
}

fn check(probe: &Probe, monitor: u64, java_thread: u64, fp: u64) {
    let site = {
        let slots = SLOTS.lock().unwrap();
        let slot = slots.as_ref().and_then(|slots| slots.get(&java_thread));
        slot.map_or(0, |slot| slot.load(Ordering::Relaxed))
    };
    if site == 0 {
        return;
    }
    let layout = &probe.layout;
    let memory = probe.memory(java_thread);
    let mut records = vec![FrameRecord::default(); 1024];
    let mut seen = SEEN.lock().unwrap();
    let seen = seen.get_or_insert_default();
    seen.count("checks_exit");
    CHECKED.fetch_add(1, Ordering::Relaxed);
    let Some(start) = thread::start_at_exit(layout, &memory, java_thread, fp) else {
        // The VM itself: a thread that ends releases its own Thread object.
        return seen.count("exits_without_java_frame");
    };
    let walk = walk_light(layout, &memory, start, &mut records);
    let records = &records[..walk.frames];
    seen.count(&format!("exit_leaf_{:?}", records[0].kind));
    if walk.end != WalkEnd::Complete {
        seen.difference("exits_incomplete", || format!("{walk:?} {records:x?}"));
    }
    let everywhere = layout.flags.is_set(&memory, "DebugNonSafepoints") == Some(true);
    let options = DecodeOptions { non_safepoint_info_since: everywhere.then_some(0) };
    let (frames, _) = decode(layout, &memory, records, options);
    let slots = monitor_slots(layout, &memory, records, &frames, options);
    let object = monitor::object(layout, &memory, monitor).unwrap_or(0);
    let holding = owner_frames(layout, &memory, records, &slots, object);
    let name = |frame: &DecodedFrame| {
        let names = method_names(layout, &memory, frame.method);
        names.map_or_else(String::new, |n| n.name.to_string())
    };
    let waits = frames.iter().take(3).any(|frame| name(frame).starts_with("wait"));
    let blamed = match waits {
        true => holding.last().map(|index| &frames[*index as usize]),
        false => frames.first(),
    };
    let kind = if waits { "wait" } else { "exit" };
    let expected = format!("site{site}");
    match blamed {
        Some(frame) if frame.approximate => seen.count(&format!("{kind}_approximate")),
        Some(frame) if name(frame) == expected => seen.count(&format!("{kind}_right")),
        _ => {
            seen.difference(&format!("{kind}_wrong"), || chain(layout, &memory, &frames, records, &expected, &holding))
        }
    }
}

fn chain(
    layout: &headway_hotspot::Layout,
    memory: &LiveMemory,
    frames: &[DecodedFrame],
    records: &[FrameRecord],
    expected: &str,
    holding: &[u32],
) -> String {
    let mut text = format!("{expected}, held by {holding:?}\n");
    for frame in frames {
        let name = method_names(layout, memory, frame.method).map(|n| n.name);
        let record = &records[frame.record as usize];
        text += &format!("  {name:?}@{} {:?} {record:x?}\n", frame.bci, frame.kind);
    }
    text
}
