//! The page's packages: what `web/package-lock.json` installs.

use super::satisfies;
use crate::Problem;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What tools that only build and test the page may be licensed as, beyond
/// `deny.toml`: nothing of them ends up in the page.
const OF_TOOLS: [&str; 3] = [
    "BSD-2-Clause",
    // axe-core, which looks for barriers in the finished page.
    "MPL-2.0",
    // caniuse-lite, which is data.
    "CC-BY-4.0",
];

/// The part of the lock file that is checked here.
#[derive(Debug, Deserialize)]
struct Lock {
    packages: BTreeMap<String, Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    #[serde(default)]
    version: String,
    license: Option<String>,
    integrity: Option<String>,
    /// True if it only builds or tests the page.
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    link: bool,
}

/// How many packages there are, and what is wrong with them, given the licences
/// that `deny.toml` allows.
pub fn check(lock: &str, allowed: &[String]) -> Result<(usize, Vec<String>), Problem> {
    let lock: Lock = serde_json::from_str(lock)?;
    // The page itself has no name there.
    let packages: Vec<_> = lock.packages.iter().filter(|(place, package)| !place.is_empty() && !package.link).collect();
    let complaints = packages.iter().flat_map(|(place, package)| complaints(place, package, allowed)).collect();
    Ok((packages.len(), complaints))
}

fn complaints(place: &str, package: &Package, allowed: &[String]) -> Vec<String> {
    let name = place.rsplit_once("node_modules/").map_or(place, |(_, name)| name);
    let name = format!("{name} {}", package.version);
    let mut complaints = Vec::new();
    let is_allowed =
        |licence: &str| allowed.iter().any(|allowed| allowed == licence) || package.dev && OF_TOOLS.contains(&licence);
    match &package.license {
        None => complaints.push(format!("{name} (npm) names no licence")),
        Some(offer) if !satisfies(offer, &is_allowed) => {
            let whose = if package.dev { "a tool of the page" } else { "a part of the page" };
            complaints.push(format!("{name} (npm), {whose}, is licensed as {offer}, which is not allowed"));
        }
        Some(_) => {}
    }
    if package.integrity.is_none() {
        complaints.push(format!("{name} (npm) is not pinned by its hash"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(packages: &str) -> String {
        let lock = format!("{{\"packages\":{{\"\":{{\"license\":\"Apache-2.0\"}},{packages}}}}}");
        let (count, complaints) = check(&lock, &["MIT".to_owned()]).unwrap();
        assert_eq!(count, 1);
        complaints.join("\n")
    }

    #[test]
    fn what_is_in_the_page_is_judged_by_deny_toml_and_tools_more_kindly() {
        let package = |rest: &str| {
            said(&format!("\"node_modules/@a/b\":{{\"version\":\"1.2.3\",\"integrity\":\"sha512-x\",{rest}}}"))
        };
        assert_eq!(package("\"license\":\"MIT\""), "");
        assert_eq!(package("\"license\":\"(GPL-3.0 OR MIT)\""), "");
        assert_eq!(package("\"license\":\"MPL-2.0\",\"dev\":true"), "");
        let wrong = "@a/b 1.2.3 (npm), a part of the page, is licensed as MPL-2.0, which is not allowed";
        assert_eq!(package("\"license\":\"MPL-2.0\""), wrong);
        let wrong = "@a/b 1.2.3 (npm), a tool of the page, is licensed as GPL-3.0, which is not allowed";
        assert_eq!(package("\"license\":\"GPL-3.0\",\"dev\":true"), wrong);
        assert_eq!(package("\"dev\":true"), "@a/b 1.2.3 (npm) names no licence");
    }

    #[test]
    fn every_package_is_pinned_by_its_hash() {
        assert_eq!(
            said("\"node_modules/a\":{\"version\":\"1\",\"license\":\"MIT\"}"),
            "a 1 (npm) is not pinned by its hash"
        );
    }
}
