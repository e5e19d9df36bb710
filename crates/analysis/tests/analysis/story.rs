//! Names for the threads, locks and chains of plays and pictures.

use crate::simulation::{CHAINS, CONTENDER_CHAIN, HOLDER_CHAIN, WAIT_CHAIN};
use headway_model::event::*;
use headway_model::stack::{ChainDef, Frame};
use headway_model::TimeNs;
use headway_model::{CallChain, ChainId, Event, FrameKind, LockId, Method, MethodId, ThreadId};
use std::sync::Arc;

/// A method with the id `id`.
pub fn method(id: u64, class: &str, name: &str) -> Event {
    let method = Method { class: class.into(), name: name.into(), ..Method::default() };
    Event::Method(MethodId(id), Arc::new(method))
}

/// A chain of (method, line), leaf first.
pub fn chain(id: u64, frames: &[(u64, u32)]) -> Event {
    let frames = frames
        .iter()
        .map(|(method, line)| Frame {
            method: MethodId(*method),
            bci: 0,
            line: *line,
            kind: FrameKind::Compiled,
            approximate: false,
        })
        .collect();
    let chain = CallChain { frames, truncated: false };
    Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain }))
}

/// A thread of the application.
pub fn thread(id: u64, name: &str) -> Event {
    Event::Thread(ThreadDef { id: ThreadId(id), name: name.into(), ..ThreadDef::default() })
}

/// A lock.
pub fn lock(id: u64, class: &str, hash: u32, name: &str) -> Event {
    Event::Lock(LockDef { id: LockId(id), class: class.into(), identity_hash: hash, name: name.into() })
}

/// The recording's start.
pub fn recording(start: TimeNs) -> Event {
    Event::Recording(Arc::new(RecordingInfo {
        start,
        producer: "headway 0.1.0".to_owned(),
        ..RecordingInfo::default()
    }))
}

/// Names for everything that a play can mention.
pub fn definitions() -> Vec<Event> {
    let mut events = vec![recording(TimeNs(1_000_000))];
    for i in 1..=16 {
        events.push(thread(i, &format!("http-nio-8080-exec-{i}")));
        events.push(lock(i, "com.acme.Inventory", 0x1a2b00 + i as u32, "Inventory.lock"));
    }
    for kind in [HOLDER_CHAIN, CONTENDER_CHAIN, WAIT_CHAIN] {
        for i in 0..CHAINS {
            events.push(method(kind + i, "com.acme.Inventory", &format!("method{kind}x{}", i / 2)));
            events.push(method(kind + 100 + i, "com.acme.Server", "handle"));
            let frames = [(kind + i, 10 + i as u32), (kind + 100 + i, 7)];
            events.push(chain(kind + i, &frames));
        }
    }
    events
}
