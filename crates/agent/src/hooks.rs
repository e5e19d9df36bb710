//! Functions of the VM that lead through the agent while a recording is under
//! way: the contended exit, and begin and end of the re-acquisition after a
//! wait; and a virtual thread's coming to a carrier and leaving it.

use crate::agent::{guarded, Agent};
use crate::exit_signal::ExitSignal;
use crate::monitor;
use crate::options::{Mechanism, Options};
use crate::reply::{InPlace, MechanismState, State};
use crate::steal;
use crate::vm::SWITCHED_OFF;
use headway_hook::flag::BoolFlag;
use headway_hook::sys::linux::Linux;
use headway_hook::usdt::{Hit, ProbeHook};
use headway_hook::{detour, protection, trap, Detour, HookError, Image, Known};
use headway_model::ThreadId;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the originals return is handed on: the VM's notify says since JDK 24
/// whether it moved a waiter.
type MonitorFunction = extern "C" fn(u64, u64, u64) -> usize;
type NotifyFunction = extern "C" fn(u64, u64) -> usize;

/// The originals, for the hooks to call. Set before a hook can run, never
/// cleared: a call that is inside a hook when it is removed still needs it.
static EXIT_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static NOTIFY_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static REENTER_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static MOUNT_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static UNMOUNT_ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// `ObjectMonitor::ExitEpilog(JavaThread*, ObjectWaiter*)`, with the caller's
/// frame pointer.
extern "C" fn on_exit(monitor: u64, vm_thread: u64, waiter: u64, caller_fp: u64) -> usize {
    let mut begun = None;
    guarded(|agent| {
        if agent.is_recording() {
            begun = monitor::before_exit(agent, monitor, vm_thread);
        }
    });
    // SAFETY: set to the callable original, which has this signature, before
    // the hook was installed.
    let original: MonitorFunction = unsafe { mem::transmute(EXIT_ORIGINAL.load(Ordering::Relaxed)) };
    let returned = original(monitor, vm_thread, waiter);
    if let Some(begun) = begun {
        guarded(|agent| monitor::after_exit(agent, begun, caller_fp));
    }
    returned
}

/// `ObjectMonitor::INotify(JavaThread*)`.
extern "C" fn on_notify(monitor: u64, notifier: u64) -> usize {
    let mut waiter = None;
    guarded(|agent| {
        if agent.is_recording() {
            waiter = agent.hotspot.known().and_then(|known| known.first_waiter(monitor));
        }
    });
    // SAFETY: as in `on_exit`.
    let original: NotifyFunction = unsafe { mem::transmute(NOTIFY_ORIGINAL.load(Ordering::Relaxed)) };
    let returned = original(monitor, notifier);
    let Some(waiter) = waiter else { return returned };
    guarded(|agent| {
        if agent.hotspot.known().is_some_and(|known| known.is_contending(waiter)) {
            monitor::on_notify(agent, monitor, notifier, waiter);
        }
    });
    returned
}

/// `ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)`.
extern "C" fn on_reenter(monitor: u64, vm_thread: u64, node: u64) -> usize {
    // SAFETY: as in `on_exit`.
    let original: MonitorFunction = unsafe { mem::transmute(REENTER_ORIGINAL.load(Ordering::Relaxed)) };
    let returned = original(monitor, vm_thread, node);
    guarded(|agent| {
        if agent.is_recording() {
            monitor::on_reentered(agent, monitor, vm_thread);
        }
    });
    returned
}

/// The second argument of the two functions below, whose upper bits mean nothing.
fn hides(hide: u64) -> bool {
    hide & 0xff != 0
}

/// `VTMS_vthread_mount(jobject, bool hide)`: the thread is mounted when the call
/// without `hide` is over.
extern "C" fn on_mount(thread: u64, hide: u64) -> usize {
    // SAFETY: as in `on_exit`.
    let original: NotifyFunction = unsafe { mem::transmute(MOUNT_ORIGINAL.load(Ordering::Relaxed)) };
    let returned = original(thread, hide);
    if !hides(hide) {
        guarded(|agent| steal::on_mount(agent, thread));
    }
    returned
}

