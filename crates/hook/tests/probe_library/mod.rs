//! The test library `headway-hook-probe`, built here because cargo builds no
//! cdylib for a test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where it is.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "headway-hook-probe"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "building the probe library");
    target.join("debug/libheadway_hook_probe.so")
}
