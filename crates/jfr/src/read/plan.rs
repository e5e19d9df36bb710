//! How to get from an event's bytes to its values: for each event type of a
//! chunk a list of steps, made once from the chunk's metadata.

use super::cursor::{Cursor, Text};
use super::schema::{Field, Schema, Type, Unit, Wire};
use crate::header::ChunkHeader;
use std::sync::Arc;

/// Kinds of events and the names of their types, one entry each.
macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident: $($name:literal)|+;)*) => {
        /// What an event is, by its type's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum EventKind {
            $($(#[$doc])* $kind,)*
            Other,
        }

        fn kind(name: &str) -> EventKind {
            match name {
                $($($name)|+ => EventKind::$kind,)*
                _ => EventKind::Other,
            }
        }
    };
}

event_kinds! {
    ThreadStart: "jdk.ThreadStart";
    ThreadEnd: "jdk.ThreadEnd";
    MonitorEnter: "headway.MonitorContendedEnter";
    MonitorEntered: "jdk.JavaMonitorEnter";
    MonitorExit: "headway.MonitorContendedExit";
    MonitorWait: "headway.MonitorWaitBegin";
    MonitorNotify: "headway.MonitorNotify";
    MonitorWaited: "jdk.JavaMonitorWait";
    MonitorReentered: "headway.MonitorReenter";
    ParkBegin: "headway.ParkBegin";
    Park: "jdk.ThreadPark";
    Unpark: "headway.Unpark";
    ShortParks: "headway.ShortParks";
    VirtualMount: "headway.VirtualThreadMount";
    VirtualPinned: "jdk.VirtualThreadPinned";
    ShortEnters: "headway.ShortEnters";
    JavaSample: "jdk.ExecutionSample" | "jdk.CPUTimeSample";
    NativeSample: "jdk.NativeMethodSample";
    WallSample: "profiler.WallClockSample" | "headway.WallSample";
    OwnerSample: "headway.OwnerSample";
    PressureWindow: "headway.PressureWindow";
    PressurePhase: "headway.PressurePhase";
    ParkStatistics: "headway.ParkStatistics";
    MachineTime: "headway.Steal";
    ThreadTime: "headway.ThreadTime";
    Throttling: "headway.Throttling";
    Transaction: "headway.Transaction";
    Experiment: "headway.CausalExperiment";
    StopTheWorld: "headway.StopTheWorld";
    GcPause: "jdk.GCPhasePause";
    NativeLock: "profiler.NativeLock";
    SamplesLost: "jdk.CPUTimeSamplesLost";
    DataLoss: "jdk.DataLoss";
    SafepointBegin: "jdk.SafepointBegin";
    SafepointEnd: "jdk.SafepointEnd";
    Loss: "headway.Loss";
    Degraded: "headway.Degraded";
    CpuLoad: "jdk.CPULoad";
    SelfCost: "headway.SelfCost";
    Flush: "headway.Flush";
    /// Facts about the recording, read before everything else of a chunk.
    Info: "jdk.JVMInformation" | "jdk.ActiveSetting" | "headway.Recording";
    /// A lock's identity, read before everything else of a chunk.
    LockDefinition: "headway.Lock";
    /// A thread that is none of the application's, read before everything else.
    ServiceThread: "headway.ServiceThread";
    /// What completes the event behind it.
    Detail: "headway.MonitorEnterDetail" | "headway.MonitorWaitDetail" | "headway.ThreadParkDetail" | "headway.SampleDetail";
    /// Room that a killed writer left.
    Reserve: "headway.Reserve";
}

/// Places of values and the names of the fields whose values they take, one entry each.
macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident: $($field:literal)|+;)*) => {
        /// Where a value goes, by the field's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Slot {
            $($(#[$doc])* $slot,)*
        }

        /// Number of slots.
        pub(crate) const SLOTS: usize = [$(Slot::$slot),*].len();

        fn slot(field: &str) -> Option<Slot> {
            Some(match field {
                $($($field)|+ => Slot::$slot,)*
                _ => return None,
            })
        }
    };
}

