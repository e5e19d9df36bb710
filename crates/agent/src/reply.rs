//! The agent's answer to a command: JSON in a file that the command line
//! named. Described in `docs/agent-protocol.md`.

pub use headway_protocol::{DegradedMechanism, InPlace, JvmFacts, MechanismState, Reply, State};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes the reply: owner-only, through a temporary name, so that a
/// reader never sees half of it. An existing file is not overwritten by
/// following a link.
pub fn write(reply: &Reply, path: &Path) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(reply)?;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(&temporary)?;
    file.write_all(&text)?;
    drop(file);
    fs::rename(&temporary, path)
}
