//! From the values of an event to the model's event.

use super::chunk::Chunk;
use super::detail::before;
use super::intern::Interner;
use super::kinds::{self, EventKind};
use super::slot::{slot, Slot};
use crate::schema::values::monitor_frame;
use headway_model::event::{
    CpuLoad, Degraded, LockDef, LongContention, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify,
    MonitorReentered, MonitorWait, MonitorWaited, OwnerSample, Park, ParkBegin, ParkLimit, ParkStatistics,
    PressurePhase, PressureWindow, Sample, SampleState, Sampling, SamplingBound, SelfCost, ShortParks, Spent, SpentOn,
    StopTheWorld, ThreadPoint, Unpark, VirtualMount, VirtualPinned, WaitOutcome, UNKNOWN_TIMEOUT,
};
use headway_model::{ChainId, DurationNs, Event, LockId, Loss, Seq, ThreadId, TimeNs};

/// What stands for the class of a native mutex.
const NATIVE_MUTEX: &str = "pthread_mutex_t";
/// Safepoints whose end is awaited; there is only ever one at a time.
const MAX_OPEN_SAFEPOINTS: usize = 16;

impl Chunk {
    #[inline]
    pub(super) fn start(&self) -> TimeNs {
        TimeNs(self.values.get(slot!("startTime")))
    }

    #[inline]
    pub(super) fn end(&self) -> TimeNs {
        self.start() + DurationNs(self.values.get(slot!("duration")))
    }

    #[inline]
    pub(super) fn thread(&self, slot: Slot) -> ThreadId {
        self.resolver.thread(self.values.get(slot))
    }

