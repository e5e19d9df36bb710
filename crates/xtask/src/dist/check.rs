//! `./hw dist --check`: is a release what it is said to be?
//!
//! Of one build: sizes, what the binaries ask of the system, frame pointers, whether the bill of
//! materials is complete. Of two builds, in different places, by other users, with another clock, time
//! zone, host name, umask and number of jobs: whether every file has the same bytes.

use super::archive::{files, sum};
use super::binaries::{self, OLDEST_GLIBC};
use super::elf::{Dynamic, Wanted};
use super::{footprint, fresh, kubernetes, make, make_fleet, maven, place, readme, Release, BILL, FLEET_BILL};
use crate::process::{build_directory, is_on_path, output_of, program, root, run};
use crate::{packages, Problem};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A copy of the agent lies in the memory of every JVM that it is attached to (4 MiB).
const LARGEST_AGENT: u64 = 4 << 20;

/// What one waits for when it is copied to a server.
const LARGEST_COMMAND_LINE: u64 = 9_000_000;

/// DataFusion, Parquet and TLS, stripped.
const LARGEST_FLEET: u64 = 70_000_000;

/// Libraries that every process with a JVM has, and that musl takes for itself.
const LIBRARIES: [&str; 4] = ["libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0"];

/// glibc's dynamic linker, in which thread-locals are found.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// The frame pointer is saved and set. An early return may stand before it.
const FRAME_POINTER: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

/// Where Debian's package of musl has the library.
const MUSL: &str = "/lib/ld-musl-x86_64.so.1";

/// A build as another user, on a host with another name, in three days (all but the compiler, whose
/// output has no time). A user namespace gives the
/// user another number without hiding compiler and caches, which lie in a home directory.
const ELSEWHERE: &str = "umask 077; hostname elsewhere && exec unshare --user --map-user=1000 --map-group=1000 \
    faketime -f +3d ./hw dist";

/// One build, and everything that can be seen from it. The transcript in `docs/install.md` is compared
/// with this one, or replaced by it.
pub fn one_build(renew: bool) -> Result<(), Problem> {
    let release = make()?;
    let complaints = complaints(&release, renew)?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(format!("{count} complaints").into()),
    }
}

/// Builds and checks only `headway-fleet`.
pub fn fleet_only() -> Result<(), Problem> {
    let release = make_fleet()?;
    let complaints = of_fleet(&release)?;
    let archive = place().join(format!("{}.tar.gz", release.fleet_name()));
    println!("{:>10}  headway-fleet", fs::metadata(binaries::stripped("headway-fleet"))?.len());
    println!("{:>10}  {}", fs::metadata(&archive)?.len(), archive.display());
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("; ").into()),
    }
}

/// One build with its checks, then another that must be the same.
pub fn everything() -> Result<(), Problem> {
    one_build(false)?;
    if Release::of_checkout()?.is_modified {
        return Err(
            "files differ from the commit: a second build, which is made from the commit, would differ, too".into()
        );
    }
    let other = second_build()?;
    let differences = differences(&place(), &other)?;
    if differences.is_empty() {
        println!("a second build, made elsewhere, has the same bytes");
        return Ok(());
    }
    Err(format!("a second build differs in {} (in {})", differences.join(", "), other.display()).into())
}

