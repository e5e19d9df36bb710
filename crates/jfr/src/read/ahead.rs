//! Reading in one thread while another one makes use of what was read.

use super::chunk::Step;
use super::{Problem, Reader};
use headway_model::Event;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread::Builder;

/// Events of one batch.
const BATCH: usize = 1024;
/// Batches under way; with their events they take about a megabyte.
const BATCHES: usize = 6;

/// Some events, and what could not be read behind them.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    problem: Option<Problem>,
}

impl Batch {
    fn hand_out(&mut self, take: &mut impl FnMut(Result<&Event, Problem>)) {
        self.events.iter().for_each(|event| take(Ok(event)));
        self.events.clear();
        if let Some(problem) = self.problem.take() {
            take(Err(problem));
        }
    }
}

impl Reader {
    /// Hands out all there is, in the order in which the iterator has it, while
    /// a thread of its own reads on. Where there can be no such thread, this one
    /// reads.
    pub fn read_ahead(mut self, mut take: impl FnMut(Result<&Event, Problem>)) {
        std::thread::scope(|scope| {
            let (full, to_use) = sync_channel(BATCHES);
            let (empty, to_fill) = sync_channel(BATCHES);
            let reader = &mut self;
            let name = "headway read".to_owned();
            let spawned = Builder::new().name(name).spawn_scoped(scope, move || reader.fill_all(&full, &to_fill));
            if spawned.is_ok() {
                use_all(&to_use, &empty, &mut take);
            }
        });
        // Whatever is left: nothing, if there was a thread.
        let mut batch = Batch::default();
        while self.fill(&mut batch) {
            batch.hand_out(&mut take);
        }
    }

    fn fill_all(&mut self, full: &SyncSender<Batch>, to_fill: &Receiver<Batch>) {
        loop {
            let mut batch = to_fill.try_recv().unwrap_or_default();
            if !self.fill(&mut batch) || full.send(batch).is_err() {
                return;
            }
        }
    }

    /// Fills a batch; false if there is nothing left.
    fn fill(&mut self, batch: &mut Batch) -> bool {
        let is_filled = self.fill_on(batch);
        self.note_progress();
        is_filled
    }

    fn fill_on(&mut self, batch: &mut Batch) -> bool {
        while batch.events.len() < BATCH {
            match self.queue.pop_front() {
                Some(Ok(event)) => {
                    batch.events.push(event);
                    continue;
                }
                Some(Err(problem)) => {
                    batch.problem = Some(problem);
                    return true;
                }
                None => {}
            }
            let Some(chunk) = &mut self.chunk else {
                if self.next_chunk() || !self.queue.is_empty() {
                    continue;
                }
                return !batch.events.is_empty();
            };
            if let Step::End(problem) = chunk.step(&mut self.interner, &mut batch.events) {
                self.end_chunk(problem);
            }
        }
        true
    }
}

fn use_all(to_use: &Receiver<Batch>, empty: &SyncSender<Batch>, take: &mut impl FnMut(Result<&Event, Problem>)) {
    for mut batch in to_use {
        batch.hand_out(take);
        // Kept for its memory; nobody waits for it.
        let _ = empty.try_send(batch);
    }
}
