//! CPU time in nanoseconds, from the kernel's clocks.

/// Where CPU times come from: the kernel, or a test.
pub trait Clocks {
    /// CPU time of a thread of this process; `None` if it ended.
    fn thread_ns(&self, os_id: u32) -> Option<u64>;
    /// CPU time of all threads of this process, ended ones included.
    fn process_ns(&self) -> u64;
}

/// The kernel's clocks. Reading one is one system call, a third of a
/// microsecond; the same from `/proc` takes ten times that.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelClocks;

/// The kernel's number for the clock of a thread: its id inverted, shifted by
/// three, with the bits for "of a thread" (4) and "scheduler time" (2).
fn clock_of(os_id: u32) -> libc::clockid_t {
    (!(os_id as libc::clockid_t) << 3) | 6
}

impl Clocks for KernelClocks {
    fn thread_ns(&self, os_id: u32) -> Option<u64> {
        read(clock_of(os_id))
    }

    fn process_ns(&self) -> u64 {
        read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
    }
}

#[inline]
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; the kernel refuses numbers
    // of clocks that it does not know.
    let code = unsafe { libc::clock_gettime(clock, &mut time) };
    (code == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::current_os_id;

    #[test]
    fn a_threads_clock_is_found_by_its_id() {
        let before = crate::clock::thread_cpu().0;
        let by_id = KernelClocks.thread_ns(current_os_id()).unwrap();
        let after = crate::clock::thread_cpu().0;
        assert!(before <= by_id && by_id <= after, "{before} {by_id} {after}");
        assert!(KernelClocks.process_ns() > 0);
    }

    #[test]
    fn a_thread_that_ended_has_no_clock() {
        let os_id = std::thread::spawn(current_os_id).join().unwrap();
        // The kernel forgets a thread a moment after it was joined.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while KernelClocks.thread_ns(os_id).is_some() {
            assert!(std::time::Instant::now() < deadline, "thread {os_id} still has a clock");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
