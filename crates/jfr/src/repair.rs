//! Unpacking and repairing recordings.
use std::fmt;
use std::path::Path;

/// Why a recording could not be repaired.
#[derive(Debug)]
pub struct RepairError;
impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not implemented yet")
    }
}
impl std::error::Error for RepairError {}
/// What a repair came to.
#[derive(Debug)]
pub struct Repaired;
/// Unpacks.
///
/// # Errors
/// Always, for now.
pub fn repair(_: &Path, _: &Path) -> Result<Repaired, RepairError> {
    Err(RepairError)
}
pub(crate) fn convert(_: &Path, _: &Path) -> Result<u64, RepairError> {
    Err(RepairError)
}
