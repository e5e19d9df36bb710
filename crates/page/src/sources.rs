//! The source line behind a frame, where the user says where sources are.
//!
//! Class and file names come from the recording, so nothing but a file below
//! one of the given directories is ever read, however it is called.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Source files larger than this are not read.
const LARGEST_BYTES: u64 = 8 << 20;
/// Longer lines are cut.
const LONGEST_LINE: usize = 200;

/// Directories that hold sources, in the layout of packages (`src/main/java`).
#[derive(Debug, Default)]
pub struct Sources {
    roots: Vec<PathBuf>,
    files: HashMap<PathBuf, Vec<String>>,
}

impl Sources {
    /// Sources below these directories; ones that do not exist are left out.
    pub fn below(directories: &[PathBuf]) -> Sources {
        let roots = directories.iter().filter_map(|directory| directory.canonicalize().ok()).collect();
        Sources { roots, files: HashMap::new() }
    }

    /// The text of a line of the file in which a method stands.
    pub fn line(&mut self, method: &str, file: &str, line: u32) -> Option<String> {
        let relative = place(method, file)?;
        let path = self.roots.iter().find_map(|root| inside(root, &relative))?;
        let lines = self.files.entry(path).or_insert_with_key(|path| read(path));
        let text = lines.get((line as usize).checked_sub(1)?)?.trim();
        (!text.is_empty()).then(|| text.chars().take(LONGEST_LINE).collect())
    }
}

/// `com/acme/Inventory.java` for a method of `com.acme.Inventory` or of a class
/// in it; `None` for names that are no plain names.
fn place(method: &str, file: &str) -> Option<PathBuf> {
    let plain = |name: &str| !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && name != "..";
    let method = method.split(".(").next()?;
    let class = method.rsplit_once('.').map_or("", |(class, _)| class);
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let mut path = PathBuf::new();
    for part in package.split('.').filter(|_| !package.is_empty()) {
        path.push(plain(part).then_some(part)?);
    }
    path.push(plain(file).then_some(file)?);
    Some(path)
}

/// The file, if it really lies below `root` (links are followed first).
fn inside(root: &Path, relative: &Path) -> Option<PathBuf> {
    let path = root.join(relative).canonicalize().ok()?;
    let small = path.metadata().is_ok_and(|data| data.is_file() && data.len() <= LARGEST_BYTES);
    (small && path.starts_with(root)).then_some(path)
}

fn read(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_package_and_file() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("com/acme")).unwrap();
        fs::write(root.path().join("com/acme/Shop.java"), "class Shop {\n  void sell() {}\n}\n").unwrap();
        let mut sources = Sources::below(&[root.path().to_owned()]);
        assert_eq!(sources.line("com.acme.Shop.sell", "Shop.java", 2).as_deref(), Some("void sell() {}"));
        assert_eq!(sources.line("com.acme.Shop$Row.get", "Shop.java", 1).as_deref(), Some("class Shop {"));
        assert_eq!(sources.line("com.acme.Shop.sell", "Shop.java", 0), None);
        assert_eq!(sources.line("com.acme.Shop.sell", "Shop.java", 99), None);
        assert_eq!(sources.line("com.acme.Other.x", "Other.java", 1), None);
    }

    #[test]
    fn nothing_outside_is_read_whatever_the_names_say() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("sources");
        fs::create_dir_all(inside.join("com")).unwrap();
        fs::write(root.path().join("secret"), "secret\n").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret"), inside.join("com/Link.java")).unwrap();
        let mut sources = Sources::below(&[inside]);
        for (method, file) in [
            ("com.A.run", "../../secret"),
            ("com.A.run", ".."),
            ("a...secret", "secret"),
            ("/etc.A.run", "passwd"),
            ("com.Link.run", "Link.java"),
        ] {
            assert_eq!(sources.line(method, file, 1), None, "{method} {file}");
        }
    }
}
