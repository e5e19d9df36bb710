//! x86-64.

/// None: the agent knows this processor.
pub const UNSUPPORTED: Option<&str> = None;

/// Defines `$entry`, for a replaced import with one argument: it adds the caller's frame pointer,
/// which compiled Rust code may not keep, as the second argument, and goes on in `$hook`.
macro_rules! with_caller_frame {
    ($entry:ident, $hook:ident) => {
        std::arch::global_asm!(
            concat!(".globl ", stringify!($entry)),
            concat!(".hidden ", stringify!($entry)),
            concat!(".type ", stringify!($entry), ", @function"),
            concat!(stringify!($entry), ":"),
            "mov rsi, rbp",
            "jmp {hook}",
            concat!(".size ", stringify!($entry), ", . - ", stringify!($entry)),
            hook = sym $hook,
        );
        extern "C" {
            fn $entry(argument: u64) -> i32;
        }
    };
}
pub(crate) use with_caller_frame;

/// Where the thread stood that a signal interrupted.
pub fn interrupted_pc(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs.get(libc::REG_RIP as usize).map_or(0, |pc| *pc as u64)
}
