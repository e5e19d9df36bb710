//! A processor that the agent does not know: it says so when it is loaded, and changes nothing.

/// Why the agent is not loaded.
pub const UNSUPPORTED: Option<&str> = Some("this processor is not supported yet: Headway runs on x86-64 only");

/// Never used: see [`UNSUPPORTED`].
macro_rules! with_caller_frame {
    ($entry:ident, $hook:ident) => {
        extern "C" fn $entry(argument: u64) -> i32 {
            $hook(argument, 0)
        }
    };
}
pub(crate) use with_caller_frame;

/// Nothing is known about an interrupted thread.
pub fn interrupted_pc(_context: &libc::ucontext_t) -> u64 {
    0
}
