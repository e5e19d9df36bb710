//! Where copies of stacks come from: the kernel copies into rings of processors, or
//! of threads, or a timer per thread sends a signal whose handler copies.
//!
//! How much of a stack the kernel copies is said when an event is opened, and a ring
//! has room for that much per sample whatever the stack's depth. So a thread begins
//! with what most need, and gets new events once its stack was seen to be deeper; its
//! samples until then are cut off.

use super::by_cpu::{Events, Rings, PART_OF_FILES};
use super::plan::{self, Plan, Source};
use super::subjects::Subject;
use headway_sample::perf::{Config, Record, Ring, Sample};
use headway_sample::task;
use headway_sample::timer::{Handler, Take, Timer};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Most records taken from one ring before the next one's turn.
const TURN: usize = 64;
/// The same of a processor's.
const SHARED_TURN: usize = 256;
/// Most rings that one wait reports; the next one reports the others.
const TOLD: usize = 16;
/// Where so many threads, and a quarter of all, have a deep stack, new ones begin so.
const MANY_DEEP: usize = 4;

/// What samples a thread.
enum Means {
    /// Events that write to the processors' rings.
    Events(Events),
    Ring(Ring),
    /// Held for the signals it sends.
    Timer(Timer),
    /// The VM is asked for its stacks.
    Asked,
}

/// Says which rings have something to be read.
struct Readiness(OwnedFd);

impl Readiness {
    fn new() -> io::Result<Readiness> {
        // SAFETY: no arguments but flags.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just opened, owned by nobody else.
        Ok(Readiness(unsafe { OwnedFd::from_raw_fd(epoll) }))
    }

    /// Reports this ring, too, until it is closed.
    fn watch(&self, ring: &Ring) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let (epoll, ring) = (self.0.as_raw_fd(), ring.event().as_raw_fd());
        // SAFETY: both descriptors are open, the event is initialised.
        match unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, ring, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until one has, at most this long. True if a thread ended.
    fn wait(&self, patience: Duration) -> bool {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; TOLD];
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: `events` is an array of this length; the descriptor is open.
        let told =
            unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), TOLD as libc::c_int, milliseconds) };
        let told = usize::try_from(told).unwrap_or(0);
        events.iter().take(told).any(|event| event.events & libc::EPOLLHUP as u32 != 0)
    }
}

/// What samples each thread.
pub struct Sources {
    plan: Plan,
    threads: HashMap<u32, (Subject, Means)>,
    /// The processors' rings.
    shared: Option<Rings>,
    /// Where the kernel copies.
    readiness: Option<Readiness>,
    /// Declared behind the timers: it must outlive them.
    handler: Option<Handler>,
    bytes: usize,
    /// Rings of single threads, each a file: how many there may be, and are.
    ring_files: (u64, u64),
    /// Threads whose stack was found to be deep, those that ended too.
    deep: usize,
    /// All threads that the kernel samples, or did.
    opened: usize,
}

impl Sources {
    /// None yet.
    ///
    /// # Errors
    /// The signal is in use by somebody else.
    pub fn new(plan: Plan) -> io::Result<Sources> {
        let handler = match plan.source {
            Source::Perf { .. } | Source::Safepoint | Source::Handshake | Source::Nothing => None,
            Source::Timer => Some(Handler::install(Take::Stack)?),
            Source::CallTrace(function) => Some(Handler::install(Take::CallTrace(function))?),
        };
        let readiness = if plan.source.is_perf() { Some(Readiness::new()?) } else { None };
        let shared = match plan.source {
            // Experiments wait for each thread's own samples.
            // Few owners run at a time.
            Source::Perf { kernel } if !plan.eager && !plan.only_owners => Rings::open(plan.interval_ns, kernel).ok(),
            _ => None,
        };
        for ring in shared.iter().flat_map(Rings::rings) {
            readiness.as_ref().map_or(Ok(()), |readiness| readiness.watch(ring))?;
        }
        let ring_files = (task::files_to_keep(PART_OF_FILES), 0);
        let threads = HashMap::new();
        Ok(Sources { plan, threads, shared, readiness, handler, bytes: 0, ring_files, deep: 0, opened: 0 })
    }

    /// True if this thread is sampled as what it is.
    pub fn has(&self, subject: &Subject) -> bool {
        self.threads.get(&subject.os_id).is_some_and(|(known, _)| known.thread == subject.thread)
    }

    /// True if a thread with this kernel id is sampled.
    pub fn has_os_id(&self, os_id: u32) -> bool {
        self.threads.contains_key(&os_id)
    }

