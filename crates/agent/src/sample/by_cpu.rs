//! Rings of processors, shared by all threads: each thread has an event per
//! processor, and each processor a ring. What is locked in memory does not grow with
//! the number of threads; what does are open files, of which only a part of what the
//! process may have is taken.

use super::plan;
use headway_sample::perf::{Config, Event, Record, Ring};
use headway_sample::task;
use std::io;

/// Most open files, as the kernel keeps more than a kilobyte for each.
const MAX_EVENTS: usize = 8_192;
/// Part of the files that the process may open.
pub(super) const PART_OF_FILES: u64 = 8;

/// The processors' rings.
pub struct Rings {
    rings: Vec<(u32, Ring)>,
    budget: usize,
    open: usize,
}

/// A thread's events. To be handed back to [`Rings::close`].
pub struct Events {
    events: Vec<Event>,
    /// Bytes of stack that they copy.
    pub stack_bytes: u32,
}

impl Events {
    /// How often the thread is sampled from now on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_interval(&self, interval_ns: u64) -> io::Result<()> {
        self.events.iter().try_for_each(|event| event.set_interval(interval_ns))
    }
}

impl Rings {
    /// One for each processor that this process may run on.
    ///
    /// # Errors
    /// What the kernel says to the first of them that cannot be had.
    pub fn open(interval_ns: u64, kernel: bool) -> io::Result<Rings> {
        let cpus = task::allowed_cpus()?;
        let mut bytes = plan::CPU_RINGS_BYTES / cpus.len().max(1).next_power_of_two();
        let most = if interval_ns >= plan::SPARSE_NS { plan::CPU_RING_BYTES / 4 } else { plan::CPU_RING_BYTES };
        bytes = bytes.clamp(plan::SMALL_RING_BYTES, most);
        let rings = loop {
            let config = config(interval_ns, kernel, plan::STACK_BYTES, bytes);
            let opened: io::Result<Vec<_>> =
                cpus.iter().map(|cpu| Ring::of_cpu(*cpu, &config).map(|ring| (*cpu, ring))).collect();
            match opened {
                // Less memory may be locked than was asked for.
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && bytes > plan::SMALL_RING_BYTES => bytes /= 2,
                opened => break opened?,
            }
        };
        let files = usize::try_from(task::files_to_keep(PART_OF_FILES)).unwrap_or(MAX_EVENTS);
        Ok(Rings { rings, budget: files.min(MAX_EVENTS), open: 0 })
    }

    /// Memory of all rings.
    pub fn memory_bytes(&self) -> usize {
        self.rings.iter().map(|(_, ring)| ring.memory_bytes()).sum()
    }

    /// The rings themselves.
    pub fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.rings.iter().map(|(_, ring)| ring)
    }

    /// Samples a thread from now on.
    ///
    /// # Errors
    /// The thread is gone, or too many files are open.
    pub fn add(&mut self, tid: u32, stack_bytes: u32) -> io::Result<Events> {
        if self.open + self.rings.len() > self.budget {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let open = |(cpu, ring): &(u32, Ring)| {
            let config = Config { stack_bytes, ..*ring.config() };
            Event::open(tid, *cpu, ring, &config)
        };
        let events: Vec<Event> = self.rings.iter().map(open).collect::<io::Result<_>>()?;
        self.open += events.len();
        Ok(Events { events, stack_bytes })
    }

    /// How often threads are sampled that are added from now on.
    pub fn set_interval(&mut self, interval_ns: u64) {
        self.rings.iter_mut().for_each(|(_, ring)| ring.set_interval_of_events(interval_ns));
    }

    /// Samples a thread no longer.
    pub fn close(&mut self, events: Events) {
        self.open -= events.events.len();
    }

    /// Hands over what has been copied, at most `limit` of each ring. False if there
    /// is more.
    pub fn drain(&mut self, limit: usize, sink: &mut dyn FnMut(Record<'_>)) -> bool {
        let mut all = true;
        for (_, ring) in &mut self.rings {
            all &= ring.drain(limit, sink);
        }
        all
    }
}

fn config(interval_ns: u64, kernel: bool, stack_bytes: u32, ring_bytes: usize) -> Config {
    Config { interval_ns, stack_bytes, ring_bytes, kernel, eager: false }
}
