//! Who releases a monitor from compiled code: the call off the record that does it
//! leaves no debug information of its own, so it is found by where control came
//! from.

use crate::arch::flow::Flow;
use crate::arch::{jump_target, IS_THIS};
use crate::code_cache::CodeCache;
use crate::debug_info::{DebugInfo, Scope};
use crate::decode::{same_scope, DecodeOptions};
use crate::frame::FrameRecord;
use crate::held::{held_by, sole_locker};
use crate::layout::Layout;
use crate::memory::Memory;

/// Tier of C2's code; C1's are below.
const C2_LEVEL: u8 = 4;
/// How far entries are looked through for one that names the owner of a lock record.
const MAX_ENTRIES_BACK: usize = 256;
/// The largest code that is searched, about .03 us an instruction.
const MAX_CODE: u64 = 1 << 18;
/// What C2 calls where it gives up, which does not return; the releases spell it
/// differently.
const UNCOMMON_TRAP: [&str; 2] = ["UncommonTrap", "uncommon_trap"];

/// The scopes of a call off the record that releases a monitor, where they are
/// certain, innermost first.
pub(crate) fn release_scopes<M: Memory>(
    layout: &Layout,
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
    options: DecodeOptions,
) -> Option<Vec<Scope>> {
    let is_c1 = memory.read_u8(record.code + layout.nmethod.comp_level)? < C2_LEVEL;
    let complete = options.non_safepoint_info_since.is_some_and(|since| record.compile_id >= since);
    // C1's stub stores the record's address for the routine that it calls.
    let stored = || u32::try_from(memory.read_u64(record.sp)?.checked_sub(record.sp)?).ok();
    let lock_record = is_c1.then(stored).flatten();
    by_flow(layout, memory, info, record, lock_record)
        .or_else(|| complete.then(|| by_entries_before(memory, info, record, lock_record?)).flatten())
        .or_else(|| sole_locker(info, record.pc))
}

/// By where control came from.
///
/// The call stands in a block that is often put somewhere else, next to code of other
/// methods, and entries for what is no safepoint are no help there: C1 writes none for
/// a release, and what C2 makes after it has read the bytecodes, as it does locks, may
/// bear the name of whatever it read last. Entries of safepoints are exact, and list
/// which scope holds which lock record. So: from the call, which is given the record's
/// address, back against the flow of control to the safepoints from which it is
/// reached, but not past the instructions that acquire the lock. One is always among
/// them, that of the slow way to acquire it. To an exception's handler no instruction
/// leads: the VM's table says which calls do when they throw. If all name one activation of one method,
/// it is the one that releases.
fn by_flow<M: Memory>(
    layout: &Layout,
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
    lock_record: Option<u32>,
) -> Option<Vec<Scope>> {
    if !IS_THIS {
        return None;
    }
    let code_cache = CodeCache::new(layout);
    let range = code_cache.code_range(memory, record.code)?;
    let size = range.end.checked_sub(range.start).filter(|size| *size <= MAX_CODE)?;
    let mut code = vec![0; size as usize];
    if !memory.read_into(range.start, &mut code) {
        return None;
    }
    let flow = Flow::of(&code, range.start);
    let call = flow.call_returning_to(record.pc)?;
    let lock_record = lock_record.or_else(|| flow.lock_record_of(call))?;
    let mut found: Option<Vec<Scope>> = None;
    let mut agree = true;
    let name = |callee| code_cache.name(memory, code_cache.find(memory, callee)?.address);
    let returns = |callee| name(callee).is_none_or(|name| UNCOMMON_TRAP.iter().all(|trap| !name.contains(trap)));
    let is_complete = flow.back(call, lock_record, &info.thrown()?, returns, |pc| {
        let Some(held) = held_at(info, pc, lock_record) else {
            return false;
        };
        match &mut found {
            None => found = Some(held),
            Some(known) if known.len() == held.len() && same_scope(known, &held, held.len()) => {
                // The last bytecode before the release is nearest to it.
                known[0].bci = known[0].bci.max(held[0].bci);
            }
            Some(_) => agree = false,
        }
        true
    });
    found.filter(|_| agree && is_complete)
}

/// The scope that holds the lock record by the entry of exactly this pc, and those
/// it was inlined into.
fn held_at<M: Memory>(info: &DebugInfo<'_, M>, pc: u64, lock_record: u32) -> Option<Vec<Scope>> {
    let scopes = info.scopes(info.pc_desc(pc).filter(|desc| desc.pc == pc)?)?;
    let owner_frame = scopes.iter().position(|scope| holds(info, scope, lock_record))?;
    Some(scopes[owner_frame..].to_vec())
}

/// Eliminated locks as well: where two critical sections on one lock were merged, the
/// second one releases what the first acquired.
fn holds<M: Memory>(info: &DebugInfo<'_, M>, scope: &Scope, lock_record: u32) -> bool {
    let held = held_by(info, scope).unwrap_or_default();
    held.iter().any(|monitor| monitor.lock_record == Some(lock_record))
}

/// C1's stub stands behind the method's code and jumps back behind the instruction
/// that it is part of. Back from there to the nearest entry that says who holds the
/// lock record; if every entry on the way is inside that scope, control did not leave
/// it, and it is the one that releases. Needs debug information of all instructions.
fn by_entries_before<M: Memory>(
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
    lock_record: u32,
) -> Option<Vec<Scope>> {
    let mut passed: Vec<Vec<Scope>> = Vec::new();
    let entries = info.pc_descs_before(jump_target(memory, record.pc)?)?;
    for desc in entries.take(MAX_ENTRIES_BACK) {
        let scopes = info.scopes(desc)?;
        let owner_frame = scopes.iter().position(|scope| holds(info, scope, lock_record));
        passed.push(scopes);
        if let Some(owner_frame) = owner_frame {
            let depth = passed.last()?.len() - owner_frame;
            let last = passed.last()?.clone();
            let inside = |scopes: &Vec<Scope>| same_scope(scopes, &last, depth);
            let nearest = passed.first()?;
            return passed.iter().all(inside).then(|| nearest[nearest.len() - depth..].to_vec());
        }
    }
    None
}
