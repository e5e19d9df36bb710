//! What happened, in the field's words.
//!
//! A stream of events is fed to analyses and to the recording's writer. Its
//! order is: definitions before their use; the events of one thread in time
//! order; events of different threads in any order, but after
//! [`Event::Watermark`]`(t)` no event that happened before `t` follows. The
//! order of one lock's events is their [`Seq`], never their time.

use crate::id::{ChainId, LockId, MethodId, Seq, ThreadId};
use crate::loss::Loss;
pub use crate::schedule::{Sampling, SamplingBound};
use crate::stack::{ChainDef, Method};
use crate::time::{DurationNs, TimeNs};
use std::sync::Arc;

pub use crate::causal::Experiment;
pub use crate::long_contention::LongContention;
pub use crate::owner_sample::OwnerSample;
pub use crate::steal::{MachineTime, StealAccounting, ThreadTime, Throttling, Transaction, TransactionPoint};

/// Checks that an entry that names no texts has none: a text cannot be copied.
macro_rules! is_without_text {
    ([] $($data:ty),+) => {
        const _: () = {
            const fn is_copied<T: Copy>() {}
            $(is_copied::<$data>();)+
        };
    };
    ([$($text:tt)+] $($data:ty),+) => {};
}

macro_rules! is_there {
    () => {
        false
    };
    ($word:ident) => {
        true
    };
}

/// The kinds of events, one entry each: what it carries, the word under which `status`
/// counts it (definitions and bookkeeping have none), when it happened, the texts in it (`by hand` where
/// [`printable_event`](crate::printable::printable_event) sees to them), and whether it is what a
/// thread did at a lock or with a permit.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:ident($($data:ty),+) $(, word $word:literal)? $(, at |$e:ident| $time:expr)?
        $(, texts |$t:ident| [$($text:expr),*])? $(, texts by $hand:ident)? $(, of $a:ident lock)?;)*) => {
        /// Anything that is fed to an analysis or written to a recording.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[$doc])* $kind($($data),+),)*
        }

        /// The number of each kind.
        #[repr(usize)]
        enum Kind {
            $($kind,)*
        }

        $(is_without_text! { [$($($text)*)? $($hand)?] $($data),+ })*

        impl Event {
            /// The word of each kind, at its number; `None` for what is not counted.
            pub const WORDS: &[Option<&'static str>] = &[$(last(&[None, $(Some($word))?]),)*];

            /// The name of each kind, at its number.
            pub const NAMES: &[&'static str] = &[$(stringify!($kind)),*];

            /// The number of its kind: a place in [`Event::WORDS`] and [`Event::NAMES`].
            #[inline]
            pub const fn kind(&self) -> usize {
                match self {
                    $(Event::$kind(..) => Kind::$kind as usize,)*
                }
            }

            /// When it happened; `None` for definitions and losses.
            pub fn time(&self) -> Option<TimeNs> {
                match self {
                    $($(Event::$kind($e) => Some($time),)?)*
                    _ => None,
                }
            }

            /// True for what a thread did at a lock or with a permit. Where only pressure is
            /// recorded, these are counted in it and recorded nowhere else.
            pub const fn is_of_a_lock(&self) -> bool {
                match self {
                    $(Event::$kind(..) => is_there!($($a)?),)*
                }
            }

            /// True if all its texts satisfy `is_fine`; those by hand are left out.
            pub(crate) fn texts_are(&self, is_fine: impl Fn(&str) -> bool) -> bool {
                match self {
                    $($(Event::$kind($t) => true $(&& is_fine(&$text))*,)?)*
                    _ => true,
                }
            }

            /// Changes all its texts, except those by hand.
            pub(crate) fn change_texts(&mut self, change: impl Fn(&mut Arc<str>)) {
                match self {
                    $($(Event::$kind($t) => { $(change(&mut $text);)* })?)*
                    _ => {}
                }
            }
        }
    };
}

