//! What can go wrong with a store.

use crate::layout::Day;
use std::fmt;

/// Why a store could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such directory.
    Missing(String),
    /// The place is no store, or one that was never written to.
    NotAStore(String),
    /// The place cannot be understood.
    BadPlace(String, String),
    /// The store has a format that this version does not know.
    Format(u32),
    /// The object store refused or failed.
    Object(object_store::Error),
    /// A file is no Parquet file of ours.
    Parquet(String, String),
    /// A commit or manifest cannot be understood.
    Damaged(String, String),
    /// Another batch of this name is in the store, with other rows.
    Conflict(String),
    /// Rows of this day were removed because of their age.
    Retired(Day),
    /// Writing took longer than files may be without a commit.
    TooSlow,
    /// The place cannot put an object on the condition that there is none of its name.
    NoCondition(String),
    /// Whether an object is there is not clear: it can neither be put nor read.
    Unsettled(String),
    /// Others changed the day again and again.
    Contended(Day),
    /// Rows could not be put in columns, or taken out.
    Arrow(arrow::error::ArrowError),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Missing(place) => write!(f, "there is no directory {place}"),
            StoreError::NotAStore(place) => {
                write!(f, "{place} is not a store of Headway (it has no store.json); headway-fleet ingest makes one")
            }
            StoreError::BadPlace(place, why) => write!(f, "{place} cannot be a store: {why}"),
            StoreError::Format(format) => {
                write!(f, "the store has format {format}, this version knows {}; use a newer version", crate::FORMAT)
            }
            StoreError::Object(error) => write!(f, "the store failed: {error}"),
            StoreError::Parquet(path, why) => write!(f, "{path} cannot be read as Parquet: {why}"),
            StoreError::Damaged(path, why) => write!(f, "{path} is damaged: {why}"),
            StoreError::Conflict(batch) => {
                write!(
                    f,
                    "batch {batch} is in the store with other rows, or as another service or version: the recording \
                     was longer or shorter when it was delivered, or named differently; nothing was changed"
                )
            }
            StoreError::Retired(day) => write!(f, "rows of {day} were removed because of their age; none are taken"),
            StoreError::TooSlow => f.write_str("writing took more than an hour, so nothing was committed; try again"),
            StoreError::NoCondition(place) => {
                write!(
                    f,
                    "{place} cannot be a store: it does not refuse a second object of one name (If-None-Match), so \
                     that two writers would replace each other's rows"
                )
            }
            StoreError::Unsettled(path) => {
                write!(f, "{path} can neither be put nor read; nothing was committed; try again")
            }
            StoreError::Contended(day) => write!(f, "others keep changing {day}; nothing was changed; try again"),
            StoreError::Arrow(error) => write!(f, "rows could not be converted: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> StoreError {
        StoreError::Object(error)
    }
}

impl From<arrow::error::ArrowError> for StoreError {
    fn from(error: arrow::error::ArrowError) -> StoreError {
        StoreError::Arrow(error)
    }
}
