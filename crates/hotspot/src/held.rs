//! Which frames of a chain hold monitors, and which of them holds a given lock.
//!
//! A thread that waits on a lock, or releases it, often does so in a deeper
//! method than the one that acquired it. Where a frame keeps the locks it holds
//! is the same every time the chain occurs, so [`monitor_slots`] is asked once
//! per chain, and [`owner_frames`] reads the slots on the live stack.

use crate::arch::FRAME_POINTER_IN_OOP_MAPS;
use crate::debug_info::{DebugInfo, Scope};
use crate::decode::{same_scope, DecodeOptions, DecodedFrame};
use crate::frame::{slot, FrameRecord, RecordKind};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::method::{Method, ACC_SYNCHRONIZED};
use crate::oop;
use crate::release::release_scopes;
use crate::unsigned5::Reader;
use headway_model::FrameKind;

/// Where the reference to a held lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorPlace {
    /// On the stack, this many bytes from the frame's sp.
    Stack {
        /// The distance.
        offset: u32,
        /// True for a compressed reference.
        narrow: bool,
    },
    /// In the register of the frame pointer.
    FramePointer {
        /// True for a compressed reference.
        narrow: bool,
    },
    /// A constant of the compiled method, at this address.
    Constant(u64),
    /// In the monitor block of an interpreted frame, which is read when asked:
    /// all its entries, however many there are.
    InterpretedFrame,
    /// The frame holds a lock (a synchronized native method, an object that
    /// exists only in registers), but where is not known.
    Unknown,
}

/// A frame holds a lock here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorSlot {
    /// Which frame: an index into the decoded chain.
    pub frame: u32,
    /// Which physical frame: an index into its records.
    pub record: u32,
    /// Where the reference is.
    pub place: MonitorPlace,
}

/// Most monitors one frame may hold.
const MAX_MONITORS: u32 = 256;

/// Where the frames of a chain keep the locks they hold, leaf first. `frames`
/// is what [`crate::decode()`] made of `records` with `options`; code must still
/// be there.
/// Approximate frames are left out, and locks that the compiler eliminated.
pub fn monitor_slots<M: Memory>(
    layout: &Layout,
    memory: &M,
    records: &[FrameRecord],
    frames: &[DecodedFrame],
    options: DecodeOptions,
) -> Vec<MonitorSlot> {
    let mut slots = Vec::new();
    let mut depth = 0;
    for (index, frame) in frames.iter().enumerate() {
        // Scopes of one physical frame follow each other, innermost first.
        let same = index > 0 && frames[index - 1].record == frame.record;
        depth = if same { depth + 1 } else { 0 };
        let Some(record) = records.get(frame.record as usize) else {
            continue;
        };
        for place in places(layout, memory, record, frame, depth, options) {
            slots.push(MonitorSlot { frame: index as u32, record: frame.record, place });
        }
    }
    slots
}

fn places<M: Memory>(
    layout: &Layout,
    memory: &M,
    record: &FrameRecord,
    frame: &DecodedFrame,
    depth: usize,
    options: DecodeOptions,
) -> Vec<MonitorPlace> {
    let flags = Method::at(layout, memory, frame.method).and_then(|m| m.access_flags());
    let synchronized = flags.is_some_and(|flags| flags & ACC_SYNCHRONIZED != 0);
    match record.kind {
        _ if frame.approximate => Vec::new(),
        RecordKind::Interpreted => vec![MonitorPlace::InterpretedFrame],
        RecordKind::Compiled if frame.kind == FrameKind::Native => match synchronized {
            true => vec![MonitorPlace::Unknown],
            false => Vec::new(),
        },
        RecordKind::Compiled => compiled_places(layout, memory, record, depth, options).unwrap_or_default(),
        RecordKind::Stub | RecordKind::Entry => Vec::new(),
    }
}

fn compiled_places<M: Memory>(
    layout: &Layout,
    memory: &M,
    record: &FrameRecord,
    depth: usize,
    options: DecodeOptions,
) -> Option<Vec<MonitorPlace>> {
    let info = DebugInfo::of(layout, memory, record.code)?;
    let scopes = match record.leaf_call {
        true => release_scopes(layout, memory, &info, record, options)?,
        false => info.scopes(info.pc_desc(record.pc)?)?,
    };
    let held = held_by(&info, scopes.get(depth)?)?;
    Some(held.iter().filter(|monitor| !monitor.eliminated).map(|monitor| monitor.owner).collect())
}