const fn last(words: &[Option<&'static str>]) -> Option<&'static str> {
    words[words.len() - 1]
}

events! {
    /// Facts about the recording itself; first, and again when they change.
    Recording(Arc<RecordingInfo>), texts by hand;
    /// A thread's identity. Comes again when its name changes.
    Thread(ThreadDef), texts |e| [e.name, e.group];
    /// A method's names.
    Method(MethodId, Arc<Method>), texts by hand;
    /// The frames of a call chain.
    Chain(Arc<ChainDef>), texts by hand;
    /// A lock's identity. Comes again when its readable name becomes known.
    Lock(LockDef), texts |e| [e.class, e.name];

    /// A thread started.
    ThreadStart(ThreadPoint), word "thread_start", at |e| e.time;
    /// A thread ended.
    ThreadEnd(ThreadPoint), word "thread_end", at |e| e.time;

    /// A thread found a monitor owned and is about to block.
    MonitorEnter(MonitorEnter), word "monitor_enter", at |e| e.time, of a lock;
    /// A thread has been blocked on a monitor for long, and still is: who owns it now.
    LongContention(LongContention), at |e| e.time;
    /// A thread that had blocked acquired the monitor.
    MonitorEntered(MonitorEntered), word "monitor_entered", at |e| e.time, of a lock;
    /// An owner released a monitor for which others queue.
    MonitorExit(MonitorExit), word "monitor_exit", at |e| e.time, of a lock;
    /// A thread begins `Object.wait`, still owning the monitor.
    MonitorWait(MonitorWait), word "monitor_wait", at |e| e.time, of a lock;
    /// A waiter was chosen by `notify`; its contended re-acquisition begins.
    MonitorNotify(MonitorNotify), word "monitor_notify", at |e| e.time, of a lock;
    /// `Object.wait` is over, the monitor not yet acquired again.
    MonitorWaited(MonitorWaited), word "monitor_waited", at |e| e.time, of a lock;
    /// A waiter acquired its monitor again.
    MonitorReentered(MonitorReentered), word "monitor_reentered", at |e| e.time, of a lock;

    /// A thread is about to park. Not in foreign recordings.
    ParkBegin(ParkBegin), word "park_begin", at |e| e.time, of a lock;
    /// A thread parked in `LockSupport.park` or its like came back.
    Park(Park), word "park", at |e| e.time, texts |e| [e.blocker_class], of a lock;
    /// A thread got the permit to go on. Not in foreign recordings.
    Unpark(Unpark), word "unpark", at |e| e.time, of a lock;
    /// Parks of one thread that were too short to be recorded one by one.
    ShortParks(ShortParks), word "short_parks", at |e| e.time;
    /// A virtual thread that was unparked runs again.
    VirtualMount(VirtualMount), word "virtual_mount", at |e| e.time;
    /// A virtual thread parked without leaving its carrier.
    VirtualPinned(VirtualPinned), word "virtual_pinned", at |e| e.time;
    /// From when on contentions and waits are sampled, or recorded one by one again.
    Sampling(Sampling), at |e| e.time;
    /// What a thread spent on one lock, added up.
    Spent(Spent), at |e| e.time, of a lock;
    /// A sample of what a thread executed (or, for wall clock, where it waited).
    Sample(Sample), word "cpu_sample", at |e| e.time;
    /// The same of a thread that others wait for just then: of no other threads, and so
    /// no profile.
    OwnerSample(OwnerSample), word "owner_sample", at |e| e.sample.time;

    /// How much a lock impeded progress in an interval.
    PressureWindow(PressureWindow), word "pressure_window", at |e| e.start + e.duration;
    /// Consecutive intervals in which a lock's pressure was above the threshold.
    PressurePhase(PressurePhase), word "pressure_phase", at |e| e.end;
    /// What is known of all parks on one blocker so far.
    ParkStatistics(ParkStatistics), at |e| e.time;

    /// CPU and steal of the machine, or of one CPU, in an interval. Those
    /// of single CPUs come only for intervals in which time was stolen.
    MachineTime(MachineTime), word "steal", at |e| e.start + e.duration;
    /// CPU time and run-queue wait of a thread in an interval. Comes only for
    /// threads that ran.
    ThreadTime(ThreadTime), word "thread_time", at |e| e.start + e.duration;
    /// How the container's CPU quota held threads back in an interval.
    Throttling(Throttling), word "throttling", at |e| e.start + e.duration;
    /// A unit of work that the application named, complete.
    Transaction(Transaction), word "transaction", at |e| e.time, texts |e| [e.kind];
    /// Such a unit began or ended. Only on its way inside the agent, never in a
    /// recording.
    TransactionPoint(TransactionPoint), at |e| e.time;

    /// A window of causal profiling.
    Experiment(Experiment), word "experiment", at |e| e.end, texts |e| [e.kind, e.target, e.point];

    /// A pause of the VM.
    StopTheWorld(StopTheWorld), word "stop_the_world", at |e| e.start + e.duration;
    /// Something is missing; adds `count` to the cause.
    Lost(Loss, u64);
    /// A mechanism that is not active, and what is used instead.
    Degraded(Degraded), texts |e| [e.mechanism, e.reason];
    /// Load of process and machine.
    CpuLoad(CpuLoad), at |e| e.time;
    /// The profiler's own cost so far.
    SelfCost(SelfCost), at |e| e.time;
    /// No event that happened before this time follows.
    Watermark(TimeNs), at |time| *time;
    /// An event of a type that Headway does not know, by its type's name.
    Other(Arc<str>), texts |name| [*name];
}

/// Facts about the recording.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RecordingInfo {
    /// First moment covered.
    pub start: TimeNs,
    /// Unix epoch minus the recording's clock, in ns; 0 where times are epoch.
    pub epoch_offset_ns: i64,
    /// Who made the recording: `headway 0.1.0`, `jfr`, `async-profiler`.
    pub producer: String,
    /// `OpenJDK 64-Bit Server VM`.
    pub jvm_name: String,
    /// `17.0.15+6-Debian-1deb12u1`.
    pub jvm_version: String,
    /// Main class and arguments, empty if redacted or unknown.
    pub java_arguments: String,
    /// VM arguments, empty if redacted or unknown.
    pub jvm_arguments: String,
    /// Process id.
    pub pid: u32,
    /// When the JVM started.
    pub jvm_start: TimeNs,
    /// Active settings, name and value, e.g. `events` = `monitor`.
    pub settings: Vec<(String, String)>,
}

/// A thread's identity.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ThreadDef {
    /// Id under which events refer to it.
    pub id: ThreadId,
    /// Kernel thread id; 0 for virtual threads and where unknown.
    pub os_id: u32,
    /// Java name, or the kernel's if it has none.
    pub name: Arc<str>,
    /// Java thread group; empty if unknown.
    pub group: Arc<str>,
    /// True for a virtual thread.
    pub is_virtual: bool,
    /// True for threads of the JVM, the JDK or Headway itself (Reference
    /// Handler, carriers, ...), which metrics about the application leave out.
    pub is_service: bool,
}

