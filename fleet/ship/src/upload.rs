//! Delivers what is in the queue to the store, and waits where that fails.

use crate::backoff::Backoff;
use crate::counters::Counters;
use crate::queue::{Outcome, Queue, QueueError, Waiting};
use headway_model::printable;
use headway_store::{Store, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Until the store is tried again.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// See the module.
#[derive(Debug)]
pub struct Uploader {
    queue: Arc<Queue>,
    place: String,
    counters: Arc<Counters>,
    backoff: Backoff,
    /// Not before, after a failure.
    not_before: Option<Instant>,
    said: Option<String>,
}

impl Uploader {
    /// Delivers to the store at a place.
    pub fn new(queue: Arc<Queue>, place: String, counters: Arc<Counters>) -> Uploader {
        let backoff = Backoff::new(FIRST_RETRY, LONGEST_RETRY);
        Uploader { queue, place, counters, backoff, not_before: None, said: None }
    }

    /// Delivers all that waits, unless the store failed a short time ago; keeps the queue within its bound. `go_on`
    /// is asked before each batch. Returns until when there is nothing to do, if the store fails.
    pub async fn round(&mut self, now: Instant, go_on: impl Fn() -> bool) -> Option<Instant> {
        let mut waiting = match self.queue.waiting().await {
            Ok(waiting) => waiting,
            Err(error) => return self.failed(now, &error),
        };
        // What cannot be counted is not left out (the disk is full, for example), but can be delivered all the same.
        let kept = self.queue.keep_within_bound(&mut waiting).await;
        self.show(&waiting);
        match kept {
            Ok(removed) => self.say_removed(&removed),
            Err(error) => self.say(&error),
        }
        if waiting.is_empty() {
            return None;
        }
        if let Some(until) = self.not_before.filter(|until| *until > now) {
            return Some(until);
        }
        let result = self.deliver(&mut waiting, go_on).await;
        self.show(&waiting);
        match result {
            Ok(()) => {
                self.not_before = None;
                self.backoff.reset();
                self.counters.store_up.set(1);
                if self.said.take().is_some() {
                    eprintln!("headway-fleet: the store works again");
                }
                None
            }
            Err(error) => self.failed(now, &error),
        }
    }

    /// The next round tries at once, whatever failed.
    pub fn try_now(&mut self) {
        self.not_before = None;
    }

    async fn deliver(&mut self, waiting: &mut Vec<Waiting>, go_on: impl Fn() -> bool) -> Result<(), QueueError> {
        let store = self.open().await?;
        let mut result = Ok(());
        let mut left = Vec::new();
        let mut batches = std::mem::take(waiting).into_iter();
        for batch in batches.by_ref() {
            if !go_on() {
                left.push(batch);
                break;
            }
            match self.queue.deliver(&store, &batch).await {
                Ok(outcome) => self.count(&outcome),
                Err(error) => {
                    left.push(batch);
                    // What is wrong with one batch, or one day of the store, must not hold up the others.
                    let goes_on = is_of_one_batch(&error);
                    self.say(&error);
                    result = Err(error);
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        left.extend(batches);
        *waiting = left;
        result
    }

    /// Makes the store the first time only: a directory that went away, and is not mounted now, must not be
    /// made again in the place of what was there.
    async fn open(&self) -> Result<Store, QueueError> {
        let known = self.queue.folder().join("store");
        self.queue.refuse_inside(&self.place)?;
        if std::fs::read(&known).is_ok_and(|place| place == self.place.as_bytes()) {
            return Store::open(&self.place).await.map_err(QueueError::Store);
        }
        let store = Store::open_or_make(&self.place).await.map_err(QueueError::Store)?;
        // On a full disk the store is noted later: what is delivered makes room.
        let part = known.with_extension("part");
        let written = std::fs::write(&part, &self.place).and_then(|()| std::fs::rename(&part, &known));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&part);
            eprintln!("headway-fleet: cannot write {} ({error}); rows are delivered all the same", known.display());
        }
        Ok(store)
    }

    fn count(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Delivered { rows, bytes } => {
                self.counters.delivered_batches.add(1);
                self.counters.delivered_rows.add(*rows);
                self.counters.delivered_bytes.add(*bytes);
            }
            Outcome::Known => self.counters.known_batches.add(1),
            Outcome::Refused(why) => eprintln!("headway-fleet: a batch is left out: {}", printable(why)),
        }
    }

    fn show(&self, waiting: &[Waiting]) {
        self.counters.waiting_batches.set(waiting.len() as u64);
        self.counters.waiting_bytes.set(waiting.iter().map(|batch| batch.bytes).sum());
        self.counters.earliest_seconds.set(waiting.first().map_or(0, |batch| batch.minute * 60));
    }

    fn say_removed(&self, removed: &[Waiting]) {
        if let Some(first) = removed.first() {
            let rows: u64 = removed.iter().map(Waiting::rows).sum();
            let (batches, day) = (removed.len(), first.day);
            eprintln!("headway-fleet: the queue is full: {rows} rows in {batches} batches from {day} on are left out");
        }
    }

    fn say(&mut self, error: &QueueError) {
        let sentence = error.to_string();
        if self.said.as_ref() != Some(&sentence) {
            eprintln!("headway-fleet: {}; trying again", printable(&sentence));
            self.said = Some(sentence);
        }
    }

    fn failed(&mut self, now: Instant, error: &QueueError) -> Option<Instant> {
        self.counters.failed_uploads.add(1);
        if matches!(error, QueueError::Store(_)) {
            self.counters.store_up.set(0);
        }
        self.say(error);
        let until = now + self.backoff.failed();
        self.not_before = Some(until);
        Some(until)
    }
}

/// True if other batches can be delivered all the same.
fn is_of_one_batch(error: &QueueError) -> bool {
    use StoreError::{Arrow, Conflict, Contended, Damaged, Parquet, Retired, TooSlow, Unsettled};
    match error {
        QueueError::Rows(_) => true,
        QueueError::Store(error) => matches!(
            error,
            Arrow(_) | Conflict(_) | Contended(_) | Damaged(..) | Parquet(..) | Retired(_) | TooSlow | Unsettled(_)
        ),
        QueueError::Taken(_) | QueueError::Inside(_) | QueueError::Disk(..) => false,
    }
}
