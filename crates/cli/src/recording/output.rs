//! Files that we write: checked before anything is started, so that half a
//! minute of recording does not end in "permission denied".

use crate::error::Failure;
use crate::recording::input;
use headway_jfr::{IfTaken, Reader};
use headway_model::Event;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is said of a file that is where the recording is to go.
pub const IN_THE_WAY: &str = "is there already";

/// Makes sure that a new recording can be written to `path`, or beside it under a
/// name with a number, leaving no trace of the attempt. Nothing is replaced unless
/// that is asked for, and then only a recording of Headway's: a slip in `-o` must not
/// cost anybody a file.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn check_new_recording(path: &Path, if_taken: IfTaken) -> Result<(), Failure> {
    let Ok(there) = path.symlink_metadata() else { return check_writable(path) };
    let refused = |problem: &str| Err(Failure::Unwritable { path: path.to_owned(), problem: problem.into() });
    let is_ours = there.is_file() && (there.len() == 0 || is_recording_of_ours(path));
    match if_taken {
        _ if there.is_dir() => Err(unwritable(path, &io::Error::from(ErrorKind::IsADirectory))),
        IfTaken::Number => check_directory(path.parent().unwrap_or(Path::new("/"))),
        _ if !is_ours => refused(&format!(
            "something that is not a recording of Headway's {IN_THE_WAY}; remove it or choose another place with -o"
        )),
        IfTaken::Refuse => {
            refused(&format!("a recording {IN_THE_WAY}; --force replaces it, or choose another place with -o"))
        }
        IfTaken::Replace => check_directory(path.parent().unwrap_or(Path::new("/"))),
    }
}

/// Copies a recording to `path`, or beside it under a name with a number, for its
/// owner only, and gives the place.
///
/// # Errors
/// As [`check_new_recording`] and [`copy_into`].
pub fn copy_new(source: &mut File, path: &Path, if_taken: IfTaken) -> Result<PathBuf, Failure> {
    if if_taken == IfTaken::Replace {
        check_new_recording(path, if_taken)?;
        return copy_into(source, path).map(|_| path.to_owned());
    }
    // The name is ours from here on; what was copied takes the place of the empty file.
    let created = headway_jfr::create_file(path, if_taken);
    let (place, _) = created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => check_new_recording(path, if_taken).err().unwrap_or(unwritable(path, &error)),
        _ => unwritable(path, &error),
    })?;
    let copied = copy_into(source, &place);
    copied.inspect_err(|_| drop(fs::remove_file(&place)))?;
    Ok(place)
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

/// Fills `path` from `source`, for its owner only. The file appears when it is
/// complete; a link at its place is replaced, not followed.
///
/// # Errors
/// [`Failure::Unwritable`], for a full disk with the bytes that were needed.
pub fn copy_into(source: &mut File, path: &Path) -> Result<u64, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let needed = source.metadata().map(|m| m.len()).unwrap_or(0);
    let copied = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&partial)
        // Whoever writes the source could write for ever.
        .and_then(|mut target| io::copy(&mut source.take(needed), &mut target))
        .and_then(|bytes| fs::rename(&partial, path).map(|()| bytes));
    copied.map_err(|error| {
        let _ = fs::remove_file(&partial);
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::Unwritable {
                path: path.to_owned(),
                problem: format!(
                    "the disk is full (the recording has {needed} bytes); free some space or choose another place with -o"
                ),
            },
            _ => unwritable(path, &error),
        }
    })
}

/// Makes sure that a new file can be made at `path` from `sources`. A file that
/// is there is replaced, unless it is one of them.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn check_new<P: AsRef<Path>>(path: &Path, sources: &[P]) -> Result<(), Failure> {
    if input::is_standard(path) {
        return Ok(());
    }
    check_no_source(path, sources)?;
    check_writable(path)
}