/// `VTMS_vthread_unmount(jobject, bool hide)`: the thread begins to leave its
/// carrier with the call with `hide`.
extern "C" fn on_unmount(thread: u64, hide: u64) -> usize {
    if hides(hide) {
        guarded(|agent| steal::on_unmount(agent, thread));
    }
    // SAFETY: as in `on_exit`.
    let original: NotifyFunction = unsafe { mem::transmute(UNMOUNT_ORIGINAL.load(Ordering::Relaxed)) };
    original(thread, hide)
}

/// The VM's probe in its contended exit: (thread id, monitor, ...). The monitor
/// is released already, the successor not yet woken. The thread stands at a
/// known instruction, in no allocator and under no lock of ours, so what the
/// detour may do is allowed here too, although this is a signal handler.
extern "C" fn on_exit_probe(hit: &Hit<'_>) {
    guarded(|agent| {
        if !PROBE_IS_WANTED.load(Ordering::Relaxed) {
            return;
        }
        let (Some(thread), Some(monitor)) = (hit.argument(0), hit.argument(1)) else { return };
        let Some(slot) = agent.threads.find_by_id(ThreadId(thread)) else { return };
        if !agent.is_recording() {
            return;
        }
        if let Some(begun) = monitor::before_exit(agent, monitor, slot.vm_thread()) {
            monitor::after_exit(agent, begun, hit.registers.frame_pointer());
        }
    });
}

/// False where the probe's trap could not be taken out.
static PROBE_IS_WANTED: AtomicBool = AtomicBool::new(false);

/// A function of the VM and what is put in its way.
struct Hook {
    known: Known,
    mechanism: Mechanism,
    /// The word for it in `status` and `degraded`.
    name: &'static str,
    address: *const (),
    original: &'static AtomicUsize,
    /// What is missing without it, and what is used instead.
    loss: &'static str,
}

const MONITOR_HOOKS: [Hook; 3] = [
    Hook {
        known: Known::ContendedExit,
        mechanism: Mechanism::ExitDetour,
        name: "monitor-exit",
        address: on_exit as *const (),
        original: &EXIT_ORIGINAL,
        loss: "owners are known by thread only, not by call stack",
    },
    Hook {
        known: Known::Reenter,
        mechanism: Mechanism::ReenterDetour,
        name: "monitor-reenter",
        address: on_reenter as *const (),
        original: &REENTER_ORIGINAL,
        loss: "time blocked after Object.wait is not recorded",
    },
    Hook {
        known: Known::Notify,
        mechanism: Mechanism::ReenterDetour,
        name: "monitor-notify",
        address: on_notify as *const (),
        original: &NOTIFY_ORIGINAL,
        loss: "time blocked after Object.wait is not recorded",
    },
];

/// Installed where stolen time is recorded and there are virtual threads.
const CARRIER_HOOKS: [Hook; 2] = [
    Hook {
        known: Known::VirtualMount,
        mechanism: Mechanism::CarrierDetour,
        name: "virtual-mount",
        address: on_mount as *const (),
        original: &MOUNT_ORIGINAL,
        loss: WITHOUT_CARRIERS,
    },
    Hook {
        known: Known::VirtualUnmount,
        mechanism: Mechanism::CarrierDetour,
        name: "virtual-unmount",
        address: on_unmount as *const (),
        original: &UNMOUNT_ORIGINAL,
        loss: WITHOUT_CARRIERS,
    },
];

const WITHOUT_CARRIERS: &str = "CPU times of transactions on virtual threads are not known";

/// The probe that stands in for the detour of the contended exit.
const EXIT_PROBE: &str = "monitor__contended__exit";
const BY_PROBE: &str = "contended exits are seen through the VM's probe monitor__contended__exit, which costs \
                        microseconds each and delays the successor";
const BY_SIGNAL: &str = "contended exits are seen when the successor's condition variable is signalled: where it is \
                         awake already, and for virtual threads since JDK 24, the owner's call chain is not known";

