//! Who is sampled: threads by their kernel id.

use crate::agent::Agent;
use crate::state::Started;
use crate::threads::{self, Slot};
use headway_hotspot::thread;
use headway_model::event::ThreadDef;
use headway_model::ThreadId;
use headway_sample::task;
use std::sync::atomic::Ordering;

/// What the sampler knows of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Kernel id.
    pub os_id: u32,
    /// The platform thread.
    pub thread: ThreadId,
    /// The VM's object; 0 for threads that are no Java threads.
    pub vm_thread: u64,
    /// The end of its stack; 0 if unknown.
    pub stack_end: u64,
    /// Its JNI environment; 0 for threads that are no Java threads.
    pub env: u64,
    /// True if virtual threads run on it.
    pub is_carrier: bool,
}

impl Subject {
    /// A Java thread, unless the thread filter leaves it out.
    pub fn of_slot(agent: &Agent, slot: &Slot) -> Option<Subject> {
        let os_id = slot.os_id.load(Ordering::Relaxed);
        if os_id == 0 || slot.is_filtered.load(Ordering::Relaxed) {
            return None;
        }
        let started = Started { os_id, vm_thread: slot.vm_thread(), thread: slot.thread() };
        let is_carrier = slot.is_carrier.load(Ordering::Relaxed);
        Some(Subject { is_carrier, ..Subject::of_started(agent, started) })
    }

    fn of_started(agent: &Agent, started: Started) -> Subject {
        let known = agent.hotspot.known();
        let stack = known.and_then(|known| thread::stack_range(&known.layout, &known.memory, started.vm_thread));
        Subject {
            os_id: started.os_id,
            thread: started.thread,
            vm_thread: started.vm_thread,
            stack_end: stack.map_or(0, |stack| stack.end),
            env: agent.java.env_of(started.vm_thread),
            is_carrier: false,
        }
    }

    /// A Java thread that started; `None` if it has ended or is left out.
    pub fn of_new(agent: &Agent, started: Started) -> Option<Subject> {
        let slot = agent.threads.find(started.vm_thread).filter(|slot| slot.thread() == started.thread)?;
        Subject::of_slot(agent, slot)
    }

    /// A thread of the VM itself (compilers, collector), which gets a
    /// definition; `None` for the agent's own.
    pub fn of_native(agent: &Agent, os_id: u32) -> Option<Subject> {
        let name = task::name(os_id);
        if name.is_empty() || name.starts_with("headway-") {
            return None;
        }
        let thread = ThreadId::native(os_id);
        let group = String::new();
        agent.define_thread(ThreadDef { is_service: true, ..threads::definition(thread, os_id, name, group) });
        Some(Subject { os_id, thread, vm_thread: 0, stack_end: 0, env: 0, is_carrier: false })
    }

    /// True for threads that run Java code.
    pub fn is_java(&self) -> bool {
        self.vm_thread != 0
    }
}
