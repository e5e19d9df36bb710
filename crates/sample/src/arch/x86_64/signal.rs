//! The registers of a thread that a signal interrupted.

/// Where the kernel keeps rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15.
const GREGS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Where the thread stands, and its registers in the order of their numbers in instructions. Safe in
/// signal handlers.
pub fn interrupted(context: &libc::ucontext_t) -> (u64, [u64; 16]) {
    let general = &context.uc_mcontext.gregs;
    let register = |index: libc::c_int| general.get(index as usize).copied().unwrap_or(0) as u64;
    (register(libc::REG_RIP), GREGS.map(register))
}
