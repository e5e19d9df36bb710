//! Where copies of stacks come from: a ring per thread, filled by the kernel,
//! or a timer per thread, whose signal's handler copies.

use super::plan::{self, Plan, Source};
use super::subjects::Subject;
use headway_sample::perf::{Config, Record, Ring};
use headway_sample::timer::{Handler, Take, Timer};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Most records taken from one ring before the next one's turn.
const TURN: usize = 64;

/// What samples a thread.
enum Means {
    Ring(Ring),
    /// Held for the signals it sends.
    #[expect(dead_code)]
    Timer(Timer),
    /// The VM is asked for its stacks.
    Asked,
}

/// What samples each thread.
pub struct Sources {
    plan: Plan,
    threads: HashMap<u32, (Subject, Means)>,
    /// Declared behind the timers: it must outlive them.
    handler: Option<Handler>,
    bytes: usize,
}

impl Sources {
    /// None yet.
    ///
    /// # Errors
    /// The signal is in use by somebody else.
    pub fn new(plan: Plan) -> io::Result<Sources> {
        let handler = match plan.source {
            Source::Perf { .. } | Source::Safepoint | Source::Handshake => None,
            Source::Timer => Some(Handler::install(Take::Stack)?),
            Source::CallTrace(function) => Some(Handler::install(Take::CallTrace(function))?),
        };
        Ok(Sources { plan, threads: HashMap::new(), handler, bytes: 0 })
    }

    /// True if this thread is sampled as what it is.
    pub fn has(&self, subject: &Subject) -> bool {
        self.threads.get(&subject.os_id).is_some_and(|(known, _)| known.thread == subject.thread)
    }

    /// True if a thread with this kernel id is sampled.
    pub fn has_os_id(&self, os_id: u32) -> bool {
        self.threads.contains_key(&os_id)
    }

    /// Samples a thread from now on. Where there is no room for its ring, a
    /// timer takes its place.
    ///
    /// # Errors
    /// The thread is gone, or neither can be had.
    pub fn add(&mut self, subject: Subject) -> io::Result<()> {
        self.remove(subject.os_id);
        let means = match self.plan.source {
            Source::Perf { kernel } => match self.ring(&subject, kernel) {
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => self.timer(&subject)?,
                ring => Means::Ring(ring?),
            },
            Source::Timer => self.timer(&subject)?,
            Source::CallTrace(_) if subject.is_java() => {
                Means::Timer(Timer::start(subject.os_id, subject.env, self.plan.interval_ns)?)
            }
            Source::Safepoint | Source::Handshake if subject.is_java() => Means::Asked,
            Source::CallTrace(_) | Source::Safepoint | Source::Handshake => {
                return Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        };
        if let Means::Ring(ring) = &means {
            self.bytes += ring.memory_bytes();
        }
        self.threads.insert(subject.os_id, (subject, means));
        Ok(())
    }

    fn ring(&self, subject: &Subject, kernel: bool) -> io::Result<Ring> {
        let ring_bytes = match subject.is_java() {
            true => self.ring_bytes(),
            false => plan::SMALL_RING_BYTES,
        };
        if self.bytes + ring_bytes > plan::ALL_RINGS_BYTES {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let eager = self.plan.eager && subject.is_java();
        let mut config =
            Config { interval_ns: self.plan.interval_ns, stack_bytes: plan::STACK_BYTES, ring_bytes, kernel, eager };
        loop {
            match Ring::open(subject.os_id, &config) {
                // Less memory may be locked than was asked for.
                Err(error)
                    if error.raw_os_error() == Some(libc::EPERM) && config.ring_bytes > plan::SMALL_RING_BYTES =>
                {
                    config.ring_bytes /= 2;
                }
                opened => return opened,
            }
        }
    }

    /// Where a stack ends must be known: the handler copies no further.
    fn timer(&mut self, subject: &Subject) -> io::Result<Means> {
        if subject.stack_end == 0 {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        if self.handler.is_none() {
            self.handler = Some(Handler::install(Take::Stack)?);
        }
        Timer::start(subject.os_id, subject.stack_end, self.plan.interval_ns).map(Means::Timer)
    }

    /// The more threads, the smaller their rings.
    fn ring_bytes(&self) -> usize {
        match self.bytes * 4 / plan::ALL_RINGS_BYTES {
            0 | 1 if self.plan.interval_ns >= plan::SPARSE_NS => plan::RING_BYTES / 2,
            0 | 1 => plan::RING_BYTES,
            2 => plan::RING_BYTES / 4,
            _ => plan::SMALL_RING_BYTES,
        }
    }

    fn remove(&mut self, os_id: u32) {
        if let Some((_, Means::Ring(ring))) = self.threads.remove(&os_id) {
            self.bytes -= ring.memory_bytes().min(self.bytes);
        }
    }

    /// Where a thread's ring lies; 0 if it has none.
    pub fn ring_of(&self, os_id: u32) -> u64 {
        match self.threads.get(&os_id) {
            Some((_, Means::Ring(ring))) => ring.address(),
            _ => 0,
        }
    }

    /// Takes leave of threads that ended: these are all that live.
    pub fn keep(&mut self, alive: &[u32]) {
        let ended: Vec<u32> = self.threads.keys().copied().filter(|os_id| !alive.contains(os_id)).collect();
        for os_id in ended {
            self.remove(os_id);
        }
    }

    /// Threads that are sampled.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.threads.values().map(|(subject, _)| subject)
    }

    /// Memory of all rings and places.
    pub fn memory_bytes(&self) -> usize {
        self.bytes + self.handler.as_ref().map_or(0, Handler::memory_bytes)
    }

    /// Waits until a ring is partly full, at most this long. True if a thread
    /// ended.
    pub fn wait(&self, patience: Duration) -> bool {
        // Where each sample is waited for, those of the VM's own threads can wait.
        let is_urgent = |subject: &Subject| !self.plan.eager || subject.is_java();
        let rings = self.threads.values().filter_map(|(subject, means)| match means {
            Means::Ring(ring) if is_urgent(subject) => Some(ring.event().as_raw_fd()),
            _ => None,
        });
        let mut events: Vec<libc::pollfd> =
            rings.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: `events` is an array of this length; the descriptors are open.
        unsafe { libc::poll(events.as_mut_ptr(), events.len() as libc::nfds_t, milliseconds) };
        events.iter().any(|event| event.revents & libc::POLLHUP != 0)
    }

    /// Hands over what has been copied. True if nothing is left that was there
    /// at the call.
    pub fn drain(&mut self, sink: &mut dyn FnMut(&Subject, Record<'_>)) -> bool {
        let mut all = true;
        for (subject, means) in self.threads.values_mut() {
            if let Means::Ring(ring) = means {
                all &= ring.drain(TURN, &mut |record| sink(subject, record));
            }
        }
        if let Some(handler) = &self.handler {
            let mut lost = handler.take_lost();
            handler.drain(&mut |sample| match self.threads.get(&sample.tid) {
                Some((subject, _)) => sink(subject, Record::Sample(sample)),
                None => lost += sample.ticks,
            });
            if let Some((subject, _)) = self.threads.values().next().filter(|_| lost > 0) {
                sink(subject, Record::Lost(lost));
            }
        }
        all
    }
}
