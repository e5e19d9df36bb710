//! What a day has: its commits and the newest manifest. See the crate's description.

use crate::error::StoreError;
use crate::hours::Hours;
use crate::layout::{commit_path, commits_path, day_of, day_path, manifest_path, manifests_path, Day};
use crate::place::{from_json, to_json, Store};
use crate::table::{Table, FORMAT};
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A Parquet file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Its table's name.
    pub table: String,
    /// Where it is, from the store on.
    pub path: String,
    /// Its bucket.
    pub bucket: u64,
    /// Its rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

impl DataFile {
    /// True if it lies where files of its day, bucket and table do. A path that leads elsewhere was not written by
    /// Headway, and neither is read nor deleted.
    fn is_in_place(&self, day: Day) -> bool {
        let folder = format!("{}/bucket={:02}/{}/", day_path(day), self.bucket, self.table);
        let name = self.path.strip_prefix(&folder);
        name.is_some_and(|name| !name.contains('/') && name.ends_with(".parquet") && Path::parse(&self.path).is_ok())
    }

    /// Its table; `None` if a later version made it.
    pub fn table(&self) -> Option<Table> {
        Table::from_name(&self.table)
    }
}

/// What a batch says about its rows, so that another one of its name is not taken for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The service that it was delivered as.
    pub service: String,
    /// The version that it was delivered as.
    pub version: String,
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Time covered.
    pub covered_ns: u64,
    /// Blocked time.
    pub blocked_ns: u64,
    /// Time waited.
    pub waited_ns: u64,
}

/// A delivered batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// See [`FORMAT`].
    pub format: u32,
    /// Its name.
    pub batch: String,
    /// What it comes to.
    pub content: Content,
    /// Its files.
    pub files: Vec<DataFile>,
}

/// The state of a day after a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: u32,
    pub number: u64,
    /// True once the day's rows were removed because of their age: nothing of it counts.
    pub retired: bool,
    pub files: Vec<DataFile>,
    /// Batches whose rows are in `files`, or were removed.
    pub absorbed: BTreeMap<String, Content>,
    /// What minutes come to, for each bucket that has been rolled up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<Hours>,
}

/// What a day has at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The day.
    pub day: Day,
    /// Batches that no manifest has yet.
    pub commits: Vec<Commit>,
    pub(crate) manifest: Manifest,
}

impl Snapshot {
    /// All files that count. Those of hours repeat what others have: [`Self::hours`].
    pub fn files(&self) -> impl Iterator<Item = &DataFile> {
        self.manifest.files.iter().chain(self.commits.iter().flat_map(|commit| &commit.files))
    }

    /// Names of all batches whose rows are or were in the store.
    pub fn batches(&self) -> BTreeSet<&str> {
        let live = self.commits.iter().map(|commit| commit.batch.as_str());
        self.manifest.absorbed.keys().map(String::as_str).chain(live).collect()
    }
}

impl Store {
    /// The days that have anything, earliest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn days(&self) -> Result<Vec<Day>, StoreError> {
        let mut days: Vec<Day> = self.folders().await?.iter().filter_map(|folder| day_of(folder)).collect();
        days.sort_unstable();
        Ok(days)
    }

    /// What a day has now.
    ///
    /// # Errors
    /// The store fails, or a commit or manifest is damaged or of an unknown format.
    pub async fn snapshot(&self, day: Day) -> Result<Snapshot, StoreError> {
        // In this order: a batch that a compaction takes in meanwhile is listed, or its
        // commit was tidied away, and then the manifest that took it in is there.
        let listed = self.list(&commits_path(day)).await?;
        let manifest = self.manifest(day).await?;
        let mut commits = Vec::new();
        for object in listed.iter().filter(|_| !manifest.retired) {
            let name = object.location.filename().and_then(|name| name.strip_suffix(".json"));
            if name.is_none_or(|name| manifest.absorbed.contains_key(name)) {
                continue;
            }
            // Listed and gone: tidied away, so that a newer manifest has it.
            let Some(bytes) = self.get_if_there(&object.location).await? else {
                return Box::pin(self.snapshot(day)).await;
            };
            let commit: Commit = from_json(&object.location, &bytes)?;
            check_format(commit.format)?;
            check_places(&object.location, day, &commit.files)?;
            commits.push(commit);
        }
        Ok(Snapshot { day, commits, manifest })
    }

    /// Removes a batch that another store has taken in, or that is left out: its commit first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn discard(&self, day: Day, commit: &Commit) -> Result<(), StoreError> {
        self.delete(&commit_path(day, &commit.batch)).await?;
        for file in &commit.files {
            self.delete(&Path::from(file.path.as_str())).await?;
        }
        Ok(())
    }

    /// The newest manifest of a day; an empty one numbered 0 if there is none.
    pub(crate) async fn manifest(&self, day: Day) -> Result<Manifest, StoreError> {
        let listed = self.list(&manifests_path(day)).await?;
        let Some(newest) = listed.iter().rfind(|object| number_of(&object.location).is_some()) else {
            return Ok(Manifest { format: FORMAT, ..Manifest::default() });
        };
        let bytes = self.get(&newest.location).await?;
        let manifest: Manifest = from_json(&newest.location, &bytes)?;
        check_format(manifest.format)?;
        check_places(&newest.location, day, &manifest.files)?;
        manifest.hours.iter().try_for_each(|hours| check_places(&newest.location, day, &hours.files))?;
        Ok(manifest)
    }

    /// Puts the next manifest. False if somebody else did so first.
    pub(crate) async fn put_manifest(&self, day: Day, manifest: &Manifest) -> Result<bool, StoreError> {
        self.create(&manifest_path(day, manifest.number), to_json(manifest)?).await
    }
}

pub(crate) fn number_of(path: &Path) -> Option<u64> {
    path.filename()?.strip_suffix(".json")?.parse().ok()
}

fn check_places(path: &Path, day: Day, files: &[DataFile]) -> Result<(), StoreError> {
    match files.iter().find(|file| !file.is_in_place(day)) {
        None => Ok(()),
        Some(file) => {
            Err(StoreError::Damaged(path.to_string(), format!("it names {:?}, outside of its day", file.path)))
        }
    }
}

fn check_format(format: u32) -> Result<(), StoreError> {
    match format {
        FORMAT => Ok(()),
        other => Err(StoreError::Format(other)),
    }
}
