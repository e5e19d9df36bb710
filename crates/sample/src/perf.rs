//! Samples taken by the kernel: at every tick of a thread's CPU clock it copies
//! registers and stack into a ring that is mapped here.
//!
//! A ring belongs to a thread ([`Ring::open`]), or to a processor
//! ([`Ring::of_cpu`]): then each thread has an [`Event`] per processor that writes to
//! its ring. The kernel lets users lock half a megabyte per processor for rings,
//! which is the room for a few threads' own rings, and for any number of events.
//!
//! # Protocol of a ring
//! The kernel writes records and then moves the head; the reader reads the head
//! (acquire), takes what lies before it, and moves the tail (release), which
//! gives the room back. Records are read where they lie, but for the one that the
//! ring's end divides: a record is as long as the longest stack, of which most
//! need a small part. Where there is no room the kernel drops the sample and
//! says how many in the next record.

use crate::arch;
use headway_hotspot::fragment::Captured;
use perf_event_open_sys::bindings as sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a page; rings are made of them.
pub const PAGE: usize = 4096;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// CPU time between samples.
    pub interval_ns: u64,
    /// Bytes of stack to copy; a multiple of 8.
    pub stack_bytes: u32,
    /// Bytes of the ring: a power of two.
    pub ring_bytes: usize,
    /// Sample the time spent in the kernel too.
    pub kernel: bool,
    /// Say at once that there is a sample, not only when the ring fills.
    pub eager: bool,
}

/// A sample as it lies in the ring.
#[derive(Debug)]
pub struct Sample<'a> {
    /// When, on `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Whose.
    pub tid: u32,
    /// The CPU it ran on.
    pub cpu: u32,
    /// The registers of its own code.
    pub registers: Captured,
    /// The stack from the stack pointer on.
    pub stack: &'a [u8],
    /// Ticks that it stands for.
    pub ticks: u64,
    /// Instructions of the kernel's functions that the thread was in, leaf
    /// first, eight bytes each, with marks between them; see
    /// [`crate::kernel::instructions`].
    pub kernel: &'a [u8],
    /// Where `stack` is no stack but frames as `AsyncGetCallTrace` writes them:
    /// how many, or why there are none.
    pub calls: Option<i32>,
}

/// What a ring has to say.
#[derive(Debug)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// This many samples found no room.
    Lost(u64),
    /// The kernel samples less often than asked for, from now on or not any more.
    Throttled,
}

/// A thread's event and its ring.
pub struct Ring {
    event: OwnedFd,
    base: *mut u8,
    bytes: usize,
    scratch: Vec<u8>,
    config: Config,
}

// SAFETY: the mapping belongs to the value; the kernel is the only other side.
unsafe impl Send for Ring {}

/// Most frames of the kernel's own; they lie in every record.
const MAX_KERNEL_FRAMES: u16 = 32;

impl Ring {
    /// Opens the event of a thread of this process and maps its ring.
    ///
    /// # Errors
    /// What the kernel says: denied, no such thread, no memory to lock.
    pub fn open(tid: u32, config: &Config) -> io::Result<Ring> {
        let event = open_event(attributes(config, sys::PERF_COUNT_SW_CPU_CLOCK), tid, ANY_CPU)?;
        Ring::map(event, config)
    }

    /// Opens a processor's ring and maps it. Only [`Event`]s write to it.
    ///
    /// # Errors
    /// What the kernel says: denied, no such processor, no memory to lock.
    pub fn of_cpu(cpu: u32, config: &Config) -> io::Result<Ring> {
        let event = open_event(attributes(config, sys::PERF_COUNT_SW_DUMMY), crate::task::current(), number(cpu)?)?;
        Ring::map(event, config)
    }

    fn map(event: OwnedFd, config: &Config) -> io::Result<Ring> {
        let base = map(&event, config.ring_bytes)?;
        Ok(Ring { event, base, bytes: config.ring_bytes, scratch: Vec::new(), config: *config })
    }

    /// The event, to wait for.
    pub fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Samples each so many ns of CPU time from the next sample on, or sooner.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_interval(&mut self, interval_ns: u64) -> io::Result<()> {
        set_period(&self.event, interval_ns)?;
        self.config.interval_ns = interval_ns;
        Ok(())
    }

    /// The same of a processor's ring: for events that are opened from now on.
    pub fn set_interval_of_events(&mut self, interval_ns: u64) {
        self.config.interval_ns = interval_ns;
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes + PAGE
    }

    /// What was asked for, as far as it was granted.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where [`is_unread`] finds how far it was read.
    pub fn address(&self) -> u64 {
        self.base as u64
    }

    fn page(&self) -> *mut sys::perf_event_mmap_page {
        self.base.cast()
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the first page is mapped while the value lives; both sides
        // use the word atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_tail) }
    }