fn complaints(release: &Release, renew: bool) -> Result<Vec<String>, Problem> {
    let (agent, cli) = (binaries::stripped("libheadway.so"), binaries::stripped("headway"));
    let mut complaints = Vec::new();
    complaints.extend(too_large("libheadway.so", fs::metadata(&agent)?.len(), LARGEST_AGENT));
    complaints.extend(too_large("headway", fs::metadata(&cli)?.len(), LARGEST_COMMAND_LINE));
    complaints.extend(of_library(&Dynamic::read(&agent)?, &musl()?));
    complaints.extend(load_with_musl(&agent)?);
    if !Dynamic::read(&cli)?.is_static() {
        complaints.push("headway is not static".to_owned());
    }
    complaints.extend(missing_in_bill(BILL, &crates_in(&["libheadway.so", "headway"])?)?);
    complaints.extend(of_version("headway", release)?);
    complaints.extend(of_fleet(release)?);
    complaints.extend(fresh::complaint(release, renew)?);
    complaints.extend(readme::complaint(release)?);
    complaints.extend(footprint::complaint(release)?);
    complaints.extend(maven::complaints(release)?);
    complaints.extend(kubernetes::complaints()?);
    Ok(complaints)
}

/// What is wrong with `headway-fleet`: its size, what it asks of the system, its bill of materials, its version.
fn of_fleet(release: &Release) -> Result<Vec<String>, Problem> {
    let program = binaries::stripped("headway-fleet");
    let mut complaints = Vec::new();
    complaints.extend(too_large("headway-fleet", fs::metadata(&program)?.len(), LARGEST_FLEET));
    complaints.extend(of_program("headway-fleet", &Dynamic::read(&program)?));
    complaints.extend(missing_in_bill(FLEET_BILL, &crates_in(&["headway-fleet"])?)?);
    complaints.extend(of_version("headway-fleet", release)?);
    Ok(complaints)
}

/// Does a program print the version that the release has?
fn of_version(name: &str, release: &Release) -> Result<Option<String>, Problem> {
    let expected = format!("{name} {}", release.described());
    let printed = output_of(program(binaries::stripped(name)).arg("--version"))?;
    let printed = printed.trim();
    Ok((printed != expected).then(|| format!("{name} --version prints \"{printed}\", not \"{expected}\"")))
}

/// What keeps a program from running with an old glibc.
fn of_program(name: &str, program: &Dynamic) -> Vec<String> {
    let foreign =
        program.needed.iter().filter(|needed| ![&LIBRARIES[..], &[LOADER]].concat().contains(&needed.as_str()));
    let mut complaints: Vec<String> =
        foreign.map(|needed| format!("{name} needs {needed}, which is not a part of glibc")).collect();
    let newer = program.strong().filter(|wanted| is_newer(wanted));
    complaints.extend(newer.map(|wanted| {
        let version = wanted.version.as_deref().unwrap_or("no library");
        format!("{name} needs {} of {version}, not in glibc {OLDEST_GLIBC}", wanted.name)
    }));
    complaints
}

fn too_large(name: &str, size: u64, most: u64) -> Option<String> {
    (size > most).then(|| format!("{name} has {size} bytes, at most {most} are allowed"))
}

/// What keeps a library from being loaded with an old glibc, or with musl.
fn of_library(library: &Dynamic, musl: &BTreeSet<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    for needed in library.needed.iter().filter(|needed| !LIBRARIES.contains(&needed.as_str())) {
        complaints.push(format!("libheadway.so needs {needed}, which is not a part of every C library"));
    }
    for wanted in library.strong() {
        if is_newer(wanted) {
            let version = wanted.version.as_deref().unwrap_or_default();
            complaints.push(format!("libheadway.so needs {} of {version}, not in glibc {OLDEST_GLIBC}", wanted.name));
        }
        if !musl.contains(&wanted.name) {
            complaints.push(format!("libheadway.so needs {}, which musl does not have", wanted.name));
        }
    }
    let unframed = library.offered.iter().filter(|(_, begins)| !begins.windows(4).any(|bytes| bytes == FRAME_POINTER));
    complaints.extend(unframed.map(|(name, _)| format!("libheadway.so has no frame pointer in {name}")));
    complaints
}

/// True if glibc got it after the oldest version that is served, or if it is not glibc's at all.
fn is_newer(wanted: &Wanted) -> bool {
    let Some(version) = wanted.version.as_deref().and_then(|version| version.strip_prefix("GLIBC_")) else {
        return true;
    };
    numbers(version) > numbers(OLDEST_GLIBC)
}