impl ThreadDef {
    /// True for the carriers of the VM's own scheduler. Its timer (JDK 25) is in their group and carries nothing.
    pub fn is_carrier(&self) -> bool {
        &*self.group == "CarrierThreads" && !self.name.ends_with("-delayScheduler")
    }
}

/// A lock's identity.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LockDef {
    /// Id under which events refer to it.
    pub id: LockId,
    /// Class of the lock object, dotted; for a `Class` object `java.lang.Class`.
    pub class: Arc<str>,
    /// Identity hash code, 0 if unknown.
    pub identity_hash: u32,
    /// What a developer calls it: `Inventory.lock`, `Foo.class`, `this`
    /// (then `Inventory (this)`); empty while unknown.
    pub name: Arc<str>,
}

/// Something that happened to a thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThreadPoint {
    /// When.
    pub time: TimeNs,
    /// Which thread.
    pub thread: ThreadId,
}

/// See [`Event::MonitorEnter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorEnter {
    /// When the contention began.
    pub time: TimeNs,
    /// The contender.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order.
    pub seq: Seq,
    /// The contender's call chain.
    pub chain: ChainId,
    /// Owner at that moment, read from the monitor; `NONE` if not readable.
    pub owner: ThreadId,
}

/// See [`Event::MonitorEntered`]. In foreign recordings the only event of a
/// contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorEntered {
    /// When the monitor was acquired.
    pub time: TimeNs,
    /// When the contention began.
    pub start: TimeNs,
    /// The contender, now owner.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order.
    pub seq: Seq,
    /// The contender's call chain, that of its contended enter.
    pub chain: ChainId,
    /// The thread that released the monitor last, `NONE` if unknown.
    pub previous_owner: ThreadId,
}

/// How an owner released a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ExitCause {
    /// Left a synchronized block or method, normally or by an exception, or
    /// through JNI `MonitorExit`.
    #[default]
    Exit,
    /// Released it inside `Object.wait`.
    Wait,
}

/// See [`Event::MonitorExit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorExit {
    /// When, taken while the monitor was still owned.
    pub time: TimeNs,
    /// The owner.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order, taken while the monitor was still owned.
    pub seq: Seq,
    /// The owner's call chain.
    pub chain: ChainId,
    /// Index into the chain of the frame that holds the lock: 0 for a plain
    /// exit, deeper for a wait called below the method that acquired it.
    pub owner_frame: u16,
    /// True where more than one frame could be the owner's.
    pub owner_approximate: bool,
    /// How it was released.
    pub cause: ExitCause,
}

