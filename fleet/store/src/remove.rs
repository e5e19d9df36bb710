//! Removing rows: by age, or of one service; and tidying away files that nothing refers to.

use crate::compact::{texts, TRIES};
use crate::error::StoreError;
use crate::hours::Hours;
use crate::layout::{bucket, commit_path, day_path, Day};
use crate::manifest::{number_of, DataFile, Manifest, Snapshot};
use crate::place::Store;
use crate::write::unique;
use crate::GRACE;
use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Days of which something was.
    pub days: Vec<Day>,
    /// Rows.
    pub rows: u64,
    /// Files deleted.
    pub files: u64,
}

/// What was tidied away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Data files that nothing referred to.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// Commits that a manifest has, and manifests that a newer one replaced.
    pub records: u64,
}

impl Store {
    /// Removes all days before `first`. They take no rows any more.
    ///
    /// # Errors
    /// The store fails, or others keep changing a day. Earlier days are then removed.
    pub async fn retire(&self, first: Day) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for day in self.days().await?.into_iter().filter(|day| *day < first) {
            let rows = self.retire_day(day).await?;
            let kept = self.manifest(day).await?.number;
            let mut files = 0;
            for object in self.list(&day_path(day)).await? {
                // The manifest stays: it says that nothing of this day counts.
                let is_manifest = object.location.as_ref().contains("/manifests/");
                if !is_manifest || number_of(&object.location) != Some(kept) {
                    self.delete(&object.location).await?;
                    files += u64::from(!is_manifest);
                }
            }
            if rows > 0 || files > 0 {
                removed.days.push(day);
                removed.rows += rows;
                removed.files += files;
            }
        }
        Ok(removed)
    }

    /// Says that nothing of a day counts. Gives the rows that did.
    async fn retire_day(&self, day: Day) -> Result<u64, StoreError> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot(day).await?;
            if snapshot.manifest.retired {
                return Ok(0);
            }
            let rows = snapshot.files().map(|file| file.rows).sum();
            let Manifest { format, number, .. } = snapshot.manifest;
            let manifest = Manifest { format, number: number + 1, retired: true, ..Manifest::default() };
            if self.put_manifest(day, &manifest).await? {
                return Ok(rows);
            }
        }
        Err(StoreError::Contended(day))
    }

    /// Removes all rows of a service, the names of its locks and stacks included, from
    /// every day. Batches that are delivered later are new ones.
    ///
    /// # Errors
    /// The store fails, or others keep changing a day. Earlier days are then done.
    pub async fn remove_service(&self, service: &str) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for day in self.days().await? {
            self.remove_from_day(service, day, &mut removed).await?;
        }
        Ok(removed)
    }

    async fn remove_from_day(&self, service: &str, day: Day, removed: &mut Removed) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot(day).await?;
            let Some(change) = self.without(service, &snapshot).await? else { return Ok(()) };
            if !self.put_manifest(day, &change.manifest).await? {
                self.delete_all(&change.written).await?;
                continue;
            }
            // Nobody may read them any more, whoever does so just now.
            self.delete_all(&change.replaced).await?;
            for batch in &change.batches {
                self.delete(&commit_path(day, batch)).await?;
            }
            removed.days.push(day);
            removed.rows += change.rows;
            removed.files += change.replaced.len() as u64;
            return Ok(());
        }
        Err(StoreError::Contended(day))
    }

    /// The day without a service; `None` if it has nothing of it.
    async fn without(&self, service: &str, snapshot: &Snapshot) -> Result<Option<Change>, StoreError> {
        let mut change = Change { manifest: snapshot.manifest.clone(), ..Change::default() };
        change.manifest.number += 1;
        for commit in snapshot.commits.iter().filter(|commit| commit.content.service == service) {
            change.manifest.absorbed.insert(commit.batch.clone(), commit.content.clone());
            change.rows += commit.files.iter().map(|file| file.rows).sum::<u64>();
            change.replaced.extend(commit.files.iter().cloned());
            change.batches.push(commit.batch.clone());
        }
        let mut files = Vec::new();
        for file in &snapshot.manifest.files {
            match self.file_without(service, snapshot.day, file).await? {
                Rest::Whole => files.push(file.clone()),
                Rest::Less(rest) => {
                    change.rows += file.rows - rest.as_ref().map_or(0, |rest| rest.rows);
                    change.replaced.push(file.clone());
                    change.written.extend(rest.clone());
                    files.extend(rest);
                }
            }
        }
        change.manifest.files = files;
        if !change.replaced.is_empty() {
            // They have the service's rows, too; the next rollup makes the others' again.
            let of_bucket = |hours: &mut Hours| hours.bucket == bucket(service);
            let gone = change.manifest.hours.extract_if(.., of_bucket);
            change.replaced.extend(gone.flat_map(|hours| hours.files));
        }
        Ok((!change.replaced.is_empty()).then_some(change))
    }

    async fn file_without(&self, service: &str, day: Day, file: &DataFile) -> Result<Rest, StoreError> {
        let Some(table) = file.table().filter(|_| file.bucket == bucket(service)) else { return Ok(Rest::Whole) };
        let rows = self.read_files(table, &[file]).await?;
        let Some(services) = texts(&rows, "service") else { return Ok(Rest::Whole) };
        let keep: BooleanArray = services.iter().map(|of_row| Some(of_row != Some(service))).collect();
        if keep.false_count() == 0 {
            return Ok(Rest::Whole);
        }
        if keep.true_count() == 0 {
            return Ok(Rest::Less(None));
        }
        let rest = filter_record_batch(&rows, &keep)?;
        Ok(Rest::Less(Some(self.write_file(day, file.bucket, table, &unique(), &rest).await?)))
    }

    /// Deletes what nothing refers to and what is older than [`GRACE`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn tidy(&self) -> Result<Tidied, StoreError> {
        self.tidy_older_than(GRACE).await
    }

    /// The same with another age. With less than [`GRACE`] running queries can fail, and
    /// with less than [`crate::LONGEST_WRITE`] rows that are being written can disappear.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tidy_older_than(&self, age: Duration) -> Result<Tidied, StoreError> {
        let mut tidied = Tidied::default();
        let now = SystemTime::now();
        for day in self.days().await? {
            // Listed first: what is committed after it is not in the list.
            let listed = self.list(&day_path(day)).await?;
            let snapshot = self.snapshot(day).await?;
            let of_hours = snapshot.manifest.hours.iter().flat_map(|hours| &hours.files);
            let used: HashSet<&str> = snapshot.files().chain(of_hours).map(|file| file.path.as_str()).collect();
            for object in listed {
                let path = object.location.as_ref();
                // Also what was written in the future, by another machine's clock.
                let is_young = now.duration_since(object.last_modified.into()).map_or(true, |since| since < age);
                let is_data = path.ends_with(".parquet");
                if is_young || used.contains(path) || (!is_data && snapshot.needs(path)) {
                    continue;
                }
                self.delete(&object.location).await?;
                match is_data {
                    true => {
                        tidied.files += 1;
                        tidied.bytes += object.size;
                    }
                    false => tidied.records += 1,
                }
            }
        }
        Ok(tidied)
    }
}

impl Snapshot {
    /// True for a commit that counts, the newest manifest, and anything that is not ours.
    fn needs(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return true };
        let Some(name) = name.strip_suffix(".json") else { return true };
        match folder.rsplit('/').next() {
            Some("commits") => !self.manifest.absorbed.contains_key(name) && !self.manifest.retired,
            Some("manifests") => name.parse::<u64>().map_or(true, |number| number >= self.manifest.number),
            _ => true,
        }
    }
}

/// What is left of a file.
enum Rest {
    Whole,
    Less(Option<DataFile>),
}

#[derive(Default)]
struct Change {
    manifest: Manifest,
    /// Files that take the place of `replaced`.
    written: Vec<DataFile>,
    replaced: Vec<DataFile>,
    batches: Vec<String>,
    rows: u64,
}
