//! The picture of now, in a file.
//!
//! A reader (`headway top`) names a file in its private directory and touches
//! another beside it as long as it watches. The picture is written under a
//! temporary name and renamed, so that nobody sees half of it, and readable by
//! its owner only. When the reader stops watching, however it ended, both files
//! go and writing ends; the directory, too, if they were all that a reader left in it.

use crate::held::is_held;
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
            remove(&self.files.remove(0));
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
                remove(file);
                let directory = file.parent().filter(|directory| !is_held(directory));
                directory.map(fs::remove_dir);
            }
            written
        });
    }

    /// There is nothing to show any more.
    pub fn end(&mut self) {
        std::mem::take(&mut self.files).iter().for_each(|file| remove(file));
    }
}

/// Removes a picture and what its reader touches; gone already if their directory is.
fn remove(file: &Path) {
    let _ = fs::remove_file(file);
    let _ = fs::remove_file(watch_file(file));
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
    use std::os::fd::AsRawFd;
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
        assert!(publisher.is_idle() && !file.exists() && !watch.exists());
        assert!(!directory.exists(), "its reader is gone, and nothing else was in it");

        publisher.add(directory.join("gone/live.json"));
        publisher.publish(b"four");
        assert!(publisher.is_idle());
    }

    #[test]
    fn the_directory_of_a_reader_that_lives_stays() {
        let directory = std::env::temp_dir().join(format!("headway-publish-held-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let reader = fs::File::open(&directory).unwrap();
        // SAFETY: an open directory.
        assert_eq!(unsafe { libc::flock(reader.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }, 0);
        let mut publisher = Publisher::default();
        publisher.add(directory.join("live.json"));
        publisher.publish(b"one");
        assert!(publisher.is_idle() && directory.exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn nothing_is_left_when_the_recording_ends() {
        let directory = std::env::temp_dir().join(format!("headway-publish-end-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("live.json");
        let mut publisher = Publisher::default();
        publisher.add(file.clone());
        fs::write(watch_file(&file), "").unwrap();
        publisher.publish(b"one");
        publisher.end();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::remove_dir(&directory).unwrap();
    }
}
