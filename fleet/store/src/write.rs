//! Delivering what a recording comes to.

use crate::columns::batches;
use crate::error::StoreError;
use crate::files::Part;
use crate::layout::{batch_name, bucket, commit_path, Day};
use crate::manifest::{Commit, Content, DataFile};
use crate::place::{from_json, to_json, Store};
use crate::table::{Table, FORMAT};
use crate::LONGEST_WRITE;
use headway_rollup::rows::Rolled;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What became of a recording's batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Batches that are new in the store.
    pub new: Vec<String>,
    /// Batches that were there already, and were left as they are.
    pub known: Vec<String>,
    /// Rows that are new.
    pub rows: u64,
}

impl Store {
    /// Delivers a recording's rows: a batch for each day.
    ///
    /// # Errors
    /// The store fails; a batch of this name is there with other rows; a day was retired.
    /// Batches of earlier days are then in the store, and delivering again does the rest.
    pub async fn deliver(&self, rolled: &Rolled) -> Result<Delivered, StoreError> {
        let mut delivered = Delivered::default();
        let mut days: BTreeMap<Day, u64> = BTreeMap::new();
        for row in &rolled.load {
            days.entry(Day::of_ns(row.minute.start().0)).or_insert(row.minute.0);
        }
        for (day, first_minute) in days {
            self.deliver_day(rolled, day, &batch_name(rolled, first_minute), &mut delivered).await?;
        }
        Ok(delivered)
    }

    async fn deliver_day(
        &self,
        rolled: &Rolled,
        day: Day,
        batch: &str,
        delivered: &mut Delivered,
    ) -> Result<(), StoreError> {
        let tables = batches(rolled, Some(day))?;
        let content = content(rolled, day, &tables);
        if self.is_known(day, batch, &content).await? {
            delivered.known.push(batch.to_owned());
            return Ok(());
        }
        let bucket = bucket(&rolled.jvm.service);
        let filled = tables.iter().filter(|(_, rows)| rows.num_rows() > 0);
        let parts = filled.map(|(table, rows)| Part::of(*table, bucket, rows)).collect::<Result<Vec<_>, _>>()?;
        self.put_batch(day, batch, content, parts, delivered).await
    }

    /// Takes in a batch of another store, as it is there. `parts` are what [`Store::parts`] gave there.
    ///
    /// # Errors
    /// As for [`Self::deliver`].
    pub async fn take(&self, day: Day, commit: &Commit, parts: Vec<Part>) -> Result<Delivered, StoreError> {
        let mut delivered = Delivered::default();
        let (batch, content) = (&commit.batch, &commit.content);
        match self.is_known(day, batch, content).await? {
            true => delivered.known.push(batch.clone()),
            false => self.put_batch(day, batch, content.clone(), parts, &mut delivered).await?,
        }
        // A directory that went away and came up empty takes files, too, and is no store.
        match self.check_format().await? {
            true => Ok(delivered),
            false => Err(StoreError::NotAStore(self.place().to_owned())),
        }
    }

    /// Puts files under new names, then the commit.
    async fn put_batch(
        &self,
        day: Day,
        batch: &str,
        content: Content,
        parts: Vec<Part>,
        delivered: &mut Delivered,
    ) -> Result<(), StoreError> {
        let began = Instant::now();
        let unique = format!("{batch}-{}", unique());
        let mut files = Vec::new();
        for part in parts {
            match self.put_file(day, &unique, part).await {
                Ok(file) => files.push(file),
                Err(error) => return Err(self.give_up(&files, error).await),
            }
        }
        if began.elapsed() > LONGEST_WRITE {
            return Err(self.give_up(&files, StoreError::TooSlow).await);
        }
        let rows = files.iter().map(|file| file.rows).sum::<u64>();
        let commit = Commit { format: FORMAT, batch: batch.to_owned(), content, files };
        // The one moment that makes the rows part of the store.
        let created = self.create(&commit_path(day, batch), to_json(&commit)?).await;
        let created = match created {
            // In a directory it is there or not; over a network it may still arrive.
            Err(error)
                if self.is_directory() && matches!(self.get_if_there(&commit_path(day, batch)).await, Ok(None)) =>
            {
                return Err(self.give_up(&commit.files, error).await);
            }
            created => created?,
        };
        if created {
            delivered.new.push(batch.to_owned());
            delivered.rows += rows;
            return Ok(());
        }
        // Somebody else delivered it meanwhile: the files just written belong to nobody.
        for file in &commit.files {
            self.delete(&file.path.as_str().into()).await?;
        }
        if !self.is_known(day, batch, &commit.content).await? {
            return Err(StoreError::Unsettled(commit_path(day, batch).to_string()));
        }
        delivered.known.push(batch.to_owned());
        Ok(())
    }

    /// Takes back files that no commit names: written again and again on a full disk, they would fill what
    /// becomes free. What cannot be removed is tidied away later.
    async fn give_up(&self, files: &[DataFile], error: StoreError) -> StoreError {
        // Of a store that does not answer, each deletion would be waited for.
        let is_silent = matches!(error, StoreError::NoAnswer(..) | StoreError::NoCredentials(_));
        let files = if is_silent { &[] } else { files };
        for file in files {
            let _ = self.delete(&file.path.as_str().into()).await;
        }
        error
    }

    /// True if the batch was delivered before, with these rows.
    async fn is_known(&self, day: Day, batch: &str, content: &Content) -> Result<bool, StoreError> {
        let path = commit_path(day, batch);
        let live = match self.get_if_there(&path).await? {
            Some(bytes) => Some(from_json::<Commit>(&path, &bytes)?.content),
            None => None,
        };
        let manifest = self.manifest(day).await?;
        if manifest.retired {
            return Err(StoreError::Retired(day));
        }
        let known = match manifest.absorbed.get(batch) {
            Some(absorbed) => Some(absorbed.clone()),
            None => live,
        };
        match known {
            None => Ok(false),
            Some(known) if known == *content => Ok(true),
            Some(_) => Err(StoreError::Conflict(batch.to_owned())),
        }
    }
}

fn content(rolled: &Rolled, day: Day, tables: &[(Table, arrow::array::RecordBatch)]) -> Content {
    let of_day = |minute: headway_rollup::minute::Minute| Day::of_ns(minute.start().0) == day;
    let rows = tables.iter().map(|(table, rows)| (table.name().to_owned(), rows.num_rows() as u64));
    Content {
        service: rolled.jvm.service.clone(),
        version: rolled.jvm.version.clone(),
        rows: rows.filter(|(_, rows)| *rows > 0).collect(),
        covered_ns: rolled.load.iter().filter(|row| of_day(row.minute)).map(|row| row.covered_ns).sum(),
        blocked_ns: rolled.locks.iter().filter(|row| of_day(row.minute)).map(|row| row.blocked_ns).sum(),
        waited_ns: rolled.waits.iter().filter(|row| of_day(row.minute)).map(|row| row.waited_ns).sum(),
    }
}

/// Part of a file's name that no other writer uses: its process, the time, a count.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    // The address of a local differs between processes of one number on different machines.
    let here = 0u8;
    let place = std::ptr::from_ref(&here).addr();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hash = headway_rollup::identity::Hash::of("writer")
        .name(&std::process::id().to_string())
        .name(&now.to_string())
        .name(&place.to_string())
        .name(&count.to_string());
    format!("{:016x}", hash.id())
}
