//! Walking a thread again: what still stands where it stood is compared, not
//! looked up and decoded again. What the frame pointer holds in a compiled frame is brought up
//! to date: nothing else depends on it.
//!
//! A frame is taken over from the previous walk if every word from which the
//! walk derived it, and its caller from it, is the same as then: for a compiled
//! frame the return address and that the same code (by compile id) is still in
//! place; for an interpreted one method, bytecode pointer, return address,
//! sender sp and link; for an entry frame the wrapper and its anchor. Equal inputs give an equal walk, so this is sound whatever happened
//! in between: other threads' code, other virtual threads on this carrier, or
//! this stack memory used for something else. Deoptimized frames, stubs and
//! frames in stack chunks are never taken over.

use crate::code_cache::CodeCache;
use crate::continuation::walk_chunks;
use crate::frame::{key_of, slot, FrameRecord, RecordKind, Registers, WalkEnd, WalkResult};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::walk::{anchored, enter_special, step, Next};

/// The previous walk of one thread. Allocates when made, never afterwards.
#[derive(Clone, Debug)]
pub struct WalkCache {
    /// The last walk's frames, root first, so that what changes is at the end.
    frames: Vec<FrameRecord>,
    /// Leaf first, what the current walk had to find again.
    fresh: Box<[FrameRecord]>,
    end: WalkEnd,
}

impl WalkCache {
    /// A cache for walks of up to `limit` physical frames.
    pub fn new(limit: usize) -> WalkCache {
        WalkCache {
            frames: Vec::with_capacity(limit),
            fresh: vec![FrameRecord::default(); limit].into_boxed_slice(),
            end: WalkEnd::Lost,
        }
    }

    /// How many frames a walk has room for.
    pub fn limit(&self) -> usize {
        self.fresh.len()
    }

    /// Forgets the previous walk. Never needed for correctness.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.end = WalkEnd::Lost;
    }

    /// The frames of the last walk, leaf first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &FrameRecord> + ExactSizeIterator + Clone {
        self.frames.iter().rev()
    }

    /// How the last walk ended.
    pub fn end(&self) -> WalkEnd {
        self.end
    }

    /// The key of the last walk's chain, as [`crate::key_words`] gives it.
    pub fn key_words<'o>(&self, out: &'o mut [u64]) -> Option<&'o [u64]> {
        key_of(self.records(), self.end, out)
    }

    /// Walks from `start`, with the same result as [`crate::walk_light`].
    pub fn walk<M: Memory>(&mut self, layout: &Layout, memory: &M, start: Registers) -> WalkResult {
        let before = self.frames.len();
        let mut walk = Walk { layout, memory, at: start, old: before, fresh: 0, reused: 0 };
        let end = walk.run(&mut self.frames, self.end, &mut self.fresh);
        let Walk { old, fresh, reused, .. } = walk;
        // Frames are taken over in place only by a walk that reached the root.
        let same = fresh == 0 && old == before && before > 0;
        self.end = self.put_together(old, fresh, end);
        WalkResult { frames: self.frames.len(), end: self.end, reused, same }
    }

    /// The new frames on top of the first `kept` old ones.
    fn put_together(&mut self, kept: usize, fresh: usize, end: WalkEnd) -> WalkEnd {
        self.frames.truncate(kept);
        let excess = (kept + fresh).saturating_sub(self.fresh.len());
        self.frames.drain(..excess);
        self.frames.extend(self.fresh[..fresh].iter().rev());
        match excess {
            0 => end,
            _ => WalkEnd::Full,
        }
    }
}

/// A walk under way.
struct Walk<'a, M> {
    layout: &'a Layout,
    memory: &'a M,
    at: Registers,
    /// The old frames from here on (root first) lie below `at`, or were passed;
    /// in the end, how many of them to keep.
    old: usize,
    /// How many frames were found again.
    fresh: usize,
    reused: usize,
}

