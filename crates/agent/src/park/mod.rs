//! Feature `park`: threads that park in `LockSupport` or its like, who gives
//! them their permit to go on, and what they park on.
//!
//! * [`natives`]: the platform's `Unsafe.park` and `unpark`, bound to functions
//!   of the agent while a recording is under way: platform threads.
//! * [`redirect`], [`headway_class_file`]: the JDK's calls that park virtual threads,
//!   redirected to a small class in the boot loader.
//! * [`bindings`](crate::bindings): who has such natives, and how the VM's come back.
//! * [`capture`]: what happens then.
//! * [`blocker`]: what is parked on, and who owns it.
//! * [`under_way`]: threads that were parked before the recording.
//! * [`virtual_threads`]: what is kept about a virtual thread between two events; of
//!   a platform thread that is in [`state`](crate::state).
//! * `statistics`: how much threads parked on each blocker so far.

pub mod blocker;
pub mod capture;
pub mod natives;
pub mod redirect;
mod statistics;
pub mod under_way;
pub mod virtual_threads;

pub use statistics::{LiveParks, Wish};

use crate::agent::Agent;
use crate::jni::Jni;
use crate::options::{Mechanism, Options, MOUNTS};
use crate::raw::Record;
use crate::reply::{InPlace, MechanismState, State};
use crate::sole;
use crate::state::Sums;
use crate::thread_entry;
use crate::vm::SWITCHED_OFF;
use blocker::Blockers;
use headway_hook::Image;
use headway_model::event::{ParkBegin, ShortParks};
use headway_model::stack::ChainDef;
use headway_model::{Dictionary, DurationNs, Event, Seq, TimeNs};
use natives::Natives;
use redirect::Redirection;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, LazyLock};
use under_way::UnderWay;
use virtual_threads::VirtualThreads;

/// The word for the feature.
pub const FEATURE: &str = "park";

/// The words for the mechanisms in `status` and `degraded`.
const PLATFORM: &str = "park-platform";
const VIRTUAL: &str = "park-virtual";
const WITHOUT_PLATFORM: &str = "parks of platform threads are not recorded";
const BY_LOCK_SUPPORT: &str =
    "parks of platform threads are seen where LockSupport is called, not where the JDK calls \
                               jdk.internal.misc.Unsafe itself";
const WITHOUT_VIRTUAL: &str = "parks of virtual threads are seen only while they cannot leave their carrier";

/// A counter on a cache line of its own: every parking thread counts it up.
#[derive(Default)]
#[repr(align(128))]
struct Order(AtomicU64);

/// Whether the threads count their parks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// No: nobody asks for park statistics.
    #[default]
    No,
    /// Yes, and each park is recorded.
    Also,
    /// Yes, and nothing is recorded.
    Only,
}

/// Everything that the feature keeps.
#[derive(Default)]
pub struct Parks {
    order: Order,
    /// Parks of virtual threads that have no place in that order when they begin.
    unrecorded: Order,
    floor_ns: AtomicU64,
    /// True if each mount of a virtual thread that was unparked is recorded.
    pub(super) tells_mounts: AtomicBool,
    counting: AtomicU8,
    blockers: Blockers,
    virtuals: VirtualThreads,
    natives: Natives,
    redirection: Redirection,
    /// Parks since before the recording.
    pub under_way: UnderWay,
}

/// The feature's own. Made before the agent is known.
static PARKS: LazyLock<Box<Parks>> = LazyLock::new(Box::default);

/// What the feature keeps, of the whole process.
#[inline]
pub fn parks() -> &'static Parks {
    &PARKS
}

