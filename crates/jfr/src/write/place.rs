//! The place of a recording's file: nothing that is there is replaced, and the file is
//! found again if its name goes.

use super::file::is_recording_of_ours;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What becomes of a file that is where a new one is to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfTaken {
    /// It stays; the new one is refused.
    #[default]
    Refuse,
    /// It stays; the new one gets the next free name: `a-2.jfr`, `a-3.jfr`, ...
    Number,
    /// It is replaced, if it is a recording of Headway's or empty.
    Replace,
}

/// Names that are tried.
const NUMBERS: u32 = 10_000;

/// Creates a file for the owner's eyes only, and gives the name it got. Links are
/// never followed: the file is always a new one.
///
/// # Errors
/// `AlreadyExists`, with a reason for people, or those of creating.
pub fn create_file(path: &Path, if_taken: IfTaken) -> io::Result<(PathBuf, File)> {
    let taken = match create_private(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => error,
        created => return created.map(|file| (path.to_path_buf(), file)),
    };
    match if_taken {
        IfTaken::Refuse => Err(io::Error::new(ErrorKind::AlreadyExists, "a file with this name is there already")),
        IfTaken::Replace => {
            make_way(path)?;
            create_private(path).map(|file| (path.to_path_buf(), file))
        }
        IfTaken::Number => {
            for number in 2..NUMBERS {
                let next = numbered(path, number);
                match create_private(&next) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    created => return created.map(|file| (next, file)),
                }
            }
            Err(taken)
        }
    }
}

/// A new file for the owner's eyes. Never follows a link: it must not exist.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// `a-2.jfr.zst` for `a.jfr.zst`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.split_at(name.rfind(".jfr").unwrap_or(name.len()));
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

/// Gives a finished file its name, replacing only what may be replaced.
pub(crate) fn put_in_place(beside: &Path, to: &Path) -> io::Result<()> {
    make_way(to)?;
    fs::rename(beside, to)
}

/// Removes an earlier recording at `path`; anything else there is an error.
fn make_way(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !there.is_file() || !(there.len() == 0 || is_recording_of_ours(path)?) {
        let reason = "something that is not a recording of Headway's is there already";
        return Err(io::Error::new(ErrorKind::AlreadyExists, reason));
    }
    fs::remove_file(path)
}

/// True if the open file is what the path leads to.
pub(crate) fn is_same(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, there) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    matches!((open, there), (Ok(open), Ok(there)) if open == there)
}

/// Where an open file is that has lost its name: it was moved, or it is saved under
/// another name, beside the old one or in the directory for temporary files.
/// `content` writes what it contains into a new file.
///
/// # Errors
/// Those of the last attempt to save it.
pub(crate) fn found_or_saved(
    file: &File,
    path: &Path,
    content: impl Fn(&File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    if let Ok(moved) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        if is_same(file, &moved) {
            return Ok(moved);
        }
    }
    let name = path.file_name().unwrap_or_default();
    let mut outcome = Err(io::Error::from(ErrorKind::NotFound));
    for place in [path.to_path_buf(), std::env::temp_dir().join(name)] {
        outcome = create_file(&place, IfTaken::Number).and_then(|(saved, new)| {
            content(&new).map(|()| saved.clone()).inspect_err(|_| drop(fs::remove_file(&saved)))
        });
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may end like that
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("headway-place-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn a_file_that_is_there_is_kept() {
        let directory = directory("kept");
        let path = directory.join("a.jfr.zst");
        fs::write(&path, "mine").unwrap();
        assert_eq!(create_file(&path, IfTaken::Refuse).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(create_file(&path, IfTaken::Number).unwrap().0, directory.join("a-2.jfr.zst"));
        assert_eq!(create_file(&path, IfTaken::Number).unwrap().0, directory.join("a-3.jfr.zst"));
        let error = create_file(&path, IfTaken::Replace).unwrap_err().to_string();
        assert!(error.contains("not a recording"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn links_are_not_followed() {
        let directory = directory("links");
        let (link, target) = (directory.join("link.jfr"), directory.join("nowhere.jfr"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for if_taken in [IfTaken::Refuse, IfTaken::Replace] {
            assert!(create_file(&link, if_taken).is_err());
        }
        assert!(!target.exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_without_its_name_is_found_or_saved() {
        let directory = directory("saved");
        let (path, moved) = (directory.join("a.jfr"), directory.join("b.jfr"));
        let (_, file) = create_file(&path, IfTaken::Refuse).unwrap();
        let never = |_: &File| panic!("it is still there");
        fs::rename(&path, &moved).unwrap();
        assert!(!is_same(&file, &path));
        assert_eq!(found_or_saved(&file, &path, never).unwrap(), moved.canonicalize().unwrap());

        fs::remove_file(&moved).unwrap();
        fs::write(&path, "another").unwrap();
        let content = |mut new: &File| io::Write::write_all(&mut new, b"events");
        let saved = found_or_saved(&file, &path, content).unwrap();
        assert_eq!((saved.clone(), fs::read(&saved).unwrap()), (directory.join("a-2.jfr"), b"events".to_vec()));

        let gone = directory.join("gone").join(format!("headway-place-{}.jfr", std::process::id()));
        let saved = found_or_saved(&file, &gone, content).unwrap();
        assert_eq!(saved.parent().unwrap(), std::env::temp_dir());
        fs::remove_file(saved).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"another");
        fs::remove_dir_all(directory).unwrap();
    }
}
