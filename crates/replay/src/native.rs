//! What was found out about native code, once.

use headway_hotspot::fragment::{Captured, Native, NativeStep, Reg};
use serde::{Deserialize, Serialize};

/// Answers of an unwinder of native code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwound {
    known: Vec<u64>,
    steps: Vec<Step>,
}

/// From a native frame to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    pc: u64,
    sp: u64,
    interrupted: bool,
    /// pc, stack and frame pointer of the caller.
    caller: Option<[u64; 3]>,
    /// Without a caller: true at the thread's first function.
    root: bool,
}

impl Unwound {
    /// Takes note of an address that is native code.
    pub fn note_known(&mut self, pc: u64) {
        if !self.known.contains(&pc) {
            self.known.push(pc);
        }
    }

    /// Takes note of a step.
    pub fn note_step(&mut self, from: &Captured, interrupted: bool, step: NativeStep, to: &Captured) {
        let caller = match (step, to.sp(), to.fp()) {
            (NativeStep::Caller, Some(sp), Some(fp)) => Some([to.pc, sp, fp]),
            _ => None,
        };
        let root = step == NativeStep::Root;
        self.steps.push(Step { pc: from.pc, sp: from.sp().unwrap_or(0), interrupted, caller, root });
    }
}

impl Native for Unwound {
    fn knows(&mut self, pc: u64) -> bool {
        self.known.contains(&pc)
    }

    fn caller(&mut self, at: &mut Captured, interrupted: bool, _: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep {
        let is_it = |step: &&Step| step.pc == at.pc && Some(step.sp) == at.sp() && step.interrupted == interrupted;
        let Some(step) = self.steps.iter().find(is_it) else { return NativeStep::Lost };
        let Some([pc, sp, fp]) = step.caller else {
            return if step.root { NativeStep::Root } else { NativeStep::Lost };
        };
        let mut caller = Captured::default();
        caller.pc = pc;
        caller.set(Reg::SP, sp);
        caller.set(Reg::BP, fp);
        *at = caller;
        NativeStep::Caller
    }
}

/// An unwinder whose answers are noted.
pub struct Noting<'a, N> {
    /// The unwinder.
    pub inner: &'a mut N,
    /// Its answers.
    pub noted: Unwound,
}

impl<N: Native> Native for Noting<'_, N> {
    fn knows(&mut self, pc: u64) -> bool {
        let knows = self.inner.knows(pc);
        if knows {
            self.noted.note_known(pc);
        }
        knows
    }

    fn caller(&mut self, at: &mut Captured, interrupted: bool, read: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep {
        let from = *at;
        let step = self.inner.caller(at, interrupted, read);
        self.noted.note_step(&from, interrupted, step, at);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_given_again() {
        let at = |pc, sp| {
            let mut at = Captured::default();
            at.pc = pc;
            at.set(Reg::SP, sp);
            at.set(Reg::BP, 7);
            at
        };
        let mut unwound = Unwound::default();
        unwound.note_known(1);
        unwound.note_step(&at(1, 100), true, NativeStep::Caller, &at(2, 200));
        unwound.note_step(&at(2, 200), false, NativeStep::Root, &at(2, 200));
        let mut here = at(1, 100);
        let mut nothing = |_| None;
        assert!(unwound.knows(1) && !unwound.knows(2));
        assert_eq!(unwound.caller(&mut here, false, &mut nothing), NativeStep::Lost);
        assert_eq!(unwound.caller(&mut here, true, &mut nothing), NativeStep::Caller);
        assert_eq!(here, at(2, 200));
        assert_eq!(unwound.caller(&mut here, false, &mut nothing), NativeStep::Root);
    }
}
