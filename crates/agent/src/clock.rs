//! The recording's clock inside the JVM: `CLOCK_MONOTONIC`, which the VM's own
//! `System.nanoTime` reads too.

use headway_model::{DurationNs, TimeNs};

/// Now.
#[inline]
pub fn now() -> TimeNs {
    TimeNs(read(libc::CLOCK_MONOTONIC))
}

/// CPU time of the calling thread so far.
pub fn thread_cpu() -> DurationNs {
    DurationNs(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// CPU time of the process so far.
pub fn process_cpu() -> DurationNs {
    DurationNs(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// The clock of the calling thread's CPU time, for others to read while it lives.
pub fn of_this_thread() -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the calling thread lives, and `clock` is a valid place to write to.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    (failed == 0).then_some(clock)
}

/// CPU time of the thread that a clock belongs to; `None` if it has ended.
pub fn cpu_of(clock: libc::clockid_t) -> Option<DurationNs> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; a clock that is gone is refused.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    (failed == 0).then(|| DurationNs(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// Unix epoch minus the recording's clock, in nanoseconds.
pub fn epoch_offset_ns() -> i64 {
    read(libc::CLOCK_REALTIME) as i64 - read(libc::CLOCK_MONOTONIC) as i64
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; the clocks named above
    // exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_offset_leads_from_one_clock_to_the_other() {
        let epoch = now().0 as i64 + epoch_offset_ns();
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!((wall - epoch).abs() < 1_000_000_000);
    }
}
