//! Threads that wait for pipes and sockets, and threads that write to them, while
//! experiments are made: replacements of what the JDK's library for them imports.
//!
//! A thread that was woken by what another one of this process wrote gets credit,
//! like one that was unparked (see [`super::streams`]); who writes pays before. So it
//! is with a writer that waited for room until another thread read, and with one that
//! waited for connections until another thread connected. One that waited for the world
//! outside gets none, and where it waited to read one file may be the target, like a
//! sleep. A selector's wait for many is no target: what it waits for is work.

use super::causal;
use super::streams::{key_of, key_of_port, stays_here, Direction, Streams};
use crate::agent::{guarded, guarded_or, Agent, Observer};
use crate::clock;
use crate::jni::{self, Jni};
use crate::reply::InPlace;
use crate::threads::Slot;
use headway_hook::got::GotHook;
use headway_hook::sys::linux::Linux;
use headway_hook::Image;
use headway_model::TimeNs;
use libc::{c_int, c_void, epoll_event, iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static LINUX: Linux = Linux;

/// The library whose imports are replaced. It is loaded when it is first needed.
const LIBRARY: &str = "libnio.so";

/// A wait for the world outside that is shorter is not looked at.
const LEAST_WAIT_NS: u64 = 50_000;

/// See the module.
#[derive(Default)]
pub struct Io {
    imports: Mutex<Vec<GotHook>>,
    is_hopeless: AtomicBool,
    /// Who wrote or connected last.
    written: Streams,
    /// Who read last.
    drained: Streams,
    /// Who is writing, and may wait for room.
    filling: Streams,
}

/// A thread that may block.
struct Waiting {
    agent: &'static Agent,
    jni: Jni,
    slot: &'static Slot,
    begun: TimeNs,
}

/// What a wait ended with.
enum Ended {
    /// Time, or an error.
    ByItself,
    /// One of these files can be read, or written to.
    Ready(Vec<(c_int, Direction)>),
}

fn current(agent: &'static Agent) -> Option<(Jni, &'static Slot)> {
    let jni = jni::of_current_thread().filter(|_| causal().is_on())?;
    Some((jni, agent.threads.find(agent.java.current_vm_thread(jni))?))
}

/// Calls what may block; `ended` says how it did, by what it returned.
fn waiting<T: Copy>(call: impl FnOnce() -> T, ended: impl FnOnce(T) -> Ended) -> T {
    let begun = guarded_or(None, |agent| {
        let (jni, slot) = current(agent)?;
        causal().block(slot);
        Some(Waiting { agent, jni, slot, begun: clock::now() })
    });
    let returned = call();
    if let Some(waiting) = begun {
        keeping_errno(|| guarded(|_| end(&waiting, ended(returned))));
    }
    returned
}

fn end(waiting: &Waiting, ended: Ended) {
    let Waiting { agent, jni, slot, begun } = *waiting;
    let causal = causal();
    let Ended::Ready(files) = ended else { return causal.returned(slot) };
    let was_ours = |(file, direction): &(c_int, Direction)| {
        let others = match direction {
            Direction::Read => &causal.io.written,
            Direction::Write => &causal.io.drained,
        };
        key_of(*file, *direction).is_some_and(|key| others.was_done(key, begun))
    };
    if files.iter().any(was_ours) {
        return causal.woken(slot);
    }
    causal.returned(slot);
    let reads_one = matches!(files.as_slice(), [(_, Direction::Read)]);
    if reads_one && clock::now().since(begun).0 >= LEAST_WAIT_NS && causal.is_on() {
        causal.waited_outside(agent, jni, slot, begun);
    }
}

/// Calls what may wake a thread that reads, and may itself wait for room.
fn writing(file: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let key = guarded_or(None, |agent| {
        let (_, slot) = current(agent)?;
        let key = key_of(file, Direction::Write)?;
        let (io, now) = (&causal().io, clock::now());
        causal().before_wake(agent, slot);
        io.written.done(key, now);
        io.filling.done(key, now);
        Some(key)
    });
    let Some(key) = key else { return call() };
    waiting(call, |written| {
        guarded(|_| {
            let io = &causal().io;
            io.filling.over(key);
            // Whoever began to wait in between was woken by this, too.
            if written > 0 {
                io.written.done(key, clock::now());
            }
        });
        if written > 0 {
            Ended::Ready(vec![(file, Direction::Write)])
        } else {
            Ended::ByItself
        }
    })
}

/// The caller asks for the call's error, not for one of what comes behind it.
fn keeping_errno(work: impl FnOnce()) {
    // SAFETY: the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    work();
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// A read of one file: what arrives, or its end, is news. It may make room for a
/// thread that writes.
fn reading(file: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let key = guarded_or(None, |agent| {
        let (_, slot) = current(agent)?;
        let key = key_of(file, Direction::Read)?;
        if causal().io.filling.is_done(key) {
            causal().before_wake(agent, slot);
            causal().io.drained.done(key, clock::now());
        }
        Some(key)
    });
    waiting(call, |read| {
        if let Some(key) = key.filter(|_| read > 0) {
            guarded(|_| causal().io.drained.done(key, clock::now()));
        }
        if read >= 0 {
            Ended::Ready(vec![(file, Direction::Read)])
        } else {
            Ended::ByItself
        }
    })
}

/// A wait for somebody who connects.
fn accepting(file: c_int, call: impl FnOnce() -> c_int) -> c_int {
    waiting(call, |accepted| match accepted >= 0 && stays_here(accepted) {
        true => Ended::Ready(vec![(file, Direction::Read)]),
        false => Ended::ByItself,
    })
}

/// Calls what may wake a thread that waits for connections.
fn connecting(file: c_int, to: *const sockaddr, length: socklen_t, call: impl FnOnce() -> c_int) -> c_int {
    let key = guarded_or(None, |agent| {
        let (_, slot) = current(agent)?;
        let (is_loopback, port) = destination(to, length)?;
        causal().before_wake(agent, slot);
        if is_loopback {
            causal().io.written.done(key_of_port(port), clock::now());
        }
        Some(key_of_port(port))
    });
    let connected = call();
    if let Some(key) = key {
        keeping_errno(|| {
            guarded(|_| {
                if stays_here(file) {
                    causal().io.written.done(key, clock::now());
                }
            });
        });
    }
    connected
}

/// Whether an address is surely this machine's, and its port; `None` if it has none.
fn destination(to: *const sockaddr, length: socklen_t) -> Option<(bool, u16)> {
    let has_room = |size: usize| !to.is_null() && usize::try_from(length).is_ok_and(|length| length >= size);
    if !has_room(mem::size_of::<libc::sa_family_t>()) {
        return None;
    }
    // SAFETY: the caller's address of this length; read byte by byte as far as it goes.
    let family = unsafe { to.cast::<libc::sa_family_t>().read_unaligned() };
    match c_int::from(family) {
        libc::AF_INET if has_room(mem::size_of::<libc::sockaddr_in>()) => {
            // SAFETY: as above, and long enough.
            let to = unsafe { to.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(to.sin_addr.s_addr));
            Some((ip.is_loopback(), u16::from_be(to.sin_port)))
        }
        libc::AF_INET6 if has_room(mem::size_of::<libc::sockaddr_in6>()) => {
            // SAFETY: as above, and long enough.
            let to = unsafe { to.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(to.sin6_addr.s6_addr).to_canonical();
            Some((ip.is_loopback(), u16::from_be(to.sin6_port)))
        }
        _ => None,
    }
}

/// An imported function's replacement: its static, the function, what it does.
macro_rules! replacements {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $original:ident, $body:expr;)*) => {
        $(
            static $original: AtomicUsize = AtomicUsize::new(0);

            extern "C" fn $name($($argument: $type),*) -> $result {
                type Original = extern "C" fn($($type),*) -> $result;
                let address = $original.load(Ordering::Relaxed);
                // SAFETY: set to the imported function, which has this signature,
                // before the replacement was installed; never cleared.
                let original = unsafe { mem::transmute::<usize, Original>(address) };
                let call = || original($($argument),*);
                $body(call, $($argument),*)
            }
        )*

        /// The imported functions, their replacements, and where the originals go.
        fn replacements() -> Vec<(&'static str, *const (), &'static AtomicUsize)> {
            vec![$((stringify!($name), $name as *const (), &$original)),*]
        }
    };
}

replacements! {
    read(file: c_int, buffer: *mut c_void, size: size_t) -> ssize_t, READ,
        |call, file, _, _| reading(file, call);
    readv(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, READV,
        |call, file, _, _| reading(file, call);
    recv(file: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t, RECV,
        |call, file, _, _, _| reading(file, call);
    recvfrom(
        file: c_int, buffer: *mut c_void, size: size_t, flags: c_int,
        from: *mut sockaddr, length: *mut socklen_t
    ) -> ssize_t, RECVFROM,
        |call, file, _, _, _, _, _| reading(file, call);
    recvmsg(file: c_int, message: *mut msghdr, flags: c_int) -> ssize_t, RECVMSG,
        |call, file, _, _| reading(file, call);
    write(file: c_int, buffer: *const c_void, size: size_t) -> ssize_t, WRITE,
        |call, file, _, _| writing(file, call);
    writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t, WRITEV,
        |call, file, _, _| writing(file, call);
    send(file: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t, SEND,
        |call, file, _, _, _| writing(file, call);
    sendto(
        file: c_int, buffer: *const c_void, size: size_t, flags: c_int,
        to: *const sockaddr, length: socklen_t
    ) -> ssize_t, SENDTO,
        |call, file, _, _, _, _, _| writing(file, call);
    sendmsg(file: c_int, message: *const msghdr, flags: c_int) -> ssize_t, SENDMSG,
        |call, file, _, _| writing(file, call);
    accept(file: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int, ACCEPT,
        |call, file, _, _| accepting(file, call);
    connect(file: c_int, to: *const sockaddr, length: socklen_t) -> c_int, CONNECT,
        |call, file, to, length| connecting(file, to, length, call);
    poll(files: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int, POLL,
        |call, files, count, _| polling(files, count, call);
    epoll_wait(group: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int, EPOLL_WAIT,
        |call, _, events, _, _| waiting(call, |ready| selected(events, ready));
}

/// Most files that are looked at after one wait.
const MOST_FILES: usize = 16;

/// A wait for files; where it is for room, who reads is to know.
fn polling(files: *const pollfd, count: nfds_t, call: impl FnOnce() -> c_int) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    let full = guarded_or(Vec::new(), |_| {
        if files.is_null() || !causal().is_on() {
            return Vec::new();
        }
        // SAFETY: the caller's array of this length.
        let files = unsafe { std::slice::from_raw_parts(files, count) };
        let full = files.iter().filter(|file| file.events & libc::POLLOUT != 0).take(MOST_FILES);
        let full: Vec<u64> = full.filter_map(|file| key_of(file.fd, Direction::Write)).collect();
        full.iter().for_each(|key| causal().io.filling.done(*key, clock::now()));
        full
    });
    waiting(call, |ready| {
        guarded(|_| full.iter().for_each(|key| causal().io.filling.over(*key)));
        if ready <= 0 || files.is_null() {
            return Ended::ByItself;
        }
        // SAFETY: as above; the kernel has just filled it.
        let files = unsafe { std::slice::from_raw_parts(files, count) };
        let ready = files.iter().flat_map(|file| directions(u32::from(file.revents as u16), file.fd));
        ready_of(ready.take(MOST_FILES).collect())
    })
}

/// For what a file is ready; the bits are the same for `poll` and `epoll`.
fn directions(events: u32, file: c_int) -> impl Iterator<Item = (c_int, Direction)> {
    let all = [(libc::EPOLLIN, Direction::Read), (libc::EPOLLOUT, Direction::Write)];
    all.into_iter().filter(move |(bit, _)| events & *bit as u32 != 0).map(move |(_, direction)| (file, direction))
}

/// The JDK keeps the file's number with each event.
fn selected(events: *const epoll_event, ready: c_int) -> Ended {
    let count = usize::try_from(ready).unwrap_or(0).min(MOST_FILES);
    if count == 0 || events.is_null() {
        return Ended::ByItself;
    }
    // SAFETY: the kernel has just filled at least as many.
    let events = unsafe { std::slice::from_raw_parts(events, count) };
    let mut files: Vec<(c_int, Direction)> =
        events.iter().flat_map(|event| directions(event.events, event.u64 as c_int)).collect();
    // The wait was for all of the selector's files: no single one's.
    if files.len() == 1 {
        files.push((-1, Direction::Read));
    }
    ready_of(files)
}

fn ready_of(files: Vec<(c_int, Direction)>) -> Ended {
    match files.is_empty() {
        true => Ended::ByItself,
        false => Ended::Ready(files),
    }
}

impl Io {
    /// Replaces the imports, if the program has loaded the library and they are
    /// not replaced yet.
    ///
    /// # Errors
    /// If one of them cannot be replaced; none is then. Said once a recording.
    pub fn install_if_loaded(&self) -> Result<(), String> {
        match self.is_hopeless.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.install().inspect_err(|_| self.is_hopeless.store(true, Ordering::Relaxed)),
        }
    }

    fn install(&self) -> Result<(), String> {
        let mut imports = self.imports.lock().unwrap_or_else(PoisonError::into_inner);
        if !imports.is_empty() {
            // Does nothing where they are: some may have stayed after a recording.
            return imports.iter().try_for_each(GotHook::install).map_err(|error| error.to_string());
        }
        let library = match Image::of_loaded(LIBRARY, &LINUX) {
            Ok(library) => library,
            Err(headway_hook::ImageError::NotLoaded(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let mut replaced = Vec::new();
        for (symbol, replacement, original) in replacements() {
            // SAFETY: the replacements have the imports' signatures, contain every
            // panic, and live in a library that is linked never to be unloaded.
            let hook = unsafe { GotHook::prepare(&library, symbol, replacement, &LINUX) };
            let hook = hook.map_err(|error| error.to_string())?;
            original.store(hook.original() as usize, Ordering::Release);
            replaced.push(hook);
        }
        for hook in &replaced {
            if let Err(error) = hook.install() {
                let left = remove(&replaced);
                let left: String = left.iter().map(|left| format!("; {} stays: {}", left.what, left.reason)).collect();
                return Err(format!("{error}{left}"));
            }
        }
        *imports = replaced;
        Ok(())
    }

    /// Gives the imports back; those that stay replaced only hand calls on. The
    /// next recording tries, and says why it cannot, again.
    pub fn remove(&self) -> Vec<InPlace> {
        self.is_hopeless.store(false, Ordering::Relaxed);
        let mut imports = self.imports.lock().unwrap_or_else(PoisonError::into_inner);
        let left = remove(&imports);
        if left.is_empty() {
            imports.clear();
        }
        left
    }
}

fn remove(imports: &[GotHook]) -> Vec<InPlace> {
    let left = |import: &GotHook| {
        let error = import.remove().err()?;
        Some(InPlace::inert("causal", format!("{LIBRARY}'s import of {}", import.symbol()), error))
    };
    imports.iter().filter_map(left).collect()
}
