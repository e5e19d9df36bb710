//! A trace for Perfetto (ui.perfetto.dev): a track per thread, a slice per contention,
//! or per sample of one that lasted as long as the sample stands for. The innermost
//! frame names a slice, its arguments have the rest of the call stack.
//!
//! Messages and field numbers are those of `perfetto.protos.Trace`.

use crate::Style;
use headway_analysis::method::{Moment, Profile, ProfileThread};
use headway_model::DurationNs;
use prost::Message;
use std::io::{self, Write};

/// All packets are of one sequence.
const SEQUENCE: u32 = 1;
/// Says that nothing before the first packet matters.
const STATE_CLEARED: u32 = 1;
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// The track of the process; those of threads follow.
const PROCESS_TRACK: u64 = 1;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    r#type: i32,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(string, tag = "10")]
    name: String,
    #[prost(string, tag = "6")]
    string_value: String,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    process_name: String,
}

/// Writes a profile that has its moments.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    put(
        out,
        TracePacket {
            sequence_flags: Some(STATE_CLEARED),
            track_descriptor: Some(process(profile, style)),
            ..packet()
        },
    )?;
    for moments in profile.moments.chunk_by(|a, b| a.thread == b.thread) {
        let Some(thread) = moments.first().and_then(|first| profile.threads.get(first.thread as usize)) else {
            continue;
        };
        let uuid = PROCESS_TRACK + 1 + u64::from(moments.first().map_or(0, |first| first.thread));
        put(out, TracePacket { track_descriptor: Some(track(thread, uuid)), ..packet() })?;
        slices(profile, moments, uuid, out)?;
    }
    Ok(())
}

fn packet() -> TracePacket {
    TracePacket { trusted_packet_sequence_id: SEQUENCE, ..TracePacket::default() }
}

/// A packet is a field of the trace: packets one after the other are a trace.
fn put(out: &mut dyn Write, packet: TracePacket) -> io::Result<()> {
    out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
}

fn process(profile: &Profile, style: &Style) -> TrackDescriptor {
    let process = ProcessDescriptor {
        pid: i32::try_from(profile.recording.pid).unwrap_or(0),
        process_name: format!("{} ({})", style.title, profile.measure.title()),
    };
    TrackDescriptor { uuid: PROCESS_TRACK, process: Some(process), ..TrackDescriptor::default() }
}

/// Threads are tracks of the process and not threads of the kernel, which virtual ones
/// have none of.
fn track(thread: &ProfileThread, uuid: u64) -> TrackDescriptor {
    TrackDescriptor {
        uuid,
        name: Some(thread.name.clone()),
        parent_uuid: Some(PROCESS_TRACK),
        ..TrackDescriptor::default()
    }
}

/// The slices of one thread. Slices of a track must not overlap: what of a sample lies
/// within the slice before it is not shown.
fn slices(profile: &Profile, moments: &[Moment], uuid: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut free_from = 0;
    for moment in moments {
        let start = moment.time.0.max(free_from);
        let end = (moment.time + DurationNs(moment.weight.ns)).0.max(start);
        free_from = end;
        let event = |event| TracePacket { track_event: Some(event), ..packet() };
        let begin = TrackEvent {
            debug_annotations: vec![stack(profile, moment)],
            r#type: SLICE_BEGIN,
            track_uuid: uuid,
            categories: vec![if moment.waiting { "waiting".to_owned() } else { profile.measure.title().to_owned() }],
            name: Some(profile.tree.text(moment.context)),
        };
        put(out, TracePacket { timestamp: Some(start), ..event(begin) })?;
        let ended = TrackEvent { r#type: SLICE_END, track_uuid: uuid, ..TrackEvent::default() };
        put(out, TracePacket { timestamp: Some(end), ..event(ended) })?;
    }
    Ok(())
}

/// The call stack, leaf first.
fn stack(profile: &Profile, moment: &Moment) -> DebugAnnotation {
    let mut frames: Vec<String> =
        profile.tree.path(moment.context).into_iter().map(|at| profile.tree.text(at)).collect();
    frames.reverse();
    DebugAnnotation { name: "stack".to_owned(), string_value: frames.join(" < ") }
}
