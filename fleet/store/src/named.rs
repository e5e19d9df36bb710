//! A store's files as a query engine reads them: by name, and nothing else.

use crate::error::StoreError;
use crate::s3::unanswered;
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Reads objects by their names. Three things differ from the objects beneath:
///
/// An object has the name by which it was asked for. `PrefixStore` answers with the whole name in the bucket, and
/// DataFusion leaves out an object of another name than it asked for, without an error: all tables are empty then.
///
/// Nothing can be listed. DataFusion lists what lies below a name of which there is no object, and so takes a file that
/// is missing for a folder without files: its rows are missing in the answer, without an error.
///
/// A file has the size that it was written with. DataFusion leaves out an empty file, without an error.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// How long these files are.
    pub(crate) bytes: HashMap<Path, u64>,
    /// Where the store is.
    pub(crate) place: String,
}

impl Named {
    /// An engine's message of a request without an answer names the file; the store matters.
    fn failed(&self, error: Error) -> Error {
        match unanswered(&self.place, &error) {
            Some(why) => Error::Generic { store: "Headway", source: Box::new(why) },
            None => error,
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.objects)
    }
}

fn only_reads(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: "a query".to_owned() }
}

fn is_missing(below: Option<&Path>) -> Error {
    let path = below.map(ToString::to_string).unwrap_or_default();
    Error::NotFound { path, source: "the store refers to it, but it is missing".into() }
}

fn has_another_size(path: &Path, found: u64, bytes: u64) -> Error {
    let damaged = StoreError::Damaged(path.to_string(), format!("it has {found} bytes, not {bytes}"));
    Error::Generic { store: "Headway", source: Box::new(damaged) }
}

#[async_trait]
impl ObjectStore for Named {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.objects.get_opts(path, options).await.map_err(|error| self.failed(error))?;
        found.meta.location = path.clone();
        match self.bytes.get(path) {
            Some(bytes) if *bytes != found.meta.size => Err(has_another_size(path, found.meta.size, *bytes)),
            _ => Ok(found),
        }
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.objects.get_ranges(path, ranges).await.map_err(|error| self.failed(error))
    }

    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let missing = is_missing(below);
        stream::once(async { Err(missing) }).boxed()
    }

    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        Err(is_missing(below))
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(only_reads("put"))
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(only_reads("put"))
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(async { Err(only_reads("delete")) }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(only_reads("copy"))
    }
}
