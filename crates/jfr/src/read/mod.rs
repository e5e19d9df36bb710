//! Reading recordings.
/// What is wrong with a recording.
#[derive(Debug)]
pub struct Problem;
/// Reads.
#[derive(Debug)]
pub struct Reader;
/// What is in a file.
#[derive(Debug)]
pub struct Summary;
/// Events of one type.
#[derive(Debug)]
pub struct TypeTotal;
