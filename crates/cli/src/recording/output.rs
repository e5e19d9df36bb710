//! Files that we write: checked before anything is started, so that half a
//! minute of recording does not end in "permission denied".

use crate::error::Failure;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Makes sure that `path` can be written, leaving no trace of the attempt.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let existed = path.symlink_metadata().is_ok();
    if path.is_dir() {
        return Err(unwritable(path, &io::Error::from(ErrorKind::IsADirectory)));
    }
    let attempt = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    if attempt.is_ok() && !existed {
        let _ = std::fs::remove_file(path);
    }
    attempt.map(drop).map_err(|error| unwritable(path, &error))
}

/// Makes sure that new files can be made in `directory`.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn check_directory(directory: &Path) -> Result<(), Failure> {
    let probe = directory.join(format!(".headway-{}.probe", std::process::id()));
    match check_writable(&probe) {
        Err(Failure::Unwritable { problem, .. }) => Err(Failure::Unwritable { path: directory.to_owned(), problem }),
        other => other,
    }
}

/// Creates `path` for its owner only, and fills it from `source`.
///
/// # Errors
/// [`Failure::Unwritable`], for a full disk with the bytes that were needed.
pub fn copy_into(source: &mut File, path: &Path) -> Result<u64, Failure> {
    let mut target = create(path)?;
    let needed = source.metadata().map(|m| m.len()).unwrap_or(0);
    io::copy(source, &mut target).map_err(|error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::Unwritable {
            path: path.to_owned(),
            problem: format!("the disk is full (the recording has {needed} bytes); free some space or choose another place with -o"),
        },
        _ => unwritable(path, &error),
    })
}

/// Creates or empties `path` for its owner only.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn create(path: &Path) -> Result<File, Failure> {
    let open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    open.map_err(|error| unwritable(path, &error))
}

/// The failure to write `path`, with what to do.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let problem = match error.kind() {
        ErrorKind::NotFound => "its directory does not exist; make it or choose another place with -o".to_owned(),
        ErrorKind::PermissionDenied => "permission denied; choose another place with -o".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; choose another place with -o".to_owned(),
        ErrorKind::IsADirectory => "it is a directory; name a file in it".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is not a directory; choose another place with -o".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full; free some space or choose another place with -o".to_owned()
        }
        _ => error.to_string(),
    };
    Failure::Unwritable { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn checking_leaves_no_trace_and_spoils_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        check_writable(&path).expect("writable");
        assert!(!path.exists());
        fs::write(&path, "old").expect("written");
        check_writable(&path).expect("writable");
        assert_eq!(fs::read(&path).expect("read"), b"old");
        check_directory(directory.path()).expect("writable");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let sentence = |path: &Path| check_writable(path).expect_err("unwritable").to_string();
        assert!(sentence(&directory.path().join("no/a.jfr")).contains("its directory does not exist"));
        assert!(sentence(directory.path()).contains("it is a directory"));
    }
}
