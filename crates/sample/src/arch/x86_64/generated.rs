//! Reading generated code: where a frame's caller is to be found at any of its
//! instructions.
//!
//! Values are followed symbolically, in terms of the registers at the start:
//! each is unknown, a register plus an offset, or the word that was in memory
//! at such an address. Only what moves stack pointer, frame pointer and return
//! addresses is interpreted; every other instruction makes what it writes
//! unknown. Every way through a function to its return moves the stack pointer
//! by the same amount, so any one way will do.

mod state;

use headway_hotspot::fragment::{Location, Reg, Run, Shape};
use headway_hotspot::{AddressRange, Memory};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
};
use state::{State, Value};
use std::collections::HashMap;

/// Longest instruction.
const MAX_LENGTH: usize = 15;
/// Ways put aside at conditional jumps.
const MAX_WAYS: usize = 48;
/// With a larger limit than this the first end found is taken.
const LOOK_FURTHER: usize = 500;
/// Results kept; forgotten all at once beyond.
const MAX_KEPT: usize = 32_768;
/// A not-entrant method's entry is a jump of five bytes over an instruction of
/// seven.
const PATCHED_LENGTH: u64 = 7;
/// Entries are aligned to this: behind a jump to the handler of a wrong receiver, there is nothing else up to there.
const ENTRY_ALIGNMENT: u64 = 8;

/// See the module.
pub struct Reader<'m, M> {
    memory: &'m M,
    info: InstructionInfoFactory,
    runs: HashMap<(u64, u64, usize), Run>,
}

/// Stands for the stack pointer after it was aligned: its value is not known.
const ALIGNED: Reg = Reg(16);

/// What an instruction does to the way.
enum Step {
    /// On to the next instruction.
    Next,
    /// On there.
    To(u64),
    /// This is where it ends.
    End(Run),
    /// No way.
    Dead,
}

/// One way through the code.
#[derive(Clone)]
struct Way {
    ip: u64,
    state: State,
    steps: usize,
    straight: bool,
    /// The last instruction compared the stack pointer with a word in memory.
    compared_sp: bool,
}

