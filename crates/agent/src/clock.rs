//! The recording's clock inside the JVM: `CLOCK_MONOTONIC`, which the VM's own
//! `System.nanoTime` reads too.

use headway_model::{DurationNs, TimeNs};

/// Now.
#[inline]
pub fn now() -> TimeNs {
    TimeNs(read(libc::CLOCK_MONOTONIC))
}

/// Now, by a clock that is read in a quarter of the time and changes only at the kernel's ticks,
/// [`coarse_step`] apart: up to two of these too early (the kernel adds whole steps and keeps the rest),
/// or more where the machine had no CPU for its tick.
#[inline]
pub fn coarse() -> TimeNs {
    TimeNs(read(libc::CLOCK_MONOTONIC_COARSE))
}

/// See [`coarse`]. 10 ms, which no kernel exceeds, if it does not say.
pub fn coarse_step() -> DurationNs {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is a valid place to write to.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut step) };
    let ns = step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64;
    DurationNs(if failed == 0 && ns > 0 { ns } else { 10_000_000 })
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
    fn the_coarse_clock_is_up_to_two_steps_behind() {
        let behind = |_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let (before, coarse, after) = (now(), coarse(), now());
            assert!(coarse <= after, "{coarse:?} {after:?}");
            before.since(coarse) <= coarse_step() + coarse_step()
        };
        // A machine that has no CPU for its ticks is further behind.
        assert!((0..60).map(behind).filter(|is_behind| *is_behind).count() > 30);
    }

    #[test]
    fn the_epoch_offset_leads_from_one_clock_to_the_other() {
        let epoch = now().0 as i64 + epoch_offset_ns();
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!((wall - epoch).abs() < 1_000_000_000);
    }
}