/// The hooks that are in the process.
pub struct Hooks {
    /// Held while the VM is asked for a safepoint: never take it in a callback
    /// or hook.
    installed: Mutex<Vec<(&'static str, Detour)>>,
    /// The fallback for the contended exit. Likewise.
    probe: Mutex<Option<ProbeHook>>,
    /// The fallback for the probe. Likewise.
    signal: Mutex<Option<ExitSignal>>,
}

/// Those of this process.
pub static HOOKS: Hooks =
    Hooks { installed: Mutex::new(Vec::new()), probe: Mutex::new(None), signal: Mutex::new(None) };

impl Hooks {
    /// Puts the hooks in that the options ask for and allow, and the VM offers.
    pub fn install(
        &self,
        agent: &'static Agent,
        options: &Options,
        libjvm: &Result<Image, String>,
    ) -> Vec<MechanismState> {
        let hooks: Vec<&Hook> = wanted(agent, options).collect();
        let mut installed = self.install_all(agent, options, libjvm, &hooks);
        self.keep_pairs_whole(&hooks, &mut installed);
        let state = |(hook, installed): (&&Hook, Result<String, String>)| match (installed, hook.known, libjvm) {
            (Err(reason), Known::ContendedExit, Ok(image)) => self.fall_back(agent, options, hook, image, reason),
            (installed, ..) => state_of(hook, installed, agent),
        };
        let states: Vec<MechanismState> = hooks.iter().zip(installed).map(state).collect();
        self.leave_traps_alone();
        let mut carriers = hooks.iter().zip(&states).filter(|(hook, _)| hook.mechanism == Mechanism::CarrierDetour);
        let follows = carriers.clone().count() > 0 && carriers.all(|(_, state)| state.state == State::On);
        agent.steal.mounted.set_told(follows);
        states
    }

    /// How code was written, where it was not the better way.
    pub fn code_writing(&self) -> Option<MechanismState> {
        let denied = protection::take_fallback()?;
        let detail = format!(
            "code pages were writable and executable for the moment of each write (mprotect): /proc/self/mem: {denied}"
        );
        Some(MechanismState { name: "code-writing".to_owned(), state: State::Degraded, detail })
    }

    /// Gives SIGTRAP back: detours need the handler only while they change,
    /// a probe as long as it is in. What stays, if it is not a trap's.
    fn leave_traps_alone(&self) -> Option<InPlace> {
        if self.probe.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return None;
        }
        let stays = |error| InPlace::inert("sigtrap-handler", "SIGTRAP handler", error);
        match trap::remove_handler(&Linux) {
            // Each trap is reported itself.
            Ok(()) | Err(HookError::TrapsInForce(_)) => None,
            Err(error) => Some(stays(error)),
        }
    }

    /// Uses the VM's own probe where its contended exit cannot be detoured, and
    /// the signal that wakes the successor where there is no probe either.
    fn fall_back(
        &self,
        agent: &Agent,
        options: &Options,
        hook: &Hook,
        image: &Image,
        mut reason: String,
    ) -> MechanismState {
        let degraded = |detail: String| MechanismState { name: hook.name.to_owned(), state: State::Degraded, detail };
        if agent.hotspot.failure().is_some() {
            return state_of(hook, Err(reason), agent);
        }
        if options.allows(Mechanism::Usdt) {
            match self.install_probe(image) {
                Ok(()) => return degraded(format!("{BY_PROBE}: {reason}")),
                Err(error) => reason = format!("{reason}; {error}"),
            }
        }
        if options.allows(Mechanism::Condvar) {
            match ExitSignal::install(image) {
                Ok(signal) => {
                    *self.signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
                    return degraded(format!("{BY_SIGNAL}: {reason}"));
                }
                Err(error) => reason = format!("{reason}; {error}"),
            }
        }
        state_of(hook, Err(reason), agent)
    }

