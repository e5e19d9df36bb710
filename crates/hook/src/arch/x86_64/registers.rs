//! Registers of a thread that ran into a trap.

use libc::{
    REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_R8, REG_R9, REG_RAX, REG_RBP, REG_RBX, REG_RCX, REG_RDI,
    REG_RDX, REG_RIP, REG_RSI, REG_RSP,
};

/// The registers in a signal handler's context. Usable in the handler only.
#[derive(Debug)]
pub struct Registers {
    context: *mut libc::ucontext_t,
}

impl Registers {
    /// The registers of the context that a signal handler was given.
    ///
    /// # Safety
    /// `context` must be null or the third argument of an `SA_SIGINFO`
    /// handler that is still running.
    pub unsafe fn of_context(context: *mut libc::c_void) -> Option<Registers> {
        (!context.is_null()).then_some(Registers { context: context.cast() })
    }

    /// Address of the trap instruction: the CPU reports the one behind it.
    pub fn trap_address(&self) -> usize {
        (self.get(REG_RIP as usize) as usize).wrapping_sub(1)
    }

    /// Lets the thread go on elsewhere.
    pub fn resume_at(&mut self, address: usize) {
        // SAFETY: `of_context`'s caller guarantees a live context.
        unsafe { (*self.context).uc_mcontext.gregs[REG_RIP as usize] = address as i64 }
    }

    /// The register with this index (see [`registers_name`]).
    pub fn get(&self, index: usize) -> u64 {
        // SAFETY: `of_context`'s caller guarantees a live context.
        let registers = unsafe { &(*self.context).uc_mcontext.gregs };
        registers.get(index).map_or(0, |r| *r as u64)
    }

    /// rbp.
    pub fn frame_pointer(&self) -> u64 {
        self.get(REG_RBP as usize)
    }

    /// rsp.
    pub fn stack_pointer(&self) -> u64 {
        self.get(REG_RSP as usize)
    }
}

/// Index, shift and width in bits of a register by its assembler name without
/// `%`: `rax`, `eax`, `ax`, `al`, `ah`, `r12d`.
pub fn registers_name(name: &str) -> Option<(usize, u32, u32)> {
    legacy(name).or_else(|| numbered(name))
}

fn numbered(name: &str) -> Option<(usize, u32, u32)> {
    const INDICES: [i32; 8] = [REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15];
    let digits = name.strip_prefix('r')?;
    let (digits, width) = match digits.as_bytes().last()? {
        b'd' => (&digits[..digits.len() - 1], 32),
        b'w' => (&digits[..digits.len() - 1], 16),
        b'b' => (&digits[..digits.len() - 1], 8),
        _ => (digits, 64),
    };
    let number: usize = digits.parse().ok()?;
    let index = INDICES.get(number.checked_sub(8)?)?;
    Some((*index as usize, 0, width))
}

fn legacy(name: &str) -> Option<(usize, u32, u32)> {
    const LETTERS: [(&str, i32); 4] = [("a", REG_RAX), ("b", REG_RBX), ("c", REG_RCX), ("d", REG_RDX)];
    const POINTERS: [(&str, i32); 4] = [("si", REG_RSI), ("di", REG_RDI), ("bp", REG_RBP), ("sp", REG_RSP)];
    for (letter, index) in LETTERS {
        let index = index as usize;
        if let Some(suffix) = name.strip_prefix(letter) {
            match suffix {
                "l" => return Some((index, 0, 8)),
                "h" => return Some((index, 8, 8)),
                _ => {}
            }
        }
        if let Some(width) = wide(name, &format!("{letter}x")) {
            return Some((index, 0, width));
        }
    }
    POINTERS.iter().find_map(|(base, index)| {
        let width = if name.strip_suffix('l') == Some(base) { 8 } else { wide(name, base)? };
        Some((*index as usize, 0, width))
    })
}

fn wide(name: &str, base: &str) -> Option<u32> {
    match name.strip_suffix(base)? {
        "r" => Some(64),
        "e" => Some(32),
        "" => Some(16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_by_all_their_names() {
        let cases = [
            ("rax", Some((REG_RAX as usize, 0, 64))),
            ("eax", Some((REG_RAX as usize, 0, 32))),
            ("ah", Some((REG_RAX as usize, 8, 8))),
            ("bl", Some((REG_RBX as usize, 0, 8))),
            ("dx", Some((REG_RDX as usize, 0, 16))),
            ("bpl", Some((REG_RBP as usize, 0, 8))),
            ("rsi", Some((REG_RSI as usize, 0, 64))),
            ("r8", Some((REG_R8 as usize, 0, 64))),
            ("r12d", Some((REG_R12 as usize, 0, 32))),
            ("r16", None),
            ("xmm0", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(registers_name(name), expected, "{name}");
        }
    }
}