/// See [`Event::MonitorWait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorWait {
    /// When.
    pub time: TimeNs,
    /// The waiter.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order.
    pub seq: Seq,
    /// The waiter's call chain.
    pub chain: ChainId,
    /// Timeout asked for; zero means none. See [`UNKNOWN_TIMEOUT`].
    pub timeout: DurationNs,
}

/// See [`Event::MonitorNotify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorNotify {
    /// When.
    pub time: TimeNs,
    /// The notifier, owner of the monitor.
    pub thread: ThreadId,
    /// The waiter that was chosen.
    pub waiter: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order.
    pub seq: Seq,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WaitOutcome {
    /// Notified (or, rarely, woken spuriously).
    #[default]
    Notified,
    /// The timeout ran out.
    TimedOut,
    /// The thread was interrupted.
    Interrupted,
}

/// See [`Event::MonitorWaited`]. In foreign recordings the only event of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorWaited {
    /// When the wait was over.
    pub time: TimeNs,
    /// When it began.
    pub start: TimeNs,
    /// The waiter.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order.
    pub seq: Seq,
    /// The waiter's call chain.
    pub chain: ChainId,
    /// Timeout asked for; zero means none. See [`UNKNOWN_TIMEOUT`].
    pub timeout: DurationNs,
    /// How it ended.
    pub outcome: WaitOutcome,
    /// Who notified it, `NONE` if unknown or nobody.
    pub notifier: ThreadId,
}

/// See [`Event::MonitorReentered`]: a contended re-acquisition after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MonitorReentered {
    /// When the monitor was acquired again.
    pub time: TimeNs,
    /// When the re-acquisition began: notify, timeout or interrupt.
    pub start: TimeNs,
    /// The waiter, owner again.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// Place in the lock's order of the begin; `NONE` if not numbered.
    pub start_seq: Seq,
    /// Place in the lock's order of the end.
    pub seq: Seq,
    /// The waiter's call chain, that of its wait.
    pub chain: ChainId,
    /// True where the end was not observed and `time` is only a bound.
    pub bound: bool,
}

/// How long a park lasts at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ParkLimit {
    /// Until it is unparked or interrupted.
    #[default]
    None,
    /// At most this long.
    For(DurationNs),
    /// Until a moment in milliseconds of the Unix epoch.
    UntilEpochMs(u64),
    /// The park began before the recording: there is a limit, of which no more is known, or it is not known whether there
    /// is one.
    Unknown,
}

/// The timeout of a wait that began before the recording: it has one, of which no more is known, or it is not known
/// whether it has one.
pub const UNKNOWN_TIMEOUT: DurationNs = DurationNs(i64::MAX as u64);

/// See [`Event::ParkBegin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ParkBegin {
    /// When.
    pub time: TimeNs,
    /// The thread that parks.
    pub thread: ThreadId,
    /// Place in the order of all parks and unparks of the process.
    pub seq: Seq,
    /// Its call chain.
    pub chain: ChainId,
    /// The object it parks on, `NONE` if it named none.
    pub blocker: LockId,
    /// The blocker's exclusive owner at that moment; `NONE` if it has none,
    /// cannot have one or it could not be read.
    pub owner: ThreadId,
    /// When it gives up.
    pub limit: ParkLimit,
}

/// How a park ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ParkOutcome {
    /// Not recorded (foreign recordings).
    #[default]
    Unknown,
    /// By an unpark, also one given before the park.
    Unparked,
    /// Its time ran out.
    TimedOut,
    /// The thread was interrupted.
    Interrupted,
    /// For no reason that can be seen.
    Spurious,
}

/// See [`Event::Park`]. In foreign recordings the only event of a park.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Park {
    /// When the thread came back.
    pub time: TimeNs,
    /// When it parked.
    pub start: TimeNs,
    /// The parked thread.
    pub thread: ThreadId,
    /// Place of the park's begin in the order of all parks and unparks; `NONE`
    /// in foreign recordings.
    pub start_seq: Seq,
    /// Place of its end in that order.
    pub seq: Seq,
    /// Its call chain, that of the begin.
    pub chain: ChainId,
    /// Class of the blocker; empty if there was none or its definition has it.
    pub blocker_class: Arc<str>,
    /// The blocker, `NONE` if there was none.
    pub blocker: LockId,
    /// The blocker's exclusive owner when the thread parked, see [`ParkBegin`].
    pub owner: ThreadId,
    /// When it would have given up.
    pub limit: ParkLimit,
    /// How it ended.
    pub outcome: ParkOutcome,
    /// The unpark that ended it, by its place in the order; `NONE` if none did
    /// or it is unknown.
    pub unpark: Seq,
    /// Who unparked it; `NONE` if nobody did or it is unknown.
    pub waker: ThreadId,
}

