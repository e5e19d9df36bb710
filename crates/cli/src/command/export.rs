//! `headway export`: a recording as a plain JFR file, unpacked and repaired.

use crate::error::{Failure, DONE};
use clap::Args;
use std::path::PathBuf;

/// Options of `export`.
#[derive(Debug, Args)]
pub struct Export {
    /// The new file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The recording
    file: PathBuf,
}

impl Export {
    /// x
    pub fn execute(self) -> Result<u8, Failure> {
        let _ = (self.output, self.file);
        Ok(DONE)
    }
}
