//! Events as bytes. Field orders are those of [`crate::schema`].

use super::constants::{back, Constants};
use super::settings;
use crate::encode::Encoder;
use crate::schema::values::pinned_by_monitor;
use crate::schema::{self, id, TypeId};
use headway_model::event::{
    Degraded, ExitCause, LongContention, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered,
    MonitorWait, MonitorWaited, OwnerSample, Park, ParkBegin, ParkLimit, ParkOutcome, ParkStatistics, PressurePhase,
    PressureWindow, RecordingInfo, Sample, SampleState, Sampling, SelfCost, ShortParks, Spent, SpentOn, StopTheWorld,
    Unpark, VirtualMount, VirtualPinned, WaitOutcome, UNKNOWN_TIMEOUT,
};
use headway_model::{Dictionary, Event, Loss, TimeNs};

/// From the recording's clock to ticks and to the Unix epoch.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// The recording's first moment, tick 0.
    pub(crate) start: TimeNs,
    /// Unix epoch minus the recording's clock, in ns.
    pub(crate) epoch_offset_ns: i64,
}

impl Clock {
    /// Nanoseconds since the recording's start; before it, negative in two's
    /// complement.
    #[inline]
    pub(crate) fn ticks(&self, time: TimeNs) -> u64 {
        time.0.wrapping_sub(self.start.0)
    }

    /// Nanoseconds since the Unix epoch.
    pub(crate) fn epoch_nanos(&self, time: TimeNs) -> u64 {
        time.0.wrapping_add_signed(self.epoch_offset_ns)
    }
}

/// What encoding an event needs beside the event.
pub(crate) struct Context<'a> {
    pub(crate) clock: Clock,
    /// The newest moment known, for events that carry no time of their own.
    pub(crate) now: TimeNs,
    pub(crate) constants: &'a mut Constants,
    pub(crate) dictionary: &'a Dictionary,
}

/// What a pinned thread did, as the JDK calls it.
const BLOCKING_OPERATION: &str = "LockSupport.park";

/// No timeout, as the JDK writes it.
const NO_TIMEOUT: i64 = i64::MIN;

/// The fields `timeout` (ns) and `until` (ms of the Unix epoch) of a park.
fn limit_fields(limit: ParkLimit) -> (Option<i64>, Option<i64>) {
    let number = |value: u64| Some(i64::try_from(value).unwrap_or(i64::MAX));
    match limit {
        ParkLimit::None => (None, None),
        ParkLimit::For(duration) => (number(duration.0), None),
        ParkLimit::UntilEpochMs(ms) => (None, number(ms)),
        ParkLimit::Unknown => (number(UNKNOWN_TIMEOUT.0), None),
    }
}

