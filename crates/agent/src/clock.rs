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
