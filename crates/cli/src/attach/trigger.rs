//! Making a JVM open its attach socket.
//!
//! HotSpot opens `/tmp/.java_pidN` when it gets a SIGQUIT while a file
//! `.attach_pidN` is in its working directory or in `/tmp`, N being its pid in
//! its own namespace. A SIGQUIT kills whatever does not handle it, so it is
//! sent through a pidfd (the pid cannot have been given to another process)
//! and only right after seeing that the process handles the signal.

use crate::attach::view::{Directory, View};
use crate::error::Failure;
use crate::interrupt;
use crate::jvm::process::Process;
use crate::jvm::thread_room;
use crate::terminal;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{connect, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a JVM may take to open its socket; what `jcmd` grants, too.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The attach socket of one process.
#[derive(Debug)]
pub struct Socket {
    process: Process,
    pidfd: OwnedFd,
    directory: Directory,
    name: String,
    said_that_it_is_stopped: AtomicBool,
}

/// Removes what a JVM of another user that once had the same pid left behind
/// when it was killed: in a `/tmp` where everybody may only remove what is his,
/// the process cannot make its own socket in its place. Done with our own
/// rights, and only where nobody listens; where they do not suffice,
/// [`open_socket`] says what is in the way.
pub fn remove_strangers_socket(process: &Process, view: &View) {
    let Ok(directory) = view.directory("/tmp") else { return };
    let name = socket_name(process);
    let is_strangers = rustix::fs::statat(&directory.fd, &name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket && stat.st_uid != process.euid);
    if is_strangers && nobody_listens(&directory, &name) {
        let _ = rustix::fs::unlinkat(&directory.fd, &name, AtFlags::empty());
    }
}

fn socket_name(process: &Process) -> String {
    format!(".java_pid{}", process.ns_pid)
}

/// True if the socket is certainly without a listener.
fn nobody_listens(directory: &Directory, name: &str) -> bool {
    connect_at_once(directory, name).is_err_and(|error| error == Errno::CONNREFUSED)
}

/// Connects, or says that there is no room in the listener's queue (`AGAIN`):
/// waiting for room could take for ever.
fn connect_at_once(directory: &Directory, name: &str) -> Result<UnixStream, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(directory.reach(name))?)?;
    let stream = UnixStream::from(socket);
    let blocking = stream.set_nonblocking(false);
    blocking.map(|()| stream).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Finds the socket, making the JVM open it if it has not done so.
///
/// # Errors
/// The process ended, does not handle the signal, or does not react.
pub fn open_socket(process: &Process, view: &View) -> Result<Socket, Failure> {
    let pid = process.pid;
    let directory = view.directory("/tmp").map_err(|error| Failure::AttachSocket {
        pid,
        problem: format!("its /tmp, where JVMs keep it, cannot be entered ({error})"),
    })?;
    let socket = Socket {
        pidfd: open_pidfd(pid)?,
        name: socket_name(process),
        process: process.clone(),
        directory,
        said_that_it_is_stopped: AtomicBool::new(false),
    };
    if !socket.is_open()? {
        socket.wake(view)?;
    }
    Ok(socket)
}

fn open_pidfd(pid: u32) -> Result<OwnedFd, Failure> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Failure::NoSuchProcess { pid })?;
    pidfd_open(raw, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH | Errno::INVAL => Failure::NoSuchProcess { pid },
        other => Failure::System { doing: format!("cannot take hold of process {pid}"), source: other.into() },
    })
}

impl Socket {
    /// Connects to the JVM, and makes sure that it is this JVM.
    ///
    /// # Errors
    /// Nobody listens, or somebody else does.
    pub fn connect(&self) -> Result<UnixStream, Failure> {
        let stream = self.connect_in_time()?;
        let peer = rustix::net::sockopt::socket_peercred(&stream)
            .map_err(|error| self.problem(format!("its other end is unknown ({error})")))?;
        let listener = peer.pid.as_raw_pid() as u32;
        if listener != self.process.pid {
            return Err(self.problem(format!(
                "process {listener} listens there instead, as happens where containers share a /tmp"
            )));
        }
        Ok(stream)
    }

