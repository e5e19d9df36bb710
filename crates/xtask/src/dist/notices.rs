//! The licences of everything that is in the binaries, as their packages give them.

use super::materials::{Materials, Package};
use crate::Problem;
use std::fs;

/// How files that hold a licence or a notice begin.
const BEGINNINGS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];

/// The file beside the text that has the licences of Rust's standard library.
pub const OF_RUST: &str = "COPYRIGHT-rust-standard-library.html";

/// One text: every package with its licence, then every text once, with the packages it is of.
pub fn text(materials: &Materials) -> Result<String, Problem> {
    let mut text = String::from("Headway contains these packages:\n\n");
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for package in &materials.packages {
        let name = format!("{} {}", package.name, package.version);
        let found = licence_texts(package)?;
        let remark = match found.is_empty() {
            true if package.folder.as_os_str().is_empty() => format!(", see {OF_RUST}"),
            true => ", whose package has no licence text".to_owned(),
            false => String::new(),
        };
        text.push_str(&format!("{name}: {}{remark}\n", package.licence));
        for found in found {
            match texts.iter_mut().find(|(known, _)| *known == found) {
                Some((_, names)) => names.push(name.clone()),
                None => texts.push((found, vec![name.clone()])),
            }
        }
    }
    for (licence, names) in texts {
        text.push_str(&format!("\n{}\n{}:\n\n{licence}\n", "-".repeat(78), names.join(", ")));
    }
    Ok(text)
}

fn licence_texts(package: &Package) -> Result<Vec<String>, Problem> {
    if package.folder.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&package.folder)
        .map_err(|e| format!("cannot read the licences of {} in {}: {e}", package.name, package.folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let licences = paths.into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    });
    let read = licences.map(|path| {
        let text = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n").trim_end().to_owned())
    });
    read.collect()
}
