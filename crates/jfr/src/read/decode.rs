//! From the values of an event to the model's event.

use super::chunk::Chunk;
use super::detail::before;
use super::intern::Interner;
use super::plan::{EventKind, Slot};
use crate::schema::values::monitor_frame;
use headway_model::event::{
    CpuLoad, Degraded, LockDef, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered,
    MonitorWait, MonitorWaited, OwnerSample, Park, ParkBegin, ParkLimit, ParkStatistics, PressurePhase, PressureWindow,
    Sample, SampleState, SelfCost, ShortParks, Spent, SpentOn, StopTheWorld, ThreadPoint, Unpark, VirtualMount,
    VirtualPinned, WaitOutcome,
};
use headway_model::{ChainId, DurationNs, Event, LockId, Loss, Seq, ThreadId, TimeNs};

/// What stands for the class of a native mutex.
const NATIVE_MUTEX: &str = "pthread_mutex_t";
/// Safepoints whose end is awaited; there is only ever one at a time.
const MAX_OPEN_SAFEPOINTS: usize = 16;

impl Chunk {
    #[inline]
    pub(super) fn start(&self) -> TimeNs {
        TimeNs(self.values.get(Slot::Start))
    }

    #[inline]
    pub(super) fn end(&self) -> TimeNs {
        self.start() + DurationNs(self.values.get(Slot::Duration))
    }

    #[inline]
    pub(super) fn thread(&self, slot: Slot) -> ThreadId {
        self.resolver.thread(self.values.get(slot))
    }

    /// Makes the event that was just read if it is one of contention, of which there
    /// are the most: put where it goes, without a detour. False if it is another.
    #[inline]
    pub(super) fn contended(&mut self, kind: EventKind, interner: &mut Interner, out: &mut Vec<Event>) -> bool {
        if !matches!(kind, EventKind::MonitorEnter | EventKind::MonitorEntered | EventKind::MonitorExit) {
            return false;
        }
        let chain = self.resolver.chain(self.values.get(Slot::Stack), interner, out);
        let (start, thread) = (self.start(), self.thread(Slot::Thread));
        let seq = match kind {
            EventKind::MonitorEntered => {
                let detail = self.detail();
                self.lock_place(Some(&detail))
            }
            _ => self.lock_place(None),
        };
        let lock = self.lock(interner, out);
        let (other, number) = (self.thread(Slot::Other), |slot| self.values.get(slot));
        match kind {
            EventKind::MonitorEnter => {
                out.push(Event::MonitorEnter(MonitorEnter { time: start, thread, lock, seq, chain, owner: other }));
            }
            EventKind::MonitorEntered => {
                let (time, previous_owner) = (self.end(), other);
                let entered = MonitorEntered { time, start, thread, lock, seq, chain, previous_owner };
                out.push(Event::MonitorEntered(entered));
            }
            _ => out.push(Event::MonitorExit(MonitorExit {
                time: start,
                thread,
                lock,
                seq,
                chain,
                holder_frame: number(Slot::HolderFrame).min(u64::from(u16::MAX)) as u16,
                holder_approximate: number(Slot::HolderApproximate) != 0,
                cause: self.resolver.exit_cause(number(Slot::Cause)),
            })),
        }
        true
    }

    /// The lock of the event that was just read.
    #[inline]
    fn lock(&mut self, interner: &mut Interner, out: &mut Vec<Event>) -> LockId {
        match (self.values.get(Slot::Lock), self.values.get(Slot::Address)) {
            (0, 0) => LockId::NONE,
            (0, address) => self.resolver.lock_at(address, self.values.get(Slot::Class), interner, out),
            (key, _) => self.resolver.lock(key, interner, out),
        }
    }

