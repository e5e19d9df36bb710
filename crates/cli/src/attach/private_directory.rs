//! A private directory in the target's view of the file system, where the
//! agent library is put for loading and where the agent leaves what it is
//! asked for. It is removed with everything in it when it goes out of scope; that of a
//! command that was killed, by a later one.

use crate::agent::library;
use crate::attach::view::{Directory, View};
use crate::error::Failure;
use crate::jvm::process::Process;
use crate::jvm::target_file;
use rustix::fs::{flock, AtFlags, Dir, FlockOperation, MemfdFlags, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Where the target is likely to be able to write, likeliest first; its
/// working directory comes after these.
const CANDIDATES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

const OWNER_ONLY: Mode = Mode::RWXU;
/// Replies have some KB; pictures of `top` some hundred.
const LARGEST_REPLY_BYTES: u64 = 16 << 20;
/// What has to fit into a place, however full its file system is: the replies.
const ROOM_BYTES: usize = 64 << 10;
/// Files that are removed with the place: the library, a recording, replies.
const MOST_FILES: usize = 64;

/// The private directory.
#[derive(Debug)]
pub struct PrivateDirectory {
    parent: OwnedFd,
    name: String,
    fd: OwnedFd,
    path: PathBuf,
    /// A library that exists in memory only, while it is being loaded.
    in_memory: Option<OwnedFd>,
    /// A second place for the library, where the first forbids executing.
    executable: Option<Box<PrivateDirectory>>,
    /// Locked as long as we live, by which the agent knows that we do.
    lease: Option<OwnedFd>,
}

/// What the names of these directories begin with.
const PREFIX: &str = ".headway-";
/// A directory in which nothing has changed for so long is abandoned, unless somebody has it locked.
const ABANDONED_AFTER: Duration = Duration::from_secs(3_600);
/// So many files beside it are looked at.
const MOST_SIBLINGS: usize = 10_000;

/// Name of the file that is locked.
const LEASE: &str = "lease";

impl PrivateDirectory {
    /// Makes the directory in the first place that the target can write to.
    /// To be called while acting as the target's user.
    ///
    /// # Errors
    /// [`Failure::NoPlaceForAgent`] with each place and the reason against it.
    pub fn create(process: &Process, view: &View) -> Result<PrivateDirectory, Failure> {
        let place = PrivateDirectory::first(process, view, PrivateDirectory::check_room)?;
        place.remove_abandoned();
        Ok(place)
    }

    /// The path, in the target's view, of a file in the directory.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Puts the agent library where the target can load it and gives its path:
    /// here, or in another place where this one is mounted `noexec`, or as a
    /// file in memory where all are. To be called as the target's user.
    ///
    /// # Errors
    /// [`Failure::NoPlaceForAgent`] with the reasons.
    pub fn bring_library(&mut self, process: &Process, view: &View, content: &[u8]) -> Result<PathBuf, Failure> {
        if forbids_executing(&self.fd).is_ok() {
            match self.write(library::FILE_NAME, content) {
                Ok(()) => return Ok(self.path_of(library::FILE_NAME)),
                // A part of it would take the room that the replies need.
                Err(_) => self.remove(library::FILE_NAME),
            }
        }
        let other = PrivateDirectory::first(process, view, |place| {
            forbids_executing(&place.fd)?;
            place.write(library::FILE_NAME, content)
        });
        match other {
            Ok(place) => {
                let path = place.path_of(library::FILE_NAME);
                self.executable = Some(Box::new(place));
                Ok(path)
            }
            Err(Failure::NoPlaceForAgent { pid, tried }) => {
                let fd = library_in_memory(process, content).map_err(|reason| Failure::NoPlaceForAgent {
                    pid,
                    tried: format!("{tried}; in memory: {reason}"),
                })?;
                let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
                self.in_memory = Some(fd);
                Ok(PathBuf::from(path))
            }
            Err(other) => Err(other),
        }
    }

    /// Reads a file that the agent left here, and removes it.
    pub fn take(&self, name: &str) -> Option<String> {
        let read = self.read(name);
        self.remove(name);
        read.ok()
    }

    /// Reads a file that the agent left here.
    ///
    /// # Errors
    /// Those of opening and reading; it is no text.
    pub fn read(&self, name: &str) -> io::Result<String> {
        let bytes = target_file::bounded(self.open(name)?, LARGEST_REPLY_BYTES)?;
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Opens a file that the agent left here. The process owns the directory and
    /// can have put anything there.
    ///
    /// # Errors
    /// Those of opening; it is no regular file.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        target_file::open_below(&self.fd, Path::new(name), resolve)
    }

    /// Makes a file and locks it for as long as this process lives; its path. To be
    /// called as the target's user, whose agent opens it.
    ///
    /// # Errors
    /// Those of opening and locking.
    pub fn hold_lease(&mut self) -> io::Result<PathBuf> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.fd, LEASE, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        self.lease = Some(file);
        Ok(self.path_of(LEASE))
    }

    /// Makes a file, or makes it look as if it had just been written.
    ///
    /// # Errors
    /// Those of opening and writing.
    pub fn touch(&self, name: &str) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?).write_all(b".")
    }

    /// Removes a file, also from the place that the library needed.
    pub fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
        if let Some(place) = &self.executable {
            place.remove(name);
        }
    }

    fn first(
        process: &Process,
        view: &View,
        prepare: impl Fn(&PrivateDirectory) -> Result<(), Errno>,
    ) -> Result<PrivateDirectory, Failure> {
        let mut tried = Vec::new();
        for candidate in CANDIDATES {
            let attempt = view.directory(candidate).and_then(|parent| Ok(PrivateDirectory::inside(&parent)?));
            match attempt.and_then(|place| prepare(&place).map(|()| place).map_err(Into::into)) {
                Ok(place) => return Ok(place),
                Err(error) => tried.push(format!("{candidate}: {}", reason(&error))),
            }
        }
        if let Some(cwd) = view.cwd() {
            let attempt = PrivateDirectory::inside(cwd).and_then(|place| prepare(&place).map(|()| place));
            match attempt {
                Ok(place) => return Ok(place),
                Err(error) => tried.push(format!("{}: {}", cwd.path.display(), reason(&error.into()))),
            }
        }
        Err(Failure::NoPlaceForAgent { pid: process.pid, tried: tried.join("; ") })
    }

    fn inside(parent: &Directory) -> Result<PrivateDirectory, Errno> {
        let name = format!("{PREFIX}{}", random_word()?);
        rustix::fs::mkdirat(&parent.fd, &name, OWNER_ONLY)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |fd: &OwnedFd, name: &str| rustix::fs::openat(fd, name, flags, Mode::empty());
        let fd = open(&parent.fd, &name)?;
        // Where that is not possible, age alone shows that it is abandoned.
        let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
        // An own handle on the parent, so that the place can remove itself.
        let parent_fd = rustix::fs::openat(&parent.fd, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let path = parent.path.join(&name);
        Ok(PrivateDirectory { parent: parent_fd, name, fd, path, in_memory: None, executable: None, lease: None })
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, OWNER_ONLY)?;
        let mut file = File::from(fd);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // A JVM dies of a library that is not whole.
        match rustix::fs::fstat(&file)?.st_size as usize == content.len() {
            true => Ok(()),
            false => Err(Errno::NOSPC),
        }
    }

    /// Fails where nothing can be written, before the target is asked for anything: without room
    /// for its reply, a command that is carried out would look as if it had failed.
    fn check_room(&self) -> Result<(), Errno> {
        const NAME: &str = "room";
        let written = self.write(NAME, &[1; ROOM_BYTES]);
        let _ = rustix::fs::unlinkat(&self.fd, NAME, AtFlags::empty());
        written
    }

    /// Removes what commands left beside this one that were killed: directories of the same user that nobody has locked, and
    /// in which nothing changed for long.
    fn remove_abandoned(&self) {
        let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(entries) = rustix::fs::openat(&self.parent, ".", readable, Mode::empty()).and_then(Dir::new) else {
            return;
        };
        let names = entries.flatten().take(MOST_SIBLINGS).map(|entry| entry.file_name().to_owned());
        for name in names.filter(|name| name.to_bytes().starts_with(PREFIX.as_bytes())) {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(fd) = rustix::fs::openat(&self.parent, &name, flags, Mode::empty()) else { continue };
            if !is_abandoned(&fd) {
                continue;
            }
            let parent = rustix::fs::openat(&self.parent, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            let (Ok(parent), Ok(name)) = (parent, name.into_string()) else { continue };
            // It removes itself and what is in it.
            drop(PrivateDirectory {
                parent,
                name,
                fd,
                path: PathBuf::new(),
                in_memory: None,
                executable: None,
                lease: None,
            });
        }
    }

    fn file_names(&self) -> Vec<std::ffi::CString> {
        let Ok(entries) = Dir::read_from(&self.fd) else {
            return Vec::new();
        };
        let is_file = |name: &&std::ffi::CStr| !matches!(name.to_bytes(), b"." | b"..");
        let names = entries.flatten().map(|entry| entry.file_name().to_owned()).take(MOST_FILES);
        names.filter(|name| is_file(&name.as_c_str())).collect()
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        for name in self.file_names() {
            let _ = rustix::fs::unlinkat(&self.fd, &name, AtFlags::empty());
        }
        let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }
}

