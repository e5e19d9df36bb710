//! Names of recordings: `%p` and `%t` in them, and the format that the
//! extension picks.

use crate::error::Failure;
use crate::suggest;
use headway_jfr::IfTaken;
use regex::Regex;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a recording is called by default.
pub const DEFAULT_PATTERN: &str = "headway-%p-%t.jfr";

/// Extensions that recordings can have: plain and packed.
pub const EXTENSIONS: [&str; 3] = [".jfr.zst", ".jfr.lz4", ".jfr"];

/// A recording's path, in which `%p` and `%t` of the file name stand for
/// process id and local time, `%%` for a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    directory: PathBuf,
    file_name: String,
}

impl Pattern {
    /// Reads a path as typed; a relative one counts from our own working
    /// directory.
    ///
    /// # Errors
    /// A sentence about an extension that is none of ours, or a `%` that
    /// stands where or for what it cannot.
    pub fn parse(typed: &Path) -> Result<Pattern, Failure> {
        let absolute =
            std::path::absolute(typed).map_err(Failure::doing(format!("cannot resolve {}", typed.display())))?;
        let text = absolute.to_str().ok_or_else(|| {
            Failure::Usage(format!("the path {} is not UTF-8, so it cannot be passed to the JVM", typed.display()))
        })?;
        let (directory, file_name) = text.rsplit_once('/').unwrap_or(("", text));
        check_extension(file_name)?;
        check_escapes(typed, file_name)?;
        Ok(Pattern { directory: PathBuf::from(format!("{directory}/")), file_name: file_name.to_owned() })
    }

    /// The directory that holds the recordings.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The pattern as it was typed, with its directory.
    pub fn shown(&self) -> String {
        format!("{}{}", self.directory.display(), self.file_name)
    }

    /// The pattern in the form that the agent expands: `%p` and `%t` still in
    /// the file name, percent signs of the directory doubled.
    pub fn for_agent(&self) -> PathBuf {
        literal_for_agent(&self.directory).join(&self.file_name)
    }

    /// The path for one process, now.
    pub fn expand(&self, pid: u32) -> PathBuf {
        let now = local_time().strftime("%Y%m%d-%H%M%S").to_string();
        self.directory.join(expand(&self.file_name, &pid.to_string(), &now))
    }

    /// What becomes of a file that is there already: a name that nobody chose is
    /// given a number.
    pub fn if_taken(&self, force: bool) -> IfTaken {
        match force {
            true => IfTaken::Replace,
            false if escapes(&self.file_name).any(|letter| matches!(letter, Some('p' | 't'))) => IfTaken::Number,
            false => IfTaken::Refuse,
        }
    }

    /// True if processes get names of their own.
    pub fn tells_processes_apart(&self) -> bool {
        escapes(&self.file_name).any(|letter| letter == Some('p'))
    }

    /// The same name with `-%p` in front of its extension.
    pub fn with_pid(&self) -> Pattern {
        let (stem, extension) = split_extension(&self.file_name);
        Pattern { directory: self.directory.clone(), file_name: format!("{stem}-%p{extension}") }
    }

    /// Recognises the file names that this pattern can expand to; the pid is
    /// the first capture, where there is one.
    pub fn recogniser(&self) -> Option<Regex> {
        // The agent puts a number there if the name is taken.
        let (stem, extension) = split_extension(&self.file_name);
        let marked = expand(&format!("{stem}\0n{extension}"), "\0p", "\0t");
        let mut seen_pid = false;
        let escaped = regex::escape(&marked).replace("\0t", r"\d{8}-\d{6}").replace("\0n", r"(?:-\d+)?");
        let mut expression = String::new();
        for (index, part) in escaped.split("\0p").enumerate() {
            if index > 0 {
                expression.push_str(if seen_pid { r"\d+" } else { r"(\d+)" });
                seen_pid = true;
            }
            expression.push_str(part);
        }
        Regex::new(&format!("^{expression}$")).ok()
    }
}

/// The time for file names.
fn local_time() -> jiff::Zoned {
    jiff::Timestamp::now().to_zoned(local_zone())
}

/// The zone of times that are shown: the local one, or UTC where `TZ` names what is no regular file. Reading a device
/// would never end.
pub fn local_zone() -> jiff::tz::TimeZone {
    match std::env::var_os("TZ").is_some_and(|zone| names_no_file(&zone, Path::new(ZONES))) {
        true => jiff::tz::TimeZone::UTC,
        false => jiff::tz::TimeZone::system(),
    }
}

/// Where a relative `TZ` is looked for.
const ZONES: &str = "/usr/share/zoneinfo";

/// True if there is something under this name, from here or among the `zones`, and it is no file.
fn names_no_file(zone: &OsStr, zones: &Path) -> bool {
    let path = Path::new(OsStr::from_bytes(zone.as_bytes().strip_prefix(b":").unwrap_or(zone.as_bytes())));
    let is_no_file = |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file());
    !path.as_os_str().is_empty() && (is_no_file(&zones.join(path)) || is_no_file(path))
}

/// Name and extension; for packed recordings the extension has two parts.
fn split_extension(file_name: &str) -> (&str, &str) {
    EXTENSIONS
        .iter()
        .find(|extension| file_name.ends_with(*extension))
        .map_or((file_name, ""), |extension| file_name.split_at(file_name.len() - extension.len()))
}

