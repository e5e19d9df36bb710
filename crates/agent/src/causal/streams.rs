//! Pipes, sockets and event counters through which threads of this process wake
//! each other.
//!
//! Whoever writes leaves the time under a key that the other end of the stream
//! has, too: a pipe's is its inode, a connection's its two addresses, an event
//! counter's its file number, that of a socket which others connect to its port. A
//! thread that was waiting, and finds that somebody has written since, was woken by a
//! thread of this process; otherwise by the world outside. Whoever reads leaves the
//! time likewise, for a writer that waited for room.

use headway_model::TimeNs;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Streams that are remembered; of two with the same place the one written last.
const PLACES: usize = 1_024;

/// A writer leaves the time before it writes. The reader may begin to wait in
/// between; what is older is of no interest to it.
const AT_ONCE_NS: u64 = 100_000;

/// What one does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read from it, or wait until that can be done.
    Read,
    /// Write to it.
    Write,
}

/// What names a stream at both of its ends; `None` for what is no stream, or none
/// whose other end was known.
pub fn key_of(file: RawFd, direction: Direction) -> Option<u64> {
    // SAFETY: plain data that the kernel fills.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &mut status) != 0 {
            return None;
        }
        status
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Some(hash((status.st_dev, status.st_ino))),
        libc::S_IFSOCK => match (addresses(file)?, direction) {
            ((own, None), Direction::Read) => Some(key_of_port(own.port())),
            ((_, None), Direction::Write) => None,
            ((own, Some(other)), Direction::Read) => Some(hash((other, own))),
            ((own, Some(other)), Direction::Write) => Some(hash((own, other))),
        },
        // An event counter: all of them have the same inode.
        0 => Some(hash(file)),
        _ => None,
    }
}

/// What names the socket of this machine that others connect to at a port.
pub fn key_of_port(port: u16) -> u64 {
    hash(("accepts", port))
}

/// True for the two ends of a connection within one machine.
pub fn stays_here(socket: RawFd) -> bool {
    addresses(socket).is_some_and(|(own, other)| other.is_some_and(|other| other.ip() == own.ip()))
}

/// A socket's own address, and its peer's if it is connected.
fn addresses(socket: RawFd) -> Option<(SocketAddr, Option<SocketAddr>)> {
    // SAFETY: the caller is using the file; it is only asked for its addresses,
    // and not closed here.
    let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(socket) });
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    Some((canonical(socket.local_addr().ok()?), socket.peer_addr().ok().map(canonical)))
}

/// Never 0, which is an empty place.
fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish() | 1
}

/// When something was last done to streams.
pub struct Streams([(AtomicU64, AtomicU64); PLACES]);

impl Default for Streams {
    fn default() -> Streams {
        Streams([const { (AtomicU64::new(0), AtomicU64::new(0)) }; PLACES])
    }
}

impl Streams {
    fn place(&self, key: u64) -> Option<&(AtomicU64, AtomicU64)> {
        self.0.get((key >> 1) as usize % PLACES)
    }

    /// A thread of this process does it.
    pub fn done(&self, key: u64, time: TimeNs) {
        if let Some((owner, last)) = self.place(key) {
            last.store(time.0, Ordering::Relaxed);
            owner.store(key, Ordering::Release);
        }
    }

    /// It is no longer true that one does.
    pub fn over(&self, key: u64) {
        if let Some((owner, _)) = self.place(key) {
            // The place may be another stream's by now.
            let _ = owner.compare_exchange(key, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// True if one has, and it is not over.
    pub fn is_done(&self, key: u64) -> bool {
        self.place(key).is_some_and(|(owner, _)| owner.load(Ordering::Acquire) == key)
    }

    /// True if one has since a thread began to wait.
    pub fn was_done(&self, key: u64, since: TimeNs) -> bool {
        self.is_done(key)
            && self.place(key).is_some_and(|(_, last)| last.load(Ordering::Relaxed) + AT_ONCE_NS >= since.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn both_ends_of_a_connection_have_a_key_for_each_direction() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let key = |socket: &TcpStream, direction| key_of(socket.as_raw_fd(), direction).unwrap();
        assert_eq!(key(&near, Direction::Write), key(&far, Direction::Read));
        assert_eq!(key(&far, Direction::Write), key(&near, Direction::Read));
        assert_ne!(key(&near, Direction::Write), key(&near, Direction::Read));
        // Who waits for connections has the key that the one who connects can compute.
        let port = listener.local_addr().unwrap().port();
        assert_eq!(key_of(listener.as_raw_fd(), Direction::Read), Some(key_of_port(port)));
        assert_eq!(key_of(listener.as_raw_fd(), Direction::Write), None);
        assert!(stays_here(near.as_raw_fd()) && !stays_here(listener.as_raw_fd()));
    }

    #[test]
    fn both_ends_of_a_pipe_have_one_key_and_files_have_none() {
        let (reader, writer) = io::pipe().unwrap();
        let key = key_of(reader.as_raw_fd(), Direction::Read);
        assert!(key.is_some() && key == key_of(writer.as_raw_fd(), Direction::Write));
        let (other, _writer) = io::pipe().unwrap();
        assert_ne!(key, key_of(other.as_raw_fd(), Direction::Read));
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!((key_of(file.as_raw_fd(), Direction::Read), key_of(-1, Direction::Read)), (None, None));
    }

    #[test]
    fn a_write_counts_for_who_began_to_wait_before_it() {
        let streams = Streams::default();
        streams.done(7, TimeNs(5_000_000));
        assert!(streams.was_done(7, TimeNs(1_000_000)));
        assert!(streams.was_done(7, TimeNs(5_050_000)));
        assert!(!streams.was_done(7, TimeNs(6_000_000)));
        assert!(!streams.was_done(9, TimeNs(1_000_000)));
        streams.over(9);
        assert!(streams.is_done(7) && !streams.is_done(9));
        // Another stream with the same place.
        streams.done(7 + 2 * PLACES as u64, TimeNs(6_000_000));
        assert!(!streams.was_done(7, TimeNs(1_000_000)));
        streams.over(7);
        assert!(streams.is_done(7 + 2 * PLACES as u64));
        streams.over(7 + 2 * PLACES as u64);
        assert!(!streams.is_done(7 + 2 * PLACES as u64));
    }
}
