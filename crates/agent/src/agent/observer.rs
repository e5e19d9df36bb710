//! Who follows what threads do, on the threads that do it, without recording it.
//!
//! Capture says what happens and does not know to whom: which observer there is,
//! [`observing`](crate::observing) says.

use super::Agent;
use crate::definitions::Definitions;
use crate::ending::Deadline;
use crate::jni::{Jni, Ref};
use crate::jvmti::Jvmti;
use crate::options::Options;
use crate::reply::InPlace;
use crate::threads::Slot;
use headway_hook::Image;
use headway_model::{ChainId, Frame, LockId, ThreadId, TimeNs};
use std::sync::Arc;

/// A sample as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// The VM's thread.
    pub vm_thread: u64,
    /// Who ran: of a carrier the virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: TimeNs,
    /// Periods that it stands for.
    pub ticks: u64,
}

/// See the module.
pub trait Observer: Default {
    /// What the sampler keeps for it.
    type Matcher: Default;
    /// What it makes of a sample's chain.
    type Seen;
    /// What ends it when dropped.
    type Running;

    /// What [`Observer::prepare`] changes in the process.
    fn will_change(&self, options: &Options) -> Vec<String>;

    /// Gets ready for a recording.
    ///
    /// # Errors
    /// Why it cannot.
    fn prepare(
        &self,
        agent: &'static Agent,
        jni: Jni,
        options: &Options,
        libjvm: &Result<Image, String>,
    ) -> Result<(), String>;

    /// Begins, once a recording is under way. `period_ns` is the CPU time between two
    /// samples. `None`, and said in the recording, if it cannot.
    fn begin(&self, agent: &'static Agent, options: &Options, period_ns: u64) -> Option<Self::Running>;

    /// Ends while samples still come.
    fn finish(&self, agent: &'static Agent, running: Self::Running, deadline: Deadline);

    /// Why a recording under way is of no use: what was asked for can never be observed.
    fn refusal(&self) -> Option<String>;

    /// Undoes what [`Observer::prepare`] did; what stays.
    fn undo(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace>;

    /// True from [`Observer::prepare`] to [`Observer::undo`].
    fn is_wanted(&self) -> bool;

    /// A new thread begins, or the slot of one that is there already is taken.
    fn thread_started(&self, slot: &Slot);

    /// A thread's name is known.
    fn thread_named(&self, slot: &Slot, name: &str);

    /// The thread is about to block until another one wakes it or time runs out.
    fn block(&self, slot: &Slot);

    /// Another thread woke it.
    fn woken(&self, slot: &Slot);

    /// It came back by itself.
    fn returned(&self, slot: &Slot);

    /// The thread is about to wake another one or to end, and may be delayed here.
    /// Only where the VM does not wait for the thread: in a native method or a
    /// callback of JVMTI.
    fn before_wake(&self, agent: &Agent, slot: &Slot);

    /// The same in a function of the VM that releases a monitor. It is called
    /// from compiled code too, as a leaf, and then the VM waits for the thread.
    fn before_release(&self, agent: &Agent, slot: &Slot);

    /// A lock was acquired after a wait for it, or is about to be released to
    /// somebody who waits.
    fn acquired(&self, slot: &Slot, lock: LockId, time: TimeNs);

    /// See [`Observer::acquired`].
    fn released(&self, slot: &Slot, lock: LockId, time: TimeNs);

    /// A monitor is contended for; its object is the thread's.
    fn contended(&self, agent: &Agent, jni: Jni, lock: LockId, monitor: u64, object: Ref);

    /// A thread parks on a synchronizer that may have an owner.
    fn parked_on(&self, agent: &Agent, jni: Jni, lock: LockId, synchronizer: Ref);

    /// A lock has got its name.
    fn lock_named(&self, lock: LockId, name: &Arc<str>);

    /// All application threads were stopped by the VM.
    fn paused(&self, ns: u64);

    /// A thread's samples come through this ring.
    fn sampled_into(&self, agent: &Agent, vm_thread: u64, ring: u64);

    /// What a sample's chain lies in; `frames` gives it the first time.
    fn look(
        &self,
        matcher: &mut Self::Matcher,
        definitions: &Definitions,
        chain: ChainId,
        frames: impl FnOnce() -> Vec<Frame>,
    ) -> Self::Seen;

    /// Forgets the chains that were seen: their ids have become others'.
    fn forget_chains(&self, matcher: &mut Self::Matcher);

    /// A sample of a thread, which the matcher looked at.
    fn sampled(&self, agent: &'static Agent, sample: &Sampled, seen: &Self::Seen);

    /// After every round of samples.
    fn collect(&self, agent: &'static Agent);

    /// A class is loaded; what it is to become, in the VM's memory, if it is changed.
    fn class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)>;

    /// The number of a progress point that the program reports, 0 if there is no room.
    fn point(&self, name: &str) -> usize;

    /// The program is at a progress point.
    fn visit(point: usize);
}
