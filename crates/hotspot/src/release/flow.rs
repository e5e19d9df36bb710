//! The flow of control in a piece of compiled x86-64 code, walked backwards.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashSet;

/// Instructions of a call's block that may come between its lock record's address
/// and the call.
const MAX_BLOCK: usize = 64;
/// Instructions that are visited before the search is given up.
const MAX_VISITED: usize = 20_000;
/// Where the address of a lock record is taken before a release: for the call, and
/// for the release in line that is tried before it.
const TAKEN_BY_RELEASE: u8 = 2;

/// The instructions of a compiled method and what leads to each.
pub(super) struct Flow {
    steps: Vec<Step>,
    /// Where a jump leads, and the index of that jump; by target.
    jumps: Vec<(u64, u32)>,
}

struct Step {
    ip: u64,
    next: u64,
    /// The next instruction may follow.
    falls_through: bool,
    /// It takes the address this far above the stack pointer.
    address: Option<u32>,
    /// ... as the second argument of a call.
    is_argument: bool,
}

impl Flow {
    /// Decodes `code`, which begins at `begin`.
    pub(super) fn of(code: &[u8], begin: u64) -> Flow {
        let mut flow = Flow { steps: Vec::with_capacity(code.len() / 4), jumps: Vec::new() };
        let mut decoder = Decoder::with_ip(64, code, begin, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let control = instruction.flow_control();
            let jumps = matches!(control, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
            if jumps && matches!(instruction.op0_kind(), OpKind::NearBranch64) {
                flow.jumps.push((instruction.near_branch_target(), flow.steps.len() as u32));
            }
            let address = stack_address(&instruction);
            flow.steps.push(Step {
                ip: instruction.ip(),
                next: instruction.next_ip(),
                falls_through: matches!(
                    control,
                    FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Call | FlowControl::IndirectCall
                ),
                address,
                is_argument: address.is_some() && instruction.op0_register() == Register::RSI,
            });
        }
        flow.jumps.sort_unstable();
        flow
    }

    /// The index of the call that returns to `pc`.
    pub(super) fn call_returning_to(&self, pc: u64) -> Option<usize> {
        let next = self.steps.partition_point(|step| step.ip < pc);
        next.checked_sub(1).filter(|call| self.steps[*call].next == pc)
    }

    /// The lock record that a call is given as its second argument, as a distance from
    /// the stack pointer. `None` if its address is not taken in the call's own block.
    pub(super) fn lock_record_of(&self, call: usize) -> Option<u32> {
        let before = (0..call).rev().take(MAX_BLOCK).map(|index| &self.steps[index]);
        before.take_while(|step| step.falls_through).find(|step| step.is_argument)?.address
    }

    /// Visits the addresses from which the instruction `from` is reached, nearest
    /// first along each way, until `stop` says that a way ends there or the address
    /// of the lock record is taken by what acquires it. Each way ends at once where
    /// too many were visited.
    pub(super) fn back(&self, from: usize, lock_record: u32, mut stop: impl FnMut(u64) -> bool) {
        let mut seen = HashSet::new();
        let mut ways = vec![(from, 0u8)];
        while let Some((index, taken)) = ways.pop() {
            if seen.len() == MAX_VISITED || !seen.insert((index, taken)) {
                continue;
            }
            let step = &self.steps[index];
            let taken = taken + u8::from(step.address == Some(lock_record));
            if taken > TAKEN_BY_RELEASE || stop(step.ip) {
                continue;
            }
            let before = index.checked_sub(1).filter(|before| self.steps[*before].falls_through);
            ways.extend(before.map(|before| (before, taken)));
            let first = self.jumps.partition_point(|(target, _)| *target < step.ip);
            let here = self.jumps[first..].iter().take_while(|(target, _)| *target == step.ip);
            ways.extend(here.map(|(_, source)| (*source as usize, taken)));
        }
    }
}

/// `lea register, [rsp + distance]`.
fn stack_address(instruction: &Instruction) -> Option<u32> {
    let of_stack = instruction.mnemonic() == Mnemonic::Lea
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None;
    of_stack.then(|| instruction.memory_displacement32())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 0x7000;

    /// A lock that is acquired, held around a loop, and released in line or by a call.
    const CODE: [u8; 0x1b] = [
        0x48, 0x8d, 0x44, 0x24, 0x40, // 00 lea rax, [rsp+0x40]: acquires
        0x90, // 05 nop
        0x75, 0xfd, // 06 jne 05
        0x48, 0x8d, 0x44, 0x24, 0x40, // 08 lea rax, [rsp+0x40]: releases
        0x75, 0x03, // 0d jne 12
        0xc3, // 0f ret
        0xcc, 0xcc, // 10 int3
        0x48, 0x8d, 0x74, 0x24, 0x40, // 12 lea rsi, [rsp+0x40]
        0xff, 0xd0, // 17 call rax
        0xeb, 0xf4, // 19 jmp 0f
    ];

    fn visited(lock_record: u32, stop_at: u64) -> Vec<u64> {
        let flow = Flow::of(&CODE, BEGIN);
        let at = flow.call_returning_to(BEGIN + 0x19).unwrap();
        let mut visited = Vec::new();
        flow.back(at, lock_record, |ip| {
            visited.push(ip - BEGIN);
            ip - BEGIN == stop_at
        });
        visited
    }

    #[test]
    fn a_call_is_given_the_lock_record_whose_address_its_block_takes() {
        let flow = Flow::of(&CODE, BEGIN);
        let lock_record = |pc| flow.call_returning_to(pc).map(|call| flow.lock_record_of(call));
        assert_eq!(lock_record(BEGIN + 0x19), Some(Some(0x40)));
        // What ends there belongs to another block; nothing ends there.
        assert_eq!(lock_record(BEGIN + 0x10), Some(None));
        assert_eq!(lock_record(BEGIN + 0x18), None);
        assert_eq!(lock_record(0), None);
    }

    #[test]
    fn ways_back_end_where_the_lock_is_acquired() {
        assert_eq!(visited(0x40, u64::MAX), [0x17, 0x12, 0x0d, 0x08, 0x06, 0x05]);
    }

    #[test]
    fn ways_back_end_where_they_are_told_to() {
        assert_eq!(visited(0x40, 0x08), [0x17, 0x12, 0x0d, 0x08]);
    }

    #[test]
    fn another_record_ends_no_way() {
        assert_eq!(visited(0x48, u64::MAX), [0x17, 0x12, 0x0d, 0x08, 0x06, 0x05, 0x00]);
    }

    #[test]
    fn bytes_that_are_no_code_are_survived() {
        let code: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let flow = Flow::of(&code, BEGIN);
        for pc in BEGIN..BEGIN + 4096 {
            if let Some(call) = flow.call_returning_to(pc) {
                flow.back(call, flow.lock_record_of(call).unwrap_or_default(), |_| false);
            }
        }
    }
}
