//! From what, and with what, a release was built. Nothing in it depends on the machine.

use super::binaries::OLDEST_GLIBC;
use super::tools::{Tools, STATIC};
use super::Release;
use crate::Problem;
use serde_json::{json, Map, Value};

/// The text of `provenance.json`.
pub fn text(release: &Release, tools: &Tools) -> Result<String, Problem> {
    let versions = tools.versions()?.into_iter();
    let tools: Map<String, Value> = versions.map(|(name, version)| (name.to_owned(), version.into())).collect();
    let provenance = json!({
        "version": release.version,
        "commit": release.commit,
        "modified": release.is_modified,
        "source_date_epoch": release.epoch,
        "command": "./hw dist",
        "tools": tools,
        "agent": {
            "target": format!("x86_64-unknown-linux-gnu.{OLDEST_GLIBC}"),
            "profile": "dist-agent",
            "standard_library": "built with it: optimize_for_size, frame pointers, no symbols in backtraces",
        },
        "command_line": { "target": STATIC, "profile": "dist" },
        "fleet": { "target": format!("x86_64-unknown-linux-gnu.{OLDEST_GLIBC}"), "profile": "dist" },
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&provenance)?))
}