impl Context<'_> {
    /// Appends `event`; false for definitions and for what a recording does
    /// not hold.
    pub(crate) fn put(&mut self, event: &Event, out: &mut Encoder) -> bool {
        match event {
            Event::MonitorEnter(e) => self.enter(e, out),
            Event::MonitorEntered(e) => self.entered(e, out),
            Event::MonitorExit(e) => self.exit(e, out),
            Event::MonitorWait(e) => self.wait(e, out),
            Event::MonitorNotify(e) => self.notify(e, out),
            Event::MonitorWaited(e) => self.waited(e, out),
            Event::MonitorReentered(e) => self.reentered(e, out),
            Event::ParkBegin(e) => self.park_begin(e, out),
            Event::Park(e) => self.park(e, out),
            Event::Unpark(e) => self.unpark(e, out),
            Event::ShortParks(e) => self.short_parks(e, out),
            Event::VirtualMount(e) => self.virtual_mount(e, out),
            Event::LongContention(e) => self.long_contention(e, out),
            Event::VirtualPinned(e) => self.virtual_pinned(e, out),
            Event::Spent(e) if e.on == SpentOn::Monitor => self.short_enters(e, out),
            Event::Spent(e) if e.on == SpentOn::Wait => self.short_waits(e, out),
            Event::Sampling(e) => self.sampling(*e, out),
            Event::PressureWindow(e) => self.pressure_window(e, out),
            Event::PressurePhase(e) => self.pressure_phase(e, out),
            Event::ParkStatistics(e) => self.park_statistics(e, out),
            Event::Sample(e) => self.sample(e, out),
            Event::OwnerSample(e) => self.owner_sample(e, out),
            Event::ThreadStart(e) => self.thread_point(id::THREAD_START, e.time, e.thread, out),
            Event::ThreadEnd(e) => self.thread_point(id::THREAD_END, e.time, e.thread, out),
            Event::MachineTime(e) => self.machine_time(e, out),
            Event::ThreadTime(e) => self.thread_time(e, out),
            Event::Throttling(e) => self.throttling(e, out),
            Event::Transaction(e) => self.transaction(e, out),
            Event::Experiment(e) => self.experiment(e, out),
            Event::StopTheWorld(e) => self.stop_the_world(e, out),
            Event::Lost(cause, count) => self.lost(*cause, *count, out),
            Event::Degraded(e) => self.degraded(e, out),
            Event::SelfCost(e) => self.self_cost(e, out),
            Event::CpuLoad(e) => out.event(|o| {
                self.head(id::CPU_LOAD, e.time, o);
                o.float(e.jvm_user);
                o.float(e.jvm_system);
                o.float(e.machine_total);
            }),
            Event::Watermark(time) => out.event(|o| self.head(id::FLUSH, *time, o)),
            _ => return false,
        }
        true
    }

    #[inline]
    pub(super) fn head(&self, ty: TypeId, time: TimeNs, out: &mut Encoder) {
        out.byte(ty);
        out.varint(self.clock.ticks(time));
    }

    #[inline]
    pub(super) fn span(&self, ty: TypeId, start: TimeNs, end: TimeNs, out: &mut Encoder) {
        self.head(ty, start, out);
        out.varint(end.since(start).0);
    }

    fn enter(&mut self, e: &MonitorEnter, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::MONITOR_ENTER, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.lock.0);
            o.varint(self.constants.step(e.lock, e.seq));
            o.varint(self.constants.thread(e.owner));
        });
    }

    fn entered(&mut self, e: &MonitorEntered, out: &mut Encoder) {
        let class = self.constants.lock(e.lock, self.dictionary);
        if e.seq.is_some() {
            out.event(|o| {
                self.head(id::ENTER_DETAIL, e.start, o);
                o.varint(self.constants.thread(e.thread));
                o.varint(self.constants.step(e.lock, e.seq));
            });
        }
        out.event(|o| {
            self.span(id::MONITOR_ENTERED, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.varint(class);
            o.varint(self.constants.thread(e.previous_owner));
            o.varint(e.lock.0);
        });
    }

    fn exit(&mut self, e: &MonitorExit, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::MONITOR_EXIT, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.lock.0);
            o.varint(self.constants.step(e.lock, e.seq));
            o.int(i32::from(e.owner_frame));
            o.byte(u8::from(e.owner_approximate));
            o.varint(match e.cause {
                ExitCause::Exit => 0,
                ExitCause::Wait => 1,
            });
        });
    }

    fn wait(&mut self, e: &MonitorWait, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::MONITOR_WAIT, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.lock.0);
            o.varint(self.constants.step(e.lock, e.seq));
            o.varint(e.timeout.0.min(UNKNOWN_TIMEOUT.0));
        });
    }

    fn notify(&mut self, e: &MonitorNotify, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::MONITOR_NOTIFY, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.thread(e.waiter));
            o.varint(e.lock.0);
            o.varint(self.constants.step(e.lock, e.seq));
        });
    }

    fn waited(&mut self, e: &MonitorWaited, out: &mut Encoder) {
        let class = self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::WAIT_DETAIL, e.start, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.step(e.lock, e.seq));
            o.varint(match e.outcome {
                WaitOutcome::Notified => 0,
                WaitOutcome::TimedOut => 1,
                WaitOutcome::Interrupted => 2,
            });
        });
        out.event(|o| {
            self.span(id::MONITOR_WAITED, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.varint(class);
            o.varint(self.constants.thread(e.notifier));
            // Object.wait rounds up to milliseconds, too.
            o.varint(e.timeout.0.min(UNKNOWN_TIMEOUT.0).div_ceil(1_000_000));
            o.byte(u8::from(e.outcome == WaitOutcome::TimedOut));
            o.varint(e.lock.0);
        });
    }

    fn reentered(&mut self, e: &MonitorReentered, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.span(id::MONITOR_REENTERED, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.lock.0);
            o.varint(self.constants.step(e.lock, e.seq));
            o.varint(back(e.seq, e.start_seq));
            o.byte(u8::from(e.bound));
        });
    }

    fn park_begin(&mut self, e: &ParkBegin, out: &mut Encoder) {
        self.constants.lock(e.blocker, self.dictionary);
        let (timeout, until) = limit_fields(e.limit);
        out.event(|o| {
            self.head(id::PARK_BEGIN, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.blocker.0);
            o.varint(self.constants.park_step(e.seq));
            o.varint(self.constants.thread(e.owner));
            o.signed(timeout.unwrap_or(0));
            o.signed(until.unwrap_or(0));
        });
    }

    fn park(&mut self, e: &Park, out: &mut Encoder) {
        let class = self.blocker_class(e);
        let (timeout, until) = limit_fields(e.limit);
        out.event(|o| {
            self.head(id::PARK_DETAIL, e.start, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.park_step(e.seq));
            o.varint(back(e.seq, e.start_seq));
            o.varint(back(e.seq, e.unpark));
            o.varint(match e.outcome {
                ParkOutcome::Unknown => 0,
                ParkOutcome::Unparked => 1,
                ParkOutcome::TimedOut => 2,
                ParkOutcome::Interrupted => 3,
                ParkOutcome::Spurious => 4,
            });
            o.varint(self.constants.thread(e.owner));
            o.varint(self.constants.thread(e.waker));
        });
        out.event(|o| {
            self.span(id::THREAD_PARK, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.varint(class);
            o.signed(timeout.unwrap_or(NO_TIMEOUT));
            o.signed(until.unwrap_or(NO_TIMEOUT));
            o.varint(e.blocker.0);
        });
    }

    /// The number of the class that a thread parked on: the event's own, or
    /// that of its blocker.
    fn blocker_class(&mut self, e: &Park) -> u64 {
        let of_lock = self.constants.lock(e.blocker, self.dictionary);
        if e.blocker_class.is_empty() {
            return of_lock;
        }
        self.constants.class(&e.blocker_class)
    }

    fn unpark(&mut self, e: &Unpark, out: &mut Encoder) {
        out.event(|o| {
            self.head(id::UNPARK, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(self.constants.park_step(e.seq));
            o.varint(self.constants.thread(e.target));
        });
    }

    fn virtual_mount(&mut self, e: &VirtualMount, out: &mut Encoder) {
        self.constants.lock(e.blocker, self.dictionary);
        out.event(|o| {
            self.span(id::VIRTUAL_MOUNT, e.unparked, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.thread(e.carrier));
            o.varint(e.ready.since(e.unparked).0);
            o.varint(e.blocker.0);
        });
    }

    fn long_contention(&mut self, e: &LongContention, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.span(id::LONG_CONTENTION, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.varint(e.lock.0);
            o.varint(self.constants.thread(e.owner));
            o.byte(u8::from(e.is_older));
        });
    }

    fn virtual_pinned(&mut self, e: &VirtualPinned, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::THREAD_PINNED, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.string(BLOCKING_OPERATION);
            // The VM's own reason stays in the VM.
            match e.monitor_frame {
                Some(frame) => o.string(&pinned_by_monitor(frame)),
                None => o.null_string(),
            }
            o.varint(self.constants.thread(e.carrier));
        });
    }

    fn short_parks(&mut self, e: &ShortParks, out: &mut Encoder) {
        self.constants.lock(e.blocker, self.dictionary);
        out.event(|o| {
            self.head(id::SHORT_PARKS, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.blocker.0);
            o.varint(e.count);
            o.varint(e.total.0);
        });
    }

    fn short_enters(&mut self, e: &Spent, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::SHORT_ENTERS, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.lock.0);
            o.varint(e.count);
            o.varint(e.total.0);
        });
    }

    fn short_waits(&mut self, e: &Spent, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.head(id::SHORT_WAITS, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(e.lock.0);
            o.varint(e.count);
            o.varint(e.total.0);
        });
    }

    fn sampling(&mut self, e: Sampling, out: &mut Encoder) {
        out.event(|o| {
            self.head(id::SAMPLING, e.time, o);
            o.varint(e.window.0);
            o.varint(e.seed);
            o.string(e.bound.name());
            o.byte(u8::from(e.thins));
        });
    }

    fn sample(&mut self, e: &Sample, out: &mut Encoder) {
        let (ty, state) = match e.state {
            SampleState::Java => (id::EXECUTION_SAMPLE, schema::RUNNABLE),
            SampleState::Native => (id::NATIVE_SAMPLE, schema::RUNNABLE),
            SampleState::Waiting => (id::WALL_SAMPLE, schema::WAITING),
            SampleState::Runnable => (id::WALL_SAMPLE, schema::RUNNABLE),
        };
        let cpu = e.cpu.map_or(-1, i32::from);
        if ty == id::WALL_SAMPLE {
            return out.event(|o| {
                self.head(ty, e.time, o);
                o.varint(self.constants.thread(e.thread));
                o.varint(self.constants.chain(e.chain));
                o.varint(e.weight.0);
                o.varint(state.0);
                o.int(cpu);
            });
        }
        out.event(|o| {
            self.head(id::SAMPLE_DETAIL, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(e.weight.0);
            o.int(cpu);
        });
        out.event(|o| {
            self.head(ty, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.stack(e.chain));
            o.varint(state.0);
        });
    }

    fn owner_sample(&mut self, e: &OwnerSample, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        let state = if e.sample.state == SampleState::Waiting { schema::WAITING } else { schema::RUNNABLE };
        out.event(|o| {
            self.head(id::OWNER_SAMPLE, e.sample.time, o);
            o.varint(self.constants.thread(e.sample.thread));
            o.varint(self.constants.chain(e.sample.chain));
            o.varint(e.sample.weight.0);
            o.varint(state.0);
            o.varint(e.lock.0);
            o.varint(self.constants.chain(e.waiter_chain));
            o.varint(u64::from(e.waiters));
        });
    }

    fn pressure_window(&mut self, e: &PressureWindow, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.span(id::PRESSURE_WINDOW, e.start, e.start + e.duration, o);
            o.varint(e.lock.0);
            o.varint(e.acquiring.0);
            o.varint(e.running.0);
        });
    }

    fn pressure_phase(&mut self, e: &PressurePhase, out: &mut Encoder) {
        self.constants.lock(e.lock, self.dictionary);
        out.event(|o| {
            self.span(id::PRESSURE_PHASE, e.start, e.end, o);
            o.varint(self.constants.chain(e.acquiring_chain));
            o.varint(e.lock.0);
            o.float(e.mean);
            o.float(e.peak);
            o.varint(self.constants.chain(e.owner_chain));
        });
    }

    fn park_statistics(&mut self, e: &ParkStatistics, out: &mut Encoder) {
        self.constants.lock(e.blocker, self.dictionary);
        out.event(|o| {
            self.head(id::PARK_STATISTICS, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(self.constants.chain(e.chain));
            o.varint(e.blocker.0);
            o.varint(e.times_parked);
            o.varint(u64::from(e.parked_now));
            o.varint(u64::from(e.peak_parked));
            o.varint(e.thread_time.0);
            o.varint(e.real_time.0);
            o.varint(self.clock.ticks(e.first_parked));
            o.varint(self.clock.ticks(e.last_alive));
        });
    }

    fn thread_point(&mut self, ty: TypeId, time: TimeNs, thread: headway_model::ThreadId, out: &mut Encoder) {
        let thread = self.constants.thread(thread);
        out.event(|o| {
            self.head(ty, time, o);
            o.varint(thread);
            if ty == id::THREAD_START {
                o.varint(0); // stack trace of the starter
            }
            o.varint(thread);
            if ty == id::THREAD_START {
                o.varint(0); // parent
            }
        });
    }

    fn stop_the_world(&mut self, e: &StopTheWorld, out: &mut Encoder) {
        // The VM informs an agent of no other pauses than those for collections.
        out.event(|o| {
            self.span(id::GC_PAUSE, e.start, e.start + e.duration, o);
            o.varint(0); // thread
            o.int(-1); // which collection: the VM's own number for "undefined"
            o.string("GC Pause");
        });
    }

    fn lost(&mut self, cause: Loss, count: u64, out: &mut Encoder) {
        let number = Loss::ALL.iter().position(|l| *l == cause).unwrap_or(0);
        out.event(|o| {
            self.head(id::LOSS, self.now, o);
            o.varint(number as u64);
            o.varint(count);
        });
    }

    fn degraded(&mut self, e: &Degraded, out: &mut Encoder) {
        out.event(|o| {
            self.head(id::DEGRADED, self.now, o);
            o.string(&e.mechanism);
            o.string(&e.reason);
        });
    }

    fn self_cost(&mut self, e: &SelfCost, out: &mut Encoder) {
        out.event(|o| {
            self.head(id::SELF_COST, e.time, o);
            o.varint(e.own_cpu.0);
            o.varint(e.attach_pause.0);
            o.varint(e.memory_bytes);
            o.varint(e.attach_cpu.0);
            o.varint(e.process_cpu.0);
            o.varint(e.hook_cpu.0);
            o.varint(e.hook_cpu_error.0);
            o.varint(e.timed_calls);
        });
    }
}

