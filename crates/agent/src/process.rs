//! Facts about this process and its threads.

use headway_model::event::CpuLoad;
use headway_model::TimeNs;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Replaces `%p` by the process id, `%t` by the local time
/// (`yyyyMMdd-HHmmss`) and `%%` by `%`.
pub fn expand_file_name(pattern: &str) -> String {
    expand(pattern, std::process::id(), &local_time())
}

/// Kernel id of the current thread.
pub fn current_os_id() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(id).unwrap_or(0)
}

/// True if the pattern asks for process id or time, so that nobody chose the name.
pub fn is_generated(pattern: &str) -> bool {
    expand(pattern, 0, "") != expand(pattern, 1, "t")
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
/// was given, by `java`'s rules the words that begin with `-`.
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

/// CPU time used so far, in clock ticks, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// This process in user mode.
    pub user: u64,
    /// This process in the kernel.
    pub system: u64,
    /// The machine, doing something.
    pub busy: u64,
    /// The machine, all of its time.
    pub total: u64,
}

impl CpuTimes {
    /// Now; `None` where `/proc` cannot be read.
    pub fn now() -> Option<CpuTimes> {
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        let machine = fs::read_to_string("/proc/stat").ok()?;
        CpuTimes::parse(&own, &machine)
    }

    fn parse(own: &str, machine: &str) -> Option<CpuTimes> {
        let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
        let (user, system) = (fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?);
        let all = machine.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        // user nice system idle iowait irq softirq steal; guest is in user.
        let ticks: Vec<u64> = all.take(8).map_while(|word| word.parse().ok()).collect();
        let total: u64 = ticks.iter().sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(CpuTimes { user, system, busy: total.saturating_sub(idle), total })
    }

    /// Load of process and machine since `earlier`, as fractions of the whole
    /// machine; `None` if no time has passed.
    pub fn load_since(self, earlier: CpuTimes, time: TimeNs) -> Option<CpuLoad> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        let share = |now: u64, then: u64| (now.saturating_sub(then) as f32 / total as f32).clamp(0.0, 1.0);
        Some(CpuLoad {
            time,
            jvm_user: share(self.user, earlier.user),
            jvm_system: share(self.system, earlier.system),
            machine_total: share(self.busy, earlier.busy),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_a_share_of_the_whole_machine() {
        let own = |user, system| format!("7 (a b) c) S 1 1 1 0 -1 4 0 0 0 0 {user} {system} 0 0");
        let machine = |idle| format!("cpu  100 0 50 {idle} 0 0 0 10 5 0\ncpu0 1 2 3\n");
        let before = CpuTimes::parse(&own(10, 5), &machine(0)).unwrap();
        let after = CpuTimes::parse(&own(30, 10), &machine(100)).unwrap();
        let load = after.load_since(before, TimeNs(1)).unwrap();
        assert_eq!((load.jvm_user, load.jvm_system, load.machine_total), (0.2, 0.05, 0.0));
        assert_eq!(after.load_since(after, TimeNs(1)), None);
        assert_eq!(CpuTimes::parse("7 (java", &machine(0)), None);
    }

    #[test]
    fn file_names_are_expanded() {
        assert_eq!(expand("headway-%p-%t.jfr", 12, "20260101-000000"), "headway-12-20260101-000000.jfr");
        assert_eq!(expand("100%%-%x%", 12, ""), "100%-%x%");
    }

    #[test]
    fn a_name_with_process_id_or_time_is_generated() {
        assert!(is_generated("headway-%p.jfr") && is_generated("%t.jfr"));
        assert!(!is_generated("100%%p.jfr") && !is_generated("a.jfr"));
    }

    #[test]
    fn the_start_of_this_process_is_before_now() {
        assert!(started_ns().unwrap() > 0);
    }
}
