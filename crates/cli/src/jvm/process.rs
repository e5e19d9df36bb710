//! What `/proc/PID` says about a process.

use crate::agent::library;
use crate::error::Failure;
use crate::jvm::target_file::bounded;
use crate::jvm::users;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A process as `/proc/PID/status` shows it at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its pid in our namespace.
    pub pid: u32,
    /// Its pid in its own, innermost namespace.
    pub ns_pid: u32,
    /// Kernel's name of its main thread.
    pub name: String,
    /// Real user.
    pub uid: u32,
    /// Effective user.
    pub euid: u32,
    /// Effective group.
    pub egid: u32,
    /// `R`, `S`, `T`, `Z`, ...
    pub state: char,
    /// How many threads it has.
    pub threads: u64,
    /// Its effective capabilities, bit n for capability n.
    pub capabilities: u64,
    /// The debugger that traces it, 0 if none does.
    pub tracer: u32,
    /// Signals it handles, bit n-1 for signal n.
    caught: u64,
    /// Signals it ignores, likewise.
    ignored: u64,
}

/// A file mapped into a process.
#[derive(Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Path in the process's own view, without the mark of a deleted file.
    pub path: String,
}

impl Mapping {
    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

const SIGQUIT_BIT: u64 = 1 << 2;
/// A status has 1 to 2 KB, with all of a large machine's CPUs not 64.
const LARGEST_STATUS_BYTES: u64 = 64 << 10;
/// A process can have its arguments anywhere in its memory, as many as it likes.
const LARGEST_ARGUMENTS_BYTES: u64 = 1 << 20;
/// Mappings of interest that are kept; a JVM has a dozen.
const MOST_MAPPINGS: usize = 1024;

/// Pids of all processes, in no particular order.
pub fn all_pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl Process {
    /// Reads the process's status; `None` if there is no such process.
    pub fn read(pid: u32) -> Option<Process> {
        let file = File::open(format!("/proc/{pid}/status")).ok()?;
        let bytes = bounded(file, LARGEST_STATUS_BYTES).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let process = Process::parse(pid, &text);
        // A thread's id has a directory too, though it is not listed.
        is_thread_group_leader(&text, pid).then_some(process)
    }

    /// A process of which nothing but the pid is known.
    #[cfg(test)]
    pub fn with_pid(pid: u32) -> Process {
        Process { pid, ns_pid: pid, ..Process::default() }
    }

    fn parse(pid: u32, status: &str) -> Process {
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
                .unwrap_or_default()
        };
        let number = |name, at| field(name).split_whitespace().nth(at).and_then(|n| n.parse().ok()).unwrap_or(0);
        let mask = |name| u64::from_str_radix(field(name), 16).unwrap_or(0);
        Process {
            pid,
            ns_pid: field("NSpid").split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or(pid),
            name: field("Name").to_owned(),
            uid: number("Uid", 0),
            euid: number("Uid", 1),
            egid: number("Gid", 1),
            state: field("State").chars().next().unwrap_or('?'),
            threads: field("Threads").parse().unwrap_or(1),
            capabilities: mask("CapEff"),
            tracer: number("TracerPid", 0),
            caught: mask("SigCgt"),
            ignored: mask("SigIgn"),
        }
    }

    /// True for a process that ended and waits to be collected.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// The state letter if the process is stopped or traced.
    pub fn stopped_state(&self) -> Option<char> {
        matches!(self.state, 'T' | 't').then_some(self.state)
    }

    /// True if a SIGQUIT reaches a handler instead of killing the process.
    pub fn handles_sigquit(&self) -> bool {
        self.caught & SIGQUIT_BIT != 0 && self.ignored & SIGQUIT_BIT == 0
    }

