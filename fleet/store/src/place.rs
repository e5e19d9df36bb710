//! Where a store is, and what every part does with it: put, get, list.

use crate::error::{code_of, StoreError};
use crate::named::Named;
use crate::s3::{self, Patience};
use crate::table::FORMAT;
use crate::write::unique;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// A store.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    place: String,
}

/// `store.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
}

const HEADER: &str = "store.json";

/// How often a put is tried that meets an object which is not there.
const TRIES: usize = 5;

impl Store {
    /// Opens a store to read it: a directory, or `s3://bucket/prefix` with the credentials
    /// of the environment (`AWS_ACCESS_KEY_ID` and its like).
    ///
    /// # Errors
    /// There is no store, or it has an unknown format.
    pub async fn open(place: &str) -> Result<Store, StoreError> {
        if !place.contains("://") && !std::path::Path::new(place).is_dir() {
            return Err(StoreError::Missing(place.to_owned()));
        }
        reach(place).await?;
        let store = Store::on(objects(place, Patience::WORK)?, place);
        match store.check_format().await? {
            true => Ok(store),
            false => Err(StoreError::NotAStore(place.to_owned())),
        }
    }

    /// Refuses a place that can never be a store: nothing is read or written.
    ///
    /// # Errors
    /// It is of an unknown kind, or S3 is not set up in the environment.
    pub fn check_place(place: &str) -> Result<(), StoreError> {
        match place.contains("://") {
            true => objects(place, Patience::FIRST).map(drop),
            false => Ok(()),
        }
    }

    /// Opens a store to write to it, and makes it if there is none.
    ///
    /// # Errors
    /// The directory cannot be made, or there is a store of an unknown format.
    pub async fn open_or_make(place: &str) -> Result<Store, StoreError> {
        if place.contains("://") {
            reach(place).await?;
            return Store::open_or_make_on(objects(place, Patience::WORK)?, place).await;
        }
        make_private_directory(place)?;
        Store::on(objects(place, Patience::WORK)?, place).made().await
    }

    /// As [`Self::open_or_make`], on objects that are reached already. `place` is what they are called.
    ///
    /// # Errors
    /// There is a store of an unknown format, or the objects cannot be put on the condition that there are
    /// none: two writers would replace each other's rows.
    pub async fn open_or_make_on(objects: Arc<dyn ObjectStore>, place: &str) -> Result<Store, StoreError> {
        let store = Store::on(objects, place);
        store.check_condition().await?;
        store.made().await
    }

    /// The store on these objects, whatever they are.
    pub(crate) fn on(objects: Arc<dyn ObjectStore>, place: &str) -> Store {
        Store { objects, place: place.to_owned() }
    }

    /// Makes the store if there is none.
    async fn made(self) -> Result<Store, StoreError> {
        if !self.check_format().await? {
            let header = to_json(&Header { format: FORMAT })?;
            self.create(&Path::from(HEADER), header).await?;
            // Somebody else may have made it of another format just then.
            self.check_format().await?;
        }
        Ok(self)
    }

    /// Tries what every commit relies on: of two puts of one name the second is refused.
    async fn check_condition(&self) -> Result<(), StoreError> {
        let path = Path::from(format!("probe-{}", unique()));
        let put = || self.objects.put_opts(&path, Bytes::from_static(b"probe").into(), PutMode::Create.into());
        let first = put().await;
        // Where the first has no answer, three more requests would be waited for.
        if let Some(unanswered) = first.as_ref().err().and_then(|error| s3::unanswered(&self.place, error)) {
            return Err(unanswered);
        }
        let second = put().await;
        self.delete(&path).await?;
        match (first, second) {
            (Err(object_store::Error::NotImplemented { .. }), _) | (_, Ok(_)) => {
                Err(StoreError::NoCondition(self.place.clone()))
            }
            // Of a name that nobody else uses it is the first one itself (see `create`).
            (Err(error), _) if !is_there(&error) => Err(self.failed(error)),
            (_, Err(error)) if is_there(&error) => Ok(()),
            (_, Err(error)) => Err(self.failed(error)),
        }
    }

    /// True if there is a store, of a format that is known.
    pub(crate) async fn check_format(&self) -> Result<bool, StoreError> {
        let path = Path::from(HEADER);
        match self.get_if_there(&path).await? {
            None => Ok(false),
            Some(bytes) => match from_json::<Header>(&path, &bytes)? {
                Header { format: FORMAT } => Ok(true),
                Header { format } => Err(StoreError::Format(format)),
            },
        }
    }

    /// Where it is, as it was asked for.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// True if the place is a directory of this machine, not an object store.
    pub(crate) fn is_directory(&self) -> bool {
        !self.place.contains("://")
    }

