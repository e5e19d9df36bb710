//! How to get from an event's bytes to its values: for each event type of a
//! chunk a list of steps, made once from the chunk's metadata.

use super::cursor::{Cursor, Text};
use super::schema::{Field, Schema, Type, Unit, Wire};
use crate::header::ChunkHeader;
use std::sync::Arc;

/// What an event is, by its type's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    ThreadStart,
    ThreadEnd,
    MonitorEnter,
    MonitorEntered,
    MonitorExit,
    MonitorWait,
    MonitorNotify,
    MonitorWaited,
    MonitorReentered,
    ParkBegin,
    Park,
    Unpark,
    ShortParks,
    ShortEnters,
    JavaSample,
    NativeSample,
    WallSample,
    PressureWindow,
    PressurePhase,
    ParkStatistics,
    MachineTime,
    ThreadTime,
    Throttling,
    Transaction,
    Experiment,
    StopTheWorld,
    GcPause,
    NativeLock,
    SamplesLost,
    DataLoss,
    SafepointBegin,
    SafepointEnd,
    Loss,
    Degraded,
    CpuLoad,
    SelfCost,
    Flush,
    /// Facts about the recording, read before everything else of a chunk.
    Info,
    /// A lock's identity, read before everything else of a chunk.
    LockDefinition,
    /// A thread that is none of the application's, read before everything else.
    ServiceThread,
    /// What completes the event behind it.
    Detail,
    /// Room that a killed writer left.
    Reserve,
    Other,
}

fn kind(name: &str) -> EventKind {
    match name {
        "jdk.ThreadStart" => EventKind::ThreadStart,
        "jdk.ThreadEnd" => EventKind::ThreadEnd,
        "headway.MonitorContendedEnter" => EventKind::MonitorEnter,
        "jdk.JavaMonitorEnter" => EventKind::MonitorEntered,
        "headway.MonitorContendedExit" => EventKind::MonitorExit,
        "headway.MonitorWaitBegin" => EventKind::MonitorWait,
        "headway.MonitorNotify" => EventKind::MonitorNotify,
        "jdk.JavaMonitorWait" => EventKind::MonitorWaited,
        "headway.MonitorReenter" => EventKind::MonitorReentered,
        "jdk.ThreadPark" => EventKind::Park,
        "jdk.ExecutionSample" | "jdk.CPUTimeSample" => EventKind::JavaSample,
        "jdk.NativeMethodSample" => EventKind::NativeSample,
        "profiler.WallClockSample" | "headway.WallSample" => EventKind::WallSample,
        "headway.ParkBegin" => EventKind::ParkBegin,
        "headway.Unpark" => EventKind::Unpark,
        "headway.ShortParks" => EventKind::ShortParks,
        "headway.ShortEnters" => EventKind::ShortEnters,
        "headway.PressureWindow" => EventKind::PressureWindow,
        "headway.PressurePhase" => EventKind::PressurePhase,
        "headway.ParkStatistics" => EventKind::ParkStatistics,
        "headway.Steal" => EventKind::MachineTime,
        "headway.ThreadTime" => EventKind::ThreadTime,
        "headway.Throttling" => EventKind::Throttling,
        "headway.Transaction" => EventKind::Transaction,
        "headway.CausalExperiment" => EventKind::Experiment,
        "headway.StopTheWorld" => EventKind::StopTheWorld,
        "jdk.GCPhasePause" => EventKind::GcPause,
        "jdk.SafepointBegin" => EventKind::SafepointBegin,
        "jdk.SafepointEnd" => EventKind::SafepointEnd,
        "headway.Loss" => EventKind::Loss,
        "jdk.CPUTimeSamplesLost" => EventKind::SamplesLost,
        "jdk.DataLoss" => EventKind::DataLoss,
        "profiler.NativeLock" => EventKind::NativeLock,
        "headway.Degraded" => EventKind::Degraded,
        "jdk.CPULoad" => EventKind::CpuLoad,
        "headway.SelfCost" => EventKind::SelfCost,
        "headway.Flush" => EventKind::Flush,
        "headway.Reserve" => EventKind::Reserve,
        "headway.Lock" => EventKind::LockDefinition,
        "headway.ServiceThread" => EventKind::ServiceThread,
        "headway.MonitorEnterDetail"
        | "headway.MonitorWaitDetail"
        | "headway.ThreadParkDetail"
        | "headway.SampleDetail" => EventKind::Detail,
        "jdk.JVMInformation" | "jdk.ActiveSetting" | "headway.Recording" => EventKind::Info,
        _ => EventKind::Other,
    }
}

