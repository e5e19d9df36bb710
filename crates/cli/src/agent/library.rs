//! Where the agent library `libheadway.so` is.

use crate::error::Failure;
use std::path::{Path, PathBuf};

/// The library's file name, also what `/proc/PID/maps` is searched for.
pub const FILE_NAME: &str = "libheadway.so";

/// Environment variable that overrides the search.
pub const VARIABLE: &str = "HEADWAY_AGENT";

/// Finds the agent library: `HEADWAY_AGENT` if set, else beside this program,
/// else in the `lib` directories next to it.
///
/// # Errors
/// [`Failure::AgentMissing`] with every place that was looked at.
pub fn find() -> Result<PathBuf, Failure> {
    let places = match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => std::env::current_exe().map(|exe| places_beside(&exe)).unwrap_or_default(),
    };
    for place in &places {
        if place.is_file() {
            return place.canonicalize().map_err(Failure::doing(format!("cannot resolve {}", place.display())));
        }
    }
    let looked_at = places.iter().map(|place| place.display().to_string()).collect();
    Err(Failure::AgentMissing { looked_at })
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