/// Makes sure that `path` is none of `sources`, by whatever name: another
/// spelling, a symbolic link or a hard link.
///
/// # Errors
/// [`Failure::Unwritable`], which says so.
pub fn check_no_source<P: AsRef<Path>>(path: &Path, sources: &[P]) -> Result<(), Failure> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let Some(there) = identity(path) else { return Ok(()) };
    match sources.iter().any(|source| identity(source.as_ref()) == Some(there)) {
        true => {
            let problem = "it is the file to be read; choose another place with -o";
            Err(Failure::Unwritable { path: path.to_owned(), problem: problem.into() })
        }
        false => Ok(()),
    }
}

/// Writes a new file, for its owner only, and gives its length. The file
/// appears when it is complete; a link at its place is replaced, not followed.
/// What is no file (a pipe, standard output as `-`) is written to as it is.
///
/// # Errors
/// [`Failure::Unwritable`] with the reason.
pub fn write_new(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, Failure> {
    if input::is_standard(path) {
        return write_to_standard_output(write);
    }
    let is_special = fs::metadata(path).is_ok_and(|there| !there.is_file());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let opened = match is_special {
        true => OpenOptions::new().write(true).open(path),
        false => OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial),
    };
    let written = opened.and_then(|file| {
        let mut out = Counted { out: BufWriter::new(file), bytes: 0 };
        write(&mut out)?;
        out.flush()?;
        Ok(out.bytes)
    });
    let placed = written.and_then(|bytes| match is_special {
        true => Ok(bytes),
        false => fs::rename(&partial, path).map(|()| bytes),
    });
    placed.map_err(|error| {
        let _ = fs::remove_file(&partial);
        unwritable(path, &error)
    })
}

/// Bytes to standard output, as they are. A reader that is satisfied early is no failure.
fn write_to_standard_output(write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, Failure> {
    let mut out = Counted { out: BufWriter::new(io::stdout().lock()), bytes: 0 };
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::doing("cannot write to standard output")(error))
        }
        _ => Ok(out.bytes),
    }
}

/// Makes sure that bytes that no terminal can show do not go to one.
///
/// # Errors
/// [`Failure::Usage`], with what to do.
pub fn check_no_terminal(path: &Path, what: &str) -> Result<(), Failure> {
    match input::is_standard(path) && io::stdout().is_terminal() {
        true => Err(Failure::Usage(format!(
            "-o -: {what} is no text, and standard output is a terminal: write `> FILE` or use a pipe"
        ))),
        false => Ok(()),
    }
}

/// Counts what goes through it.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The failure to write `path`, with what to do.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let problem = match error.kind() {
        ErrorKind::NotFound => "its directory does not exist; make it or choose another place with -o".to_owned(),
        ErrorKind::PermissionDenied => "permission denied; choose another place with -o".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; choose another place with -o".to_owned(),
        ErrorKind::IsADirectory => "it is a directory; name a file in it".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is not a directory; choose another place with -o".to_owned(),
        ErrorKind::InvalidFilename => "the name is too long; choose a shorter one with -o".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full; free some space or choose another place with -o".to_owned()
        }
        ErrorKind::FileTooLarge => "it would exceed the limit on file sizes; raise it with `ulimit -f`".to_owned(),
        _ => error.to_string(),
    };
    Failure::Unwritable { path: path.to_owned(), problem }
}

fn check_writable(path: &Path) -> Result<(), Failure> {
    let existed = path.symlink_metadata().is_ok();
    if path.is_dir() {
        return Err(unwritable(path, &io::Error::from(ErrorKind::IsADirectory)));
    }
    // Without waiting, should somebody have put a pipe there.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let attempt = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    if attempt.is_ok() && !existed {
        let _ = fs::remove_file(path);
    }
    attempt.map(drop).map_err(|error| unwritable(path, &error))
}

