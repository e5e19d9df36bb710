//! Feeds events in any order in which a drain thread could see them.

use crate::picture::Scribe;
use crate::writer;
use headway_analysis::monitor::{MonitorReplay, OpenContention, ReplayCounts};
use headway_analysis::Bounds;
pub use headway_model::random::Random as Dice;
use headway_model::{Event, ThreadId, TimeNs};
use std::collections::HashMap;

/// The events in another order that keeps each thread's own order, with
/// watermarks that say the truth about it.
pub fn shuffled(events: &[Event], dice: &mut Dice) -> Vec<Event> {
    let mut queues: HashMap<Option<ThreadId>, Vec<Event>> = HashMap::new();
    for event in events {
        queues.entry(writer::of(event)).or_default().push(event.clone());
    }
    let mut queues: Vec<Vec<Event>> = queues.into_values().collect();
    queues.sort_by_key(|queue| queue.first().and_then(writer::of));
    for queue in &mut queues {
        queue.reverse();
    }
    let mut arrived = Vec::new();
    while !queues.is_empty() {
        let at = dice.below(queues.len() as u64) as usize;
        // A buffer comes as a whole.
        for _ in 0..=dice.below(4) {
            arrived.extend(queues[at].pop());
        }
        queues.retain(|queue| !queue.is_empty());
        if dice.chance(10) {
            // Each queue is in time order, so its last is its oldest. A clock
            // that was shifted keeps its shift.
            let oldest = queues.iter().filter_map(|queue| queue.last()?.time()).min();
            arrived.extend(oldest.map(Event::Watermark));
        }
    }
    arrived
}

/// Replays events as they come; says what became of them.
pub fn replay(
    events: &[Event],
    end: TimeNs,
    names: &[String],
    bounds: Bounds,
) -> (String, Vec<OpenContention>, ReplayCounts) {
    let mut replay = MonitorReplay::new(bounds);
    let mut scribe = Scribe::new(names);
    let mut active: HashMap<ThreadId, TimeNs> = HashMap::new();
    for event in events {
        if let (Some(thread), Some(time)) = (writer::of(event), event.time()) {
            if !matches!(event, Event::MonitorWaited(_)) {
                let last = active.entry(thread).or_default();
                *last = time.max(*last);
            }
        }
        replay.feed(event, &mut scribe);
    }
    let active = |thread| active.get(&thread).copied().unwrap_or_default();
    let open = replay.finish(end, active, &mut scribe);
    (scribe.text(), open, replay.counts())
}
