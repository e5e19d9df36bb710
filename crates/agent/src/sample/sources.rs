//! Where copies of stacks come from: a ring per thread, filled by the kernel.

use super::plan::{self, Plan, Source};
use super::subjects::Subject;
use headway_sample::perf::{Config, Record, Ring};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Most records taken from one ring before the next one's turn.
const TURN: usize = 64;

/// The rings of all threads.
pub struct Rings {
    plan: Plan,
    rings: HashMap<u32, (Subject, Ring)>,
    bytes: usize,
}

impl Rings {
    /// None yet.
    pub fn new(plan: Plan) -> Rings {
        Rings { plan, rings: HashMap::new(), bytes: 0 }
    }

    /// True if this thread is sampled as what it is.
    pub fn has(&self, subject: &Subject) -> bool {
        self.rings.get(&subject.os_id).is_some_and(|(known, _)| known.thread == subject.thread)
    }

    /// True if a thread with this kernel id is sampled.
    pub fn has_os_id(&self, os_id: u32) -> bool {
        self.rings.contains_key(&os_id)
    }

    /// Samples a thread from now on.
    ///
    /// # Errors
    /// The thread is gone, or there is no memory for its ring.
    pub fn add(&mut self, subject: Subject) -> io::Result<()> {
        self.remove(subject.os_id);
        let Source::Perf { kernel } = self.plan.source else {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        };
        let (stack_bytes, ring_bytes) = match subject.is_java() {
            true => (plan::STACK_BYTES, self.ring_bytes()),
            false => (plan::NATIVE_STACK_BYTES, plan::NATIVE_RING_BYTES),
        };
        if self.bytes + ring_bytes > plan::ALL_RINGS_BYTES {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let config = Config { interval_ns: self.plan.interval_ns, stack_bytes, ring_bytes, kernel };
        let ring = match Ring::open(subject.os_id, &config) {
            // Less memory may be locked than was asked for.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) && ring_bytes > plan::SMALL_RING_BYTES => {
                Ring::open(subject.os_id, &Config { ring_bytes: plan::SMALL_RING_BYTES, ..config })?
            }
            opened => opened?,
        };
        self.bytes += ring.memory_bytes();
        self.rings.insert(subject.os_id, (subject, ring));
        Ok(())
    }

    /// The more threads, the smaller their rings.
    fn ring_bytes(&self) -> usize {
        match self.bytes * 4 / plan::ALL_RINGS_BYTES {
            0 | 1 => plan::RING_BYTES,
            2 => plan::RING_BYTES / 2,
            _ => plan::SMALL_RING_BYTES,
        }
    }

    fn remove(&mut self, os_id: u32) {
        if let Some((_, ring)) = self.rings.remove(&os_id) {
            self.bytes -= ring.memory_bytes().min(self.bytes);
        }
    }

    /// Memory of all rings.
    pub fn memory_bytes(&self) -> usize {
        self.bytes
    }

    /// Waits until a ring is half full, at most this long.
    pub fn wait(&self, patience: Duration) {
        let mut events: Vec<libc::pollfd> = self
            .rings
            .values()
            .map(|(_, ring)| libc::pollfd { fd: ring.event().as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: `events` is an array of this length; the descriptors are open.
        unsafe { libc::poll(events.as_mut_ptr(), events.len() as libc::nfds_t, milliseconds) };
        // An ended thread's event is always ready: that must not become a loop.
        if events.iter().any(|event| event.revents & libc::POLLHUP != 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Hands over what is in the rings, and takes leave of threads that ended.
    /// True if nothing is left that was there at the call.
    pub fn drain(&mut self, sink: &mut dyn FnMut(&Subject, Record<'_>)) -> bool {
        let mut ended = Vec::new();
        let mut all = true;
        for (os_id, (subject, ring)) in &mut self.rings {
            let hung_up = is_hung_up(ring);
            let empty = ring.drain(TURN, &mut |record| sink(subject, record));
            all &= empty;
            if hung_up && empty {
                ended.push(*os_id);
            }
        }
        for os_id in ended {
            self.remove(os_id);
        }
        all
    }
}

fn is_hung_up(ring: &Ring) -> bool {
    let mut event = libc::pollfd { fd: ring.event().as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut event, 1, 0) };
    event.revents & libc::POLLHUP != 0
}