    fn install_probe(&self, image: &Image) -> Result<(), HookError> {
        let flag = BoolFlag::find(image, BoolFlag::DTRACE_MONITOR_PROBES)?;
        let probe = ProbeHook::prepare(image, "hotspot", EXIT_PROBE, Some(flag), on_exit_probe, &Linux)?;
        PROBE_IS_WANTED.store(true, Ordering::SeqCst);
        probe.install()?;
        *self.probe.lock().unwrap_or_else(PoisonError::into_inner) = Some(probe);
        Ok(())
    }

    /// Puts the hooks in that options and VM allow, with one safepoint for all of
    /// them. For each what was done, or why it was not.
    fn install_all(
        &self,
        agent: &'static Agent,
        options: &Options,
        libjvm: &Result<Image, String>,
        hooks: &[&Hook],
    ) -> Vec<Result<String, String>> {
        let prepare = |hook: &&Hook| possible(agent, options, libjvm, hook).and_then(|image| prepare_one(hook, image));
        let (prepared, detours): (Vec<_>, Vec<_>) = hooks
            .iter()
            .map(prepare)
            .map(|prepared| match prepared {
                Ok(detour) => (Ok(format!("patch of {}", detour.function().name)), Some(detour)),
                Err(reason) => (Err(reason), None),
            })
            .unzip();
        let ready: Vec<&Detour> = detours.iter().flatten().collect();
        let safepoint = || agent.jvmti.empty_safepoint(agent.java.version);
        let mut quiesce = || agent.own_cost.pausing(safepoint).map_err(Into::into);
        // SAFETY: the VM's functions above run in states that hold off a
        // safepoint, so after one no thread stands in the replaced bytes.
        let mut installed = unsafe { Detour::install_all(&ready, &mut quiesce) }.into_iter();
        let done = prepared.into_iter().map(|prepared| {
            let done = prepared?;
            match installed.next() {
                Some(Err(error)) => Err(error.to_string()),
                _ => Ok(done),
            }
        });
        let done = done.collect();
        for (hook, detour) in hooks.iter().zip(detours) {
            // Even if it failed: something may be left that removing mends.
            detour.into_iter().for_each(|detour| self.keep(hook, detour));
        }
        done
    }

    fn keep(&self, hook: &Hook, detour: Detour) {
        let mut known = self.lock();
        // What could not be taken out before is this one now.
        known.retain(|(_, before)| before.function().address != detour.function().address);
        known.push((hook.name, detour));
    }

    /// A re-acquisition whose begin is seen and whose end is not would be kept for
    /// ever: without the hook of the end, that of the begin is taken out again.
    fn keep_pairs_whole(&self, hooks: &[&Hook], installed: &mut [Result<String, String>]) {
        let place = |known| hooks.iter().position(|hook| hook.known == known);
        let (Some(begin), Some(end)) = (place(Known::Notify), place(Known::Reenter)) else { return };
        if installed[end].is_ok() || installed[begin].is_err() {
            return;
        }
        for (_, detour) in self.lock().iter().filter(|(name, _)| *name == hooks[begin].name) {
            detour.pass_through();
            // What stays passes through, and is removed with the others.
            let _ = detour.remove();
        }
        installed[begin] = Err("the end of a re-acquisition could not be hooked".to_owned());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, Detour)>> {
        self.installed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all hooks out again. What stays is tried again at the next call, and
    /// does nothing meanwhile.
    pub fn remove(&self, agent: &Agent) -> Vec<InPlace> {
        agent.steal.mounted.set_told(false);
        let mut left = self.remove_detours();
        PROBE_IS_WANTED.store(false, Ordering::SeqCst);
        let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = probe.as_ref().map(ProbeHook::remove) {
            left.push(InPlace::live("monitor-exit", format!("trap at the VM's probe {EXIT_PROBE}"), error));
        }
        probe.take_if(|probe| !probe.is_in_place());
        drop(probe);
        let mut signal = self.signal.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(signal.as_mut().map(ExitSignal::remove).unwrap_or_default());
        signal.take_if(|signal| signal.is_removed());
        drop(signal);
        left.extend(self.leave_traps_alone());
        left
    }

    fn remove_detours(&self) -> Vec<InPlace> {
        let mut detours = self.lock();
        let mut left = Vec::new();
        // A thread that blocks SIGTRAP is waited for once, not for each of them.
        let refused = match detours.is_empty() {
            true => None,
            false => trap::check_threads(&Linux).err(),
        };
        detours.retain(|(name, detour)| {
            let reason = match &refused {
                Some(error) => {
                    detour.pass_through();
                    Some(error.to_string())
                }
                None => detour.remove().err().map(|error| error.to_string()),
            };
            let Some((how, reason)) = detour.in_place().zip(reason) else { return false };
            let function = &detour.function().name;
            left.push(match how {
                detour::InPlace::Jump => InPlace::inert(name, format!("patch of {function}"), reason),
                detour::InPlace::Covered => InPlace::inert(name, format!("patch of {function}, under another"), reason),
                detour::InPlace::Trap => InPlace::live(name, format!("trap at {function}"), reason),
            });
            true
        });
        left
    }

    /// What installing changes in the process.
    pub fn will_change(&self, agent: &Agent, options: &Options) -> Vec<String> {
        let version = agent.java.version;
        let hooks = wanted(agent, options).filter(|hook| options.allows(hook.mechanism));
        // The newest name comes first, that of 17 and 21 last.
        let name = |names: &'static [&'static str]| if version > 21 { names.first() } else { names.last() };
        let detours = hooks.filter_map(|hook| name(hook.known.names()));
        let instead = Some("what stands in for the hook of the contended exit, as status says then".to_owned());
        let falls_back = options.wants("monitor")
            && !options.allows(Mechanism::ExitDetour)
            && (options.allows(Mechanism::Usdt) || options.allows(Mechanism::Condvar));
        detours.map(|name| format!("the first 5 bytes of {name}")).chain(instead.filter(|_| falls_back)).collect()
    }
}

