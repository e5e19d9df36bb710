//! Rows on their way to the store: a store in a local folder, with a bound.

use headway_rollup::Rolled;
use headway_store::{Commit, Day, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a file takes on disk is a multiple of this.
const BLOCK: u64 = 4096;

/// What was left out, since the queue was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Batches that were removed because the queue was full.
    pub overflow_batches: u64,
    /// Their rows.
    pub overflow_rows: u64,
    /// Batches that the store refuses for good, or whose files are damaged.
    pub refused_batches: u64,
    /// Their rows.
    pub refused_rows: u64,
    /// Recordings of which nothing could be read.
    pub unreadable_recordings: u64,
    /// Time of recorded JVMs that no recording covers.
    pub uncovered_ns: u64,
}

/// A batch in the queue.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Its day.
    pub day: Day,
    /// Its commit in the queue.
    pub commit: Commit,
    /// What it takes on disk.
    pub bytes: u64,
    /// Its first minute since the Unix epoch.
    pub minute: u64,
}

impl Waiting {
    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.commit.files.iter().map(|file| file.rows).sum()
    }
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The store has it now: so many rows and bytes were sent.
    Delivered {
        /// Rows.
        rows: u64,
        /// Bytes of files.
        bytes: u64,
    },
    /// The store had it already.
    Known,
    /// It is left out, and counted: the sentence says why.
    Refused(String),
}

/// Why there can be no queue, or not any longer.
#[derive(Debug)]
pub enum QueueError {
    /// Another process has it.
    Taken(PathBuf),
    /// The store lies in it.
    Inside(PathBuf),
    /// The disk: what was done, with which error.
    Disk(String, io::Error),
    /// Its rows cannot be read or written.
    Rows(StoreError),
    /// The store to which rows are delivered.
    Store(StoreError),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::Taken(folder) => {
                write!(f, "another headway ship uses the queue {}; end it, or use another --queue", folder.display())
            }
            QueueError::Inside(folder) => {
                write!(f, "the store lies in the queue {}; use another --queue or --store", folder.display())
            }
            QueueError::Disk(what, error) => write!(f, "cannot {what}: {error}"),
            QueueError::Rows(error) => write!(f, "the queue failed: {error}"),
            QueueError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueueError {}

impl From<StoreError> for QueueError {
    fn from(error: StoreError) -> QueueError {
        QueueError::Rows(error)
    }
}

/// The queue. Only one process has it at a time.
#[derive(Debug)]
pub struct Queue {
    folder: PathBuf,
    rows: Store,
    bound: u64,
    losses: Mutex<Losses>,
    /// Locked as long as the process lives, however it ends.
    _lock: File,
}

impl Queue {
    /// Opens the queue in a folder, which is made if there is none. Rows take at most `bound` bytes of disk.
    ///
    /// # Errors
    /// Another process has it, or the folder cannot be used.
    pub async fn open(folder: &Path, bound: u64) -> Result<Queue, QueueError> {
        let doing = |what: &str, path: &Path| {
            let what = format!("{what} {}", path.display());
            move |error| QueueError::Disk(what, error)
        };
        // JVMs of other users have to pass through to where they write; they cannot list it.
        DirBuilder::new().recursive(true).mode(0o711).create(folder).map_err(doing("make the queue", folder))?;
        let folder = folder.canonicalize().map_err(doing("open the queue", folder))?;
        let lock = folder.join("lock");
        let lock =
            File::options().create(true).truncate(false).write(true).open(&lock).map_err(doing("open", &lock))?;
        lock.set_permissions(Permissions::from_mode(0o600)).map_err(doing("lock", &folder))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(QueueError::Taken(folder)),
            Err(TryLockError::Error(error)) => return Err(doing("lock", &folder)(error)),
        }
        let place = folder.join("rows");
        let Some(place) = place.to_str() else {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8");
            return Err(doing("use the queue", &folder)(error));
        };
        let rows = Store::open_or_make(place).await?;
        std::fs::set_permissions(place, Permissions::from_mode(0o700)).map_err(doing("keep to oneself", &folder))?;
        let losses = read_losses(&losses_path(&folder));
        let queue = Queue { folder, rows, bound, losses: Mutex::new(losses), _lock: lock };
        // Files that a killed process left behind: nobody else writes here.
        queue.rows.tidy_older_than(Duration::ZERO).await?;
        Ok(queue)
    }

    /// The folder, from the root on.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Refuses a store that lies in the queue: what was delivered is removed from there.
    ///
    /// # Errors
    /// It does.
    pub fn refuse_inside(&self, store: &str) -> Result<(), QueueError> {
        if store.contains("://") {
            return Ok(());
        }
        // What is not there yet is where its nearest folder is.
        let place = std::path::absolute(store).unwrap_or_default();
        let real = place.ancestors().find_map(|folder| folder.canonicalize().ok());
        match real.is_some_and(|real| real.starts_with(&self.folder)) {
            true => Err(QueueError::Inside(self.folder.clone())),
            false => Ok(()),
        }
    }

