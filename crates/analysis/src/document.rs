//! What every JSON document of Headway begins with.

use serde::Serialize;

/// The version of the JSON documents. Raised when a key changes its name or meaning, or is
/// removed; new keys do not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// A JSON document: its content's keys, and before them the version.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<T> {
    /// Version of this format. Raised when a key changes its name or meaning, or is removed;
    /// new keys do not raise it.
    pub schema_version: u32,
    /// The content.
    #[serde(flatten)]
    pub content: T,
}

impl<T> Document<T> {
    /// A document of the present version.
    pub const fn new(content: T) -> Document<T> {
        Document { schema_version: SCHEMA_VERSION, content }
    }
}