    /// Samples a thread from now on. Where too many files would be open it gets a
    /// ring of its own, and where there is no room for that a timer.
    ///
    /// # Errors
    /// The thread is gone, or none can be had.
    pub fn add(&mut self, subject: Subject) -> io::Result<()> {
        self.remove(subject.os_id);
        let means = match self.plan.source {
            Source::Perf { kernel } => match self.by_the_kernel(&subject, kernel) {
                // No signals for a thread that others wait for.
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) && !self.plan.only_owners => {
                    self.timer(&subject)?
                }
                means => means?,
            },
            Source::Timer => self.timer(&subject)?,
            Source::CallTrace(_) if subject.is_java() => {
                Means::Timer(Timer::start(subject.os_id, subject.env, self.plan.interval_ns)?)
            }
            Source::Safepoint | Source::Handshake if subject.is_java() => Means::Asked,
            Source::CallTrace(_) | Source::Safepoint | Source::Handshake | Source::Nothing => {
                return Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        };
        self.put(subject, means);
        Ok(())
    }

    fn by_the_kernel(&mut self, subject: &Subject, kernel: bool) -> io::Result<Means> {
        let many = self.deep >= MANY_DEEP && self.deep * 4 >= self.opened;
        // Compilers recurse; of few owners none shall be cut off.
        let deep = self.plan.eager || self.plan.only_owners || many || !subject.is_java();
        let means = self.means(subject, kernel, deep)?;
        self.opened += 1;
        Ok(means)
    }

    fn means(&mut self, subject: &Subject, kernel: bool, deep: bool) -> io::Result<Means> {
        let stack_bytes = if deep { plan::DEEP_STACK_BYTES } else { plan::STACK_BYTES };
        if let Some(shared) = &mut self.shared {
            match shared.add(subject.os_id, stack_bytes) {
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {}
                events => return events.map(Means::Events),
            }
        }
        self.open(subject, kernel, deep).map(Means::Ring)
    }

