//! The flow of control in a piece of compiled x86-64 code, walked backwards.

use crate::debug_info::Thrown;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashSet;

/// Instructions of a call's block that may come between its lock record's address
/// and the call.
const MAX_BLOCK: usize = 64;
/// Instructions that are visited before the search gives up.
const MAX_VISITED: usize = 20_000;
/// Where the address of a lock record is taken before a release: for the call, and
/// for the release in line that is tried before it.
const TAKEN_BY_RELEASE: u8 = 2;

/// The instructions of a compiled method and what leads to each.
pub(crate) struct Flow {
    steps: Vec<Step>,
    /// Where a jump leads, and the index of that jump; by target.
    jumps: Vec<(u64, u32)>,
}

struct Step {
    ip: u64,
    next: u64,
    /// The next instruction may follow.
    falls_through: bool,
    /// What it calls, where the instruction says so.
    callee: Option<u64>,
    /// It takes the address this far above the stack pointer.
    address: Option<u32>,
    /// ... as the second argument of a call.
    is_argument: bool,
}

impl Flow {
    /// Decodes `code`, which begins at `begin`.
    pub(crate) fn of(code: &[u8], begin: u64) -> Flow {
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
            let calls = control == FlowControl::Call && instruction.op0_kind() == OpKind::NearBranch64;
            flow.steps.push(Step {
                ip: instruction.ip(),
                next: instruction.next_ip(),
                falls_through: matches!(
                    control,
                    FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Call | FlowControl::IndirectCall
                ),
                callee: calls.then(|| instruction.near_branch_target()),
                address,
                is_argument: address.is_some() && instruction.op0_register() == Register::RSI,
            });
        }
        flow.jumps.sort_unstable();
        flow
    }

    /// The index of the call that returns to `pc`.
    pub(crate) fn call_returning_to(&self, pc: u64) -> Option<usize> {
        let next = self.steps.partition_point(|step| step.ip < pc);
        next.checked_sub(1).filter(|call| self.steps[*call].next == pc)
    }

    /// The lock record that a call gets as its second argument, as a distance from
    /// the stack pointer. `None` if its address is not taken in the call's own block.
    pub(crate) fn lock_record_of(&self, call: usize) -> Option<u32> {
        let before = (0..call).rev().take(MAX_BLOCK).map(|index| &self.steps[index]);
        before.take_while(|step| step.falls_through).find(|step| step.is_argument)?.address
    }

    /// Visits the addresses from which the instruction `from` is reached, nearest
    /// first along each way, until `stop` says that a way ends there or the address
    /// of the lock record is taken by what acquires it. From an exception's handler, ways
    /// lead back to where the calls that throw (`thrown`, by handler) would return to, which
    /// is visited, and to the calls. No other way leads back over a call that does not
    /// return, nor to what nothing leads to (the end of such a call). False if the search
    /// gave up.
    pub(crate) fn back(
        &self,
        from: usize,
        lock_record: u32,
        thrown: &[Thrown],
        returns: impl Fn(u64) -> bool,
        mut stop: impl FnMut(u64) -> bool,
    ) -> bool {
        let mut seen = HashSet::new();
        let mut ways = vec![(from, 0u8)];
        while let Some((index, taken)) = ways.pop() {
            if !seen.insert((index, taken)) {
                continue;
            }
            if seen.len() > MAX_VISITED {
                return false;
            }
            let step = &self.steps[index];
            let follows = |before: &Step| before.falls_through && before.callee.is_none_or(&returns);
            let before = index.checked_sub(1).filter(|before| follows(&self.steps[*before]));
            let first = self.jumps.partition_point(|(target, _)| *target < step.ip);
            let here = self.jumps[first..].iter().take_while(|(target, _)| *target == step.ip);
            let led = here.map(|(_, source)| *source as usize);
            let first = thrown.partition_point(|thrown| thrown.handler < step.ip);
            let calls = thrown[first..].iter().take_while(|thrown| thrown.handler == step.ip);
            let mut from_where = before.into_iter().chain(led).peekable();
            let mut calls = calls.peekable();
            let taken = taken + u8::from(step.address == Some(lock_record));
            // What nothing leads to never runs into what stands behind it.
            let is_reached = from_where.peek().is_some() || calls.peek().is_some() || index == from || index == 0;
            if !is_reached || taken > TAKEN_BY_RELEASE || stop(step.ip) {
                continue;
            }
            ways.extend(from_where.map(|before| (before, taken)));
            for call in calls {
                match self.call_returning_to(call.returns_to) {
                    None => return false,
                    Some(_) if stop(call.returns_to) => {}
                    Some(call) => ways.push((call, taken)),
                }
            }
        }
        true
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
    /// What does not return.
    const TRAP: u64 = BEGIN + 0x16;

    /// A lock that is acquired, held around a loop, and released in line or by a call.
    const CODE: [u8; 0x1e] = [
        0x48, 0x8d, 0x44, 0x24, 0x40, // 00 lea rax, [rsp+0x40]: acquires
        0x90, // 05 nop
        0x75, 0xfd, // 06 jne 05
        0x48, 0x8d, 0x44, 0x24, 0x40, // 08 lea rax, [rsp+0x40]: releases
        0x75, 0x06, // 0d jne 15
        0xc3, // 0f ret
        0xe8, 0x01, 0x00, 0x00, 0x00, // 10 call 16: the trap
        0x48, 0x8d, 0x74, 0x24, 0x40, // 15 lea rsi, [rsp+0x40]
        0xff, 0xd0, // 1a call rax
        0xeb, 0xf1, // 1c jmp 0f
    ];

    fn visited(lock_record: u32, stop_at: u64) -> Vec<u64> {
        let flow = Flow::of(&CODE, BEGIN);
        let at = flow.call_returning_to(BEGIN + 0x1c).unwrap();
        let mut visited = Vec::new();
        let stop = |ip| {
            visited.push(ip - BEGIN);
            ip - BEGIN == stop_at
        };
        flow.back(at, lock_record, &[], |callee| callee != TRAP, stop);
        visited
    }

    #[test]
    fn a_call_is_given_the_lock_record_whose_address_its_block_takes() {
        let flow = Flow::of(&CODE, BEGIN);
        let lock_record = |pc| flow.call_returning_to(pc).map(|call| flow.lock_record_of(call));
        assert_eq!(lock_record(BEGIN + 0x1c), Some(Some(0x40)));
        // What ends there belongs to another block; nothing ends there.
        assert_eq!(lock_record(BEGIN + 0x10), Some(None));
        assert_eq!(lock_record(BEGIN + 0x1b), None);
        assert_eq!(lock_record(0), None);
    }

    #[test]
    fn ways_back_end_where_the_lock_is_acquired() {
        assert_eq!(visited(0x40, u64::MAX), [0x1a, 0x15, 0x0d, 0x08, 0x06, 0x05]);
    }

    #[test]
    fn ways_back_end_where_they_are_told_to() {
        assert_eq!(visited(0x40, 0x08), [0x1a, 0x15, 0x0d, 0x08]);
    }

    #[test]
    fn another_record_ends_no_way() {
        assert_eq!(visited(0x48, u64::MAX), [0x1a, 0x15, 0x0d, 0x08, 0x06, 0x05, 0x00]);
    }

    /// The same lock, released by an exception's handler that no instruction leads to.
    const CODE_WITH_HANDLER: [u8; 0x1a] = [
        0x48, 0x8d, 0x44, 0x24, 0x40, // 00 lea rax, [rsp+0x40]: acquires
        0xe8, 0x00, 0x10, 0x00, 0x00, // 05 call: may throw
        0xe8, 0x00, 0x10, 0x00, 0x00, // 0a call: may throw, after the release
        0xc3, // 0f ret
        0x90, // 10 nop: the handler
        0x48, 0x8d, 0x74, 0x24, 0x40, // 11 lea rsi, [rsp+0x40]
        0xff, 0xd0, // 16 call rax
        0xeb, 0xf5, // 18 jmp 0f
    ];

    fn visited_from_handler(thrown: &[Thrown]) -> (Vec<u64>, bool) {
        let flow = Flow::of(&CODE_WITH_HANDLER, BEGIN);
        let at = flow.call_returning_to(BEGIN + 0x18).unwrap();
        let mut visited = Vec::new();
        let complete = flow.back(
            at,
            0x40,
            thrown,
            |_| true,
            |ip| {
                visited.push(ip - BEGIN);
                false
            },
        );
        (visited, complete)
    }

    #[test]
    fn from_a_handler_ways_lead_back_to_the_calls_that_throw() {
        let handler = BEGIN + 0x10;
        let one = [Thrown { handler, returns_to: BEGIN + 0x0a }];
        assert_eq!(visited_from_handler(&one), (vec![0x16, 0x11, 0x10, 0x0a, 0x05, 0x00], true));
        // Without the VM's table nothing leads there.
        assert_eq!(visited_from_handler(&[]), (vec![0x16, 0x11], true));
        // A table that names what is no call is not followed.
        let none = [Thrown { handler, returns_to: BEGIN + 0x08 }];
        assert_eq!(visited_from_handler(&none), (vec![0x16, 0x11, 0x10], false));
    }

    #[test]
    fn a_search_that_is_too_long_is_given_up() {
        let nops = |count| [vec![0x90; count], vec![0xff, 0xd0]].concat();
        let search = |code: &[u8]| {
            let flow = Flow::of(code, BEGIN);
            let call = flow.call_returning_to(BEGIN + code.len() as u64).unwrap();
            flow.back(call, 0x40, &[], |_| true, |_| false)
        };
        assert!(search(&nops(MAX_VISITED - 1)));
        assert!(!search(&nops(MAX_VISITED)));
    }

    #[test]
    fn bytes_that_are_no_code_are_survived() {
        let code: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let flow = Flow::of(&code, BEGIN);
        for pc in BEGIN..BEGIN + 4096 {
            if let Some(call) = flow.call_returning_to(pc) {
                flow.back(call, flow.lock_record_of(call).unwrap_or_default(), &[], |_| true, |_| false);
            }
        }
    }
}