slots! {
    Start: "startTime";
    Duration: "duration";
    Thread: "eventThread" | "sampledThread";
    Subject: "thread";
    Stack: "stackTrace";
    Class: "monitorClass" | "parkedClass";
    Other: "previousOwner" | "owner" | "notifier" | "waiter" | "target";
    Address: "address";
    Lock: "lock" | "blocker";
    Seq: "seq";
    StartSeq: "startSeq";
    Timeout: "timeout";
    TimedOut: "timedOut";
    Outcome: "outcome";
    HolderFrame: "holderFrame";
    HolderApproximate: "holderApproximate";
    Cause: "cause";
    State: "state";
    Weight: "weight" | "samplingPeriod";
    Samples: "samples";
    Bound: "bound";
    Count: "count" | "waiters" | "lostSamples" | "amount";
    JvmUser: "jvmUser";
    JvmSystem: "jvmSystem";
    MachineTotal: "machineTotal";
    OwnCpu: "ownCpu";
    AttachPause: "attachPause";
    Memory: "memory";
    AttachCpu: "attachCpu";
    ProcessCpu: "processCpu";
    HookCpu: "hookCpu";
    HookCpuError: "hookCpuError";
    TimedCalls: "timedCalls";
    SafepointId: "safepointId";
    Failed: "failed";
    Mechanism: "mechanism";
    Reason: "reason";
    Until: "until";
    Unpark: "unpark";
    Waker: "waker";
    /// One more than the number of the CPU, so that 0 means none.
    CpuFromOne: "cpu";
    Acquiring: "acquiring";
    Running: "running";
    Mean: "mean";
    Peak: "peak";
    OwnerStack: "ownerStackTrace" | "waiterStackTrace";
    TimesParked: "timesParked";
    ParkedNow: "parkedNow";
    PeakParked: "peakParked";
    ThreadTime: "threadTime";
    RealTime: "realTime";
    FirstParked: "firstParked";
    LastAlive: "lastAlive";
    Busy: "busy";
    Stolen: "stolen";
    Idle: "idle";
    Accounting: "accounting";
    CpuTime: "cpuTime";
    CpuTimeKnown: "cpuTimeKnown";
    RunQueue: "runQueue";
    RunQueueKnown: "runQueueKnown";
    Throttled: "throttled";
    Periods: "periods";
    ThrottledPeriods: "throttledPeriods";
    Quota: "quota";
    Period: "period";
    Used: "used";
    Kind: "kind";
    Id: "id";
    Parent: "parent";
    Blocked: "blocked";
    Parked: "parked";
    Waited: "waited";
    Forgotten: "forgotten";
    Experiment: "experiment";
    Speedup: "speedup";
    Delay: "delay";
    Stopped: "stopped";
    Selected: "selected";
    Cpus: "cpus";
    OffCpu: "offCpu";
    Interpreted: "interpreted";
    Wakes: "wakes";
    InFlight: "inFlight";
    Visits: "visits";
    ExperimentTarget: "experimentTarget";
    ProgressPoint: "progressPoint";
    SeqStep: "seqStep";
    StartBack: "startBack";
    UnparkBack: "unparkBack";
    Carrier: "carrierThread";
    PinnedReason: "pinnedReason";
    CpuWait: "cpuWait";
}

/// Converts a chunk's ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    start_nanos: u64,
    start_ticks: u64,
    frequency: u64,
}

const NANOS: u64 = 1_000_000_000;

impl Ticks {
    pub(crate) fn new(header: &ChunkHeader) -> Ticks {
        let frequency = if header.frequency == 0 { NANOS } else { header.frequency };
        Ticks { start_nanos: header.start_nanos, start_ticks: header.start_ticks, frequency }
    }

    /// Nanoseconds since the Unix epoch.
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.start_ticks) as i64;
        if self.frequency == NANOS {
            return self.start_nanos.saturating_add_signed(since);
        }
        let nanos = i128::from(since) * i128::from(NANOS) / i128::from(self.frequency);
        let nanos = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        self.start_nanos.saturating_add_signed(nanos)
    }

    /// Nanoseconds.
    #[inline]
    pub(crate) fn span(&self, ticks: u64) -> u64 {
        if ticks as i64 <= 0 {
            return 0;
        }
        if self.frequency == NANOS {
            return ticks;
        }
        (u128::from(ticks) * u128::from(NANOS) / u128::from(self.frequency)).min(u128::from(u64::MAX)) as u64
    }
}

#[derive(Clone, Copy)]
enum Step {
    /// Into a slot as it is.
    Number(u8, Slot),
    /// Into a slot, counted from one: -1 (none) comes to 0.
    FromOne(u8, Slot),
    /// Ticks, converted to a moment.
    Time(Slot),
    /// A length of time in ticks.
    TickSpan(Slot),
    /// A length of time in so many nanoseconds.
    Span(u64, Slot),
    Byte(Slot),
    Float(Slot),
    Text(Slot),
    SkipNumber(u8),
    SkipByte,
    /// The field with this index, whatever it is.
    Skip(usize),
}

impl Step {
    /// The slot that it fills with a number.
    fn fills(&self) -> Option<Slot> {
        match *self {
            Step::Number(_, slot)
            | Step::FromOne(_, slot)
            | Step::Time(slot)
            | Step::TickSpan(slot)
            | Step::Span(_, slot)
            | Step::Byte(slot)
            | Step::Float(slot) => Some(slot),
            Step::Text(_) | Step::SkipNumber(_) | Step::SkipByte | Step::Skip(_) => None,
        }
    }
}

/// The values of one event.
pub(crate) struct Values {
    numbers: [u64; SLOTS],
    texts: Vec<(Slot, Text)>,
    /// Index of the type whose values these are.
    ty: usize,
    /// The slots that it fills.
    filled: Vec<Slot>,
}

impl Default for Values {
    fn default() -> Values {
        Values { numbers: [0; SLOTS], texts: Vec::new(), ty: usize::MAX, filled: Vec::new() }
    }
}