/// True if this is a directory of ours in which nothing has changed for long, and nobody has it locked.
fn is_abandoned(directory: &OwnedFd) -> bool {
    let Ok(stat) = rustix::fs::fstat(directory) else { return false };
    let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    let is_old = changed.elapsed().is_ok_and(|age| age > ABANDONED_AFTER);
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    is_old && is_ours && flock(directory, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// True if a process can load the library from where it is installed, so that all processes
/// share its pages and no copy takes memory. To be called as the target's user.
///
/// Only a file that nobody may write, as releases have it: what is mapped must not change, and
/// an upgrade replaces such a file instead of writing to it.
pub fn can_be_shared(library: &Path) -> bool {
    let Ok(file) = File::open(library) else { return false };
    let is_writable = file.metadata().map_or(true, |file| file.permissions().mode() & 0o222 != 0);
    !is_writable && forbids_executing(&OwnedFd::from(file)).is_ok()
}

fn forbids_executing(fd: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fstatvfs(fd)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        // What loading the library from there would fail with.
        true => Err(Errno::PERM),
        false => Ok(()),
    }
}

/// The library as a file without a name. The target reaches it through our
/// own `/proc` directory, which takes a common pid namespace, and the kernel
/// lets only the same user look there.
fn library_in_memory(process: &Process, content: &[u8]) -> Result<OwnedFd, String> {
    let own = (rustix::process::getuid().as_raw(), process.pid == process.ns_pid);
    match own {
        (_, false) => return Err("the process has a pid namespace of its own".into()),
        (uid, true) if uid != process.euid => return Err("the process runs as another user".into()),
        _ => {}
    }
    if !process.shares_our_files() && !Path::new(&process.path_inside(Path::new("/proc/self"))).exists() {
        return Err("the process sees no /proc".into());
    }
    let memory = named_after_its_path().map_err(|error| error.to_string())?;
    let mut file = File::from(memory);
    file.write_all(content).map_err(|error| error.to_string())?;
    Ok(OwnedFd::from(file))
}

/// A file in memory whose name has the path by which it is loaded. The
/// linker knows a loaded library by that path, and a later command, which must
/// use the same one, learns it from `/proc/PID/maps`.
fn named_after_its_path() -> Result<OwnedFd, Errno> {
    let create = |name: &str| rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC);
    let mut number = create(library::FILE_NAME)?.as_raw_fd();
    loop {
        // The number just given back is the next one to be given out, unless
        // another thread was quicker.
        let fd = create(&library::name_in_memory(std::process::id(), number))?;
        if fd.as_raw_fd() == number {
            return Ok(fd);
        }
        number = fd.as_raw_fd();
    }
}

fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::PERM) => "mounted noexec".into(),
        Some(Errno::ROFS) => "read-only".into(),
        Some(Errno::NOENT) => "missing".into(),
        Some(Errno::ACCESS) => "not writable".into(),
        Some(Errno::NOSPC | Errno::DQUOT) => "full".into(),
        _ => error.to_string(),
    }
}

fn random_word() -> Result<String, Errno> {
    let mut bytes = [0u8; 8];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled < bytes.len() {
        return Err(Errno::AGAIN);
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, FileTimes};
    use std::time::SystemTime;

    #[test]
    fn what_a_killed_command_left_is_removed_later() {
        let temporary = tempfile::tempdir().unwrap();
        let open = |path: &Path| File::open(path).unwrap();
        let old = FileTimes::new().set_modified(SystemTime::now() - 2 * ABANDONED_AFTER);
        for name in [".headway-old", ".headway-locked", ".headway-new", "other"] {
            let path = temporary.path().join(name);
            create_dir(&path).unwrap();
            std::fs::write(path.join("reply.json"), "").unwrap();
            if name != ".headway-new" {
                open(&path).set_times(old).unwrap();
            }
        }
        let locked = open(&temporary.path().join(".headway-locked"));
        flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
        let parent = Directory { fd: open(temporary.path()).into(), path: temporary.path().to_owned() };
        let place = PrivateDirectory::inside(&parent).unwrap();
        place.remove_abandoned();
        let mut left: Vec<_> =
            std::fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.retain(|name| name.to_string_lossy() != place.name);
        left.sort();
        assert_eq!(left, [".headway-locked", ".headway-new", "other"]);
    }
}