    /// Makes the event that was just read if it is one of contention, of which there
    /// are the most: put where it goes, without a detour. False if it is another.
    #[inline]
    pub(super) fn contended(&mut self, kind: EventKind, interner: &mut Interner, out: &mut Vec<Event>) -> bool {
        if !matches!(kind, kinds::MONITOR_ENTER | kinds::MONITOR_ENTERED | kinds::MONITOR_EXIT) {
            return false;
        }
        let chain = self.resolver.chain(self.values.get(slot!("stackTrace")), interner, out);
        let (start, thread) = (self.start(), self.thread(slot!("eventThread")));
        let seq = match kind {
            kinds::MONITOR_ENTERED => {
                let detail = self.detail();
                self.lock_place(Some(&detail))
            }
            _ => self.lock_place(None),
        };
        let lock = self.lock(interner, out);
        let (other, number) = (self.thread(slot!("owner")), |slot| self.values.get(slot));
        match kind {
            kinds::MONITOR_ENTER => {
                out.push(Event::MonitorEnter(MonitorEnter { time: start, thread, lock, seq, chain, owner: other }));
            }
            kinds::MONITOR_ENTERED => {
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
                owner_frame: number(slot!("holderFrame")).min(u64::from(u16::MAX)) as u16,
                owner_approximate: number(slot!("holderApproximate")) != 0,
                cause: self.resolver.exit_cause(number(slot!("cause"))),
            })),
        }
        true
    }

    /// The lock of the event that was just read.
    #[inline]
    fn lock(&mut self, interner: &mut Interner, out: &mut Vec<Event>) -> LockId {
        match (self.values.get(slot!("lock")), self.values.get(slot!("address"))) {
            (0, 0) => LockId::NONE,
            (0, address) => self.resolver.lock_at(address, self.values.get(slot!("monitorClass")), interner, out),
            (key, _) => self.resolver.lock(key, interner, out),
        }
    }

    /// The event that was just read, if [`Chunk::contended`] did not make it; `None`
    /// if it is none of its own.
    pub(super) fn event(&mut self, kind: EventKind, interner: &mut Interner, out: &mut Vec<Event>) -> Option<Event> {
        if kind == kinds::NATIVE_LOCK {
            return Some(self.native_lock(interner, out));
        }
        let chain = self.resolver.chain(self.values.get(slot!("stackTrace")), interner, out);
        let (start, end, thread) = (self.start(), self.end(), self.thread(slot!("eventThread")));
        let lock = self.lock(interner, out);
        let number = |slot| self.values.get(slot);
        let other = self.thread(slot!("owner"));
        // Where it is in milliseconds, it was rounded up.
        let timeout = DurationNs(number(slot!("timeout"))).min(UNKNOWN_TIMEOUT);
        Some(match kind {
            kinds::MONITOR_WAIT => {
                let seq = self.lock_place(None);
                Event::MonitorWait(MonitorWait { time: start, thread, lock, seq, chain, timeout })
            }
            kinds::MONITOR_NOTIFY => {
                let seq = self.lock_place(None);
                Event::MonitorNotify(MonitorNotify { time: start, thread, waiter: other, lock, seq })
            }
            kinds::MONITOR_WAITED => {
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
            kinds::MONITOR_REENTERED => {
                let seq = self.lock_place(None);
                let start_seq = match self.values.get(slot!("startBack")) {
                    0 => Seq(self.values.get(slot!("startSeq"))),
                    back => before(seq, back),
                };
                let bound = self.values.get(slot!("bound")) != 0;
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
            kinds::PARK_BEGIN => Event::ParkBegin(ParkBegin {
                time: start,
                thread,
                seq: self.park_place(None),
                chain,
                blocker: lock,
                owner: other,
                limit: self.park_limit(),
            }),
            kinds::THREAD_PARK => Event::Park(self.park(lock, chain)),
            kinds::UNPARK => {
                let seq = self.park_place(None);
                Event::Unpark(Unpark { time: start, thread, seq, chain, target: other })
            }
            kinds::LONG_CONTENTION => {
                let is_older = number(slot!("older")) != 0;
                Event::LongContention(LongContention { time: end, start, thread, lock, chain, owner: other, is_older })
            }
            kinds::VIRTUAL_MOUNT => Event::VirtualMount(VirtualMount {
                time: end,
                unparked: start,
                ready: (start + DurationNs(number(slot!("cpuWait")))).min(end),
                thread,
                carrier: self.thread(slot!("carrierThread")),
                blocker: lock,
            }),
            kinds::THREAD_PINNED => Event::VirtualPinned(VirtualPinned {
                time: end,
                start,
                thread,
                carrier: self.thread(slot!("carrierThread")),
                chain,
                monitor_frame: monitor_frame(&self.values.text(slot!("pinnedReason"))),
            }),
            kinds::SHORT_PARKS => Event::ShortParks(ShortParks {
                time: start,
                thread,
                blocker: lock,
                chain,
                count: number(slot!("count")),
                total: DurationNs(number(slot!("threadTime"))),
            }),
            kinds::SHORT_ENTERS => Event::Spent(Spent {
                time: start,
                thread,
                lock,
                chain,
                on: SpentOn::Monitor,
                count: number(slot!("count")),
                total: DurationNs(number(slot!("threadTime"))),
            }),
            kinds::SHORT_WAITS => Event::Spent(Spent {
                time: start,
                thread,
                lock,
                chain: ChainId::NONE,
                on: SpentOn::Wait,
                count: number(slot!("count")),
                total: DurationNs(number(slot!("threadTime"))),
            }),
            kinds::SAMPLING => Event::Sampling(Sampling {
                time: start,
                window: DurationNs(number(slot!("window"))),
                seed: number(slot!("seed")),
                bound: SamplingBound::named(&self.values.text(slot!("bound"))),
                thins: number(slot!("thins")) != 0,
            }),
            kinds::PRESSURE_WINDOW => Event::PressureWindow(PressureWindow {
                start,
                duration: end.since(start),
                lock,
                acquiring: DurationNs(number(slot!("acquiring"))),
                running: DurationNs(number(slot!("running"))),
            }),
            kinds::PRESSURE_PHASE => Event::PressurePhase(PressurePhase {
                start,
                end,
                lock,
                mean: self.values.float(slot!("mean")),
                peak: self.values.float(slot!("peak")),
                acquiring_chain: chain,
                owner_chain: self.resolver.chain(self.values.get(slot!("ownerStackTrace")), interner, out),
            }),
            kinds::PARK_STATISTICS => Event::ParkStatistics(self.park_statistics(chain, lock)),
            kinds::EXECUTION_SAMPLE | kinds::NATIVE_SAMPLE | kinds::WALL_SAMPLE => {
                let detail = self.detail();
                let cpu = detail.cpu_from_one.max(self.values.get(slot!("cpu")));
                Event::Sample(Sample {
                    time: start,
                    thread,
                    chain,
                    state: self.sample_state(kind),
                    weight: self.weight(kind, detail.weight),
                    cpu: cpu.checked_sub(1).and_then(|cpu| u16::try_from(cpu).ok()),
                })
            }
            kinds::OWNER_SAMPLE => Event::OwnerSample(OwnerSample {
                sample: Sample {
                    time: start,
                    thread,
                    chain,
                    state: self.sample_state(kinds::WALL_SAMPLE),
                    weight: DurationNs(number(slot!("weight"))),
                    cpu: None,
                },
                lock,
                waiter_chain: self.resolver.chain(self.values.get(slot!("ownerStackTrace")), interner, out),
                waiters: u32::try_from(number(slot!("count"))).unwrap_or(u32::MAX),
            }),
            kinds::THREAD_START => Event::ThreadStart(ThreadPoint { time: start, thread: self.subject() }),
            kinds::THREAD_END => Event::ThreadEnd(ThreadPoint { time: start, thread: self.subject() }),
            kinds::MACHINE_TIME => Event::MachineTime(self.machine_time()),
            kinds::THREAD_TIME => Event::ThreadTime(self.thread_time()),
            kinds::THROTTLING => Event::Throttling(self.throttling()),
            kinds::TRANSACTION => Event::Transaction(self.transaction()),
            kinds::EXPERIMENT => Event::Experiment(self.experiment()),
            kinds::STOP_THE_WORLD => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            // Collections stop the world inside safepoints, which say it better.
            kinds::GC_PAUSE if self.has_safepoints => return None,
            kinds::GC_PAUSE => Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }),
            kinds::SAFEPOINT_BEGIN => {
                self.open_safepoints.truncate(MAX_OPEN_SAFEPOINTS - 1);
                self.open_safepoints.push((number(slot!("safepointId")), start.0));
                return None;
            }
            kinds::SAFEPOINT_END => return self.safepoint(end),
            kinds::LOSS => Event::Lost(self.resolver.loss(number(slot!("cause")))?, number(slot!("count"))),
            kinds::SAMPLES_LOST => Event::Lost(Loss::SampleLost, number(slot!("count"))),
            kinds::DATA_LOSS => Event::Lost(Loss::RecorderBytes, number(slot!("count"))),
            kinds::DEGRADED => Event::Degraded(Degraded {
                mechanism: self.values.text(slot!("mechanism")),
                reason: self.values.text(slot!("reason")),
            }),
            kinds::CPU_LOAD => Event::CpuLoad(CpuLoad {
                time: start,
                jvm_user: self.values.float(slot!("jvmUser")),
                jvm_system: self.values.float(slot!("jvmSystem")),
                machine_total: self.values.float(slot!("machineTotal")),
            }),
            kinds::SELF_COST => Event::SelfCost(SelfCost {
                time: start,
                own_cpu: DurationNs(number(slot!("ownCpu"))),
                attach_pause: DurationNs(number(slot!("attachPause"))),
                memory_bytes: number(slot!("memory")),
                attach_cpu: DurationNs(number(slot!("attachCpu"))),
                process_cpu: DurationNs(number(slot!("processCpu"))),
                hook_cpu: DurationNs(number(slot!("hookCpu"))),
                hook_cpu_error: DurationNs(number(slot!("hookCpuError"))),
                timed_calls: number(slot!("timedCalls")),
            }),
            kinds::FLUSH => Event::Watermark(start),
            _ => return None,
        })
    }

    /// A mutex of native code, which async-profiler records as one event per
    /// contention, as JFR does for a monitor.
    fn native_lock(&mut self, interner: &mut Interner, out: &mut Vec<Event>) -> Event {
        let chain = self.resolver.chain(self.values.get(slot!("stackTrace")), interner, out);
        let lock = match self.values.get(slot!("address")) {
            0 => LockId::NONE,
            address => interner.lock(address, LockDef { class: NATIVE_MUTEX.into(), ..LockDef::default() }, out),
        };
        Event::MonitorEntered(MonitorEntered {
            time: self.end(),
            start: self.start(),
            thread: self.thread(slot!("eventThread")),
            lock,
            chain,
            ..MonitorEntered::default()
        })
    }

    /// The thread that a start or end is about; some makers name it only as
    /// the event's own thread.
    fn subject(&self) -> ThreadId {
        match self.thread(slot!("thread")) {
            ThreadId::NONE => self.thread(slot!("eventThread")),
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
        let outcome = self.values.get(slot!("outcome")).max(detail.outcome);
        Park {
            time: self.end(),
            start: self.start(),
            thread: self.thread(slot!("eventThread")),
            start_seq: if detail.start_back == 0 { own(slot!("startSeq")) } else { before(seq, detail.start_back) },
            seq,
            chain,
            blocker,
            owner: either(slot!("owner"), detail.owner),
            limit: self.park_limit(),
            outcome: self.resolver.park_outcome(outcome),
            unpark: if detail.unpark_back == 0 { own(slot!("unpark")) } else { before(seq, detail.unpark_back) },
            waker: either(slot!("waker"), detail.waker),
            blocker_class: self.resolver.class(self.values.get(slot!("monitorClass"))),
        }
    }

    fn wait_outcome(&self, told: u64) -> WaitOutcome {
        let timed_out = self.values.get(slot!("timedOut")) != 0;
        match self.resolver.wait_outcome(self.values.get(slot!("outcome")).max(told)) {
            Some(outcome) => outcome,
            None if timed_out => WaitOutcome::TimedOut,
            None => WaitOutcome::Notified,
        }
    }

    /// The JDK writes the smallest number for no limit, async-profiler zero.
    fn park_limit(&self) -> ParkLimit {
        let (timeout, until) = (self.values.get(slot!("timeout")), self.values.get(slot!("until")));
        match (timeout, until as i64) {
            (_, 1..) => ParkLimit::UntilEpochMs(until),
            (1.., _) if timeout >= UNKNOWN_TIMEOUT.0 => ParkLimit::Unknown,
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
            thread: self.thread(slot!("thread")),
            chain,
            times_parked: number(slot!("timesParked")),
            parked_now: small(slot!("parkedNow")),
            peak_parked: small(slot!("peakParked")),
            thread_time: DurationNs(number(slot!("threadTime"))),
            real_time: DurationNs(number(slot!("realTime"))),
            first_parked: TimeNs(number(slot!("firstParked"))),
            last_alive: TimeNs(number(slot!("lastAlive"))),
        }
    }

    fn weight(&self, kind: EventKind, told: u64) -> DurationNs {
        let told = self.values.get(slot!("weight")).max(told);
        let interval = match kind {
            kinds::EXECUTION_SAMPLE => self.intervals.cpu,
            kinds::WALL_SAMPLE => self.intervals.wall,
            _ => 0,
        };
        match told {
            0 => DurationNs(interval.saturating_mul(self.values.get(slot!("samples")).max(1))),
            _ => DurationNs(told),
        }
    }

    fn sample_state(&self, kind: EventKind) -> SampleState {
        match kind {
            kinds::NATIVE_SAMPLE => SampleState::Native,
            kinds::WALL_SAMPLE => self.resolver.sample_state(self.values.get(slot!("state"))),
            // As older versions of async-profiler write wall-clock samples.
            _ if self.resolver.is_sleeping(self.values.get(slot!("state"))) => SampleState::Waiting,
            _ => SampleState::Java,
        }
    }

    fn safepoint(&mut self, end: TimeNs) -> Option<Event> {
        let id = self.values.get(slot!("safepointId"));
        let index = self.open_safepoints.iter().position(|(open, _)| *open == id)?;
        let start = TimeNs(self.open_safepoints.swap_remove(index).1);
        Some(Event::StopTheWorld(StopTheWorld { start, duration: end.since(start) }))
    }
}