    /// Puts a recording's rows in the queue: they are safe when this returns. Twice is once.
    ///
    /// # Errors
    /// The disk is full, for example.
    pub async fn put(&self, rolled: &Rolled) -> Result<(), StoreError> {
        self.rows.deliver(rolled).await.map(drop)
    }

    /// What waits, the earliest first.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn waiting(&self) -> Result<Vec<Waiting>, QueueError> {
        let mut waiting = Vec::new();
        for day in self.rows.days().await? {
            for commit in self.commits(day).await? {
                let files: u64 = commit.files.iter().map(|file| file.bytes.next_multiple_of(BLOCK)).sum();
                let minute = commit.batch.split('-').nth(1).and_then(|minute| minute.parse().ok());
                waiting.push(Waiting { day, bytes: files + BLOCK, minute: minute.unwrap_or_default(), commit });
            }
        }
        waiting.sort_by(|a, b| (a.minute, &a.commit.batch).cmp(&(b.minute, &b.commit.batch)));
        Ok(waiting)
    }

    /// The batches of a day. A commit that cannot be read (power failed while it was written) is left out,
    /// and counted: it must not hold up the others.
    async fn commits(&self, day: Day) -> Result<Vec<Commit>, QueueError> {
        loop {
            let (path, why) = match self.rows.snapshot(day).await {
                Ok(snapshot) => return Ok(snapshot.commits),
                Err(StoreError::Damaged(path, why)) => (path, why),
                Err(error) => return Err(error.into()),
            };
            self.lose(|losses| losses.refused_batches += 1)?;
            eprintln!("headway-fleet: {path} in the queue is damaged and left out: {why}");
            let path = self.folder.join("rows").join(path);
            std::fs::remove_file(&path)
                .map_err(|error| QueueError::Disk(format!("remove {}", path.display()), error))?;
        }
    }

    /// Takes the earliest batches out until the others are within the bound; they are counted first. Returns what was
    /// taken out.
    ///
    /// # Errors
    /// The disk fails; batches that are still there are still in `waiting`.
    pub async fn keep_within_bound(&self, waiting: &mut Vec<Waiting>) -> Result<Vec<Waiting>, QueueError> {
        let mut bytes: u64 = waiting.iter().map(|batch| batch.bytes).sum();
        let over = waiting.iter().take_while(|batch| {
            let over = bytes > self.bound;
            bytes -= batch.bytes;
            over
        });
        let over = over.count();
        let mut removed = Vec::new();
        for _ in 0..over {
            let batch = &waiting[0];
            self.lose(|losses| {
                losses.overflow_batches += 1;
                losses.overflow_rows += batch.rows();
            })?;
            self.rows.discard(batch.day, &batch.commit).await?;
            removed.push(waiting.remove(0));
        }
        Ok(removed)
    }

    /// Delivers a batch to the store, and removes it from the queue then.
    ///
    /// # Errors
    /// The store fails, so that the batch has to wait; or the queue's disk.
    pub async fn deliver(&self, store: &Store, batch: &Waiting) -> Result<Outcome, QueueError> {
        let parts = match self.rows.parts(&batch.commit).await {
            Ok(parts) => parts,
            Err(error @ StoreError::Damaged(..)) => return self.refuse(batch, &error).await,
            Err(error) => return Err(error.into()),
        };
        let bytes = parts.iter().map(headway_store::Part::bytes).sum();
        match store.take(batch.day, &batch.commit, parts).await {
            Ok(delivered) => {
                self.rows.discard(batch.day, &batch.commit).await?;
                match delivered.new.is_empty() {
                    true => Ok(Outcome::Known),
                    false => Ok(Outcome::Delivered { rows: delivered.rows, bytes }),
                }
            }
            Err(error @ (StoreError::Conflict(_) | StoreError::Retired(_))) => self.refuse(batch, &error).await,
            Err(error) => Err(QueueError::Store(error)),
        }
    }

    async fn refuse(&self, batch: &Waiting, why: &StoreError) -> Result<Outcome, QueueError> {
        self.lose(|losses| {
            losses.refused_batches += 1;
            losses.refused_rows += batch.rows();
        })?;
        self.rows.discard(batch.day, &batch.commit).await?;
        Ok(Outcome::Refused(why.to_string()))
    }

    /// What was left out so far.
    pub fn losses(&self) -> Losses {
        *self.locked()
    }

    /// Counts what is about to be left out, on disk.
    ///
    /// # Errors
    /// The count cannot be written; then nothing may be left out.
    pub fn lose(&self, count: impl FnOnce(&mut Losses)) -> Result<(), QueueError> {
        let mut losses = self.locked();
        let mut counted = *losses;
        count(&mut counted);
        let path = losses_path(&self.folder);
        write_whole(&path, &counted).map_err(|error| QueueError::Disk(format!("write {}", path.display()), error))?;
        *losses = counted;
        Ok(())
    }

    fn locked(&self) -> MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn losses_path(folder: &Path) -> PathBuf {
    folder.join("losses.json")
}

fn read_losses(path: &Path) -> Losses {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Writes a small file so that it is there whole, or as it was.
pub(crate) fn write_whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let part = path.with_extension("part");
    let written = std::fs::write(&part, serde_json::to_vec(value)?).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}
