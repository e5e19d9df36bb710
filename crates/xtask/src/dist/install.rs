//! `dist/install.sh`, tried on archives that are made here.

use super::archive::{write_sums, Archive, Mode};
use super::PLATFORM;
use crate::process::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a script, an archive and its sums; removed at the end.
struct Download(PathBuf);

impl Download {
    fn of(test: &str, files: &[&str]) -> Download {
        let folder = std::env::temp_dir().join(format!("headway-install-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder); // it may not be there
        fs::create_dir_all(folder.join("download")).unwrap();
        fs::copy(root().join("dist/install.sh"), folder.join("download/install.sh")).unwrap();
        let download = Download(folder);
        download.pack("1.0.0", files);
        download
    }

    fn pack(&self, version: &str, files: &[&str]) {
        self.pack_program("headway", version, files);
    }

    fn pack_program(&self, name: &str, version: &str, files: &[&str]) {
        let mut archive = Archive::new(&format!("{name}-{version}-{PLATFORM}"));
        let program = self.0.join("program");
        fs::write(&program, format!("#!/bin/sh\necho {name} {version}\n")).unwrap();
        archive.file(&format!("bin/{name}"), Mode::Program, &program).unwrap();
        archive.text(&format!("share/doc/{name}/LICENSE"), "text");
        files.iter().for_each(|file| archive.text(file, version));
        fs::remove_file(program).unwrap();
        archive.write(&self.archive(&format!("{name}-{version}")), 1_700_000_000).unwrap();
        write_sums(&self.0.join("download")).unwrap();
    }

    /// `name` is a program's with its version.
    fn archive(&self, name: &str) -> PathBuf {
        self.0.join(format!("download/{name}-{PLATFORM}.tar.gz"))
    }

    /// Runs the script: whether it was content, and what it wrote.
    fn install(&self, arguments: &[&str]) -> (bool, String) {
        let mut script = Command::new("sh");
        script.arg(self.0.join("download/install.sh")).arg("--prefix").arg(self.prefix()).args(arguments);
        let output = script.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn prefix(&self) -> PathBuf {
        self.0.join("prefix")
    }

    fn has(&self, file: &str) -> bool {
        self.prefix().join(file).exists()
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Everything below a folder that is no folder.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
}

#[test]
fn an_archive_is_installed_and_removed() {
    let download = Download::of("whole", &["lib/libheadway.so"]);
    let (content, said) = download.install(&[]);
    assert!(content && said.starts_with("headway 1.0.0 is installed in "), "{said}");
    assert!(said.contains("is not on the PATH"), "{said}");
    assert!(download.has("bin/headway") && download.has("lib/libheadway.so"));
    assert_eq!(count(&download.prefix()), 4, "and the list of what was installed");
    let somebody_elses = download.prefix().join("lib/other");
    fs::write(&somebody_elses, "").unwrap();
    let (content, said) = download.install(&["--remove"]);
    assert!(content && said.starts_with("Headway is removed from "), "{said}");
    assert_eq!((count(&download.prefix()), somebody_elses.exists()), (1, true));
    let (content, said) = download.install(&["--remove"]);
    assert!(!content && said.contains("nothing is installed in"), "{said}");
}

#[test]
fn the_fleet_is_installed_beside_and_both_are_removed() {
    let download = Download::of("fleet", &["lib/libheadway.so"]);
    download.pack_program("headway-fleet", "1.0.0", &[]);
    let (content, said) = download.install(&[]);
    assert!(content && said.starts_with("headway 1.0.0 is installed in "), "{said}");
    assert!(!download.has("bin/headway-fleet"), "{said}");
    for _ in ["installed", "upgraded"] {
        let archive = download.archive("headway-fleet-1.0.0");
        let (content, said) = download.install(&[archive.to_str().unwrap()]);
        assert!(content && said.starts_with("headway-fleet 1.0.0 is installed in "), "{said}");
        assert!(download.has("bin/headway-fleet") && download.has("bin/headway"));
        assert!(download.has("share/doc/headway-fleet/LICENSE") && download.has("lib/libheadway.so"));
    }
    let (content, said) = download.install(&["--remove"]);
    assert!(content && said.starts_with("Headway is removed from "), "{said}");
    assert_eq!(count(&download.prefix()), 0);
}

#[test]
fn an_upgrade_leaves_nothing_of_the_old_version() {
    let download = Download::of("upgrade", &["lib/old"]);
    assert!(download.install(&[]).0);
    download.pack("1.1.0", &["lib/new"]);
    let (content, said) = download.install(&[]);
    assert!(!content && said.contains("several archives"), "{said}");
    let archive = download.archive("headway-1.1.0");
    let (content, said) = download.install(&[archive.to_str().unwrap()]);
    assert!(content && said.starts_with("headway 1.1.0 is installed in "), "{said}");
    assert!(download.has("lib/new") && !download.has("lib/old"));
}

#[test]
fn a_changed_archive_is_not_installed() {
    let download = Download::of("changed", &[]);
    let archive = download.archive("headway-1.0.0");
    let mut bytes = fs::read(&archive).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&archive, bytes).unwrap();
    let (content, said) = download.install(&[]);
    assert!(!content && said.contains("is damaged or was changed"), "{said}");
    assert_eq!(count(&download.prefix()), 0);
    fs::remove_file(download.0.join("download/SHA256SUMS")).unwrap();
    let (content, said) = download.install(&[]);
    assert!(!content && said.contains("cannot be checked"), "{said}");
    assert_eq!(count(&download.prefix()), 0);
}

#[test]
fn what_is_typed_wrongly_is_said() {
    let download = Download::of("usage", &[]);
    for (arguments, words) in [
        (["--prefx", "/a"].as_slice(), "not \"--prefx\""),
        (&["a", "b"], "takes one archive"),
        (&["nowhere"], "no file nowhere"),
    ] {
        let (content, said) = download.install(arguments);
        assert!(!content && said.contains(words), "{said}");
    }
}