/// See [`Event::Unpark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Unpark {
    /// When, taken before `unpark` gave the permit.
    pub time: TimeNs,
    /// Who gave the permit.
    pub thread: ThreadId,
    /// Place in the order of all parks and unparks of the process.
    pub seq: Seq,
    /// The call chain of who gave it.
    pub chain: ChainId,
    /// Who got it.
    pub target: ThreadId,
}

/// See [`Event::VirtualMount`]: how long a virtual thread that could run did not. It waits
/// for a CPU from `unparked` to `ready`, and for a carrier from `ready` to `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct VirtualMount {
    /// When it ran.
    pub time: TimeNs,
    /// When it was unparked.
    pub unparked: TimeNs,
    /// When the carrier that took it came back from being idle, if that was after
    /// the unpark; otherwise when it was unparked.
    pub ready: TimeNs,
    /// The virtual thread.
    pub thread: ThreadId,
    /// The carrier on which it runs now.
    pub carrier: ThreadId,
    /// What it had parked on, `NONE` if it named nothing.
    pub blocker: LockId,
}

/// See [`Event::VirtualPinned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct VirtualPinned {
    /// When it came back.
    pub time: TimeNs,
    /// When it parked.
    pub start: TimeNs,
    /// The virtual thread.
    pub thread: ThreadId,
    /// Its carrier, which could run no other meanwhile; `NONE` if not recorded.
    pub carrier: ThreadId,
    /// Its call chain; some frame in it pins the thread.
    pub chain: ChainId,
    /// The frame nearest to the leaf that has a monitor, counted from the leaf on. `None` if
    /// none has, if monitors do not pin (JDK 24 and later), or if it is not known.
    pub monitor_frame: Option<u16>,
}

impl VirtualPinned {
    /// The first JDK on which a monitor does not pin.
    pub const MONITORS_PIN_UNTIL: u32 = 24;
}

/// See [`Event::ShortParks`]: where the recording has a floor (the setting
/// `park_floor`, in ns), a park that ends sooner has no [`ParkBegin`] and
/// [`Park`] of its own; it is summed up here, once a second at most for each
/// blocker and chain. Unparks are recorded one by one all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ShortParks {
    /// When the last of them ended.
    pub time: TimeNs,
    /// The thread that parked.
    pub thread: ThreadId,
    /// The object it parked on, `NONE` if it named none.
    pub blocker: LockId,
    /// Its call chain.
    pub chain: ChainId,
    /// How many parks.
    pub count: u64,
    /// Their durations together.
    pub total: DurationNs,
}

/// What time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SpentOn {
    /// Contended enters of a monitor.
    #[default]
    Monitor,
    /// Parks on a blocker.
    Park,
    /// Parks on a blocker that somebody owned.
    OwnedPark,
    /// Waits by `Object.wait`, each until it was notified, timed out or was interrupted.
    Wait,
}

/// See [`Event::Spent`]: where nothing but pressure is recorded, contentions that
/// lie whole in one of its intervals are added up by their thread; where the
/// recording has a minimum (the setting `min_duration`, in ns), contended enters
/// that end sooner have no [`MonitorEnter`] and [`MonitorEntered`] of their own and
/// are added up once a second for each thread, lock and chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Spent {
    /// When the last of them ended. All of them together count as one that
    /// ended then: it lies in the same interval as they do.
    pub time: TimeNs,
    /// The thread.
    pub thread: ThreadId,
    /// The lock or blocker, `NONE` for a park that named none.
    pub lock: LockId,
    /// The call chain of all of them, `NONE` where it was not taken.
    pub chain: ChainId,
    /// What kind of contentions they are.
    pub on: SpentOn,
    /// How many.
    pub count: u64,
    /// Their durations together.
    pub total: DurationNs,
}

/// What a sampled thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SampleState {
    /// Running Java code.
    #[default]
    Java,
    /// Running native code.
    Native,
    /// Waiting, sleeping or blocked (wall-clock profiles).
    Waiting,
    /// Running or ready to run, as a sampler on the wall clock saw it beside
    /// one of CPU time: counts in wall-clock profiles only.
    Runnable,
}