impl<'m, M: Memory> Reader<'m, M> {
    /// Reads code from this memory.
    pub fn new(memory: &'m M) -> Reader<'m, M> {
        Reader { memory, info: InstructionInfoFactory::new(), runs: HashMap::new() }
    }

    /// Forgets what was read: code may have been replaced.
    pub fn forget(&mut self) {
        self.runs.clear();
    }

    /// See [`headway_hotspot::fragment::Code::run`]. Kept by address, so that
    /// [`Self::forget`] must be called when code was replaced.
    pub fn run(&mut self, code: AddressRange, pc: u64, limit: usize) -> Run {
        let key = (code.start, pc, limit);
        if let Some(run) = self.runs.get(&key) {
            return *run;
        }
        let run = self.run_anew(code, pc, limit);
        if self.runs.len() >= MAX_KEPT {
            self.runs.clear();
        }
        self.runs.insert(key, run);
        run
    }

    fn run_anew(&mut self, code: AddressRange, pc: u64, limit: usize) -> Run {
        // A way on which nothing was decided is the one. Of others the first
        // is good enough, unless one of them enters a function: what leads
        // there is not in it yet.
        let mut other = Run::Unknown;
        let mut seen = HashMap::new();
        let mut ways = vec![Way { ip: pc, state: State::default(), steps: 0, straight: true, compared_sp: false }];
        let mut budget = limit;
        while let Some(mut way) = ways.pop() {
            loop {
                if budget == 0 {
                    return other;
                }
                budget -= 1;
                // Coming by again with the same stack pointer leads nowhere new.
                if seen.insert((way.ip, way.state.get(Register::RSP)), ()).is_some() {
                    break;
                }
                let Some(instruction) = self.decode(code, way.ip) else { break };
                way.steps += 1;
                match self.step(code, &instruction, &mut way, &mut ways) {
                    Step::Next => way.ip = instruction.next_ip(),
                    Step::To(ip) => way.ip = ip,
                    Step::End(run) if way.straight || limit > LOOK_FURTHER || matches!(run, Run::Enter { .. }) => {
                        return run
                    }
                    Step::End(run) => {
                        if other == Run::Unknown {
                            other = run;
                        }
                        break;
                    }
                    Step::Dead => break,
                }
            }
        }
        other
    }

    /// See [`headway_hotspot::fragment::Code::built`].
    pub fn built(&mut self, code: AddressRange, pc: u64) -> Option<Shape> {
        let mut state = State::default();
        let mut ip = code.start;
        while ip < pc {
            let instruction = self.decode(code, ip)?;
            let away = matches!(instruction.flow_control(), FlowControl::UnconditionalBranch);
            let next = match away && !self.is_before_entry(code, instruction.next_ip()) {
                true => ip + PATCHED_LENGTH.max(instruction.len() as u64),
                false => instruction.next_ip(),
            };
            if !away {
                self.apply(&instruction, &mut state);
            }
            ip = next;
        }
        // Inside an instruction: the code is not what ran.
        (ip == pc).then(|| state.shape_now()).flatten()
    }

    /// True if a method's entry follows, perhaps behind instructions that do nothing.
    fn is_before_entry(&self, code: AddressRange, mut ip: u64) -> bool {
        while ip % ENTRY_ALIGNMENT != 0 {
            match self.decode(code, ip).filter(|instruction| instruction.mnemonic() == Mnemonic::Nop) {
                Some(nop) => ip = nop.next_ip(),
                None => return false,
            }
        }
        true
    }

    fn decode(&self, code: AddressRange, ip: u64) -> Option<Instruction> {
        let room = code.end.checked_sub(ip).filter(|_| ip >= code.start)?;
        let mut bytes = [0; MAX_LENGTH];
        let length = MAX_LENGTH.min(usize::try_from(room).ok()?);
        let bytes = bytes.get_mut(..length)?;
        if !self.read_code(ip, bytes) {
            return None;
        }
        let mut decoder = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    fn read_code(&self, address: u64, into: &mut [u8]) -> bool {
        (address..).zip(into.iter_mut()).all(|(at, byte)| match self.memory.read_code_u8(at) {
            Some(value) => {
                *byte = value;
                true
            }
            None => false,
        })
    }

    fn step(&mut self, code: AddressRange, instruction: &Instruction, way: &mut Way, ways: &mut Vec<Way>) -> Step {
        match instruction.flow_control() {
            FlowControl::Next => {
                let enters = instruction.mnemonic() == Mnemonic::Mov
                    && (instruction.op0_register(), instruction.op1_register()) == (Register::RBP, Register::RSP);
                if enters {
                    if let Some(caller) = way.state.entering() {
                        return Step::End(Run::Enter { caller });
                    }
                }
                way.compared_sp = compares_sp(instruction);
                self.apply(instruction, &mut way.state);
                Step::Next
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                way.straight = false;
                way.state.call();
                Step::Next
            }
            FlowControl::ConditionalBranch => {
                way.straight &= is_poll(instruction) || way.compared_sp && is_below(instruction);
                if ways.len() < MAX_WAYS {
                    ways.push(Way { ip: instruction.near_branch_target(), straight: false, ..way.clone() });
                }
                Step::Next
            }
            FlowControl::UnconditionalBranch => {
                let target = instruction.near_branch_target();
                match code.holds(target, 1) {
                    true => Step::To(target),
                    false => jump(&way.state),
                }
            }
            FlowControl::IndirectBranch => indirect(instruction, way),
            FlowControl::Return => {
                let caller = way.state.returning(u64::from(instruction.stack_pointer_increment().max(8) as u32));
                caller.map_or(Step::Dead, |caller| Step::End(returned(caller, way)))
            }
            _ => Step::Dead,
        }
    }

    /// What an instruction that goes on to the next does to the values.
    fn apply(&mut self, instruction: &Instruction, state: &mut State) {
        let immediate = || instruction.immediate(1) as i64;
        let (to, from) = (instruction.op0_register(), instruction.op1_register());
        match instruction.mnemonic() {
            Mnemonic::Push => {
                let value = match instruction.op0_kind() {
                    OpKind::Register => state.get(to),
                    _ => Value::Unknown,
                };
                state.push(value);
            }
            Mnemonic::Pushfq => state.push(Value::Unknown),
            Mnemonic::Pop if instruction.op0_kind() == OpKind::Register => {
                let value = state.pop();
                state.set(to, value);
            }
            Mnemonic::Pop | Mnemonic::Popfq => {
                state.pop();
            }
            Mnemonic::Sub if to.is_gpr64() && is_immediate(instruction) => {
                let moved = state.get(to).plus(immediate().wrapping_neg());
                state.set(to, moved);
            }
            Mnemonic::Add if to.is_gpr64() && is_immediate(instruction) => {
                let moved = state.get(to).plus(immediate());
                state.set(to, moved);
            }
            Mnemonic::Lea if to.is_gpr64() => {
                let address = address(instruction, state);
                state.set(to, address);
            }
            Mnemonic::Mov if to.is_gpr64() && from.is_gpr64() => state.set(to, state.get(from)),
            Mnemonic::Mov if to.is_gpr64() && instruction.op1_kind() == OpKind::Memory => {
                let value = state.load(address(instruction, state));
                state.set(to, value);
            }
            Mnemonic::Mov if from.is_gpr64() && instruction.op0_kind() == OpKind::Memory => {
                state.store(address(instruction, state), state.get(from));
            }
            // Aligned: from here on the stack is a separate place.
            Mnemonic::And if to == Register::RSP => state.set(to, Value::Is(Location::Register(ALIGNED, 0))),
            Mnemonic::Leave => {
                state.set(Register::RSP, state.get(Register::RBP));
                let link = state.pop();
                state.set(Register::RBP, link);
            }
            _ => self.forget_written(instruction, state),
        }
    }

    fn forget_written(&mut self, instruction: &Instruction, state: &mut State) {
        for used in self.info.info(instruction).used_registers() {
            let written = !matches!(used.access(), iced_x86::OpAccess::Read | iced_x86::OpAccess::CondRead);
            if written && used.register().is_gpr() {
                state.set(used.register().full_register(), Value::Unknown);
            }
        }
    }
}

fn is_immediate(instruction: &Instruction) -> bool {
    instruction.op_count() == 2 && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory)
}

/// `ja` to the slow path of the safepoint poll at a return.
fn is_poll(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Ja_rel32_64 | Code::Ja_rel8_64)
}