    /// The objects below the place, to be read by their names; nothing else can be reached through them, and nothing
    /// can be listed or written. To read one of these files is an error if it has another size than here.
    pub fn objects(&self, bytes: HashMap<Path, u64>) -> Arc<dyn ObjectStore> {
        Arc::new(Named { objects: self.objects.clone(), bytes, place: self.place.clone() })
    }

    /// Why a request failed.
    fn failed(&self, error: object_store::Error) -> StoreError {
        s3::unanswered(&self.place, &error).unwrap_or(StoreError::Object(error))
    }

    /// Puts an object if there is none of that name. False if there is another one.
    ///
    /// That there is one is not the last word: a put that succeeded, but whose reply did not arrive, is tried again
    /// by the library and then meets itself; and S3 answers so while another put is under way, which may
    /// come to nothing. So what is there is read.
    pub(crate) async fn create(&self, path: &Path, bytes: impl Into<Bytes>) -> Result<bool, StoreError> {
        let bytes = bytes.into();
        for attempt in 1..=TRIES {
            match self.objects.put_opts(path, bytes.clone().into(), PutMode::Create.into()).await {
                Ok(_) => return Ok(true),
                Err(error) if is_there(&error) => {}
                Err(error) if lost_its_folder(&error) && attempt < TRIES => continue,
                Err(error) => return Err(self.failed(error)),
            }
            if let Some(found) = self.get_if_there(path).await? {
                return Ok(found == bytes);
            }
        }
        Err(StoreError::Unsettled(path.to_string()))
    }

    pub(crate) async fn get(&self, path: &Path) -> Result<Bytes, StoreError> {
        let found = self.objects.get(path).await.map_err(|error| self.failed(error))?;
        found.bytes().await.map_err(|error| self.failed(error))
    }

    pub(crate) async fn get_if_there(&self, path: &Path) -> Result<Option<Bytes>, StoreError> {
        match self.get(path).await {
            Ok(bytes) => Ok(Some(bytes)),
            // Where the bucket is missing, or the credentials are, it is not known what is there.
            Err(StoreError::Object(object_store::Error::NotFound { source, .. }))
                if code_of(&source.to_string()).is_none_or(|code| code == "NoSuchKey") =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// All objects below a path, sorted by name.
    pub(crate) async fn list(&self, below: &Path) -> Result<Vec<ObjectMeta>, StoreError> {
        let all = self.objects.list(Some(below)).try_collect().await;
        let mut all: Vec<ObjectMeta> = all.map_err(|error| self.failed(error))?;
        all.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(all)
    }

    /// Names of folders at the top.
    pub(crate) async fn folders(&self) -> Result<Vec<String>, StoreError> {
        let listed = self.objects.list_with_delimiter(None).await.map_err(|error| self.failed(error))?;
        Ok(listed.common_prefixes.iter().map(ToString::to_string).collect())
    }

    /// Deletes an object. It is no error if there is none.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), StoreError> {
        match self.objects.delete(path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// True if a put was refused because there is an object of this name.
fn is_there(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. })
}

/// True if a put on a directory met the moment in which an empty folder was removed (see `objects`).
fn lost_its_folder(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Rows name people's code: only who made the store may look at them.
fn make_private_directory(place: &str) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(place);
    made.map_err(|error| StoreError::BadPlace(place.to_owned(), error.to_string()))
}

/// Asks a place on S3 for its header: where nothing answers, that is said sooner than files may take.
async fn reach(place: &str) -> Result<(), StoreError> {
    if place.contains("://") {
        Store::on(objects(place, Patience::FIRST)?, place).check_format().await?;
    }
    Ok(())
}

fn objects(place: &str, patience: Patience) -> Result<Arc<dyn ObjectStore>, StoreError> {
    let bad = |why: String| StoreError::BadPlace(place.to_owned(), why);
    if let Some(rest) = place.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket = s3::bucket(s3::from_environment(patience), bucket).map_err(|e| bad(e.to_string()))?;
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|e| bad(e.to_string()))?;
        return Ok(Arc::new(PrefixStore::new(bucket, prefix)));
    }
    if let Some((scheme, _)) = place.split_once("://") {
        return Err(bad(format!("{scheme}:// is not known; use a directory or s3://bucket/prefix")));
    }
    // A day whose last file is gone leaves no folder behind.
    let local = LocalFileSystem::new_with_prefix(place).map_err(|e| bad(e.to_string()))?.with_automatic_cleanup(true);
    Ok(Arc::new(local))
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Damaged("what is to be written".into(), error.to_string()))
}

pub(crate) fn from_json<'a, T: Deserialize<'a>>(path: &Path, bytes: &'a [u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Damaged(path.to_string(), error.to_string()))
}
