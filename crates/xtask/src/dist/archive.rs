//! Archives whose bytes depend on nothing but what is in them: names in order, one owner, one
//! time, two modes.

use crate::Problem;
use flate2::{write::GzEncoder, Compression};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Who may do what with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Data = 0o644,
    Program = 0o755,
    /// Nobody may write it, so that processes load it from where it is installed.
    Library = 0o555,
}

/// What goes into an archive.
pub struct Archive {
    folder: String,
    files: BTreeMap<String, (Mode, Vec<u8>)>,
}

impl Archive {
    /// Everything will be below this folder, if it has a name.
    pub fn new(folder: &str) -> Archive {
        Archive { folder: folder.to_owned(), files: BTreeMap::new() }
    }

    /// Takes in a file under the name `to`.
    pub fn file(&mut self, to: &str, mode: Mode, from: &Path) -> Result<(), Problem> {
        let content = fs::read(from).map_err(|e| format!("cannot read {}: {e}", from.display()))?;
        self.files.insert(to.to_owned(), (mode, content));
        Ok(())
    }

    /// Takes in a text under the name `to`.
    pub fn text(&mut self, to: &str, content: &str) {
        self.files.insert(to.to_owned(), (Mode::Data, content.as_bytes().to_vec()));
    }

    /// Names, modes and contents, in order.
    pub fn contents(&self) -> impl Iterator<Item = (&str, Mode, &[u8])> {
        self.files.iter().map(|(name, (mode, content))| (name.as_str(), *mode, content.as_slice()))
    }

    /// Adds the sums that repositories of Maven have beside every file.
    pub fn add_sums_of_maven(&mut self) {
        let sums: Vec<(String, String)> =
            self.files.iter().map(|(name, (_, content))| (format!("{name}.sha256"), sum(content))).collect();
        let sha1 =
            self.files.iter().map(|(name, (_, content))| (format!("{name}.sha1"), in_digits(&Sha1::digest(content))));
        let sums: Vec<(String, String)> = sums.into_iter().chain(sha1).collect();
        for (name, sum) in sums {
            self.text(&name, &sum);
        }
    }

    /// Packs everything; `epoch` is the time of every file.
    pub fn write(&self, path: &Path, epoch: u64) -> Result<(), Problem> {
        fs::write(path, self.packed(epoch)?).map_err(|e| format!("cannot write {}: {e}", path.display()).into())
    }

    fn packed(&self, epoch: u64) -> Result<Vec<u8>, Problem> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        for (name, (mode, content)) in &self.files {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(*mode as u32);
            header.set_mtime(epoch);
            header.set_uid(0);
            header.set_gid(0);
            let folder = if self.folder.is_empty() { String::new() } else { format!("{}/", self.folder) };
            tar.append_data(&mut header, format!("{folder}{name}"), content.as_slice())?;
        }
        Ok(tar.into_inner()?.finish()?)
    }
}

/// The files of a folder, by name, with their sizes.
pub fn files(folder: &Path) -> Result<BTreeMap<String, u64>, Problem> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))? {
        let entry = entry?;
        found.insert(entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len());
    }
    Ok(found)
}

const SUMS: &str = "SHA256SUMS";

/// Writes `SHA256SUMS`, which `sha256sum -c` reads, about everything else in the folder.
pub fn write_sums(folder: &Path) -> Result<(), Problem> {
    let mut text = String::new();
    for name in files(folder)?.into_keys().filter(|name| name != SUMS) {
        let content = fs::read(folder.join(&name))?;
        text.push_str(&format!("{}  {name}\n", sum(&content)));
    }
    fs::write(folder.join(SUMS), text).map_err(|e| format!("cannot write {SUMS}: {e}").into())
}

/// A SHA-256 in hexadecimal digits.
pub fn sum(content: &[u8]) -> String {
    in_digits(&Sha256::digest(content))
}

fn in_digits(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(names: [&str; 2]) -> Vec<u8> {
        let mut archive = Archive::new("top");
        for name in names {
            archive.text(name, name);
        }
        archive.packed(1_700_000_000).unwrap()
    }

    #[test]
    fn the_order_in_which_files_come_does_not_show() {
        assert_eq!(archive(["a", "b/c"]), archive(["b/c", "a"]));
        assert_ne!(archive(["a", "b"]), archive(["a", "c"]));
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let packed = archive(["b/c", "a"]);
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let entries = tar.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let (mode, time, user) = (header.mode().unwrap(), header.mtime().unwrap(), header.uid().unwrap());
            format!("{} {mode:o} {time} {user}", entry.path().unwrap().display())
        });
        assert_eq!(entries.collect::<Vec<_>>(), ["top/a 644 1700000000 0", "top/b/c 644 1700000000 0"]);
    }

    #[test]
    fn sums_are_those_of_the_standard() {
        assert_eq!(sum(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