    /// The event that was just read, if [`Chunk::contended`] did not make it; `None`
    /// if it is none of its own.
    pub(super) fn event(&mut self, kind: EventKind, interner: &mut Interner, out: &mut Vec<Event>) -> Option<Event> {
        if kind == EventKind::NativeLock {
            return Some(self.native_lock(interner, out));
        }
        let chain = self.resolver.chain(self.values.get(Slot::Stack), interner, out);
        let (start, end, thread) = (self.start(), self.end(), self.thread(Slot::Thread));
        let lock = self.lock(interner, out);
        let number = |slot| self.values.get(slot);
        let other = self.thread(Slot::Other);
        let timeout = DurationNs(number(Slot::Timeout));
        Some(match kind {
            EventKind::MonitorEnter | EventKind::MonitorEntered | EventKind::MonitorExit | EventKind::NativeLock => {
                return None
            }
            EventKind::MonitorWait => {
                let seq = self.lock_place(None);
                Event::MonitorWait(MonitorWait { time: start, thread, lock, seq, chain, timeout })
            }
            EventKind::MonitorNotify => {
                let seq = self.lock_place(None);
                Event::MonitorNotify(MonitorNotify { time: start, thread, waiter: other, lock, seq })
            }
            EventKind::MonitorWaited => {
                let detail = self.detail();
                Event::MonitorWaited(MonitorWaited {
                    time: end,
                    start,
                    thread,
                    lock,
                    seq: self.lock_place(Some(&detail)),
                    chain,
                    timeout,
                    outcome: self.wait_outcome(detail.outcome),
                    notifier: other,
                })
            }
            EventKind::MonitorReentered => {
                let seq = self.lock_place(None);
                let start_seq = match self.values.get(Slot::StartBack) {
                    0 => Seq(self.values.get(Slot::StartSeq)),
                    back => before(seq, back),
                };
                let bound = self.values.get(Slot::Bound) != 0;
                Event::MonitorReentered(MonitorReentered {
                    time: end,
                    start,
                    thread,
                    lock,
                    start_seq,
                    seq,
                    chain,
                    bound,
                })
            }
            EventKind::ParkBegin => Event::ParkBegin(ParkBegin {
                time: start,
                thread,
                seq: self.park_place(None),
                chain,
                blocker: lock,
                owner: other,
                limit: self.park_limit(),
            }),
            EventKind::Park => Event::Park(self.park(lock, chain)),
            EventKind::Unpark => {
                let seq = self.park_place(None);
                Event::Unpark(Unpark { time: start, thread, seq, chain, target: other })
            }
            EventKind::VirtualMount => Event::VirtualMount(VirtualMount {
                time: end,
                unparked: start,
                ready: (start + DurationNs(number(Slot::CpuWait))).min(end),
                thread,
                carrier: self.thread(Slot::Carrier),
                blocker: lock,
            }),
            EventKind::VirtualPinned => Event::VirtualPinned(VirtualPinned {
                time: end,
                start,
                thread,
                carrier: self.thread(Slot::Carrier),
                chain,
                monitor_frame: monitor_frame(&self.values.text(Slot::PinnedReason)),
            }),
            EventKind::ShortParks => Event::ShortParks(ShortParks {
                time: start,
                thread,
                blocker: lock,
                chain,
                count: number(Slot::Count),
                total: DurationNs(number(Slot::ThreadTime)),
            }),
            EventKind::ShortEnters => Event::Spent(Spent {
                time: start,
                thread,
                lock,
                chain,
                on: SpentOn::Monitor,
                count: number(Slot::Count),
                total: DurationNs(number(Slot::ThreadTime)),
            }),
            EventKind::PressureWindow => Event::PressureWindow(PressureWindow {
                start,
                duration: end.since(start),
                lock,
                acquiring: DurationNs(number(Slot::Acquiring)),
                running: DurationNs(number(Slot::Running)),
            }),
            EventKind::PressurePhase => Event::PressurePhase(PressurePhase {
                start,
                end,
                lock,
                mean: self.values.float(Slot::Mean),
                peak: self.values.float(Slot::Peak),
                acquiring_chain: chain,
                owner_chain: self.resolver.chain(self.values.get(Slot::OwnerStack), interner, out),
            }),
            EventKind::ParkStatistics => Event::ParkStatistics(self.park_statistics(chain, lock)),
            EventKind::JavaSample | EventKind::NativeSample | EventKind::WallSample => {
                let detail = self.detail();
                let cpu = detail.cpu_from_one.max(self.values.get(Slot::CpuFromOne));
                Event::Sample(Sample {
                    time: start,
                    thread,
                    chain,
                    state: self.sample_state(kind),
                    weight: self.weight(kind, detail.weight),
                    cpu: cpu.checked_sub(1).and_then(|cpu| u16::try_from(cpu).ok()),
                })
            }
            EventKind::OwnerSample => Event::OwnerSample(OwnerSample {
                sample: Sample {
                    time: start,
                    thread,
                    chain,
                    state: self.sample_state(EventKind::WallSample),
                    weight: DurationNs(number(Slot::Weight)),
                    cpu: None,
                },
                lock,
                waiter_chain: self.resolver.chain(self.values.get(Slot::OwnerStack), interner, out),
                waiters: u32::try_from(number(Slot::Count)).unwrap_or(u32::MAX),
            }),
            EventKind::ThreadStart => Event::ThreadStart(ThreadPoint { time: start, thread: self.subject() }),
            EventKind::ThreadEnd => Event::ThreadEnd(ThreadPoint { time: start, thread: self.subject() }),
            EventKind::MachineTime => Event::MachineTime(self.machine_time()),
            EventKind::ThreadTime => Event::ThreadTime(self.thread_time()),
            EventKind::Throttling => Event::Throttling(self.throttling()),
            EventKind::Transaction => Event::Transaction(self.transaction()),
            EventKind::Experiment => Event::Experiment(self.experiment()),
            EventKind::StopTheWorld => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            // Collections stop the world inside safepoints, which say it better.
            EventKind::GcPause if self.has_safepoints => return None,
            EventKind::GcPause => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            EventKind::SafepointBegin => {
                self.open_safepoints.truncate(MAX_OPEN_SAFEPOINTS - 1);
                self.open_safepoints.push((number(Slot::SafepointId), start.0));
                return None;
            }
            EventKind::SafepointEnd => return self.safepoint(end),
            EventKind::Loss => Event::Lost(self.resolver.loss(number(Slot::Cause))?, number(Slot::Count)),
            EventKind::SamplesLost => Event::Lost(Loss::SampleLost, number(Slot::Count)),
            EventKind::DataLoss => Event::Lost(Loss::RecorderBytes, number(Slot::Count)),
            EventKind::Degraded => Event::Degraded(Degraded {
                mechanism: self.values.text(Slot::Mechanism),
                reason: self.values.text(Slot::Reason),
            }),
            EventKind::CpuLoad => Event::CpuLoad(CpuLoad {
                time: start,
                jvm_user: self.values.float(Slot::JvmUser),
                jvm_system: self.values.float(Slot::JvmSystem),
                machine_total: self.values.float(Slot::MachineTotal),
            }),
            EventKind::SelfCost => Event::SelfCost(SelfCost {
                time: start,
                own_cpu: DurationNs(number(Slot::OwnCpu)),
                attach_pause: DurationNs(number(Slot::AttachPause)),
                memory_bytes: number(Slot::Memory),
                attach_cpu: DurationNs(number(Slot::AttachCpu)),
                process_cpu: DurationNs(number(Slot::ProcessCpu)),
                hook_cpu: DurationNs(number(Slot::HookCpu)),
                hook_cpu_error: DurationNs(number(Slot::HookCpuError)),
                timed_calls: number(Slot::TimedCalls),
            }),
            EventKind::Flush => Event::Watermark(start),
            EventKind::Info
            | EventKind::LockDefinition
            | EventKind::ServiceThread
            | EventKind::Detail
            | EventKind::Reserve
            | EventKind::Other => return None,
        })
    }