/// What every chunk says about the recording. `headway.Recording` comes last:
/// it completes what the others began.
pub(crate) fn put_info(info: &RecordingInfo, clock: Clock, now: TimeNs, out: &mut Encoder) {
    let ticks = clock.ticks(now);
    out.event(|o| {
        o.byte(id::JVM_INFORMATION);
        o.varint(ticks);
        o.string(&info.jvm_name);
        o.string(&full_version(info));
        o.string(&info.jvm_arguments);
        o.null_string(); // flags file
        o.string(&info.java_arguments);
        o.varint(clock.epoch_nanos(info.jvm_start) / 1_000_000);
        o.varint(u64::from(info.pid));
    });
    let mut setting = |of: TypeId, name: &str, value: &str| {
        out.event(|o| {
            o.byte(id::ACTIVE_SETTING);
            o.varint(ticks);
            o.varint(u64::from(of));
            o.string(name);
            o.string(value);
        });
    };
    for (name, value) in &info.settings {
        setting(id::RECORDING, name, value);
    }
    settings::of_events(info, &mut setting);
    out.event(|o| {
        o.byte(id::RECORDING);
        o.varint(ticks);
        o.varint(u64::from(schema::FORMAT_VERSION));
        o.string(&info.producer);
    });
}

/// The version as the VM spells it out: tools look for the part behind `JRE`.
fn full_version(info: &RecordingInfo) -> String {
    if info.jvm_name.is_empty() || info.jvm_version.is_empty() || info.jvm_version.contains(" JRE (") {
        return info.jvm_version.clone();
    }
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        other => other,
    };
    format!("{0} ({1}) for linux-{architecture} JRE ({1})", info.jvm_name, info.jvm_version)
}