impl Values {
    /// Forgets what another type's events left. Those of the same type fill the
    /// same slots again.
    #[inline]
    fn make_ready(&mut self, plan: &Plan) {
        self.texts.clear();
        if self.ty == plan.ty {
            return;
        }
        for slot in self.filled.drain(..) {
            self.numbers[slot as usize] = 0;
        }
        self.filled.extend(&plan.fills);
        self.ty = plan.ty;
    }

    /// A number; 0 if the event has none.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> u64 {
        self.numbers[slot as usize]
    }

    /// A floating-point number.
    pub(crate) fn float(&self, slot: Slot) -> f32 {
        f32::from_bits(self.get(slot) as u32)
    }

    /// A string; empty if the event has none.
    pub(crate) fn text(&self, slot: Slot) -> Arc<str> {
        match self.texts.iter().find(|(at, _)| *at == slot) {
            Some((_, Text::Here(text))) => text.as_str().into(),
            _ => "".into(),
        }
    }
}

/// See the module's description.
pub(crate) struct Plan {
    pub(crate) kind: EventKind,
    pub(crate) name: Arc<str>,
    /// Index of the type in the schema.
    pub(crate) ty: usize,
    steps: Vec<Step>,
    /// The slots that the steps fill with numbers.
    fills: Vec<Slot>,
}

impl Plan {
    pub(crate) fn new(ty: usize, schema: &Schema) -> Plan {
        let Type { name, fields, .. } = &schema.types[ty];
        let kind = kind(name);
        let mut steps: Vec<Step> = if matches!(
            kind,
            EventKind::Other
                | EventKind::Info
                | EventKind::LockDefinition
                | EventKind::ServiceThread
                | EventKind::Reserve
        ) {
            Vec::new()
        } else {
            fields.iter().enumerate().map(|(i, field)| step(i, field, schema)).collect()
        };
        // What stands behind the last value of use need not be walked.
        let used = steps.iter().rposition(|s| !matches!(s, Step::Skip(_) | Step::SkipByte | Step::SkipNumber(_)));
        steps.truncate(used.map_or(0, |last| last + 1));
        let fills = steps.iter().filter_map(Step::fills).collect();
        Plan { kind, name: name.clone(), ty, steps, fills }
    }

    /// Reads an event's values; `None` if it is damaged.
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        schema: &Schema,
        ticks: &Ticks,
        values: &mut Values,
    ) -> Option<()> {
        values.make_ready(self);
        for step in &self.steps {
            match *step {
                Step::Number(width, slot) => values.numbers[slot as usize] = cursor.integer(usize::from(width))?,
                Step::FromOne(width, slot) => {
                    let value = cursor.integer(usize::from(width))? as i32;
                    values.numbers[slot as usize] = u64::from(value.wrapping_add(1) as u32);
                }
                Step::Time(slot) => values.numbers[slot as usize] = ticks.time(cursor.long()?),
                Step::TickSpan(slot) => values.numbers[slot as usize] = ticks.span(cursor.long()?),
                Step::Span(nanos, slot) => {
                    let span = cursor.long()?;
                    let span = if (span as i64) < 0 { 0 } else { span.saturating_mul(nanos) };
                    values.numbers[slot as usize] = span;
                }
                Step::Byte(slot) => values.numbers[slot as usize] = u64::from(cursor.byte()?),
                Step::Float(slot) => values.numbers[slot as usize] = u64::from(cursor.float()?.to_bits()),
                Step::Text(slot) => values.texts.push((slot, cursor.string()?)),
                Step::SkipNumber(width) => {
                    cursor.integer(usize::from(width))?;
                }
                Step::SkipByte => {
                    cursor.byte()?;
                }
                Step::Skip(field) => schema.skip(&schema.types[self.ty].fields[field], cursor)?,
            }
        }
        Some(())
    }
}

fn step(index: usize, field: &Field, schema: &Schema) -> Step {
    let Some(ty) = schema.types.get(field.ty).filter(|_| !field.array) else {
        return Step::Skip(index);
    };
    let slot = slot(&field.name);
    let wire = if field.pool { Wire::Integer(8) } else { ty.wire };
    match (wire, slot) {
        (Wire::Integer(8), Some(slot)) => match field.unit {
            Unit::TickTime => Step::Time(slot),
            Unit::TickSpan => Step::TickSpan(slot),
            Unit::Span(nanos) => Step::Span(nanos, slot),
            Unit::None | Unit::EpochTime(_) => Step::Number(8, slot),
        },
        (Wire::Integer(width), Some(Slot::CpuFromOne)) => Step::FromOne(width, Slot::CpuFromOne),
        (Wire::Integer(width), Some(slot)) => Step::Number(width, slot),
        (Wire::Integer(width), None) => Step::SkipNumber(width),
        (Wire::Byte, Some(slot)) => Step::Byte(slot),
        (Wire::Byte, None) => Step::SkipByte,
        (Wire::Float, Some(slot)) => Step::Float(slot),
        (Wire::String, Some(slot)) => Step::Text(slot),
        _ => Step::Skip(index),
    }
}