    fn connect_in_time(&self) -> Result<UnixStream, Failure> {
        let begin = Instant::now();
        loop {
            match connect_at_once(&self.directory, &self.name) {
                Ok(stream) => return Ok(stream),
                Err(Errno::AGAIN) if begin.elapsed() < TIMEOUT => self.check_worth_waiting()?,
                Err(Errno::AGAIN) => {
                    return Err(self.problem("its queue is full, because the process does not answer".into()))
                }
                Err(error) => return Err(self.problem(format!("connecting failed ({error})"))),
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Refuses to wait for an answer once somebody wants us to end, and says once why a process that is
    /// stopped does not answer.
    ///
    /// # Errors
    /// Why we do not wait.
    pub fn check_worth_waiting(&self) -> Result<(), Failure> {
        interrupt::check(|| self.stopped())?;
        if self.said_that_it_is_stopped.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(failure) = self.stopped() {
            self.said_that_it_is_stopped.store(true, Ordering::Relaxed);
            terminal::note(&format!("Still waiting: {failure}."));
        }
        Ok(())
    }

    /// Why the process does not answer, if it is stopped.
    pub fn stopped(&self) -> Option<Failure> {
        let process = Process::read(self.process.pid)?;
        Some(Failure::Stopped { pid: process.pid, state: process.stopped_state()?, tracer: process.tracer })
    }

    /// True while the process lives.
    pub fn process_lives(&self) -> bool {
        let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
        !matches!(poll(&mut ended, Some(&Timespec::default())), Ok(1))
    }

    /// The process behind the socket.
    pub fn pid(&self) -> u32 {
        self.process.pid
    }

    /// True if someone listens. A socket left behind by a JVM that was killed
    /// is removed: it would keep this JVM's from being seen.
    fn is_open(&self) -> Result<bool, Failure> {
        let stat = match rustix::fs::statat(&self.directory.fd, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(self.problem(format!("it cannot be looked at ({error})"))),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket || stat.st_uid != self.process.euid {
            return Err(self.problem(format!(
                "{} is not a socket of its user; if an ended process left it behind, remove it",
                self.shown_path()
            )));
        }
        let is_left_behind = nobody_listens(&self.directory, &self.name);
        if is_left_behind {
            let _ = rustix::fs::unlinkat(&self.directory.fd, &self.name, AtFlags::empty());
        }
        Ok(!is_left_behind)
    }

    fn wake(&self, view: &View) -> Result<(), Failure> {
        thread_room::check(&self.process)?;
        let refused = |error| self.problem(format!("no trigger file can be made for it ({error})"));
        let trigger = TriggerFile::create(&self.process, view, &self.directory).map_err(refused)?;
        let begin = Instant::now();
        let mut signals = 0;
        loop {
            // Again at half time: the first one may have come while the JVM
            // was still starting. Another command that was done earlier has taken
            // the file away; a JVM that starts its listener again without finding
            // one never listens again.
            if begin.elapsed() >= TIMEOUT / 2 * signals {
                trigger.renew().map_err(refused)?;
                self.send_quit()?;
                signals += 1;
            }
            std::thread::sleep(POLL_INTERVAL);
            self.check_worth_waiting()?;
            if self.is_open()? {
                return Ok(());
            }
            if !self.process_lives() {
                let when = "while Headway attached to it";
                return Err(Failure::TargetEnded { pid: self.process.pid, when, kept: String::new() });
            }
            if begin.elapsed() >= TIMEOUT {
                return Err(Failure::AttachTimeout { pid: self.process.pid, seconds: TIMEOUT.as_secs() });
            }
        }
    }

    fn send_quit(&self) -> Result<(), Failure> {
        let pid = self.process.pid;
        let now = Process::read(pid).ok_or(Failure::NoSuchProcess { pid })?;
        if !now.handles_sigquit() {
            return Err(Failure::QuitNotHandled { pid });
        }
        pidfd_send_signal(&self.pidfd, Signal::QUIT).map_err(|error| match error {
            Errno::SRCH => Failure::NoSuchProcess { pid },
            Errno::PERM => self.process.other_user(),
            other => Failure::System { doing: format!("cannot signal process {pid}"), source: other.into() },
        })
    }

    fn shown_path(&self) -> String {
        self.directory.path.join(&self.name).display().to_string()
    }

    fn problem(&self, problem: String) -> Failure {
        Failure::AttachSocket { pid: self.process.pid, problem }
    }
}

/// The file that makes the JVM's signal handler open the socket rather
/// than to print its threads; removed when it goes out of scope.
struct TriggerFile<'a> {
    directory: &'a Directory,
    name: String,
}

impl<'a> TriggerFile<'a> {
    fn create(process: &Process, view: &'a View, tmp: &'a Directory) -> std::io::Result<TriggerFile<'a>> {
        let name = format!(".attach_pid{}", process.ns_pid);
        let mut outcome = Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        for directory in view.cwd().into_iter().chain([tmp]) {
            match make_file(directory, &name) {
                Ok(()) => return Ok(TriggerFile { directory, name }),
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// Makes the file again if it is gone.
    fn renew(&self) -> std::io::Result<()> {
        make_file(self.directory, &self.name)
    }
}

fn make_file(directory: &Directory, name: &str) -> std::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&directory.fd, name, flags, Mode::RUSR | Mode::WUSR).map(drop)?)
}

impl Drop for TriggerFile<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.directory.fd, &self.name, AtFlags::empty());
    }
}
