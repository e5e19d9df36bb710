//! Threads of this process, from `/proc/self/task`.

use super::ThreadSignals;
use std::fs;
use std::io;

/// See [`crate::sys::Sys::threads`].
pub(super) fn read() -> io::Result<Vec<ThreadSignals>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let name = entry?.file_name();
        let Some(tid) = name.to_str().and_then(|t| t.parse::<u32>().ok()) else {
            continue;
        };
        match fs::read(format!("/proc/self/task/{tid}/status")) {
            Ok(status) => threads.push(parse(tid, &String::from_utf8_lossy(&status))?),
            Err(error) if ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(threads)
}

fn ended(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

fn parse(tid: u32, status: &str) -> io::Result<ThreadSignals> {
    let field = |key: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .map(str::trim)
            .ok_or_else(|| missing(tid, key))
    };
    let mask = |key: &str| u64::from_str_radix(field(key)?, 16).map_err(|_| missing(tid, key));
    Ok(ThreadSignals {
        tid,
        name: field("Name")?.to_owned(),
        blocked: mask("SigBlk")?,
        pending: mask("SigPnd")?,
        tracer: field("TracerPid")?.parse().map_err(|_| missing(tid, "TracerPid"))?,
    })
}

fn missing(tid: u32, key: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("status of thread {tid} has no readable {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_file_is_understood() {
        let status = "Name:\tGC Thread#0\nUmask:\t0022\nTgid:\t7\nTracerPid:\t12\n\
                      SigPnd:\t0000000000000010\nSigBlk:\tfffffffe7ffbfeff\n";
        let thread = parse(9, status).unwrap();
        assert_eq!(
            thread,
            ThreadSignals {
                tid: 9,
                name: "GC Thread#0".into(),
                blocked: 0xfffffffe7ffbfeff,
                pending: 0x10,
                tracer: 12
            }
        );
    }

    #[test]
    fn a_missing_mask_is_an_error_not_an_empty_mask() {
        let error = parse(9, "Name:\tx\nTracerPid:\t0\nSigPnd:\t0\n").unwrap_err();
        assert!(error.to_string().contains("SigBlk"), "{error}");
    }

    #[test]
    fn the_own_thread_is_listed() {
        assert!(read().unwrap().iter().any(|t| t.tid == std::process::id()));
    }
}