/// The hooks for what is to be recorded. Virtual threads are followed from carrier
/// to carrier where steal is recorded.
fn wanted(agent: &Agent, options: &Options) -> impl Iterator<Item = &'static Hook> {
    let has_carriers = options.wants("steal") && agent.java.version >= steal::VIRTUAL_SINCE;
    let has_monitors = options.wants("monitor");
    let monitors = MONITOR_HOOKS.iter().filter(move |_| has_monitors);
    monitors.chain(CARRIER_HOOKS.iter().filter(move |_| has_carriers))
}

/// The VM's library, if options and VM allow the hook.
fn possible<'a>(
    agent: &Agent,
    options: &Options,
    libjvm: &'a Result<Image, String>,
    hook: &Hook,
) -> Result<&'a Image, String> {
    if !options.allows(hook.mechanism) {
        return Err(SWITCHED_OFF.to_owned());
    }
    match agent.hotspot.failure() {
        Some(reason) => Err(reason.to_owned()),
        None => libjvm.as_ref().map_err(String::clone),
    }
}

/// The hook, ready to be put in.
fn prepare_one(hook: &Hook, image: &Image) -> Result<Detour, String> {
    let function = hook.known.resolve(image).map_err(|e| e.to_string())?;
    // SAFETY: the hooks above have the functions' signatures plus the
    // caller's frame pointer, contain every panic, and live in a library
    // that is linked never to be unloaded.
    let detour = unsafe { Detour::prepare(&function, hook.address, hook.known.context(), &Linux) };
    let detour = detour.map_err(|e| e.to_string())?;
    hook.original.store(detour.original() as usize, Ordering::Release);
    Ok(detour)
}

/// What the exit's loss is where the owner cannot be read at an enter either.
const OWNERS_UNKNOWN: &str = "owners are not known";

fn state_of(hook: &Hook, installed: Result<String, String>, agent: &Agent) -> MechanismState {
    let loss = match (hook.known, agent.hotspot.failure()) {
        (Known::ContendedExit, Some(_)) => OWNERS_UNKNOWN,
        _ => hook.loss,
    };
    let (state, detail) = match installed {
        Ok(detail) => (State::On, detail),
        Err(reason) => (State::Degraded, format!("{loss}: {reason}")),
    };
    MechanismState { name: hook.name.to_owned(), state, detail }
}