    /// Hands over the records that are there, oldest first, at most `limit`.
    /// False if there are more.
    pub fn drain(&mut self, limit: usize, sink: &mut dyn FnMut(Record<'_>)) -> bool {
        let head = self.head().load(Ordering::Acquire);
        let mut tail = self.tail().load(Ordering::Relaxed);
        for _ in 0..limit {
            if tail >= head {
                return true;
            }
            let Some(length) = self.record_length(tail) else {
                // Not a record: go on from where the kernel stands.
                self.tail().store(head, Ordering::Release);
                return true;
            };
            let mut divided = std::mem::take(&mut self.scratch);
            let bytes = match self.in_place(tail, length) {
                Some(bytes) => bytes,
                None => {
                    divided.resize(length, 0);
                    self.copy(tail, &mut divided);
                    &divided
                }
            };
            if let Some(record) = parse(bytes, self.config.kernel) {
                sink(record);
            }
            self.scratch = divided;
            tail += length as u64;
            // Only now: who looks whether all is read means what came of it, too.
            self.tail().store(tail, Ordering::Release);
        }
        tail >= head
    }

    /// The length of the record at `tail`.
    fn record_length(&self, tail: u64) -> Option<usize> {
        let mut header = [0; 8];
        self.copy(tail, &mut header);
        let length = usize::from(u16::from_le_bytes([header[6], header[7]]));
        (header.len()..=self.bytes).contains(&length).then_some(length)
    }

    /// The bytes of a record that the ring's end does not divide.
    fn in_place(&self, tail: u64, length: usize) -> Option<&[u8]> {
        let start = (tail as usize) & (self.bytes - 1);
        if start + length > self.bytes {
            return None;
        }
        // SAFETY: the data lie behind the first page and are `bytes` long; the
        // kernel leaves alone what the tail has not given back, and `drain` moves
        // the tail when the record is done with.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(PAGE + start), length) })
    }

    fn copy(&self, from: u64, into: &mut [u8]) {
        let start = (from as usize) & (self.bytes - 1);
        let first = into.len().min(self.bytes - start);
        // SAFETY: the data lie behind the first page and are `bytes` long; both
        // parts stay inside, and the kernel leaves alone what the tail has not
        // given back.
        unsafe {
            let data = self.base.add(PAGE);
            std::ptr::copy_nonoverlapping(data.add(start), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, into.as_mut_ptr().add(first), into.len() - first);
        }
    }
}

/// A thread's event on one processor, which writes to the processor's ring until it is
/// dropped.
#[derive(Debug)]
pub struct Event {
    event: OwnedFd,
}

impl Event {
    /// Opens the event of a thread of this process on the processor that a ring
    /// belongs to. `config` is what is asked for but for the ring's size.
    ///
    /// # Errors
    /// What the kernel says: denied, no such thread, too many open files.
    pub fn open(tid: u32, cpu: u32, ring: &Ring, config: &Config) -> io::Result<Event> {
        let event = open_event(attributes(config, sys::PERF_COUNT_SW_CPU_CLOCK), tid, number(cpu)?)?;
        // SAFETY: both descriptors are open.
        match unsafe { perf_event_open_sys::ioctls::SET_OUTPUT(event.as_raw_fd(), ring.event.as_raw_fd()) } {
            0 => Ok(Event { event }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Event {
    /// See [`Ring::set_interval`].
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_interval(&self, interval_ns: u64) -> io::Result<()> {
        set_period(&self.event, interval_ns)
    }
}

fn set_period(event: &OwnedFd, interval_ns: u64) -> io::Result<()> {
    let period = interval_ns.max(1);
    // The request takes the number's address.
    let address = (&raw const period) as u64;
    // SAFETY: the descriptor is open, and the kernel reads the number before it returns.
    match unsafe { perf_event_open_sys::ioctls::PERIOD(event.as_raw_fd(), address) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The event counts wherever its thread runs.
const ANY_CPU: libc::c_int = -1;

fn number(cpu: u32) -> io::Result<libc::c_int> {
    libc::c_int::try_from(cpu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

fn attributes(config: &Config, what: sys::perf_sw_ids) -> sys::perf_event_attr {
    let mut attributes = sys::perf_event_attr {
        type_: sys::PERF_TYPE_SOFTWARE,
        size: std::mem::size_of::<sys::perf_event_attr>() as u32,
        config: u64::from(what),
        sample_type: u64::from(
            sys::PERF_SAMPLE_TID
                | sys::PERF_SAMPLE_TIME
                | sys::PERF_SAMPLE_CPU
                | sys::PERF_SAMPLE_REGS_USER
                | sys::PERF_SAMPLE_STACK_USER,
        ),
        sample_regs_user: arch::perf::REGISTERS,
        sample_stack_user: config.stack_bytes,
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = config.interval_ns.max(1);
    attributes.__bindgen_anon_2.wakeup_watermark = if config.eager { 1 } else { (config.ring_bytes / 4) as u32 };
    attributes.set_watermark(1);
    attributes.set_use_clockid(1);
    if config.kernel {
        attributes.sample_type |= u64::from(sys::PERF_SAMPLE_CALLCHAIN);
        attributes.set_exclude_callchain_user(1);
        attributes.sample_max_stack = MAX_KERNEL_FRAMES;
    }
    attributes.set_exclude_kernel(u64::from(!config.kernel));
    attributes.set_exclude_hv(1);
    attributes
}

fn open_event(mut attributes: sys::perf_event_attr, tid: u32, cpu: libc::c_int) -> io::Result<OwnedFd> {
    let tid = libc::pid_t::try_from(tid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let flags = u64::from(sys::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the attributes are a valid, initialised structure.
    let event = unsafe { perf_event_open_sys::perf_event_open(&mut attributes, tid, cpu, -1, flags) };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor just opened, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

/// True if a ring has records that were not handed over to the end yet. `read` reads
/// a word of this process, which may be gone: the ring belongs to another thread.
pub fn is_unread(ring: u64, read: impl Fn(u64) -> Option<u64>) -> bool {
    let word = |offset: usize| read(ring + offset as u64);
    let head = word(std::mem::offset_of!(sys::perf_event_mmap_page, data_head));
    let tail = word(std::mem::offset_of!(sys::perf_event_mmap_page, data_tail));
    matches!((head, tail), (Some(head), Some(tail)) if head > tail)
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped in `open` with this length, and nobody keeps addresses.
        unsafe { libc::munmap(self.base.cast(), self.bytes + PAGE) };
    }
}

fn map(event: &OwnedFd, bytes: usize) -> io::Result<*mut u8> {
    if !bytes.is_power_of_two() || bytes < PAGE {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: a shared mapping of the event at an address of the kernel's choice.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes + PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            event.as_raw_fd(),
            0,
        )
    };
    match base == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(base.cast()),
    }
}

/// Reads words off a record's bytes.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(length)?;
        self.0 = tail;
        Some(head)
    }
}

fn parse(bytes: &[u8], kernel: bool) -> Option<Record<'_>> {
    let mut words = Words(bytes);
    let kind = words.u32()?;
    let _misc_and_size = words.u32()?;
    match kind {
        sys::PERF_RECORD_SAMPLE => sample(words, kernel).map(Record::Sample),
        sys::PERF_RECORD_LOST => {
            let _id = words.u64()?;
            Some(Record::Lost(words.u64()?))
        }
        sys::PERF_RECORD_THROTTLE => Some(Record::Throttled),
        _ => None,
    }
}

fn sample(mut words: Words<'_>, with_kernel: bool) -> Option<Sample<'_>> {
    let _pid = words.u32()?;
    let tid = words.u32()?;
    let time_ns = words.u64()?;
    let cpu = words.u32()?;
    let _reserved = words.u32()?;
    let frames = if with_kernel { usize::try_from(words.u64()?).ok()? } else { 0 };
    let kernel = words.bytes(frames.checked_mul(8)?)?;
    let mut registers = Captured::default();
    // No registers: a thread of the kernel, or one that is ending.
    if words.u64()? != 0 {
        let (mut values, mut pc) = ([0; 16], 0);
        for number in arch::perf::ORDER {
            let value = words.u64()?;
            match values.get_mut(usize::from(number)) {
                Some(place) => *place = value,
                None => pc = value,
            }
        }
        registers = Captured::all(pc, values);
    }
    let size = usize::try_from(words.u64()?).ok()?;
    let copied = words.bytes(size)?;
    let dynamic = if size > 0 { usize::try_from(words.u64()?).ok()? } else { 0 };
    let stack = copied.get(..dynamic.min(size))?;
    Some(Sample { time_ns, tid, cpu, registers, stack, ticks: 1, kernel, calls: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_hotspot::fragment::Reg;

    #[test]
    fn records_are_taken_apart() {
        let mut bytes = Vec::new();
        bytes.extend(sys::PERF_RECORD_LOST.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(77u64.to_le_bytes());
        assert!(matches!(parse(&bytes, false), Some(Record::Lost(77))));
        bytes.truncate(12);
        assert!(parse(&bytes, false).is_none());

        for kernel in [false, true] {
            a_sample_is_taken_apart(kernel);
        }
    }

    fn a_sample_is_taken_apart(kernel: bool) {
        let mut bytes = Vec::new();
        bytes.extend(sys::PERF_RECORD_SAMPLE.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(2u32.to_le_bytes());
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(4u64.to_le_bytes());
        if kernel {
            bytes.extend(1u64.to_le_bytes());
            bytes.extend([0xfe; 8]);
        }
        bytes.extend(2u64.to_le_bytes());
        for value in 100..117u64 {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(16u64.to_le_bytes());
        bytes.extend([9; 16]);
        bytes.extend(8u64.to_le_bytes());
        let Some(Record::Sample(sample)) = parse(&bytes, kernel) else { panic!() };
        assert_eq!((sample.tid, sample.time_ns, sample.cpu, sample.stack), (2, 3, 4, &[9u8; 8][..]));
        assert_eq!(sample.kernel, if kernel { &[0xfe; 8][..] } else { &[] });
        assert_eq!((sample.registers.pc, sample.registers.sp(), sample.registers.fp()), (108, Some(107), Some(106)));
        assert_eq!((sample.registers.get(Reg::BX), sample.registers.get(Reg(15))), (Some(101), Some(116)));
    }
}
