//! Which thread wrote an event.

use headway_model::{Event, ThreadId};

/// The thread whose buffer an event comes from; definitions and pauses have none.
pub fn of(event: &Event) -> Option<ThreadId> {
    Some(match event {
        Event::MonitorEnter(e) => e.thread,
        Event::MonitorEntered(e) => e.thread,
        Event::MonitorExit(e) => e.thread,
        Event::MonitorWait(e) => e.thread,
        Event::MonitorNotify(e) => e.thread,
        Event::MonitorWaited(e) => e.thread,
        Event::MonitorReentered(e) => e.thread,
        Event::ParkBegin(e) => e.thread,
        Event::Park(e) => e.thread,
        Event::Unpark(e) => e.thread,
        Event::ThreadStart(e) | Event::ThreadEnd(e) => e.thread,
        _ => return None,
    })
}
