//! What `AsyncGetCallTrace` wants before it works: somebody who listens to the
//! loading of classes, and the ids of all methods, which it cannot make itself.

use crate::agent::Agent;
use crate::jni::{Jni, Ref};
use crate::jvmti::table::EventKind;
use crate::vm;
use headway_sample::timer::AsyncGetCallTrace;

/// The events that it wants.
const EVENTS: [EventKind; 2] = [EventKind::ClassLoad, EventKind::ClassPrepare];

/// The VM's function.
///
/// # Errors
/// This libjvm has none.
pub fn find() -> Result<AsyncGetCallTrace, String> {
    let address = vm::libjvm()?.address_of("AsyncGetCallTrace").ok_or("this libjvm has no AsyncGetCallTrace")?;
    // SAFETY: the exported function of this name has this signature in every
    // HotSpot that has it.
    Ok(unsafe { std::mem::transmute::<usize, AsyncGetCallTrace>(address) })
}

/// Makes it work from now on.
///
/// # Errors
/// The VM does not report classes.
pub fn prepare(agent: &Agent, jni: Jni) -> Result<(), String> {
    for event in EVENTS {
        agent.jvmti.enable_event(event, true).map_err(|error| error.to_string())?;
    }
    for class in agent.jvmti.loaded_classes().map_err(|error| error.to_string())? {
        class_is_ready(agent, class);
        jni.forget(class);
    }
    Ok(())
}

/// Listens no longer.
pub fn unprepare(agent: &Agent) {
    for event in EVENTS {
        // Nothing can be done about a VM that refuses; the callbacks do little.
        let _ = agent.jvmti.enable_event(event, false);
    }
}

/// Makes the ids of a class's methods. A class that has none yet (an array, one
/// not prepared) comes again, or never.
pub fn class_is_ready(agent: &Agent, class: Ref) {
    let _ = agent.jvmti.make_method_ids(class);
}
