//! Acting as the target's user.
//!
//! The JVM talks to its own user and to root only, and what it shall load must
//! belong to it. Inside a user namespace even root of the machine is a
//! stranger. So root takes on the target's effective user and group, as `jcmd`
//! users do with `sudo -u`; on a thread of its own, because the kernel keeps
//! identities per thread and a thread that ends has nothing to restore.

use crate::error::Failure;
use crate::jvm::process::Process;
use rustix::process::{getegid, geteuid, Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Runs `work` as the effective user and group of `process`.
///
/// # Errors
/// Those of `work`, and that of changing the identity.
pub fn acting_as<T: Send>(process: &Process, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    let ours = (geteuid().as_raw(), getegid().as_raw());
    if ours == (process.euid, process.egid) || ours.0 != 0 {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_user(process)?;
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn become_user(process: &Process) -> Result<(), Failure> {
    let doing = || Failure::doing(format!("cannot act as user {} of process {}", process.euid, process.pid));
    let group = Gid::from_raw(process.egid);
    let user = Uid::from_raw(process.euid);
    set_thread_groups(&[group]).map_err(Into::into).map_err(doing())?;
    set_thread_res_gid(None, group, None).map_err(Into::into).map_err(doing())?;
    set_thread_res_uid(None, user, None).map_err(Into::into).map_err(doing())
}
