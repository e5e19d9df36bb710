//! Where the agent library `libheadway.so` is.

use crate::agent::library_file;
use crate::error::Failure;
use std::path::{Path, PathBuf};

/// The library's file name, also what `/proc/PID/maps` is searched for.
pub const FILE_NAME: &str = "libheadway.so";

/// Environment variable that overrides the search.
pub const VARIABLE: &str = "HEADWAY_AGENT";

/// Name of a library that exists in the memory of process `pid` only, open
/// there under this number.
pub fn name_in_memory(pid: u32, number: i32) -> String {
    format!("{FILE_NAME}-{pid}-{number}")
}

/// The path by which a mapped file was loaded, if it is the agent library: its
/// own, or for a library in memory the one in its name.
pub fn loaded_path(mapped: &str) -> Option<PathBuf> {
    let name = mapped.rsplit('/').next().unwrap_or_default();
    if name == FILE_NAME {
        return Some(PathBuf::from(mapped));
    }
    let (pid, number) = name.strip_prefix("memfd:")?.strip_prefix(FILE_NAME)?.strip_prefix('-')?.split_once('-')?;
    let (pid, number) = (pid.parse::<u32>().ok()?, number.parse::<u32>().ok()?);
    Some(PathBuf::from(format!("/proc/{pid}/fd/{number}")))
}

/// Finds the agent library: `HEADWAY_AGENT` if set, else beside this program,
/// else in the `lib` directories next to it.
///
/// # Errors
/// [`Failure::AgentMissing`] with every place that was looked at, [`Failure::AgentDamaged`] if a JVM must
/// not load what is there.
pub fn find() -> Result<PathBuf, Failure> {
    let places = match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => std::env::current_exe().map(|exe| places_beside(&exe)).unwrap_or_default(),
    };
    for place in &places {
        if place.is_file() {
            let path = place.canonicalize().map_err(Failure::doing(format!("cannot resolve {}", place.display())))?;
            read(&path)?;
            return Ok(path);
        }
    }
    let looked_at = places.iter().map(|place| place.display().to_string()).collect();
    Err(Failure::AgentMissing { looked_at })
}

/// Reads the library, if a JVM can load it without harm.
///
/// # Errors
/// It cannot be read, or [`Failure::AgentDamaged`].
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let content = std::fs::read(path).map_err(Failure::doing(format!("cannot read {}", path.display())))?;
    match library_file::check(&content) {
        Ok(()) => Ok(content),
        Err(problem) => Err(Failure::AgentDamaged { path: path.to_owned(), problem }),
    }
}

fn places_beside(program: &Path) -> Vec<PathBuf> {
    let Some(directory) = program.parent() else {
        return Vec::new();
    };
    let mut places = vec![directory.join(FILE_NAME)];
    if let Some(prefix) = directory.parent() {
        places.push(prefix.join("lib").join(FILE_NAME));
        places.push(prefix.join("lib/headway").join(FILE_NAME));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_library_tells_its_path() {
        let path = |mapped: &str| loaded_path(mapped).map(|path| path.display().to_string());
        assert_eq!(path("/tmp/.headway-1/libheadway.so").as_deref(), Some("/tmp/.headway-1/libheadway.so"));
        let in_memory = format!("/memfd:{}", name_in_memory(4711, 9));
        assert_eq!(path(&in_memory).as_deref(), Some("/proc/4711/fd/9"));
        assert_eq!(path("/usr/lib/libc.so.6"), None);
        assert_eq!(path("/memfd:libheadway.so"), None);
    }
}