    /// A mutex of native code, which async-profiler records as one event per
    /// contention, as JFR does for a monitor.
    fn native_lock(&mut self, interner: &mut Interner, out: &mut Vec<Event>) -> Event {
        let chain = self.resolver.chain(self.values.get(Slot::Stack), interner, out);
        let lock = match self.values.get(Slot::Address) {
            0 => LockId::NONE,
            address => interner.lock(address, LockDef { class: NATIVE_MUTEX.into(), ..LockDef::default() }, out),
        };
        Event::MonitorEntered(MonitorEntered {
            time: self.end(),
            start: self.start(),
            thread: self.thread(Slot::Thread),
            lock,
            chain,
            ..MonitorEntered::default()
        })
    }

    /// The thread that a start or end is about; some makers name it only as
    /// the event's own thread.
    fn subject(&self) -> ThreadId {
        match self.thread(Slot::Subject) {
            ThreadId::NONE => self.thread(Slot::Thread),
            subject => subject,
        }
    }

    /// A park; what recordings of format version 1 have in its own fields, the
    /// detail has since.
    fn park(&mut self, blocker: LockId, chain: ChainId) -> Park {
        let detail = self.detail();
        let seq = self.park_place(Some(&detail));
        let own = |slot| Seq(self.values.get(slot));
        let either = |slot, told: u64| self.resolver.thread(self.values.get(slot).max(told));
        let outcome = self.values.get(Slot::Outcome).max(detail.outcome);
        Park {
            time: self.end(),
            start: self.start(),
            thread: self.thread(Slot::Thread),
            start_seq: if detail.start_back == 0 { own(Slot::StartSeq) } else { before(seq, detail.start_back) },
            seq,
            chain,
            blocker,
            owner: either(Slot::Other, detail.owner),
            limit: self.park_limit(),
            outcome: self.resolver.park_outcome(outcome),
            unpark: if detail.unpark_back == 0 { own(Slot::Unpark) } else { before(seq, detail.unpark_back) },
            waker: either(Slot::Waker, detail.waker),
            blocker_class: self.resolver.class(self.values.get(Slot::Class)),
        }
    }