/// `cmp rsp, [...]`.
fn compares_sp(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Cmp
        && instruction.op0_register() == Register::RSP
        && instruction.op1_kind() == OpKind::Memory
}

/// `jb` over what the interpreter does where it returns below the youngest frame
/// of a virtual thread that can be copied at once (21, 25): it sets a word of the
/// thread and goes on to the same jump.
fn is_below(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Jb_rel32_64 | Code::Jb_rel8_64)
}

/// The address that a memory operand stands for, if it has no index.
fn address(instruction: &Instruction, state: &State) -> Value {
    let base = instruction.memory_base();
    match base.is_gpr64() && instruction.memory_index() == Register::None {
        true => state.get(base).plus(instruction.memory_displacement64() as i64),
        false => Value::Unknown,
    }
}

fn returned(caller: Shape, way: &Way) -> Run {
    Run::Return { caller, steps: u16::try_from(way.steps).unwrap_or(u16::MAX), straight: way.straight }
}

/// Another function goes on in place of this one: it finds its return address
/// where a return would.
///
/// An adapter moves the return address to make room for arguments: the caller's
/// stack pointer is where it was before, or in r13 once it was popped.
fn jump(state: &State) -> Step {
    let Some(mut caller) = state.returning(8) else { return Step::Dead };
    match caller.pc {
        Location::Memory(Reg::SP, at) => caller.sp = Location::Register(Reg::SP, at + 8),
        Location::Register(..) => caller.sp = Location::Register(Reg::R13, 0),
        Location::Memory(..) => {}
    }
    Step::End(Run::Jump { caller, or: None })
}

fn indirect(instruction: &Instruction, way: &Way) -> Step {
    if instruction.op0_kind() == OpKind::Memory {
        return match instruction.memory_index() {
            Register::None => jump(&way.state),
            _ => Step::End(Run::Dispatch),
        };
    }
    // A return address that was popped, into r13 perhaps before the start: the
    // interpreter returns like that.
    if let Value::Is(popped @ (Location::Memory(Reg::SP | Reg::BP, _) | Location::Register(Reg::R13, 0))) =
        way.state.get(instruction.op0_register())
    {
        let caller = way.state.jumping_to(popped);
        return caller.map_or(Step::Dead, |caller| Step::End(returned(caller, way)));
    }
    // The VM goes on at a handler of the caller, with the return address, if
    // there was one on the stack, in rdx.
    match way.state.throwing() {
        Some(caller) => {
            let or = match jump(&way.state) {
                Step::End(Run::Jump { caller, .. }) => Some(caller),
                _ => None,
            };
            Step::End(Run::Jump { caller, or })
        }
        None => jump(&way.state),
    }
}

#[cfg(test)]
mod tests;
