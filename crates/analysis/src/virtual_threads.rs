//! Virtual threads: how long they could run and did not (mount delay), what kept them
//! on their carriers (pinning), and how busy the carriers were.
//!
//! A mount delay is the time from an unpark until the thread runs. While the carrier
//! that takes it is still coming back from being idle, it waits for a CPU; the rest is
//! the wait for a carrier: all of them ran other virtual threads, or the scheduler had
//! not handed it over yet.
//!
//! A carrier is idle while it parks with no virtual thread mounted, and occupied
//! otherwise. A pinned thread occupies its carrier although it does nothing.

use crate::aggregate::{share, Range};
use crate::by_id::ById;
use crate::names::{self, Names, PathId};
use crate::threads::Threads;
use headway_model::event::{VirtualMount, VirtualPinned};
use headway_model::stack::{Frame, FrameKind, Method};
use headway_model::{ChainId, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use serde::Serialize;

const ACC_SYNCHRONIZED: u32 = 0x20;
const ACC_NATIVE: u32 = 0x100;

/// What is known of virtual threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualThreadsReport {
    /// How often a virtual thread that had parked was unparked and ran again.
    pub mounts: u64,
    /// From the unpark until it ran, all of them together.
    pub mount_delay_ns: u64,
    /// The longest.
    pub max_mount_delay_ns: u64,
    /// Part of `mount_delay_ns` in which no carrier took the thread.
    pub waiting_for_carrier_ns: u64,
    /// Part of `mount_delay_ns` in which an idle carrier had been woken and did not run yet.
    pub waiting_for_cpu_ns: u64,
    /// How often one parked and kept its carrier.
    pub pinned: u64,
    /// How long, together.
    pub pinned_ns: u64,
    /// Where, longest first.
    pub pins: Vec<PinSite>,
    /// Carriers that lived in the range.
    pub carriers: u64,
    /// Their lifetimes together.
    pub carriers_ns: u64,
    /// Of these, time in which they were not idle; `None` where their parks are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupied_ns: Option<u64>,
}

/// A call stack with which virtual threads were pinned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinSite {
    /// The frame that pins, `pkg.Class.method:line`. `None` where no frame of the stack
    /// is known to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// Why that frame pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<PinReason>,
    /// The first method that is not part of the waiting mechanism.
    pub method: String,
    /// The call stack from there, leaf first.
    pub stack: Vec<String>,
    /// How often.
    pub count: u64,
    /// Together.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Why a frame pins a virtual thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PinReason {
    /// It is a native method, which called back into Java.
    Native,
    /// It is the initializer of a class, which the VM calls.
    ClassInitializer,
    /// It is a `synchronized` method (before JDK 24).
    Synchronized,
    /// It is in a `synchronized` block (before JDK 24).
    SynchronizedBlock,
}

