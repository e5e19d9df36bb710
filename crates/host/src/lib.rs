//! What the kernel reports about CPU time, read from the proc and cgroup file
//! systems under a root that can be chosen, so that a directory of files can
//! stand for any machine.
//!
//! * [`root`]: where these file systems are, and what went wrong reading them.
//! * [`kept`]: files that stay open, because they are read again and again.
//! * [`machine`]: CPU and steal of the machine and of each CPU.
//! * [`task`]: threads, their CPU time and run-queue wait.
//! * [`control_group`]: the container's CPU quota and what it cost.
//! * [`accounting`]: whether thread times contain steal.
//!
//! Every counter here can run backwards (live migration, a CPU that comes back,
//! a container that is moved): differences are never negative. Times are
//! nanoseconds; what the kernel counts in clock ticks keeps their resolution.

pub mod accounting;
pub mod control_group;
pub mod kept;
pub mod machine;
pub mod root;
pub mod task;

pub use accounting::Evidence;
pub use control_group::ControlGroup;
pub use kept::KeptFile;
pub use machine::Machine;
pub use root::{HostError, Root};
