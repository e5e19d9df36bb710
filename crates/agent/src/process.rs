//! Facts about this process, for the recording's head.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Replaces `%p` by the process id, `%t` by the local time
/// (`yyyyMMdd-HHmmss`) and `%%` by `%`.
pub fn expand_file_name(pattern: &str) -> String {
    expand(pattern, std::process::id(), &local_time())
}

fn expand(pattern: &str, pid: u32, time: &str) -> String {
    let mut name = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match (c, c == '%') {
            (_, false) => name.push(c),
            (_, true) => match rest.next() {
                Some('p') => name.push_str(&pid.to_string()),
                Some('t') => name.push_str(time),
                Some('%') | None => name.push('%'),
                Some(other) => name.extend(['%', other]),
            },
        }
    }
    name
}

fn local_time() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let seconds = now as libc::time_t;
    // SAFETY: `tm` is plain data for which zero is valid; localtime_r fills it.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut tm);
        tm
    };
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        tm.tm_year + 1900,
        tm.tm_mon + 1,
        tm.tm_mday,
        tm.tm_hour,
        tm.tm_min,
        tm.tm_sec
    )
}

/// The process's command line, split at the VM's own arguments: what the VM
/// was told, by `java`'s rules the words that begin with `-`.
pub fn jvm_arguments() -> String {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let arguments: Vec<_> = words.skip(1).take_while(|word| word.starts_with('-')).collect();
    arguments.join(" ")
}

/// When the process started, in ns since boot, the clock of `/proc`. `None`
/// where `/proc` cannot be read.
pub fn started_ns() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let ticks: u64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: no memory is involved.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Some(ticks * 1_000_000_000 / u64::try_from(per_second).ok()?.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_expanded() {
        assert_eq!(expand("headway-%p-%t.jfr", 12, "20260101-000000"), "headway-12-20260101-000000.jfr");
        assert_eq!(expand("100%%-%x%", 12, ""), "100%-%x%");
    }

    #[test]
    fn the_start_of_this_process_is_before_now() {
        assert!(started_ns().unwrap() > 0);
    }
}