impl PinReason {
    /// What a reader calls it.
    pub const fn words(self) -> &'static str {
        match self {
            PinReason::Native => "native method",
            PinReason::ClassInitializer => "class initializer",
            PinReason::Synchronized => "synchronized method",
            PinReason::SynchronizedBlock => "synchronized block",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Pins {
    count: u64,
    total_ns: u64,
    max_ns: u64,
    frame: Option<(Frame, PinReason)>,
}

/// A carrier's idle time.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    ns: u64,
    /// Since when it is idle now.
    since: Option<TimeNs>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct VirtualThreads {
    java: Option<u32>,
    mounts: u64,
    delay_ns: u64,
    max_ns: u64,
    cpu_ns: u64,
    pinned: u64,
    pinned_ns: u64,
    by_lock: ById<LockId, u64>,
    by_chain: FxHashMap<ChainId, (Option<PathId>, Pins)>,
    idle: FxHashMap<ThreadId, Idle>,
    bound: usize,
    /// What a bound folded.
    pub folded: u64,
}

impl VirtualThreads {
    pub fn new(bound: usize) -> VirtualThreads {
        VirtualThreads { bound, ..VirtualThreads::default() }
    }

    /// The version of the recorded JVM.
    pub fn recorded_on(&mut self, java: Option<u32>) {
        self.java = java;
    }

    pub fn mount(&mut self, e: &VirtualMount, range: Range) {
        let Some((from, to)) = range.clip(e.unparked, e.time) else { return };
        let ready = e.ready.clamp(from, to);
        let ns = to.since(from).0;
        self.mounts += 1;
        self.delay_ns += ns;
        self.max_ns = self.max_ns.max(ns);
        self.cpu_ns += ready.since(from).0;
        if e.blocker.is_some() {
            match self.by_lock.get_or_add(e.blocker, self.bound, || 0) {
                Some(carrier_ns) => *carrier_ns += to.since(ready).0,
                None => self.folded += 1,
            }
        }
    }

    pub fn pinned(&mut self, e: &VirtualPinned, range: Range, names: &mut Names) {
        let Some((from, to)) = range.clip(e.start, e.time) else { return };
        let ns = to.since(from).0;
        self.pinned += 1;
        self.pinned_ns += ns;
        let mut chain = e.chain;
        if self.by_chain.len() >= self.bound && !self.by_chain.contains_key(&chain) {
            self.folded += 1;
            chain = ChainId::NONE;
        }
        let monitors_pin = self.java.is_none_or(|java| java < VirtualPinned::MONITORS_PIN_UNTIL);
        let pinning = |names: &Names| pinning(chain, e.monitor_frame, monitors_pin, names);
        let (_, pins) = self.by_chain.entry(chain).or_insert_with(|| {
            let frame = pinning(names);
            (names.path(chain, 0), Pins { frame, ..Pins::default() })
        });
        if pins.frame.is_none() && e.monitor_frame.is_some() {
            pins.frame = pinning(names);
        }
        pins.count += 1;
        pins.total_ns += ns;
        pins.max_ns = pins.max_ns.max(ns);
    }

    /// Parks of carriers: when they are idle.
    pub fn park(&mut self, event: &Event, range: Range, names: &Names) {
        match event {
            Event::ParkBegin(e) if names.is_carrier(e.thread) => {
                self.idle.entry(e.thread).or_default().since = Some(e.time);
            }
            Event::Park(e) if names.is_carrier(e.thread) => {
                let idle = self.idle.entry(e.thread).or_default();
                idle.since = None;
                idle.ns += range.clip(e.start, e.time).map_or(0, |(from, to)| to.since(from).0);
            }
            Event::ShortParks(e) if names.is_carrier(e.thread) => {
                let inside = range.clip(e.time - e.total, e.time).is_some();
                self.idle.entry(e.thread).or_default().ns += if inside { e.total.0 } else { 0 };
            }
            _ => {}
        }
    }

    /// For how long virtual threads that had parked on this lock waited for a carrier.
    pub fn carrier_wait_ns(&self, lock: LockId) -> u64 {
        self.by_lock.get(lock).copied().unwrap_or(0)
    }

    /// The result; `None` if there is nothing to report.
    pub fn report(&self, names: &Names, threads: &Threads, range: Range) -> Option<VirtualThreadsReport> {
        let carriers: Vec<(ThreadId, (TimeNs, TimeNs))> = threads
            .ids()
            .filter(|thread| names.is_carrier(*thread))
            .filter_map(|thread| Some((thread, threads.span(thread, range)?)))
            .collect();
        if self.mounts == 0 && self.pinned == 0 && carriers.is_empty() {
            return None;
        }
        let carriers_ns: u64 = carriers.iter().map(|(_, (start, end))| end.since(*start).0).sum();
        let idle_ns = |(thread, (start, end)): &(ThreadId, (TimeNs, TimeNs))| {
            let idle = self.idle.get(thread).copied().unwrap_or_default();
            let open = idle.since.map_or(0, |since| end.since(since.max(*start).min(*end)).0);
            (idle.ns + open).min(end.since(*start).0)
        };
        let idle: u64 = carriers.iter().map(idle_ns).sum();
        Some(VirtualThreadsReport {
            mounts: self.mounts,
            mount_delay_ns: self.delay_ns,
            max_mount_delay_ns: self.max_ns,
            waiting_for_carrier_ns: self.delay_ns - self.cpu_ns,
            waiting_for_cpu_ns: self.cpu_ns,
            pinned: self.pinned,
            pinned_ns: self.pinned_ns,
            pins: self.pins(names),
            carriers: carriers.len() as u64,
            carriers_ns,
            occupied_ns: (!self.idle.is_empty()).then_some(carriers_ns - idle),
        })
    }

    fn pins(&self, names: &Names) -> Vec<PinSite> {
        let mut sites: Vec<PinSite> = self.by_chain.values().map(|(path, pins)| site(*path, pins, names)).collect();
        sites.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.stack.cmp(&b.stack)));
        sites
    }
}

fn site(path: Option<PathId>, pins: &Pins, names: &Names) -> PinSite {
    let stack = path.map(|path| names.acting_text(path)).unwrap_or_default();
    let frame = pins.frame.and_then(|(frame, _)| {
        let method = names.dictionary().method(frame.method)?;
        let name = names::method::readable(method).full;
        Some(if frame.line == 0 { name } else { format!("{name}:{}", frame.line) })
    });
    PinSite {
        reason: frame.as_ref().and(pins.frame).map(|(_, reason)| reason),
        frame,
        method: stack.first().cloned().unwrap_or_else(|| crate::report::UNKNOWN.to_owned()),
        stack,
        count: pins.count,
        total_ns: pins.total_ns,
        max_ns: pins.max_ns,
    }
}

/// The frame nearest to the leaf that is known to pin. The leaf itself parks, and pins
/// nothing.
fn pinning(
    chain: ChainId,
    monitor_frame: Option<u16>,
    monitors_pin: bool,
    names: &Names,
) -> Option<(Frame, PinReason)> {
    let def = names.chain(chain)?;
    let pins = |(place, frame): (usize, &Frame)| {
        let method = names.dictionary().method(frame.method)?;
        let has_monitor = monitors_pin && monitor_frame.is_some_and(|at| usize::from(at) == place);
        let reason = reason(frame, method, monitors_pin).or(has_monitor.then_some(PinReason::SynchronizedBlock));
        reason.map(|reason| (*frame, reason))
    };
    def.chain.frames.iter().enumerate().find_map(pins)
}

fn reason(frame: &Frame, method: &Method, monitors_pin: bool) -> Option<PinReason> {
    let parks = matches!(&*method.class, "jdk.internal.misc.Unsafe" | "jdk.internal.vm.Continuation");
    let is_native = frame.kind == FrameKind::Native || method.access_flags & ACC_NATIVE != 0;
    if is_native && !parks && !method.class.is_empty() {
        return Some(PinReason::Native);
    }
    if &*method.name == "<clinit>" {
        return Some(PinReason::ClassInitializer);
    }
    (monitors_pin && method.access_flags & ACC_SYNCHRONIZED != 0).then_some(PinReason::Synchronized)
}

impl VirtualThreadsReport {
    /// Part of the carriers' time in which they were not idle.
    pub fn occupancy(&self) -> Option<f64> {
        self.occupied_ns.map(|ns| share(ns, self.carriers_ns))
    }
}
