//! Threads of the agent start with the VM's signals blocked.

/// Signals blocked in the current thread until dropped, so that a thread
/// started meanwhile has them blocked for ever: the VM's signals are not ours.
pub struct MaskedSignals(libc::sigset_t);

impl MaskedSignals {
    /// Blocks all but the signals of the thread's own faults.
    pub fn all_but_faults() -> MaskedSignals {
        let faults = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
        // SAFETY: signal sets are plain data; the calls only touch the sets
        // given and this thread's mask.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut old: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut set);
            for signal in faults {
                libc::sigdelset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut old);
            MaskedSignals(old)
        }
    }
}

impl Drop for MaskedSignals {
    fn drop(&mut self) {
        // SAFETY: puts back the mask that was read in `all_but_faults`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