fn is_recording_of_ours(path: &Path) -> bool {
    let first = Reader::open(path).ok().and_then(|mut reader| reader.find_map(Result::ok));
    matches!(first, Some(Event::Recording(info)) if info.producer.starts_with("headway"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checking_leaves_no_trace() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        check_new_recording(&path, IfTaken::Refuse).expect("writable");
        assert!(!path.exists());
        fs::write(&path, "").expect("written");
        check_new_recording(&path, IfTaken::Replace).expect("an empty file may be replaced");
        check_directory(directory.path()).expect("writable");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let sentence = |path: &Path| check_new_recording(path, IfTaken::Replace).expect_err("unwritable").to_string();
        assert!(sentence(&directory.path().join("no/a.jfr")).contains("its directory does not exist"));
        assert!(sentence(directory.path()).contains("it is a directory"));
        let precious = directory.path().join("thesis.jfr");
        fs::write(&precious, "ten years of work").expect("written");
        assert!(sentence(&precious).contains("not a recording of Headway's"));
        assert_eq!(fs::read(&precious).expect("read"), b"ten years of work");
    }

    #[test]
    fn a_source_is_known_by_every_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::write(path("x.jfr"), "a recording").expect("written");
        fs::create_dir(path("d")).expect("made");
        fs::hard_link(path("x.jfr"), path("hard.jfr")).expect("linked");
        std::os::unix::fs::symlink("x.jfr", path("soft.jfr")).expect("linked");
        for name in ["x.jfr", "hard.jfr", "soft.jfr", "d/../x.jfr"] {
            let sentence = check_new(&path(name), &[path("other.jfr"), path("x.jfr")]).expect_err(name).to_string();
            assert!(sentence.contains("it is the file to be read"), "{sentence}");
        }
        assert_eq!(fs::read(path("x.jfr")).expect("read"), b"a recording");
        check_new(&path("y.jfr"), &[path("x.jfr")]).expect("another file");
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report.html");
        fs::write(&path, "old").expect("written");
        let failed = write_new(&path, &mut |out| {
            out.write_all(b"half of the new")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert!(failed.expect_err("full").to_string().contains("the disk is full"));
        assert_eq!(fs::read(&path).expect("read"), b"old");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
        write_new(&path, &mut |out| out.write_all(b"new")).expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"new");
    }

    #[test]
    fn a_file_that_is_there_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let sentence = |name: &str, if_taken| check_new_recording(&path(name), if_taken).map_err(|e| e.to_string());
        fs::write(path("thesis.jfr"), "ten years of work").expect("written");
        fs::write(path("empty.jfr"), "").expect("written");
        std::os::unix::fs::symlink(path("nowhere.jfr"), path("link.jfr")).expect("linked");
        for name in ["thesis.jfr", "link.jfr"] {
            for if_taken in [IfTaken::Refuse, IfTaken::Replace] {
                assert!(sentence(name, if_taken).expect_err("kept").contains("not a recording of Headway's"));
            }
        }
        assert!(sentence("empty.jfr", IfTaken::Refuse).expect_err("kept").contains("--force replaces it"));
        assert_eq!(sentence("empty.jfr", IfTaken::Replace), Ok(()));
        assert_eq!(sentence("thesis.jfr", IfTaken::Number), Ok(()));
        let mut source = File::open(path("thesis.jfr")).expect("opened");
        let place = copy_new(&mut source, &path("empty.jfr"), IfTaken::Number).expect("copied");
        assert_eq!(place, path("empty-2.jfr"));
        assert!(!path("nowhere.jfr").exists() && fs::read(place).expect("read").len() == 17);
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 4);
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let (source, target, link) = ("source", "target", "link.jfr");
        let path = |name: &str| directory.path().join(name);
        fs::write(path(source), "new").expect("written");
        fs::write(path(target), "old").expect("written");
        std::os::unix::fs::symlink(path(target), path(link)).expect("linked");
        let mut file = File::open(path(source)).expect("opened");
        copy_into(&mut file, &path(link)).expect("copied");
        assert_eq!(fs::read(path(target)).expect("read"), b"old");
        assert_eq!(fs::read(path(link)).expect("read"), b"new");
    }
}
