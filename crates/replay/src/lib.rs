//! Fragments of stacks, recorded from programs that know their own stacks, and
//! decoded again where no JVM is.
//!
//! * [`Watched`] notes every byte that decoding reads, [`Remembered`] gives
//!   them back.
//! * [`Unwound`] does the same for native code, whose libraries are not at hand.
//! * [`Truth`] is what the program says of its stack, and judges a decoded one.
//! * [`Recording`] is a file of fragments of one JVM; the format is JSON,
//!   compressed with zstd, bytes in hexadecimal.
//!
//! The recorder is the test agent of `headway-hotspot-probe`: it stops a thread
//! at any of its instructions and decodes its stack while it stands there.

mod decode;
mod memory;
mod native;
mod truth;

pub use decode::{decoded, Decoded, Shown, Stopped};
pub use memory::{blocks, Block, Remembered, Watched};
pub use native::{Noting, Unwound};
pub use truth::Truth;

use headway_hotspot::Layout;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// How hard files are compressed; they are written once.
const LEVEL: i32 = 19;
/// No file unpacks to more.
const MAX_BYTES: usize = 256 << 20;

/// Fragments of one JVM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// What ran: feature release and options.
    pub what: String,
    /// Where that VM kept things.
    pub layout: Layout,
    /// Memory that decoding reads, as it was for the first fragment that needed it.
    pub memory: Vec<Block>,
    /// `caller callee`: the program's calls.
    pub calls: Vec<String>,
    /// The fragments.
    pub fragments: Vec<Recorded>,
}

/// A fragment, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// The thread as it was stopped.
    pub stopped: Stopped,
    /// Memory that had become another since [`Recording::memory`].
    pub changed: Vec<Block>,
    /// What was found out about native code.
    pub native: Unwound,
    /// What the program said of its stack, root first.
    pub truth: Vec<String>,
    /// What decoding gave, leaf first.
    pub frames: Vec<Shown>,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is none of these.
    pub fn read(path: &Path) -> io::Result<Recording> {
        let bytes = zstd::bulk::decompress(&std::fs::read(path)?, MAX_BYTES)?;
        serde_json::from_slice(&bytes).map_err(io::Error::from)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, zstd::bulk::compress(&serde_json::to_vec(self)?, LEVEL)?)
    }

    /// Decodes a fragment of this recording again.
    pub fn replay(&self, recorded: &Recorded) -> Decoded {
        let memory = Remembered::new(&self.memory, &recorded.changed);
        let mut native = recorded.native.clone();
        decoded(&self.layout, &memory, &recorded.stopped, &mut native)
    }

    /// The program's calls, to judge stacks by.
    pub fn truth(&self) -> Truth {
        Truth::of_calls(&self.calls)
    }
}