    fn wait_outcome(&self, told: u64) -> WaitOutcome {
        let timed_out = self.values.get(Slot::TimedOut) != 0;
        match self.resolver.wait_outcome(self.values.get(Slot::Outcome).max(told)) {
            Some(outcome) => outcome,
            None if timed_out => WaitOutcome::TimedOut,
            None => WaitOutcome::Notified,
        }
    }

    /// The JDK writes the smallest number for no limit, async-profiler zero.
    fn park_limit(&self) -> ParkLimit {
        let (timeout, until) = (self.values.get(Slot::Timeout), self.values.get(Slot::Until));
        match (timeout, until as i64) {
            (_, 1..) => ParkLimit::UntilEpochMs(until),
            (1.., _) => ParkLimit::For(DurationNs(timeout)),
            _ => ParkLimit::None,
        }
    }

    fn park_statistics(&self, chain: ChainId, blocker: LockId) -> ParkStatistics {
        let number = |slot| self.values.get(slot);
        let small = |slot| u32::try_from(self.values.get(slot)).unwrap_or(u32::MAX);
        ParkStatistics {
            time: self.start(),
            blocker,
            thread: self.thread(Slot::Subject),
            chain,
            times_parked: number(Slot::TimesParked),
            parked_now: small(Slot::ParkedNow),
            peak_parked: small(Slot::PeakParked),
            thread_time: DurationNs(number(Slot::ThreadTime)),
            real_time: DurationNs(number(Slot::RealTime)),
            first_parked: TimeNs(number(Slot::FirstParked)),
            last_alive: TimeNs(number(Slot::LastAlive)),
        }
    }

    fn weight(&self, kind: EventKind, told: u64) -> DurationNs {
        let told = self.values.get(Slot::Weight).max(told);
        let interval = match kind {
            EventKind::JavaSample => self.intervals.cpu,
            EventKind::WallSample => self.intervals.wall,
            _ => 0,
        };
        match told {
            0 => DurationNs(interval.saturating_mul(self.values.get(Slot::Samples).max(1))),
            _ => DurationNs(told),
        }
    }

    fn sample_state(&self, kind: EventKind) -> SampleState {
        match kind {
            EventKind::NativeSample => SampleState::Native,
            EventKind::WallSample => self.resolver.sample_state(self.values.get(Slot::State)),
            // As older versions of async-profiler write wall-clock samples.
            _ if self.resolver.is_sleeping(self.values.get(Slot::State)) => SampleState::Waiting,
            _ => SampleState::Java,
        }
    }

    fn safepoint(&mut self, end: TimeNs) -> Option<Event> {
        let id = self.values.get(Slot::SafepointId);
        let index = self.open_safepoints.iter().position(|(open, _)| *open == id)?;
        let start = TimeNs(self.open_safepoints.swap_remove(index).1);
        Some(Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }))
    }
}
