//! What files are called, how long they are, what every crate has.

use super::{Complaint, File};

/// Names that say nothing about what is inside, so that anything ends up there.
const DRAWERS: [&str; 8] = ["utils", "util", "common", "misc", "shared", "helpers", "helper", "stuff"];

/// Lines that one can still hold in the head.
const LONGEST_FILE: usize = 800;

/// Files that people write and read as code.
const CODE: [&str; 7] = ["rs", "java", "py", "ts", "tsx", "c", "sh"];

pub fn complaints(file: &File) -> Vec<Complaint> {
    [drawer(file), too_long(file), house_lints(file), description(file)].into_iter().flatten().collect()
}

/// Where a class of the JDK's own package has to lie: that name is not ours.
const JDK_PACKAGE: &str = "src/main/java/java/util/";

fn drawer(file: &File) -> Option<Complaint> {
    let path = file.path.replace(JDK_PACKAGE, "");
    let parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let name = parts.into_iter().find(|part| DRAWERS.contains(&part.to_lowercase().as_str()))?;
    Some(file.complaint(0, format!("\"{name}\" says nothing about what is inside; name it after what it does")))
}

/// How files begin that programs write from others.
const GENERATED: &str = "// Made from ";

fn too_long(file: &File) -> Option<Complaint> {
    let lines = file.text.lines().count();
    let is_written = CODE.contains(&file.extension()) && !file.text.starts_with(GENERATED);
    let is_too_long = is_written && lines > LONGEST_FILE;
    is_too_long
        .then(|| file.complaint(0, format!("{lines} lines; more than {LONGEST_FILE} do not fit a head: split it")))
}

fn is_crate_manifest(file: &File) -> bool {
    file.path.starts_with("crates/") && file.name() == "Cargo.toml"
}

fn house_lints(file: &File) -> Option<Complaint> {
    let has_them = file.text.contains("[lints]\nworkspace = true");
    (is_crate_manifest(file) && !has_them)
        .then(|| file.complaint(0, "lacks `[lints] workspace = true`, so the house lints are off in it"))
}

fn description(file: &File) -> Option<Complaint> {
    let described = file.text.lines().any(|line| line.starts_with("description = \"") && line.len() > 20);
    (is_crate_manifest(file) && !described).then(|| file.complaint(0, "has no description: what is this crate for?"))
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    const MANIFEST: &str = "description = \"Does this and that\"\n[lints]\nworkspace = true\n";

    #[test]
    fn good_files_are_left_alone() {
        assert_eq!(said(complaints(&file("crates/a/src/common_owner.rs", "fn a() {}\n"))), "");
        assert_eq!(said(complaints(&file("crates/a/Cargo.toml", MANIFEST))), "");
        assert_eq!(said(complaints(&file("Cargo.lock", &"x\n".repeat(5000)))), "");
    }

    #[test]
    fn drawers_are_found() {
        for path in
            ["crates/a/src/utils.rs", "web/src/Common/page.ts", "java/a/misc/B.java", "crates/shared/src/lib.rs"]
        {
            assert!(said(complaints(&file(path, ""))).contains("says nothing"), "{path}");
        }
    }

    #[test]
    fn long_files_are_found() {
        assert!(said(complaints(&file("a.rs", &"x\n".repeat(801)))).contains("801 lines"));
        assert_eq!(said(complaints(&file("a.rs", &"x\n".repeat(800)))), "");
        let made = format!("{GENERATED}b.rs\n{}", "x\n".repeat(801));
        assert_eq!(said(complaints(&file("a.ts", &made))), "");
    }

    #[test]
    fn crates_without_house_lints_or_description_are_found() {
        let bare = file("crates/a/Cargo.toml", "[package]\ndescription = \"\"\n");
        let said = said(complaints(&bare));
        assert!(said.contains("house lints") && said.contains("no description"), "{said}");
    }
}
