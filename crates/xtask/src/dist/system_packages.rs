//! The archive's files as packages for Debian (`.deb`) and for RPM (`.rpm`): nothing is configured
//! and nothing runs at installation.

use super::archive::{Archive, Mode};
use super::publisher::Publisher;
use super::Release;
use crate::Problem;
use flate2::{write::GzEncoder, Compression};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const SUMMARY: &str = "Profiler for the JVM: which locks block threads, and what their owners did";
const DESCRIPTION: &str = "Attaches to a running HotSpot JVM, records to a JFR file and prints findings.";

/// The name of Debian's package.
pub fn deb_name(release: &Release) -> String {
    format!("headway_{}_amd64.deb", release.version)
}

/// The name of RPM's package.
pub fn rpm_name(release: &Release) -> String {
    format!("headway-{}-1.x86_64.rpm", release.version)
}

/// Where a file of the archive goes in a system.
fn in_system(name: &str) -> String {
    match name.strip_prefix("lib/") {
        Some(rest) => format!("usr/lib/headway/{rest}"),
        None => format!("usr/{name}"),
    }
}

/// Debian's package.
pub fn deb(archive: &Archive, release: &Release, publisher: &Publisher) -> Result<Vec<u8>, Problem> {
    let size: usize = archive.contents().map(|(_, _, content)| content.len()).sum();
    let control = format!(
        "Package: headway\nVersion: {}\nArchitecture: amd64\nMaintainer: {} <{}>\n\
         Installed-Size: {}\nSection: devel\nPriority: optional\nHomepage: {}\nDescription: {SUMMARY}\n {DESCRIPTION}\n",
        release.version,
        publisher.name,
        publisher.email,
        size.div_ceil(1024),
        publisher.home,
    );
    let files = archive.contents().map(|(name, mode, content)| (in_system(name), (mode, content.to_vec()))).collect();
    let control = BTreeMap::from([("control".to_owned(), (Mode::Data, control.into_bytes()))]);
    let mut packed = ar::Builder::new(Vec::new());
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", with_folders(&control, release.epoch)?),
        ("data.tar.gz", with_folders(&files, release.epoch)?),
    ];
    for (name, content) in parts {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), content.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(release.epoch);
        packed.append(&header, content.as_slice())?;
    }
    Ok(packed.into_inner()?)
}

/// A packed archive in which every folder stands before what is in it, as dpkg needs it.
fn with_folders(files: &BTreeMap<String, (Mode, Vec<u8>)>, epoch: u64) -> Result<Vec<u8>, Problem> {
    let folders: BTreeSet<&Path> = files.keys().flat_map(|name| Path::new(name).ancestors().skip(1)).collect();
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    let header = |mode: u32, kind, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size as u64);
        header.set_mode(mode);
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header
    };
    for folder in folders {
        let mut header = header(0o755, tar::EntryType::Directory, 0);
        tar.append_data(&mut header, format!("./{}/", folder.display()).replace(".//", "./"), std::io::empty())?;
    }
    for (name, (mode, content)) in files {
        let mut header = header(*mode as u32, tar::EntryType::Regular, content.len());
        tar.append_data(&mut header, format!("./{name}"), content.as_slice())?;
    }
    Ok(tar.into_inner()?.finish()?)
}

/// RPM's package.
pub fn rpm(archive: &Archive, release: &Release, publisher: &Publisher) -> Result<Vec<u8>, Problem> {
    let config = rpm::BuildConfig::v4()
        .compression(rpm::CompressionWithLevel::Gzip(9))
        .source_date(u32::try_from(release.epoch)?);
    let mut package = rpm::PackageBuilder::new("headway", &release.version, "Apache-2.0", "x86_64", SUMMARY);
    package.using_config(config).description(DESCRIPTION).url(publisher.home.as_str()).vcs(release.commit.as_str());
    package.build_host("reproducible"); // what packages say whose bytes depend on no host
    for (name, mode, content) in archive.contents() {
        let options = rpm::FileOptions::new(format!("/{}", in_system(name)));
        package.with_file_contents(content, options.permissions(mode as u16))?;
    }
    let mut packed = Vec::new();
    package.build()?.write(&mut packed)?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        Release { version: "1.2.3".into(), commit: "c0ffee".into(), is_modified: false, epoch: 1_700_000_000 }
    }

    fn publisher() -> Publisher {
        Publisher { name: "A B".into(), email: "a@b.example".into(), home: "https://b.example".into() }
    }

    fn archive() -> Archive {
        let mut archive = Archive::new("headway");
        archive.text("lib/libheadway.so", "library");
        archive.text("share/doc/headway/LICENSE", "text");
        archive
    }

    #[test]
    fn debs_have_their_files_and_folders_in_order() {
        let packed = deb(&archive(), &release(), &publisher()).unwrap();
        assert_eq!(packed, deb(&archive(), &release(), &publisher()).unwrap());
        let mut parts = ar::Archive::new(packed.as_slice());
        let mut names = Vec::new();
        let (mut data, mut control) = (Vec::new(), String::new());
        while let Some(part) = parts.next_entry() {
            let mut part = part.unwrap();
            names.push(String::from_utf8_lossy(part.header().identifier()).into_owned());
            data.clear();
            std::io::copy(&mut part, &mut data).unwrap();
            if names.last().is_some_and(|name| name == "control.tar.gz") {
                let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(data.as_slice()));
                let described = tar.entries().unwrap().map(Result::unwrap);
                for mut file in described.filter(|file| file.path().unwrap().ends_with("control")) {
                    std::io::Read::read_to_string(&mut file, &mut control).unwrap();
                }
            }
        }
        assert!(control.contains("\nMaintainer: A B <a@b.example>\n"), "{control}");
        assert!(control.contains("\nHomepage: https://b.example\n"), "{control}");
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(data.as_slice()));
        let paths: Vec<String> =
            tar.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
        let (folder, file) = (paths.iter().position(|path| path.ends_with("usr/lib/headway/")), paths.len() - 2);
        assert!(folder.is_some_and(|folder| folder < file), "{paths:?}");
        assert!(paths[file].ends_with("usr/lib/headway/libheadway.so"), "{paths:?}");
    }

    #[test]
    fn rpms_have_their_files() {
        let packed = rpm(&archive(), &release(), &publisher()).unwrap();
        assert_eq!(packed, rpm(&archive(), &release(), &publisher()).unwrap());
        let package = rpm::Package::parse(&mut packed.as_slice()).unwrap();
        let paths = package.metadata.get_file_paths().unwrap();
        assert_eq!(
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            ["/usr/lib/headway/libheadway.so", "/usr/share/doc/headway/LICENSE"]
        );
        assert_eq!(package.metadata.get_version().unwrap(), "1.2.3");
        assert_eq!(package.metadata.get_url().unwrap(), "https://b.example");
    }
}