impl<M: Memory> Walk<'_, M> {
    fn run(&mut self, old: &mut [FrameRecord], old_end: WalkEnd, out: &mut [FrameRecord]) -> WalkEnd {
        let enter_special = enter_special(self.layout, self.memory);
        loop {
            if let Some(end) = self.take_over(old, old_end, out) {
                return end;
            }
            let Some(record) = out.get_mut(self.fresh) else {
                return self.ended(WalkEnd::Full);
            };
            let sp = self.at.sp;
            let next = step(self.layout, self.memory, enter_special, &mut self.at, record);
            match next {
                None => return self.ended(WalkEnd::Lost),
                Some(Next::Before(end)) => return self.ended(end),
                Some(_) => self.fresh += 1,
            }
            match next {
                Some(Next::Frame) if self.at.sp > sp => {}
                Some(Next::End(end)) => return self.ended(end),
                Some(Next::Chunk) => {
                    let near = self.at.sp;
                    let result = walk_chunks(self.layout, self.memory, near, out, self.fresh);
                    self.fresh = result.frames;
                    return self.ended(result.end);
                }
                _ => return self.ended(WalkEnd::Lost),
            }
        }
    }

    /// Ends the walk without keeping old frames.
    fn ended(&mut self, end: WalkEnd) -> WalkEnd {
        self.old = 0;
        end
    }

    /// Takes over old frames from where the walk stands. If that reaches the
    /// root, the walk is done: the frames stay where they are. If something on
    /// the way changed, the unchanged ones are copied and the walk goes on.
    fn take_over(&mut self, old: &mut [FrameRecord], old_end: WalkEnd, out: &mut [FrameRecord]) -> Option<WalkEnd> {
        while self.old > 0 && old[self.old - 1].sp < self.at.sp {
            self.old -= 1;
        }
        let first = self.old.checked_sub(1)?;
        if !stands_at(&old[first], &self.at) {
            return None;
        }
        old[first].fp = self.at.fp;
        let mut changed = first;
        loop {
            match changed.checked_sub(1) {
                Some(caller) => match self.unchanged(&old[changed], &old[caller]) {
                    Some(fp) => {
                        old[caller].fp = fp;
                        changed = caller;
                    }
                    None => break,
                },
                None if self.still_root(&old[0], old_end) => {
                    self.reused += self.old;
                    return Some(old_end);
                }
                None => break,
            }
        }
        let count = (first - changed).min(out.len() - self.fresh);
        for record in old[first + 1 - count..=first].iter().rev() {
            out[self.fresh] = *record;
            self.fresh += 1;
        }
        self.reused += count;
        self.old = changed;
        // The changed frame stands at the same place; what it is, is to be seen.
        let at = &old[first - count];
        if count > 0 {
            self.at = Registers { pc: at.pc, sp: at.sp, fp: at.fp, leaf_call: false };
        }
        None
    }

    /// If the frame is what it was and returns to `caller` as it did: the the frame pointer
    /// that it restores.
    #[inline]
    fn unchanged(&self, frame: &FrameRecord, caller: &FrameRecord) -> Option<u64> {
        if caller.deoptimized || caller.on_heap || frame.leaf_call {
            return None;
        }
        match frame.kind {
            RecordKind::Compiled => {
                let (fp, pc) = self.memory.read_u64_pair(caller.sp.wrapping_sub(16))?;
                (pc == caller.pc && may_have(caller, fp) && self.code_unchanged(frame)).then_some(fp)
            }
            RecordKind::Interpreted => {
                let slot = |slot: i64| self.memory.read_u64(frame.fp.wrapping_add_signed(slot));
                let same = slot(slot::RETURN) == Some(caller.pc)
                    && slot(slot::SENDER_SP) == Some(caller.sp)
                    && slot(slot::METHOD) == Some(frame.code)
                    && slot(slot::BCP) == Some(frame.bcp);
                slot(slot::LINK).filter(|fp| same && may_have(caller, *fp))
            }
            RecordKind::Entry if self.wrapper_unchanged(frame) => {
                self.anchor(frame).filter(|at| stands_at(caller, at)).map(|at| at.fp)
            }
            RecordKind::Entry | RecordKind::Stub => None,
        }
    }

    #[inline]
    fn code_unchanged(&self, frame: &FrameRecord) -> bool {
        CodeCache::new(self.layout).still_there(self.memory, self.layout, frame.code, frame.compile_id)
    }

    /// True if the root is what it was: an entry frame before which the thread
    /// had no Java frame. Walks that ended otherwise are walked to their end.
    fn still_root(&self, root: &FrameRecord, end: WalkEnd) -> bool {
        end == WalkEnd::Complete
            && root.kind == RecordKind::Entry
            && self.wrapper_unchanged(root)
            && self.memory.read_u64(self.anchor_of(root) + self.layout.frame.anchor_sp) == Some(0)
    }

    /// Entry frames of the call stub only: an upcall stub keeps its anchor
    /// elsewhere.
    fn wrapper_unchanged(&self, frame: &FrameRecord) -> bool {
        let place = frame.fp.wrapping_add_signed(self.layout.frame.entry_wrapper);
        frame.pc == self.layout.frame.call_stub_return && self.memory.read_u64(place) == Some(frame.code)
    }

    fn anchor_of(&self, frame: &FrameRecord) -> u64 {
        frame.code.wrapping_add(self.layout.frame.wrapper_anchor)
    }

    fn anchor(&self, frame: &FrameRecord) -> Option<Registers> {
        let anchor = self.anchor_of(frame);
        let sp = self.memory.read_u64(anchor + self.layout.frame.anchor_sp)?;
        (sp == frame.bcp).then(|| anchored(self.layout, self.memory, anchor, sp))?
    }
}

/// True if the frame is the same with this the frame pointer. Compiled code keeps in it what it
/// likes, a counter for instance, and its caller is found without it.
#[inline]
fn may_have(old: &FrameRecord, fp: u64) -> bool {
    old.fp == fp || old.kind == RecordKind::Compiled
}

/// True if a walk that stands at these registers stands at this old frame.
#[inline]
fn stands_at(old: &FrameRecord, at: &Registers) -> bool {
    old.pc == at.pc
        && old.sp == at.sp
        && may_have(old, at.fp)
        && !old.deoptimized
        && !old.on_heap
        && !old.leaf_call
        && !at.leaf_call
}