fn check_extension(file_name: &str) -> Result<(), Failure> {
    let (stem, extension) = split_extension(file_name);
    if !extension.is_empty() && !stem.is_empty() {
        return Ok(());
    }
    let given = Path::new(file_name).extension().and_then(|e| e.to_str()).unwrap_or_default();
    let hint = suggest::did_you_mean(&format!(".{given}"), EXTENSIONS);
    Err(Failure::Usage(format!(
        "-o {file_name}: the extension picks the format, and recordings are .jfr, .jfr.zst or .jfr.lz4{hint}"
    )))
}

/// A path that the agent, which expands `%p` and `%t`, takes as it is.
pub fn literal_for_agent(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().replace('%', "%%"))
}

fn check_escapes(typed: &Path, file_name: &str) -> Result<(), Failure> {
    let directory = typed.parent().unwrap_or(Path::new("")).to_string_lossy();
    if escapes(&directory).any(|letter| matches!(letter, Some('p' | 't'))) {
        return Err(Failure::Usage(format!("-o {}: %p and %t can stand in the file name only", typed.display())));
    }
    match escapes(file_name).find(|letter| !matches!(letter, Some('p' | 't' | '%'))) {
        None => Ok(()),
        Some(letter) => Err(Failure::Usage(format!(
            "-o {file_name}: %{} means nothing; %p is the process id, %t the time, %% a percent sign",
            letter.map(String::from).unwrap_or_default()
        ))),
    }
}

/// The letters that follow percent signs.
fn escapes(text: &str) -> impl Iterator<Item = Option<char>> + '_ {
    let mut characters = text.chars();
    std::iter::from_fn(move || {
        characters.by_ref().find(|c| *c == '%')?;
        Some(characters.next())
    })
}

fn expand(file_name: &str, pid: &str, time: &str) -> String {
    let mut expanded = String::new();
    let mut characters = file_name.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => match characters.next() {
                Some('p') => expanded.push_str(pid),
                Some('t') => expanded.push_str(time),
                other => expanded.extend(other),
            },
            other => expanded.push(other),
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pattern, String> {
        Pattern::parse(Path::new(text)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn pid_and_time_are_filled_in() {
        let path = parse("/out/a-%p%%-%t.jfr.zst").expect("a good pattern").expand(42);
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
        assert!(name.starts_with("a-42%-20") && name.ends_with(".jfr.zst"), "{name}");
        assert_eq!(name.len(), "a-42%-20260101-120000.jfr.zst".len());
    }

    #[test]
    fn its_own_names_are_recognised_and_others_are_not() {
        let recogniser = parse("/out/a.b-%p-%t.jfr").expect("a good pattern").recogniser().expect("a regex");
        let pid = |name: &str| recogniser.captures(name).map(|c| c[1].to_owned());
        assert_eq!(pid("a.b-42-20260101-120000.jfr").as_deref(), Some("42"));
        assert_eq!(pid("a.b-42-20260101-120000-2.jfr").as_deref(), Some("42"));
        assert_eq!(pid("axb-42-20260101-120000.jfr"), None);
        assert_eq!(pid("a.b-42-20260101-120000.jfr.zst"), None);
    }

    #[test]
    fn a_name_without_pid_can_get_one() {
        let pattern = parse("/out/app.jfr.lz4").expect("a good pattern");
        assert!(!pattern.tells_processes_apart());
        assert_eq!(pattern.with_pid().for_agent(), PathBuf::from("/out/app-%p.jfr.lz4"));
        assert!(pattern.with_pid().tells_processes_apart());
    }

    #[test]
    fn percent_signs_of_directories_mean_themselves() {
        let pattern = parse("/100% sure/a-%p.jfr").expect("a good pattern");
        assert_eq!(pattern.for_agent(), PathBuf::from("/100%% sure/a-%p.jfr"));
        assert_eq!(pattern.expand(7), PathBuf::from("/100% sure/a-7.jfr"));
        assert_eq!(literal_for_agent(&pattern.expand(7)), PathBuf::from("/100%% sure/a-7.jfr"));
    }

    #[test]
    fn what_is_wrong_with_a_name_is_said() {
        assert!(parse("/out/a.html").expect_err("html").contains("recordings are .jfr, .jfr.zst or .jfr.lz4"));
        assert!(parse("/out/a.jrf").expect_err("jrf").contains("did you mean \".jfr\"?"));
        assert!(parse("/out/a-%h.jfr").expect_err("%h").contains("%h means nothing"));
        assert!(parse("/out/%p/a.jfr").expect_err("directory").contains("in the file name only"));
        assert!(parse("/out/.jfr").is_err());
        assert!(parse("/out/a%").is_err());
    }

    #[test]
    fn a_time_zone_that_is_a_device_or_a_directory_is_not_read() {
        let zones = Path::new("/proc/self");
        // The last one is the directory in which tests run.
        for zone in ["/dev/zero", ":/dev/zero", "../../dev/zero", "fd", "."] {
            assert!(names_no_file(OsStr::new(zone), zones), "{zone}");
        }
        for zone in ["", ":", "UTC", "CET-1CEST", "/proc/self/status", "status", ":status"] {
            assert!(!names_no_file(OsStr::new(zone), zones), "{zone}");
        }
    }
}