/// `2.2.5` as numbers. What is none (`PRIVATE`) is newer than everything.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// Every name that musl offers.
fn musl() -> Result<BTreeSet<String>, Problem> {
    let path = Path::new(MUSL);
    let is_here = path.exists() && is_on_path("musl-gcc");
    if !is_here && !packages::install_one_of(&["musl-tools"]) {
        return Err(format!("needs musl-gcc, and musl's library at {MUSL} (package musl-tools)").into());
    }
    Ok(Dynamic::read(path)?.offered.into_iter().map(|(name, _)| name).collect())
}

/// A program with musl that is no JVM loads the library and calls it.
fn load_with_musl(agent: &Path) -> Result<Option<String>, Problem> {
    let load = build_directory().join("dist-load");
    run(program("musl-gcc").arg("-o").arg(&load).arg("dist/load.c"))?;
    let output = program(&load).arg(agent).output().map_err(|e| format!("cannot run {}: {e}", load.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_right = output.status.success() && said.contains("the program runs without a recording");
    Ok((!is_right)
        .then(|| format!("a program with musl cannot load libheadway.so: {} ({})", said.trim(), output.status)))
}

/// Packages whose sources binaries name, in debug symbols and in places of panics: what cargo says about itself is not asked here.
fn crates_in(binaries: &[&str]) -> Result<BTreeSet<String>, Problem> {
    let mut found = BTreeSet::new();
    for name in binaries {
        let whole = binaries::whole(name);
        found.extend(crates_named(&fs::read(&whole).map_err(|e| format!("cannot read {}: {e}", whole.display()))?));
    }
    match found.is_empty() {
        true => Err("the binaries name no package, so the bill of materials cannot be checked".into()),
        false => Ok(found),
    }
}

/// `NAME-VERSION` of paths `/crates/NAME-VERSION/`.
fn crates_named(data: &[u8]) -> BTreeSet<String> {
    const BEGIN: &[u8] = b"/crates/";
    let places = data.windows(BEGIN.len()).enumerate().filter(|(_, window)| *window == BEGIN);
    let names = places.filter_map(|(at, _)| {
        let rest = &data[at + BEGIN.len()..];
        let end = rest.iter().take(100).position(|&byte| byte == b'/' || byte < b' ')?;
        let name = std::str::from_utf8(&rest[..end]).ok()?;
        name_and_version(name).map(|_| name.to_owned())
    });
    names.collect()
}

/// The parts of `toml-1.2.1+spec-1.1.0`. A version may have hyphens, and a name a hyphen before a
/// digit (`md-5`): the version is what begins with a number and a point.
fn name_and_version(crate_name: &str) -> Option<(&str, &str)> {
    let is_version = |text: &str| text.split_once('.').is_some_and(|(major, _)| major.parse::<u64>().is_ok());
    let hyphens = crate_name.match_indices('-');
    hyphens.map(|(at, _)| (&crate_name[..at], &crate_name[at + 1..])).find(|(_, version)| is_version(version))
}

fn missing_in_bill(name: &str, crates: &BTreeSet<String>) -> Result<Vec<String>, Problem> {
    let path = place().join(name);
    let bill = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(missing_in(name, &bill, crates))
}

fn missing_in(name: &str, bill: &str, crates: &BTreeSet<String>) -> Vec<String> {
    let is_missing = |name: &&String| {
        let Some((package, version)) = name_and_version(name) else { return true };
        !bill.contains(&format!("\"pkg:cargo/{package}@{version}"))
    };
    crates.iter().filter(is_missing).map(|package| format!("{name} lacks {package}, which is in a binary")).collect()
}

/// Builds the commit elsewhere, with everything different that must not matter; gives the folder.
fn second_build() -> Result<PathBuf, Problem> {
    let copy = build_directory().join("dist-second/a/longer/way/down");
    let _ = fs::remove_dir_all(&copy); // it may not be there
    run(program("git").args(["clone", "--quiet", "--no-hardlinks"]).arg(root()).arg(&copy))?;
    if !is_on_path("faketime") && !packages::install_one_of(&["faketime"]) {
        return Err("needs faketime for another clock (package faketime)".into());
    }
    let compiler = compiler_with_true_clock()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = compiler.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    let mut second = program("unshare");
    second.current_dir(&copy).args(["--uts", "sh", "-c", ELSEWHERE]);
    second.env_remove("CARGO_TARGET_DIR").env("TZ", "Pacific/Kiritimati").env("CARGO_BUILD_JOBS", "1");
    second.env("LC_ALL", "C").env("USER", "somebody").env("LOGNAME", "somebody");
    second.env("PATH", std::env::join_paths(folders)?).env("RUSTC", &compiler);
    second.env("MAVEN_OPTS", maven_options());
    run(second.env("FAKETIME_DONT_FAKE_MONOTONIC", "1"))?; // Java waits by that clock
    Ok(copy.join("build/dist"))
}

/// Java takes the home directory, where Maven keeps what it has fetched, from the user's number: the
/// other user's would be empty, or not there.
fn maven_options() -> String {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    format!("{} -Duser.home={}", of("MAVEN_OPTS"), of("HOME")).trim().to_owned()
}

/// The compiler's allocator and faketime wait for each other at its start, so it is started without.
fn compiler_with_true_clock() -> Result<PathBuf, Problem> {
    let folder = build_directory().join("dist-compiler");
    fs::create_dir_all(&folder)?;
    let path = folder.join("rustc");
    let sysroot = output_of(program("rustc").args(["--print", "sysroot"]))?;
    fs::write(&path, format!("#!/bin/sh\nunset LD_PRELOAD\nexec '{}/bin/rustc' \"$@\"\n", sysroot.trim()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Names of files that are not the same in both folders.
fn differences(one: &Path, other: &Path) -> Result<Vec<String>, Problem> {
    let names: BTreeSet<String> = files(one)?.into_keys().chain(files(other)?.into_keys()).collect();
    let content = |folder: &Path, name: &str| fs::read(folder.join(name)).ok().map(|content| sum(&content));
    Ok(names.into_iter().filter(|name| content(one, name) != content(other, name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str, version: Option<&str>, is_weak: bool) -> Wanted {
        Wanted { name: name.to_owned(), version: version.map(str::to_owned), is_weak }
    }

    /// What is said about a library that musl could serve.
    fn said(wanted: Wanted, needed: &str, begins: &[u8]) -> String {
        let library = Dynamic {
            needed: [needed.to_owned()].into(),
            offered: vec![("Agent_OnLoad".to_owned(), begins.to_vec())],
            wanted: vec![wanted],
            ..Dynamic::default()
        };
        of_library(&library, &["read".to_owned(), "gettid".to_owned()].into()).join("\n")
    }

    #[test]
    fn crates_are_found_in_the_bill_whatever_their_versions_look_like() {
        let bill = r#""purl": "pkg:cargo/toml@1.2.1+spec-1.1.0", "purl": "pkg:cargo/md-5@0.10.6""#;
        let named =
            crates_named(b"/crates/toml-1.2.1+spec-1.1.0/src /crates/md-5-0.10.6/x /crates/cli/y /crates/a-b/z");
        assert_eq!(named.iter().collect::<Vec<_>>(), ["md-5-0.10.6", "toml-1.2.1+spec-1.1.0"]);
        assert!(missing_in(BILL, bill, &named).is_empty());
        assert_eq!(missing_in(BILL, "", &named).len(), 2);
    }

    #[test]
    fn what_old_or_other_c_libraries_lack_is_found() {
        let read = |version, is_weak| wanted("read", version, is_weak);
        assert_eq!(said(read(Some("GLIBC_2.2.5"), false), "libc.so.6", &FRAME_POINTER), "");
        assert_eq!(said(read(Some("GLIBC_2.17"), false), "libc.so.6", &FRAME_POINTER), "");
        let newer = "libheadway.so needs read of GLIBC_2.18, not in glibc 2.17";
        assert_eq!(said(read(Some("GLIBC_2.18"), false), "libc.so.6", &FRAME_POINTER), newer);
        assert_eq!(said(read(Some("GLIBC_2.18"), true), "libc.so.6", &FRAME_POINTER), "", "weak ones may be missing");
        assert!(said(read(Some("GLIBC_PRIVATE"), false), "libc.so.6", &FRAME_POINTER).contains("GLIBC_PRIVATE"));
        assert!(said(read(None, false), "libc.so.6", &FRAME_POINTER).contains("not in glibc"));
        let of_glibc = wanted("__nss_hash", Some("GLIBC_2.2.5"), false);
        assert_eq!(
            said(of_glibc, "libc.so.6", &FRAME_POINTER),
            "libheadway.so needs __nss_hash, which musl does not have"
        );
    }

    #[test]
    fn other_libraries_and_missing_frame_pointers_are_found() {
        let read = || wanted("read", Some("GLIBC_2.2.5"), false);
        for needed in ["libgcc_s.so.1", "ld-linux-x86-64.so.2", "libstdc++.so.6", "librt.so.1"] {
            assert!(said(read(), needed, &FRAME_POINTER).starts_with(&format!("libheadway.so needs {needed}")));
        }
        let after_a_return = [&[0x83, 0xfa, 0x3f, 0x7f, 0x39], FRAME_POINTER.as_slice()].concat();
        assert_eq!(said(read(), "libc.so.6", &after_a_return), "");
        assert_eq!(
            said(read(), "libc.so.6", &[0x41, 0x57, 0x55, 0x48, 0x89]),
            "libheadway.so has no frame pointer in Agent_OnLoad"
        );
    }

    #[test]
    fn a_package_that_the_bill_lacks_is_found() {
        let data =
            b"\0/crates/serde-1.0.229/src/lib.rs\0x/crates/windows-sys-0.61.2/a\0/crates/agent/src/lib.rs\0/crates/";
        let crates = crates_named(data);
        assert_eq!(crates.iter().collect::<Vec<_>>(), ["serde-1.0.229", "windows-sys-0.61.2"]);
        let bill = r#"{"purl": "pkg:cargo/serde@1.0.229"}"#;
        assert_eq!(missing_in(BILL, bill, &crates), ["sbom.cdx.json lacks windows-sys-0.61.2, which is in a binary"]);
    }

    #[test]
    fn a_program_needs_nothing_but_an_old_glibc() {
        let complaints = |needed: &str, version: &str| {
            let needed = ["libc.so.6", LOADER, needed].map(str::to_owned).into();
            let wanted = vec![wanted("f", Some(version), false), wanted("g", Some("GLIBC_2.33"), true)];
            of_program("headway-fleet", &Dynamic { needed, wanted, ..Dynamic::default() })
        };
        assert_eq!(complaints("libm.so.6", "GLIBC_2.17"), Vec::<String>::new());
        assert_eq!(complaints("libm.so.6", "GLIBC_2.18"), ["headway-fleet needs f of GLIBC_2.18, not in glibc 2.17"]);
        assert_eq!(
            complaints("libgcc_s.so.1", "GLIBC_2.17"),
            ["headway-fleet needs libgcc_s.so.1, which is not a part of glibc"]
        );
    }

    #[test]
    fn sizes_have_a_bound() {
        assert_eq!(too_large("a", 10, 10), None);
        assert_eq!(too_large("a", 11, 10).as_deref(), Some("a has 11 bytes, at most 10 are allowed"));
    }
}
