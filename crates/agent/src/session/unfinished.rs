//! Recordings whose file is finished after `stop` has answered.

use super::{answer_to_stop, jvm, lock, Session, STATE};
use crate::agent::Agent;
use crate::drain::Recorded;
use crate::reply::Reply;
use headway_model::{DurationNs, TimeNs};
use std::path::PathBuf;
use std::thread::JoinHandle;

/// A recording that has ended, but whose file is still being written.
pub(super) struct Unfinished {
    pub path: Option<PathBuf>,
    pub started: TimeNs,
    pub thread: JoinHandle<()>,
    /// `None` if nobody asked for an answer to `stop`.
    pub late: Option<Late>,
}

/// What an answer to `stop` is made of once the file is finished.
pub(super) struct Late {
    session: Session,
    /// Why it ended, if nobody ended it.
    note: Option<String>,
}

impl Late {
    fn answer(self, agent: &'static Agent, has_failed: bool) -> Reply {
        let mut recorded = self.session.drain.recorded();
        if has_failed || !recorded.is_finished {
            recorded.fail();
        }
        answer(agent, &self.session, recorded, self.note)
    }
}

/// What a recording answers to `stop` that ended before.
pub(super) fn answer(agent: &'static Agent, session: &Session, recorded: Recorded, note: Option<String>) -> Reply {
    let mut answer = Reply { jvm: Some(jvm(agent)), ..Reply::of_this_version() };
    answer_to_stop(agent, &mut answer, session, recorded);
    answer.notes.splice(0..0, note);
    answer
}

/// The recording whose end is still being written. One that is finished meanwhile leaves its answer to `stop`.
pub(super) fn still_written(agent: &'static Agent) -> Option<PathBuf> {
    let mut unfinished = lock(&STATE.unfinished);
    if let Some(finished) = unfinished.take_if(|unfinished| unfinished.thread.is_finished()) {
        let has_failed = finished.thread.join().is_err();
        if let Some(late) = finished.late {
            *lock(&STATE.ended_before) = Some(late.answer(agent, has_failed));
        }
    }
    unfinished.as_ref().map(|unfinished| unfinished.path.clone().unwrap_or_default())
}

/// Keeps what the answer to `stop` is made of until the file is finished.
pub(super) fn keep(agent: &'static Agent, mut session: Session, note: Option<String>) {
    // Nobody has to be watched any more.
    session.lease = None;
    let mut unfinished = lock(&STATE.unfinished);
    let of_session = unfinished.as_mut().filter(|unfinished| unfinished.started == session.started);
    let late = Late { session, note };
    match of_session {
        Some(unfinished) => unfinished.late = Some(late),
        // Somebody has seen meanwhile that it is finished.
        None => *lock(&STATE.ended_before) = Some(late.answer(agent, false)),
    }
}

/// The answer of a recording that has ended; it ends none. False if there is no answer.
pub(super) fn finish_last(agent: &'static Agent, reply: &mut Reply) -> bool {
    if let Some(path) = still_written(agent) {
        reply.error = Some(format!("the end of the recording is still being written to {}", path.display()));
        reply.still_writing = Some(path.display().to_string());
        reply.exit_code = 1;
        return true;
    }
    let ended = lock(&STATE.ended_before);
    ended.iter().for_each(|answer| reply.clone_from(answer));
    ended.is_some()
}

/// What `stop` says of it.
pub(super) fn unfinished_sentence(session: &Session) -> String {
    let path = session.path.clone().unwrap_or_default();
    format!(
        "the end of the recording could not be written within {}, writing goes on; \
         until `status` says that nothing is recorded any more, {} lacks its end",
        DurationNs(session.stop_within.as_nanos() as u64),
        path.display()
    )
}