/// Where a value goes, by the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Slot {
    Start,
    Duration,
    Thread,
    Subject,
    Stack,
    Class,
    Other,
    Address,
    Lock,
    Seq,
    StartSeq,
    Timeout,
    TimedOut,
    Outcome,
    HolderFrame,
    HolderApproximate,
    Cause,
    State,
    Weight,
    Samples,
    Bound,
    Count,
    JvmUser,
    JvmSystem,
    MachineTotal,
    OwnCpu,
    AttachPause,
    Memory,
    SafepointId,
    Failed,
    Mechanism,
    Reason,
    Until,
    Unpark,
    Waker,
    /// One more than the number of the CPU, so that 0 means none.
    CpuFromOne,
    Acquiring,
    Running,
    Mean,
    Peak,
    OwnerStack,
    TimesParked,
    ParkedNow,
    PeakParked,
    ThreadTime,
    RealTime,
    FirstParked,
    LastAlive,
    Busy,
    Stolen,
    Idle,
    Accounting,
    CpuTime,
    CpuTimeKnown,
    RunQueue,
    RunQueueKnown,
    Throttled,
    Periods,
    ThrottledPeriods,
    Quota,
    Period,
    Used,
    Kind,
    Id,
    Parent,
    Blocked,
    Parked,
    Waited,
    Forgotten,
    Experiment,
    Speedup,
    Delay,
    Stopped,
    Selected,
    Cpus,
    OffCpu,
    Interpreted,
    Wakes,
    InFlight,
    Visits,
    ExperimentTarget,
    ProgressPoint,
    SeqStep,
    StartBack,
    UnparkBack,
}

/// Number of slots.
pub(crate) const SLOTS: usize = Slot::UnparkBack as usize + 1;

fn slot(field: &str) -> Option<Slot> {
    Some(match field {
        "startTime" => Slot::Start,
        "duration" => Slot::Duration,
        "eventThread" | "sampledThread" => Slot::Thread,
        "thread" => Slot::Subject,
        "stackTrace" => Slot::Stack,
        "monitorClass" | "parkedClass" => Slot::Class,
        "previousOwner" | "owner" | "notifier" | "waiter" | "target" => Slot::Other,
        "address" => Slot::Address,
        "lock" | "blocker" => Slot::Lock,
        "seq" => Slot::Seq,
        "startSeq" => Slot::StartSeq,
        "timeout" => Slot::Timeout,
        "timedOut" => Slot::TimedOut,
        "outcome" => Slot::Outcome,
        "holderFrame" => Slot::HolderFrame,
        "holderApproximate" => Slot::HolderApproximate,
        "cause" => Slot::Cause,
        "state" => Slot::State,
        "weight" | "samplingPeriod" => Slot::Weight,
        "samples" => Slot::Samples,
        "bound" => Slot::Bound,
        "count" | "lostSamples" | "amount" => Slot::Count,
        "jvmUser" => Slot::JvmUser,
        "jvmSystem" => Slot::JvmSystem,
        "machineTotal" => Slot::MachineTotal,
        "ownCpu" => Slot::OwnCpu,
        "attachPause" => Slot::AttachPause,
        "memory" => Slot::Memory,
        "safepointId" => Slot::SafepointId,
        "failed" => Slot::Failed,
        "mechanism" => Slot::Mechanism,
        "reason" => Slot::Reason,
        "until" => Slot::Until,
        "unpark" => Slot::Unpark,
        "waker" => Slot::Waker,
        "cpu" => Slot::CpuFromOne,
        "acquiring" => Slot::Acquiring,
        "running" => Slot::Running,
        "mean" => Slot::Mean,
        "peak" => Slot::Peak,
        "ownerStackTrace" => Slot::OwnerStack,
        "timesParked" => Slot::TimesParked,
        "parkedNow" => Slot::ParkedNow,
        "peakParked" => Slot::PeakParked,
        "threadTime" => Slot::ThreadTime,
        "realTime" => Slot::RealTime,
        "firstParked" => Slot::FirstParked,
        "lastAlive" => Slot::LastAlive,
        "busy" => Slot::Busy,
        "stolen" => Slot::Stolen,
        "idle" => Slot::Idle,
        "accounting" => Slot::Accounting,
        "cpuTime" => Slot::CpuTime,
        "cpuTimeKnown" => Slot::CpuTimeKnown,
        "runQueue" => Slot::RunQueue,
        "runQueueKnown" => Slot::RunQueueKnown,
        "throttled" => Slot::Throttled,
        "periods" => Slot::Periods,
        "throttledPeriods" => Slot::ThrottledPeriods,
        "quota" => Slot::Quota,
        "period" => Slot::Period,
        "used" => Slot::Used,
        "kind" => Slot::Kind,
        "id" => Slot::Id,
        "parent" => Slot::Parent,
        "blocked" => Slot::Blocked,
        "parked" => Slot::Parked,
        "waited" => Slot::Waited,
        "forgotten" => Slot::Forgotten,
        "experiment" => Slot::Experiment,
        "speedup" => Slot::Speedup,
        "delay" => Slot::Delay,
        "stopped" => Slot::Stopped,
        "selected" => Slot::Selected,
        "cpus" => Slot::Cpus,
        "offCpu" => Slot::OffCpu,
        "interpreted" => Slot::Interpreted,
        "wakes" => Slot::Wakes,
        "inFlight" => Slot::InFlight,
        "visits" => Slot::Visits,
        "experimentTarget" => Slot::ExperimentTarget,
        "progressPoint" => Slot::ProgressPoint,
        "seqStep" => Slot::SeqStep,
        "startBack" => Slot::StartBack,
        "unparkBack" => Slot::UnparkBack,
        _ => return None,
    })
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
