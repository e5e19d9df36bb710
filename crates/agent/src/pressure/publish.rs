//! The picture of now, in a file.
//!
//! A reader (`headway top`) names a file in its private directory and touches
//! another beside it as long as it watches. The picture is written under a
//! temporary name and renamed, so that nobody sees half of it, and readable by
//! its owner only. When the reader stops watching, however it ended, the file
//! goes and writing ends.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A reader that did not touch its file for so long watches no more.
const WATCHES: Duration = Duration::from_secs(15);
/// Readers at a time.
const MOST: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub struct Publisher {
    files: Vec<PathBuf>,
}

impl Publisher {
    /// From now on also into this file; the oldest one makes room.
    pub fn add(&mut self, file: PathBuf) {
        self.files.retain(|known| *known != file);
        if self.files.len() >= MOST {
            let oldest = self.files.remove(0);
            let _ = fs::remove_file(oldest);
        }
        self.files.push(file);
    }

    /// True if nobody watches.
    pub fn is_idle(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the picture for everyone who still watches.
    pub fn publish(&mut self, picture: &[u8]) {
        self.files.retain(|file| {
            let written = is_watched(file) && write(file, picture).is_ok();
            if !written {
                // Gone already if its directory is.
                let _ = fs::remove_file(file);
            }
            written
        });
    }

    /// There is nothing to show any more.
    pub fn end(&mut self) {
        for file in std::mem::take(&mut self.files) {
            let _ = fs::remove_file(file);
        }
    }
}

/// The file that the reader touches.
fn watch_file(file: &Path) -> PathBuf {
    file.with_extension("watch")
}

fn is_watched(file: &Path) -> bool {
    is_fresh(&watch_file(file))
}

/// True if the file was touched lately.
pub(super) fn is_fresh(file: &Path) -> bool {
    let touched = fs::symlink_metadata(file).and_then(|metadata| metadata.modified());
    // A clock set back makes it look fresh, until it is.
    touched.is_ok_and(|touched| touched.elapsed().unwrap_or_default() < WATCHES)
}

fn write(file: &Path, picture: &[u8]) -> std::io::Result<()> {
    let temporary = file.with_extension("new");
    // One that an earlier attempt left behind.
    let _ = fs::remove_file(&temporary);
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(&temporary)?;
    new.write_all(picture)?;
    drop(new);
    fs::rename(&temporary, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    #[test]
    fn a_picture_is_written_for_its_owner_as_long_as_somebody_watches() {
        let directory = std::env::temp_dir().join(format!("headway-publish-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (file, watch) = (directory.join("live.json"), directory.join("live.watch"));
        let mut publisher = Publisher::default();
        publisher.add(file.clone());
        fs::write(&watch, "").unwrap();
        publisher.publish(b"one");
        publisher.publish(b"two");
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        let watched = OpenOptions::new().write(true).open(&watch).unwrap();
        watched.set_modified(SystemTime::now() - WATCHES * 2).unwrap();
        publisher.publish(b"three");
        assert!(publisher.is_idle() && !file.exists());

        publisher.add(directory.join("gone/live.json"));
        publisher.publish(b"four");
        assert!(publisher.is_idle());
        fs::remove_dir_all(&directory).unwrap();
    }
}