    fn open(&self, subject: &Subject, kernel: bool, deep: bool) -> io::Result<Ring> {
        let (stack_bytes, ring_bytes) = match (subject.is_java(), deep) {
            (true, false) => (plan::STACK_BYTES, self.ring_bytes(plan::RING_BYTES)),
            (true, true) => (plan::DEEP_STACK_BYTES, self.ring_bytes(plan::DEEP_RING_BYTES)),
            (false, false) => (plan::STACK_BYTES, plan::SMALL_RING_BYTES),
            (false, true) => (plan::DEEP_STACK_BYTES, 2 * plan::SMALL_RING_BYTES),
        };
        let (may_have, has) = self.ring_files;
        if self.bytes + ring_bytes > plan::ALL_RINGS_BYTES || has >= may_have {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let eager = self.plan.eager && subject.is_java();
        let mut config = Config { interval_ns: self.plan.interval_ns, stack_bytes, ring_bytes, kernel, eager };
        let ring = loop {
            match Ring::open(subject.os_id, &config) {
                // Less memory may be locked than was asked for.
                Err(error)
                    if error.raw_os_error() == Some(libc::EPERM) && config.ring_bytes > plan::SMALL_RING_BYTES =>
                {
                    config.ring_bytes /= 2;
                }
                opened => break opened?,
            }
        };
        // Where each sample is waited for, those of the VM's own threads can wait.
        if let Some(readiness) = self.readiness.as_ref().filter(|_| !self.plan.eager || subject.is_java()) {
            readiness.watch(&ring)?;
        }
        Ok(ring)
    }

    /// Gives a thread events for deeper stacks in place of its own, if there is room.
    fn deepen(&mut self, os_id: u32, sink: &mut dyn FnMut(&Subject, Record<'_>)) {
        let Source::Perf { kernel } = self.plan.source else { return };
        let Some(subject) = self.threads.get(&os_id).map(|(subject, _)| *subject) else { return };
        let Ok(deep) = self.means(&subject, kernel, true) else { return };
        self.deep += 1;
        match self.put(subject, deep) {
            Some(Means::Ring(mut ring)) => {
                ring.drain(usize::MAX, &mut |record| sink(&subject, record));
            }
            Some(Means::Events(events)) => self.close(events),
            _ => {}
        }
    }

    /// Puts what samples a thread in place of what did.
    fn put(&mut self, subject: Subject, means: Means) -> Option<Means> {
        if let Means::Ring(ring) = &means {
            self.bytes += ring.memory_bytes();
            self.ring_files.1 += 1;
        }
        let (_, before) = self.threads.insert(subject.os_id, (subject, means))?;
        if let Means::Ring(ring) = &before {
            self.bytes -= ring.memory_bytes().min(self.bytes);
            self.ring_files.1 = self.ring_files.1.saturating_sub(1);
        }
        Some(before)
    }

    fn close(&mut self, events: Events) {
        if let Some(shared) = &mut self.shared {
            shared.close(events);
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
    fn ring_bytes(&self, most: usize) -> usize {
        match self.bytes * 4 / plan::ALL_RINGS_BYTES {
            0 | 1 if self.plan.interval_ns >= plan::SPARSE_NS => most / 2,
            0 | 1 => most,
            2 => most / 2,
            _ => most / 4,
        }
    }

    fn remove(&mut self, os_id: u32) {
        match self.threads.remove(&os_id) {
            Some((_, Means::Ring(ring))) => {
                self.bytes -= ring.memory_bytes().min(self.bytes);
                self.ring_files.1 = self.ring_files.1.saturating_sub(1);
            }
            Some((_, Means::Events(events))) => self.close(events),
            _ => {}
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

    /// Samples all threads each so many ns from now on. A thread's next sample may stand for the time that
    /// was set before. Returns how many threads are not sampled any more, because the kernel refused: their samples would
    /// count for more time than they stand for.
    pub fn set_interval(&mut self, interval_ns: u64) -> u64 {
        self.plan.interval_ns = interval_ns;
        if let Some(shared) = &mut self.shared {
            shared.set_interval(interval_ns);
        }
        let mut refused = Vec::new();
        for (os_id, (_, means)) in &mut self.threads {
            let set = match means {
                Means::Events(events) => events.set_interval(interval_ns),
                Means::Ring(ring) => ring.set_interval(interval_ns),
                Means::Timer(timer) => timer.set_interval(interval_ns),
                Means::Asked => Ok(()),
            };
            if set.is_err() {
                refused.push(*os_id);
            }
        }
        refused.iter().for_each(|os_id| self.remove(*os_id));
        // Whoever ended meanwhile is not missed.
        refused.iter().filter(|os_id| task::cpu_time_ns(**os_id).is_some()).count() as u64
    }

    /// Threads that are sampled.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.threads.values().map(|(subject, _)| subject)
    }

    /// Memory of all rings and places.
    pub fn memory_bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, Rings::memory_bytes);
        self.bytes + shared + self.handler.as_ref().map_or(0, Handler::memory_bytes)
    }

    /// Waits until a ring is partly full, at most this long. True if a thread
    /// ended.
    pub fn wait(&self, patience: Duration) -> bool {
        match &self.readiness {
            Some(readiness) => readiness.wait(patience),
            None => {
                std::thread::park_timeout(patience);
                false
            }
        }
    }

    /// Hands over what has been copied. True if nothing is left that was there
    /// at the call.
    pub fn drain(&mut self, sink: &mut dyn FnMut(&Subject, Record<'_>)) -> bool {
        let mut all = true;
        let mut lost = 0;
        let mut deep = Vec::new();
        if let Some(shared) = &mut self.shared {
            let threads = &self.threads;
            all &= shared.drain(SHARED_TURN, &mut |record| match record {
                Record::Sample(sample) => match threads.get(&sample.tid) {
                    Some((subject, means)) => {
                        let room = if let Means::Events(events) = means { events.stack_bytes } else { u32::MAX };
                        if cut_off(&sample, room, subject) && room < plan::DEEP_STACK_BYTES {
                            deep.push(subject.os_id);
                        }
                        sink(subject, Record::Sample(sample));
                    }
                    None => lost += sample.ticks,
                },
                Record::Lost(count) => lost += count,
                Record::Throttled => {}
            });
        }
        for (subject, means) in self.threads.values_mut() {
            if let Means::Ring(ring) = means {
                let room = ring.config().stack_bytes;
                all &= ring.drain(TURN, &mut |record| {
                    let is_cut = matches!(&record, Record::Sample(sample) if cut_off(sample, room, subject));
                    if is_cut && room < plan::DEEP_STACK_BYTES {
                        deep.push(subject.os_id);
                    }
                    sink(subject, record);
                });
            }
        }
        deep.sort_unstable();
        deep.dedup();
        for os_id in deep {
            self.deepen(os_id, sink);
        }
        if let Some(handler) = &self.handler {
            lost += handler.take_lost();
            handler.drain(&mut |sample| match self.threads.get(&sample.tid) {
                Some((subject, _)) => sink(subject, Record::Sample(sample)),
                None => lost += sample.ticks,
            });
        }
        if let Some((subject, _)) = self.threads.values().next().filter(|_| lost > 0) {
            sink(subject, Record::Lost(lost));
        }
        all
    }
}

/// True if the stack goes on behind what there was room for.
fn cut_off(sample: &Sample<'_>, room: u32, subject: &Subject) -> bool {
    let copied_to = sample.registers.sp().unwrap_or(0) + sample.stack.len() as u64;
    sample.stack.len() >= room as usize && (subject.stack_end == 0 || copied_to < subject.stack_end)
}