impl Parks {
    /// The next place in the order of all parks and unparks.
    #[inline]
    fn next_seq(&self) -> Seq {
        Seq(self.order.0.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Stands for a park of a virtual thread that may not be recorded.
    #[inline]
    fn next_unrecorded(&self) -> Seq {
        Seq(self.unrecorded.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Parks shorter than this are summed up; zero if each is recorded.
    #[inline]
    fn floor(&self) -> DurationNs {
        DurationNs(self.floor_ns.load(Ordering::Relaxed))
    }

    /// Whether the threads count their parks.
    #[inline]
    fn counting(&self) -> Counting {
        match self.counting.load(Ordering::Relaxed) {
            0 => Counting::No,
            1 => Counting::Also,
            _ => Counting::Only,
        }
    }

    /// Whether the threads count their parks from now on. While no recording is
    /// under way.
    pub fn count(&self, counting: Counting) {
        self.counting.store(counting as u8, Ordering::Relaxed);
    }

    /// Begins to see parks, as far as the options allow and the VM offers.
    pub fn install(
        &self,
        agent: &'static Agent,
        jni: Jni,
        options: &Options,
        libjvm: &Result<Image, String>,
    ) -> Vec<MechanismState> {
        if !options.wants(FEATURE) {
            return Vec::new();
        }
        self.floor_ns.store(options.park_floor_ns.unwrap_or(0), Ordering::Relaxed);
        self.tells_mounts.store(options.wants(MOUNTS), Ordering::Relaxed);
        agent.heap.pauses.forget();
        if let (Ok(image), Some(known)) = (libjvm, agent.hotspot.known()) {
            agent.heap.learn(image, &known.memory);
        }
        let allowed = |mechanism| match options.allows(mechanism) {
            true => Ok(()),
            false => Err(SWITCHED_OFF.to_owned()),
        };
        let platform = allowed(Mechanism::ParkNatives)
            .and_then(|()| libjvm.as_ref().map_err(String::clone))
            .and_then(|image| self.natives.install(agent, jni, image));
        let platform = match platform {
            Ok(detail) => state_of(PLATFORM, WITHOUT_PLATFORM, Ok(detail)),
            Err(reason) => {
                let redirected = allowed(Mechanism::ParkLockSupport)
                    .and_then(|()| self.natives.prepare(jni))
                    .and_then(|()| self.redirection.install_platform(agent, jni));
                match redirected {
                    Ok(()) => state_of(PLATFORM, BY_LOCK_SUPPORT, Err(reason)),
                    // Both mechanisms need the helper class; its failure is said once.
                    Err(error) if error == reason => state_of(PLATFORM, WITHOUT_PLATFORM, Err(reason)),
                    Err(error) => state_of(PLATFORM, WITHOUT_PLATFORM, Err(format!("{reason}; {error}"))),
                }
            }
        };
        let mut states = vec![platform];
        if agent.java.version >= 21 {
            let redirected = allowed(Mechanism::ParkRedirect)
                .and_then(|()| self.natives.prepare(jni))
                .and_then(|()| self.redirection.install(agent, jni));
            states.push(state_of(VIRTUAL, WITHOUT_VIRTUAL, redirected));
        }
        states
    }

    /// Sees no more parks; what stays. Threads inside a park end it unrecorded.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace> {
        let mut left = self.redirection.remove(agent, jni);
        left.extend(self.natives.remove(agent, jni));
        left
    }

    /// True if parks of platform threads come by.
    pub fn sees_platform(&self) -> bool {
        self.natives.is_bound() || self.redirection.sees_platform()
    }

    /// Forgets what an earlier recording left.
    pub fn reset(&self) {
        self.virtuals.clear();
        self.under_way.clear();
    }

    /// What installing changes in the process.
    pub fn will_change(&self, agent: &Agent, options: &Options) -> Vec<String> {
        if !options.wants(FEATURE) {
            return Vec::new();
        }
        let natives = match (options.allows(Mechanism::ParkNatives), options.allows(Mechanism::ParkLockSupport)) {
            (true, _) => Some("the native functions of jdk.internal.misc.Unsafe.park and unpark".to_owned()),
            (false, true) => Some("the calls in java.util.concurrent.locks.LockSupport that park threads".to_owned()),
            (false, false) => None,
        };
        let is_redirected = agent.java.version >= 21 && options.allows(Mechanism::ParkRedirect);
        let redirected = is_redirected.then(|| {
            let class = self.redirection.in_force();
            let class = class.unwrap_or_else(|| "jdk.internal.misc.VirtualThreads or LockSupport".to_owned());
            format!("the calls in {class} that park virtual threads")
        });
        natives.into_iter().chain(redirected).collect()
    }

    /// JVMTI `ClassFileLoadHook` of a class that is being changed.
    pub fn on_class_file(&self, agent: &Agent, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        self.redirection.on_class_file(&agent.jvmti, name, bytes)
    }

    /// Parks that go on and were not recorded yet, and sums of short ones: the
    /// draining thread records them, where there is a floor. Begins that are not
    /// before the watermark wait: what their threads did before is not collected.
    pub fn collect(&self, agent: &Agent, watermark: TimeNs, take: &mut impl FnMut(Event)) {
        let tells_now = self.floor() == DurationNs::ZERO && !agent.pressure.is_sparing() && !agent.sampling.is_used();
        if tells_now || self.counting() == Counting::Only {
            return;
        }
        let numbered = |begin: ParkBegin| match begin.chain.is_none() && agent.sampling.is_used() {
            true => Event::ParkBegin(ParkBegin { seq: self.next_seq(), ..begin }),
            false => Event::ParkBegin(begin),
        };
        for slot in agent.threads.iter() {
            slot.parks.park.send(watermark).into_iter().for_each(|begin| take(numbered(begin)));
            let sums = slot.parks.short().into_iter().flat_map(Sums::take);
            sums.for_each(|sum| take(Event::ShortParks(sum)));
        }
        for place in self.virtuals.iter() {
            if let Some(begin) = place.park.send(watermark) {
                if agent.sampling.is_used() && agent.virtuals.is_new(begin.thread) {
                    take(Event::Thread(thread_entry::unnamed_virtual(begin.thread)));
                }
                take(numbered(begin));
            }
        }
    }

    /// A thread ends: a park that nobody saw end, and sums of short ones.
    pub fn release(&self, agent: &Agent, slot: &crate::threads::Slot) {
        under_way::over(agent, slot);
        let sums = slot.parks.short().into_iter().flat_map(Sums::take);
        sums.for_each(|sum: ShortParks| agent.append(slot, &Record::short_parks(&sum)));
    }

    /// A lock of this class died and gave its id back.
    pub fn blocker_died(&self, class: &str) {
        self.blockers.died(class);
    }
}

fn state_of(name: &str, loss: &str, installed: Result<String, String>) -> MechanismState {
    let (state, detail) = match installed {
        Ok(detail) => (State::On, detail),
        Err(reason) => (State::Degraded, format!("{loss}: {reason}")),
    };
    MechanismState { name: name.to_owned(), state, detail }
}

/// A chain without the frames of the agent's own class at its leaf.
pub fn without_helper(def: &Arc<ChainDef>, dictionary: &Dictionary) -> Option<Arc<ChainDef>> {
    let is_helper = |frame: &&headway_model::Frame| {
        dictionary.method(frame.method).is_some_and(|method| &*method.class == sole::HELPER)
    };
    let helpers = def.chain.frames.iter().take_while(is_helper).count();
    if helpers == 0 {
        return None;
    }
    let mut def = ChainDef::clone(def);
    def.chain.frames.drain(..helpers);
    Some(Arc::new(def))
}