/// The method that takes locks in a piece of compiled code and the calls that it
/// was inlined through, if it is one alone: then whatever is released there is
/// its. Every lock that was compiled in has a call that blocks, whose entry lists
/// it; those that the compiler eliminated are counted as well, since their code
/// may have been merged with another's. Of the entries inside that method, the
/// last before `pc` says the line. `None` where there are none or several, or too
/// much to read in a thread that has work to do.
pub(crate) fn sole_locker<M: Memory>(info: &DebugInfo<'_, M>, pc: u64) -> Option<Vec<Scope>> {
    let mut sole: Option<Vec<Scope>> = None;
    let mut scopes = Vec::new();
    for (index, desc) in info.pc_descs().enumerate() {
        if index == MAX_ENTRIES {
            return None;
        }
        info.scopes_into(desc, &mut scopes)?;
        let known = sole.as_ref().is_some_and(|sole| same_scope(sole, &scopes, sole.len()));
        let inside = sole.as_ref().filter(|_| known).map_or(0, Vec::len);
        let outermost = scopes.len() - inside;
        let mut others = scopes.iter().enumerate().filter(|(at, scope)| scope.monitors != 0 && *at != outermost);
        match (others.next_back(), &sole) {
            (None, _) => {}
            (Some((at, _)), None) if others.next().is_none() => sole = Some(scopes[at..].to_vec()),
            _ => return None,
        }
        let nearest = scopes.get(outermost).filter(|_| known && desc.pc < pc);
        if let (Some(nearest), Some(first)) = (nearest, sole.as_mut().and_then(|sole| sole.first_mut())) {
            first.bci = nearest.bci;
        }
    }
    sole
}

/// Most entries that [`sole_locker`] reads, about .1 us each.
const MAX_ENTRIES: usize = 2048;

/// A monitor in debug information.
pub(crate) struct HeldMonitor {
    /// Where its lock record is, in bytes from sp.
    pub(crate) lock_record: Option<u32>,
    owner: MonitorPlace,
    /// The compiler found that the lock needs not be taken here: it is not
    /// contended, or was merged with what is taken before.
    eliminated: bool,
}

/// The monitors of a scope: their number, and for each the place of its lock
/// record, its owner object and whether it was eliminated.
pub(crate) fn held_by<M: Memory>(info: &DebugInfo<'_, M>, scope: &Scope) -> Option<Vec<HeldMonitor>> {
    if scope.monitors == 0 {
        return Some(Vec::new());
    }
    let mut stream = info.stream(scope.monitors)?;
    let count = stream.unsigned()?.min(MAX_MONITORS);
    let mut held = Vec::new();
    for _ in 0..count {
        let packed = stream.unsigned()?;
        let lock_record = (packed & IN_REGISTER == 0).then_some((packed >> 5) * 4);
        let owner = owner_place(info, &mut stream)?;
        // What follows an object of parts cannot be found without reading all
        // its parts.
        let eliminated = owner.is_some() && stream.byte()? != 0;
        held.push(HeldMonitor { lock_record, owner: owner.unwrap_or(MonitorPlace::Unknown), eliminated });
        if owner.is_none() {
            break;
        }
    }
    Some(held)
}

/// Set in a packed location that is a register.
const IN_REGISTER: u32 = 0x10;

/// Codes of values in debug information.
mod value {
    pub const LOCATION: u32 = 0;
    pub const CONSTANT_OOP: u32 = 2;
    pub const OBJECT_ID: u32 = 6;
}

/// The outer `None` is a stream that makes no sense, the inner one a value
/// whose length is not known.
fn owner_place<M: Memory>(info: &DebugInfo<'_, M>, stream: &mut Reader<'_, M>) -> Option<Option<MonitorPlace>> {
    Some(match stream.unsigned()? {
        value::LOCATION => Some(location(stream.unsigned()?)),
        value::CONSTANT_OOP => {
            let number = stream.unsigned()?;
            Some(info.oop_slot(number).map_or(MonitorPlace::Unknown, MonitorPlace::Constant))
        }
        value::OBJECT_ID => {
            stream.unsigned()?;
            Some(MonitorPlace::Unknown)
        }
        _ => None,
    })
}

