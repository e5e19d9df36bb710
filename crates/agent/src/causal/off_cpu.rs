//! Where a thread is that has slept, or waited for the world outside.

use super::causal;
use super::targets::{SampledLine, Seen};
use crate::agent::Agent;
use crate::chain::{by_jvmti, Side};
use crate::jni::Jni;
use crate::jvmti::table::FrameInfo;
use crate::threads::Slot;
use headway_model::ChainId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most chains remembered; forgotten all at once beyond.
const MAX_CHAINS: usize = 4_096;
/// Frames that are looked at.
const MAX_FRAMES: usize = 128;

/// A chain, by what makes its id unambiguous.
type Known = (u64, ChainId);

/// The places of chains that were seen before.
#[derive(Default)]
pub struct OffCpu {
    chains: Mutex<HashMap<Known, Arc<[SampledLine]>>>,
}

impl OffCpu {
    /// Forgets all: another recording.
    pub fn forget(&self) {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The current thread's stack, compared with the target. In a native method
    /// only. The lock is not held while the VM is called.
    pub fn seen(&self, agent: &'static Agent, jni: Jni, slot: &Slot) -> Seen {
        let key = (agent.chains.generation(), agent.chains.in_native(agent, jni, slot, Side::Blocks));
        let (_, target) = causal().targets.current();
        let known = self.chains.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let frames = known.unwrap_or_else(|| {
            let frames = places(agent, jni);
            let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
            if chains.len() >= MAX_CHAINS {
                chains.clear();
            }
            if key.1 != ChainId::NONE {
                chains.insert(key, frames.clone());
            }
            frames
        });
        Seen::of(frames, target.as_deref())
    }
}

fn places(agent: &Agent, jni: Jni) -> Arc<[SampledLine]> {
    let mut frames = [FrameInfo::EMPTY; MAX_FRAMES];
    let count = agent.jvmti.current_stack(&mut frames).unwrap_or(0);
    let place = |frame: &FrameInfo| {
        let method = by_jvmti::method_of(&agent.jvmti, jni, frame.method);
        let line = by_jvmti::line_of(&agent.jvmti, frame);
        let file = method.source_file.clone();
        SampledLine { method: format!("{}.{}", method.class, method.name).into(), file, line, is_compiled: true }
    };
    frames.get(..count).unwrap_or_default().iter().map(place).collect()
}

/// How many samples a time off the CPU stands for.
pub fn ticks(waited_ns: u64, period_ns: u64) -> u64 {
    (waited_ns + period_ns / 2) / period_ns.max(1)
}