    /// Its directory under `/proc`.
    pub fn directory(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.pid))
    }

    /// The command line, empty for kernel threads.
    pub fn arguments(&self) -> Vec<String> {
        let file = File::open(self.directory().join("cmdline"));
        let bytes = file.and_then(|file| bounded(file, LARGEST_ARGUMENTS_BYTES)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    /// Name of the program, for messages.
    pub fn command(&self) -> String {
        match self.arguments().first() {
            Some(program) => program.rsplit('/').next().unwrap_or(program).to_owned(),
            None => self.name.clone(),
        }
    }

    /// The files mapped into it that say what it is: the virtual machine, its
    /// counters, the agent. All others, which can be a million, are passed over.
    ///
    /// # Errors
    /// That of opening `/proc/PID/maps`, which asks for the right to trace.
    pub fn mappings(&self) -> io::Result<Vec<Mapping>> {
        parse_maps(BufReader::new(File::open(self.directory().join("maps"))?))
    }

    /// Where a path of the process's own view is found in ours.
    pub fn path_inside(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        self.directory().join("root").join(relative)
    }

    /// The kernel shows the maps of a process in a changed root with the
    /// root's own path in front; this takes it off.
    pub fn strip_root(&self, path: &Path) -> PathBuf {
        let root = fs::read_link(self.directory().join("root")).unwrap_or_else(|_| PathBuf::from("/"));
        match path.strip_prefix(&root) {
            Ok(rest) => Path::new("/").join(rest),
            Err(_) => path.to_owned(),
        }
    }

    /// True if the process sees the same files under the same names as we do.
    pub fn shares_our_files(&self) -> bool {
        let same = |name: &str| {
            let of = |who: &str| fs::read_link(format!("/proc/{who}/{name}"));
            matches!((of("self"), of(&self.pid.to_string())), (Ok(ours), Ok(theirs)) if ours == theirs)
        };
        same("ns/mnt") && same("root")
    }

    /// The failure of not being let into the process: it is someone else's,
    /// or it has privileges that we lack.
    pub fn not_inspectable(&self) -> Failure {
        match users::may_act_for(self.euid) {
            true => Failure::NotInspectable { pid: self.pid, me: users::name(users::effective()) },
            false => self.other_user(),
        }
    }

    /// The failure that says whose process it is.
    pub fn other_user(&self) -> Failure {
        Failure::OtherUser { pid: self.pid, owner: users::name(self.euid), me: users::name(users::effective()) }
    }
}

fn is_thread_group_leader(status: &str, pid: u32) -> bool {
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    leader.and_then(|text| text.trim().parse::<u32>().ok()).is_none_or(|leader| leader == pid)
}

fn parse_maps(mut maps: impl BufRead) -> io::Result<Vec<Mapping>> {
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut line = Vec::new();
    // The kernel's lines are bounded: a path has 4096 bytes at most.
    while mappings.len() < MOST_MAPPINGS && maps.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        // address perms offset dev inode path
        let path = text.find('/').and_then(|start| text.get(start..)).unwrap_or_default();
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        if tells_something(path) && mappings.last().is_none_or(|last| last.path != path) {
            mappings.push(Mapping { path: path.to_owned() });
        }
        line.clear();
    }
    Ok(mappings)
}

/// True for files that only JVMs have, and for the agent.
fn tells_something(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "libjvm.so"
        || name.starts_with("libj9vm")
        || path.contains("/hsperfdata_")
        || library::loaded_path(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nState:\tS (sleeping)\nTgid:\t4711\nPid:\t4711\n\
        Uid:\t1000\t1001\t1000\t1000\nGid:\t100\t101\t100\t100\nNSpid:\t4711\t12\t7\n\
        SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\t2000000181005ccf\n";

    #[test]
    fn status_gives_effective_ids_and_the_innermost_pid() {
        let process = Process::parse(4711, STATUS);
        assert_eq!((process.euid, process.egid, process.ns_pid), (1001, 101, 7));
        assert!(process.handles_sigquit());
        assert!(!process.has_ended());
    }

    #[test]
    fn a_process_without_a_quit_handler_would_die_of_it() {
        let status = STATUS.replace("2000000181005ccf", "0000000000000000");
        assert!(!Process::parse(4711, &status).handles_sigquit());
    }

    #[test]
    fn a_thread_id_is_no_process() {
        assert!(is_thread_group_leader(STATUS, 4711));
        assert!(!is_thread_group_leader(STATUS, 4712));
    }

    #[test]
    fn maps_give_paths_with_blanks_and_of_deleted_files() {
        let maps = "7f00-7f01 r--p 00000000 fd:00 12  /opt/my jdk/lib/server/libjvm.so\n\
            7f01-7f02 r-xp 00001000 fd:00 12  /opt/my jdk/lib/server/libjvm.so\n\
            7f02-7f03 r--s 00000000 fd:00 15  /data/one of a million\n\
            7f03-7f04 rw-p 00000000 00:00 0 \n\
            7f04-7f05 r-xp 00000000 fd:00 13  /tmp/.headway-a1/libheadway.so (deleted)\n";
        let paths: Vec<String> = parse_maps(maps.as_bytes()).expect("read").into_iter().map(|m| m.path).collect();
        assert_eq!(paths, ["/opt/my jdk/lib/server/libjvm.so", "/tmp/.headway-a1/libheadway.so"]);
    }

    #[test]
    fn nothing_that_the_kernel_says_is_a_reason_to_panic() {
        let maps = b"7f00-7f01 r--p 00000000 fd:00 12  /opt/my jdk/lib/server/libjvm.so (deleted)\n\
            7f04-7f05 r-xp 00000000 fd:00 13  /memfd:libheadway.so-4711-9 (deleted)\n";
        headway_hostile::change::feed(&[STATUS.as_bytes().to_vec(), maps.to_vec()], 50_000, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let _ = (Process::parse(4711, &text), is_thread_group_leader(&text, 4711));
            let _ = parse_maps(bytes);
        });
    }

    #[test]
    fn a_process_with_very_many_libraries_takes_little_memory() {
        let line = |n: u64| format!("7f00-7f01 r--p 00000000 fd:00 12  /{n}/libjvm.so\n");
        let maps: String = (0..4 * MOST_MAPPINGS as u64).map(line).collect();
        assert_eq!(parse_maps(maps.as_bytes()).expect("read").len(), MOST_MAPPINGS);
    }

    #[test]
    fn we_share_our_files_with_ourselves() {
        let own = Process::read(std::process::id()).expect("our own process");
        assert!(own.shares_our_files());
        assert_eq!(own.path_inside(Path::new("/etc")), PathBuf::from(format!("/proc/{}/root/etc", own.pid)));
    }
}
