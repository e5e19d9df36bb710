//! The oldest Rust that the manifest declares: every dependency builds with it. That our own code uses nothing of the
//! standard library that is newer, clippy checks (`incompatible_msrv`).

use super::{Complaint, File};
use crate::process::{cargo, output_of};
use crate::Problem;
use serde::Deserialize;

const MANIFEST: &str = "Cargo.toml";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    rust_version: Option<String>,
}

pub fn complaints(files: &[File]) -> Result<Vec<Complaint>, Problem> {
    let manifest = files.iter().find(|file| file.path == MANIFEST).map_or("", |file| file.text.as_str());
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    metadata.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    Ok(compare(manifest, &serde_json::from_str(&output_of(&mut metadata)?)?))
}

fn compare(manifest: &str, metadata: &Metadata) -> Vec<Complaint> {
    let complaint = |text: String| Complaint { path: MANIFEST.to_owned(), line: 0, text };
    let declared = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let Some(declared) = declared else {
        return vec![complaint("declares no rust-version".to_owned())];
    };
    let newer = metadata.packages.iter().filter_map(|package| {
        let needed = package.rust_version.as_deref()?;
        (parts(needed) > parts(declared)).then_some((package, needed))
    });
    newer
        .map(|(Package { name, version, .. }, needed)| {
            complaint(format!("declares Rust {declared}, but {name} {version} needs {needed}"))
        })
        .collect()
}

/// `1.88` and `1.88.0` are the same version.
fn parts(version: &str) -> [u64; 3] {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn compared(manifest: &str) -> String {
        let metadata = r#"{"packages":[
            {"name":"old","version":"1.0.0","rust_version":null},
            {"name":"young","version":"0.3.1","rust_version":"1.88.0"}]}"#;
        said(compare(manifest, &serde_json::from_str(metadata).unwrap()))
    }

    #[test]
    fn a_dependency_that_needs_a_newer_compiler_is_named() {
        assert_eq!(compared("[workspace.package]\nrust-version = \"1.88\"\n"), "");
        assert_eq!(compared("rust-version = \"1.100\"\n"), "");
        let wrong = compared("rust-version = \"1.85\"\n");
        assert!(wrong.contains("declares Rust 1.85, but young 0.3.1 needs 1.88.0"), "{wrong}");
        assert!(compared("[package]\n").contains("declares no rust-version"));
    }
}
