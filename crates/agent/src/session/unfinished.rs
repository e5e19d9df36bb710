//! Recordings whose file is finished after `stop` has answered.

use super::{answer_to_stop, jvm, lock, not_recording, Session, STATE};
use crate::agent::Agent;
use crate::reply::Reply;
use headway_model::DurationNs;
use std::path::PathBuf;
use std::thread::JoinHandle;

/// A recording that has ended, but whose file is still being written.
pub(super) struct Unfinished {
    pub path: Option<PathBuf>,
    pub thread: JoinHandle<()>,
    /// What the answer to `stop` is made of, if somebody asked for it.
    pub session: Option<Session>,
}

/// The recording whose end is still being written. One that is finished meanwhile leaves its answer to `stop`.
pub(super) fn still_written(agent: &'static Agent) -> Option<PathBuf> {
    let mut unfinished = lock(&STATE.unfinished);
    let finished = unfinished.take_if(|unfinished| unfinished.thread.is_finished());
    if let Some(session) = finished.and_then(|finished| finished.session) {
        let mut answer = Reply { jvm: Some(jvm(agent)), ..Reply::of_this_version() };
        answer_to_stop(agent, &mut answer, &session, session.drain.recorded());
        *lock(&STATE.ended_before) = Some(answer);
    }
    unfinished.as_ref().map(|unfinished| unfinished.path.clone().unwrap_or_default())
}

/// Keeps what the answer to `stop` is made of until the file is finished, if it is not yet.
pub(super) fn keep_if_unfinished(mut session: Session) {
    if let Some(unfinished) = lock(&STATE.unfinished).as_mut().filter(|_| session.path.is_some()) {
        // Nobody has to be watched any more.
        session.lease = None;
        unfinished.session = Some(session);
    }
}

/// The answer of a recording that has ended; it ends none.
pub(super) fn finish_last(agent: &'static Agent, reply: &mut Reply) {
    match still_written(agent) {
        Some(path) => {
            reply.error = Some(format!("the end of the recording is still being written to {}", path.display()));
            reply.still_writing = Some(path.display().to_string());
            reply.exit_code = 1;
        }
        None => match &*lock(&STATE.ended_before) {
            Some(answer) => reply.clone_from(answer),
            None => not_recording(reply),
        },
    }
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
