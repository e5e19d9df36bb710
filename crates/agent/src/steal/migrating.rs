//! Events of virtual threads, which go from carrier to carrier: what a thread
//! did is spread over the carriers' buffers, and these are drained one after the
//! other. So what matters to transactions waits here until everything before a
//! moment was drained, and comes out in the order of time. Platform threads have
//! one buffer each and need none of this.

use headway_model::{Dictionary, Event, ThreadId, TimeNs};

/// Events that may wait. With more, the order is given up.
const MOST: usize = 65_536;

/// See the module.
#[derive(Default)]
pub struct Migrating {
    /// True once a virtual thread had a transaction.
    wanted: bool,
    waiting: Vec<(TimeNs, Event)>,
}

/// Thread and time of an event that matters to transactions.
fn of(event: &Event) -> Option<(ThreadId, TimeNs)> {
    Some(match event {
        Event::TransactionPoint(e) => (e.thread, e.time),
        Event::MonitorEntered(e) => (e.thread, e.time),
        Event::MonitorReentered(e) => (e.thread, e.time),
        Event::MonitorWaited(e) => (e.thread, e.time),
        Event::Park(e) => (e.thread, e.time),
        Event::ShortParks(e) => (e.thread, e.time),
        _ => return None,
    })
}

impl Migrating {
    /// Keeps the event if it has to wait; false if it can be taken in at once.
    pub fn keeps(&mut self, event: &Event, dictionary: &Dictionary) -> bool {
        let is_point = matches!(event, Event::TransactionPoint(_));
        if !self.wanted && !is_point {
            return false;
        }
        let Some((thread, time)) = of(event) else { return false };
        if !dictionary.thread(thread).is_some_and(|thread| thread.is_virtual) {
            return false;
        }
        self.wanted = true;
        self.waiting.push((time, event.clone()));
        true
    }

    /// True if no more should wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MOST
    }

    /// What happened before `time`, in order. All of it was drained.
    pub fn before(&mut self, time: TimeNs) -> Vec<Event> {
        self.waiting.sort_by_key(|(at, _)| *at);
        let later = self.waiting.partition_point(|(at, _)| *at < time);
        self.waiting.drain(..later).map(|(_, event)| event).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{Park, ThreadDef, TransactionPoint};

    fn point(thread: u64, time: u64) -> Event {
        let (thread, time) = (ThreadId(thread), TimeNs(time));
        Event::TransactionPoint(TransactionPoint { time, thread, id: 1, kind: 1, cpu: None, is_end: false })
    }

    #[test]
    fn what_virtual_threads_did_on_several_carriers_comes_in_order() {
        let mut dictionary = Dictionary::default();
        let (id, is_virtual) = (ThreadId(7), true);
        dictionary.feed(&Event::Thread(ThreadDef { id, is_virtual, ..ThreadDef::default() }));
        let park = Event::Park(Park { thread: id, time: TimeNs(15), ..Park::default() });
        let mut migrating = Migrating::default();
        assert!(!migrating.keeps(&park, &dictionary), "nobody has a transaction");
        assert!(!migrating.keeps(&point(8, 10), &dictionary), "a platform thread");
        assert!(migrating.keeps(&point(7, 20), &dictionary) && migrating.keeps(&point(7, 10), &dictionary));
        assert!(migrating.keeps(&park, &dictionary) && migrating.keeps(&point(7, 30), &dictionary));
        assert_eq!(migrating.before(TimeNs(30)), [point(7, 10), park, point(7, 20)]);
        assert_eq!(migrating.before(TimeNs(u64::MAX)), [point(7, 30)]);
        assert!(!migrating.is_full());
    }
}
