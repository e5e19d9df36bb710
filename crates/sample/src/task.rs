//! The kernel's view of this process's threads.

use std::fs;
use std::io;

/// Kernel id of the current thread.
pub fn current() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(id).unwrap_or(0)
}

/// All threads of this process.
pub fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Processors that this process may run on, as its first thread may.
///
/// # Errors
/// What the kernel says: more processors than this function knows.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    // SAFETY: a set of bits, for which zeroes are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let first = libc::pid_t::try_from(std::process::id()).unwrap_or(0);
    // SAFETY: `set` is a place of this size to write to.
    if unsafe { libc::sched_getaffinity(first, size_of_val(&set), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: reads a bit of the set; numbers stay below its size.
    let is_set = |cpu: &u32| unsafe { libc::CPU_ISSET(*cpu as usize, &set) };
    Ok((0..libc::CPU_SETSIZE as u32).filter(is_set).collect())
}

/// Files that this process may have open at once.
pub fn most_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a place to write to.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => 0,
    }
}

/// Files that this process can open still: as many as it may, where it cannot be seen which it has.
pub fn spare_files() -> u64 {
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    most_files().saturating_sub(open as u64)
}

/// Files that a profiler may keep open at once: a `part`th of what the process may have, and at most a quarter of what
/// it has left now. The program's own come first.
pub fn files_to_keep(part: u64) -> u64 {
    (most_files() / part.max(1)).min(spare_files() / 4)
}

/// Asks that the current thread run as soon as it has something to do: at the lowest
/// real-time priority, or above the one that the process has already. Where that is
/// not allowed it asks for more than others, else it waits its turn. For a thread that
/// runs for moments.
pub fn go_first() {
    let mut priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: takes numbers, of which 0 stands for the calling thread, and a place
    // that is there.
    unsafe {
        libc::sched_getparam(0, &mut priority);
        priority.sched_priority += 1;
        if libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &priority) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, -10);
        }
    }
}

/// The kernel's name of a thread; empty if it is gone.
pub fn name(tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// The clock of the CPU time that a thread has used.
pub fn cpu_clock(tid: u32) -> libc::clockid_t {
    // As the kernel's headers make it: the complement of the thread's id over
    // three bits that say "a thread's, in nanoseconds".
    const PER_THREAD: u32 = 4;
    const SCHEDULER: u32 = 2;
    (!tid << 3 | PER_THREAD | SCHEDULER) as libc::clockid_t
}

/// CPU time that a thread has used; `None` if it is gone.
pub fn cpu_time_ns(tid: u32) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place to write to.
    let failed = unsafe { libc::clock_gettime(cpu_clock(tid), &mut time) };
    (failed == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Now on the recording's clock.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place to write to, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Copies memory of this process that may vanish meanwhile; false if not all
/// of it could be read.
pub fn read_own_memory(address: u64, into: &mut [u8]) -> bool {
    read_what_there_is(address, into) == into.len()
}

/// Copies memory of this process as far as it can be read.
pub fn read_what_there_is(address: u64, into: &mut [u8]) -> usize {
    copy_own_memory(address, into).unwrap_or(0)
}

/// The same.
///
/// # Errors
/// What the kernel says: nothing is mapped there, or it refuses to copy at all.
pub fn copy_own_memory(address: u64, into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
    // SAFETY: the kernel writes at most `into.len()` bytes to `into` and refuses
    // a remote address that cannot be read.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// The kernel's limits on what may be watched.
pub fn perf_event_paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests open and close files meanwhile.
    #[test]
    fn of_the_files_that_are_left_the_program_keeps_most() {
        let (most, spare) = (most_files(), spare_files());
        assert!(spare > 0 && spare < most, "{spare} of {most}: this test has standard output, at least");
        assert!(files_to_keep(1) <= spare / 4 + 64 && files_to_keep(u64::MAX) == 0);
        assert!(files_to_keep(8) <= most / 8);
    }

    #[test]
    fn this_thread_is_one_of_all_and_uses_time() {
        let me = current();
        assert!(all().contains(&me));
        assert!(!name(me).is_empty());
        let before = cpu_time_ns(me).unwrap();
        let mut sum = 0u64;
        while cpu_time_ns(me).unwrap() < before + 1_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert_eq!(cpu_time_ns(u32::MAX >> 4), None);
    }

    #[test]
    fn memory_that_is_not_there_is_not_read() {
        let here = [7u8; 16];
        let mut copy = [0; 16];
        assert!(read_own_memory(here.as_ptr() as u64, &mut copy));
        assert_eq!(copy, here);
        assert!(!read_own_memory(8, &mut copy));
        let refused = copy_own_memory(8, &mut copy).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
    }
}