/// A packed location: type in bits 0-3, register or stack in bit 4, above that
/// the register's number or the distance from sp in 4-byte slots.
fn location(packed: u32) -> MonitorPlace {
    const OOP: u32 = 2;
    const NARROW_OOP: u32 = 9;
    let narrow = packed & 0xf == NARROW_OOP;
    let in_register = packed & IN_REGISTER != 0;
    match packed >> 5 {
        _ if !narrow && packed & 0xf != OOP => MonitorPlace::Unknown,
        FRAME_POINTER_IN_OOP_MAPS if in_register => MonitorPlace::FramePointer { narrow },
        _ if in_register => MonitorPlace::Unknown,
        slots => MonitorPlace::Stack { offset: slots * 4, narrow },
    }
}

/// The frames (indices into the decoded chain, leaf first) that hold `object`,
/// an address as [`crate::monitor::object`] gives it. The stack must be as it
/// was when `records` were walked. More than one where the lock was entered
/// again: the last is the one that acquired it. At a contended enter the leaf
/// is among them, for the lock it is about to acquire.
pub fn owner_frames<M: Memory>(
    layout: &Layout,
    memory: &M,
    records: &[FrameRecord],
    slots: &[MonitorSlot],
    object: u64,
) -> Vec<u32> {
    let mut frames = Vec::new();
    for slot in slots {
        let Some(record) = records.get(slot.record as usize) else {
            continue;
        };
        if held_at(layout, memory, record, slot.place).contains(&object) && frames.last() != Some(&slot.frame) {
            frames.push(slot.frame);
        }
    }
    frames
}

/// The objects at a place; none where they cannot be read.
pub fn held_at<M: Memory>(layout: &Layout, memory: &M, record: &FrameRecord, place: MonitorPlace) -> Vec<u64> {
    let one = |object: Option<u64>| object.filter(|o| *o != 0).into_iter().collect();
    match place {
        MonitorPlace::Stack { offset, narrow } => {
            let at = record.sp.wrapping_add(u64::from(offset));
            one(match narrow {
                true => memory.read_u32(at).map(|n| oop::decompress(layout, n)),
                false => memory.read_u64(at),
            })
        }
        MonitorPlace::FramePointer { narrow: true } => one(Some(oop::decompress(layout, record.fp as u32))),
        MonitorPlace::FramePointer { narrow: false } => one(Some(record.fp)),
        MonitorPlace::Constant(at) => one(memory.read_u64(at)),
        MonitorPlace::InterpretedFrame => monitor_block(layout, memory, record).unwrap_or_default(),
        MonitorPlace::Unknown => Vec::new(),
    }
}

/// The objects in an interpreted frame's monitor block, which grows down from
/// its fixed part. The word that says how far is an address in 17 and a
/// distance from fp in words later (and in stack chunks always).
fn monitor_block<M: Memory>(layout: &Layout, memory: &M, record: &FrameRecord) -> Option<Vec<u64>> {
    const RELATIVE: i64 = 1 << 20;
    let top = record.fp.checked_add_signed(slot::MONITORS)?;
    let word = memory.read_u64(top)?;
    let lowest = match word as i64 {
        words if words.abs() < RELATIVE => record.fp.checked_add_signed(words * 8)?,
        _ => word,
    };
    let size = layout.monitor.lock_size;
    let count = top.checked_sub(lowest)? / size;
    if count > u64::from(MAX_MONITORS) {
        return None;
    }
    let object = |i| memory.read_u64(lowest + i * size + layout.monitor.lock_object);
    Some((0..count).filter_map(object).filter(|o| *o != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_unpack() {
        let pack = |kind: u32, register: u32, number: u32| kind | register << 4 | number << 5;
        assert_eq!(location(pack(2, 0, 10)), MonitorPlace::Stack { offset: 40, narrow: false });
        assert_eq!(location(pack(9, 0, 3)), MonitorPlace::Stack { offset: 12, narrow: true });
        assert_eq!(location(pack(2, 1, 10)), MonitorPlace::FramePointer { narrow: false });
        assert_eq!(location(pack(2, 1, 4)), MonitorPlace::Unknown);
        assert_eq!(location(pack(1, 0, 4)), MonitorPlace::Unknown);
    }
}