/// See [`Event::Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sample {
    /// When.
    pub time: TimeNs,
    /// Whose stack.
    pub thread: ThreadId,
    /// The stack.
    pub chain: ChainId,
    /// What the thread was doing.
    pub state: SampleState,
    /// Time that the sample stands for; zero where the recording does not say.
    pub weight: DurationNs,
    /// Number of the CPU it ran on; `None` where the recording does not say.
    pub cpu: Option<u16>,
}

/// See [`Event::PressureWindow`]: critical section pressure is `acquiring /
/// running`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PressureWindow {
    /// When the interval began.
    pub start: TimeNs,
    /// How long it is.
    pub duration: DurationNs,
    /// The lock; `NONE` stands for all locks together, once per interval.
    pub lock: LockId,
    /// Time that threads spent acquiring the lock within the interval.
    pub acquiring: DurationNs,
    /// Running time of all threads within the interval: their life in it minus
    /// their condition waits.
    pub running: DurationNs,
}

/// See [`Event::PressurePhase`]. Pressures are fractions, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PressurePhase {
    /// When its first interval began.
    pub start: TimeNs,
    /// When its last interval ended.
    pub end: TimeNs,
    /// The lock.
    pub lock: LockId,
    /// Acquiring time over running time of the whole phase.
    pub mean: f32,
    /// Highest pressure of one interval.
    pub peak: f32,
    /// Call chain that spent most time acquiring the lock.
    pub acquiring_chain: ChainId,
    /// Call chain that held it for most of that time; `NONE` if unknown.
    pub owner_chain: ChainId,
}

/// See [`Event::ParkStatistics`]. Averages and utilisations derive from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ParkStatistics {
    /// When this was the state.
    pub time: TimeNs,
    /// The blocker.
    pub blocker: LockId,
    /// Thread that parked when the collection threshold was reached.
    pub thread: ThreadId,
    /// Its call chain.
    pub chain: ChainId,
    /// Parks on this blocker.
    pub times_parked: u64,
    /// Threads parked on it at `time`.
    pub parked_now: u32,
    /// Most threads parked on it at once.
    pub peak_parked: u32,
    /// Sum of the parked times of all threads.
    pub thread_time: DurationNs,
    /// Time in which at least one thread was parked.
    pub real_time: DurationNs,
    /// When the first park on it was measured.
    pub first_parked: TimeNs,
    /// When a thread parked on it, or came back, for the last time; `time`
    /// while one is parked. Its observed life ends here.
    pub last_alive: TimeNs,
}

/// See [`Event::StopTheWorld`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StopTheWorld {
    /// When it began.
    pub start: TimeNs,
    /// How long it lasted.
    pub duration: DurationNs,
}

/// The cause at the end of a [`Degraded::reason`] if the user asked for it: `what is missing: CAUSE`.
pub const SWITCHED_OFF: &str = "switched off (--safe or --disable)";

/// See [`Event::Degraded`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Degraded {
    /// The mechanism: `monitor-exit`, `walker`, ...
    pub mechanism: Arc<str>,
    /// One sentence: what is missing, why, and what is used instead.
    pub reason: Arc<str>,
}

/// See [`Event::CpuLoad`]. Fractions of the machine, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct CpuLoad {
    /// When.
    pub time: TimeNs,
    /// This JVM in user mode.
    pub jvm_user: f32,
    /// This JVM in the kernel.
    pub jvm_system: f32,
    /// The whole machine.
    pub machine_total: f32,
}

/// See [`Event::SelfCost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SelfCost {
    /// When.
    pub time: TimeNs,
    /// CPU time of Headway's own threads since the recording's start.
    pub own_cpu: DurationNs,
    /// For how long the start of the recording paused the process at most.
    pub attach_pause: DurationNs,
    /// Memory in use for buffers and tables, in bytes.
    pub memory_bytes: u64,
    /// CPU time that beginning the recording took on the thread that did.
    pub attach_cpu: DurationNs,
    /// CPU time of the whole process since the recording's start; zero where it was
    /// not measured.
    pub process_cpu: DurationNs,
    /// CPU time of Headway's hooks on application threads since the recording's
    /// start, estimated from those calls that were timed.
    pub hook_cpu: DurationNs,
    /// How far the interval of 95 % around it reaches to each side.
    pub hook_cpu_error: DurationNs,
    /// Number of calls that were timed.
    pub timed_calls: u64,
}
