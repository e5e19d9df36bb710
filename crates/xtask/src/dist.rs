//! `./hw dist`: what is released, in `build/dist`.
//!
//! One archive with the command line (static), the agent's library (one for
//! glibc 2.17 and newer and for musl), the API jar, completions, manual page
//! and licences; `headway-fleet` in an archive apart, the debug symbols in another;
//! sums, bills of materials and the provenance. The same commit gives the same bytes, wherever
//! and whenever it is built: `./hw dist --check` builds twice and compares.

mod archive;
mod binaries;
mod check;
mod documents;
mod elf;
mod footprint;
mod fresh;
#[cfg(test)]
mod install;
mod kubernetes;
mod materials;
mod maven;
mod notices;
mod provenance;
mod publisher;
mod readme;
mod system_packages;
mod tools;
mod transcript;

use crate::process::{build_directory, output_of, program, root};
use crate::{page, Misuse, Problem};
use archive::{Archive, Mode};
use binaries::Binary;
use materials::Materials;
use publisher::Publisher;
use std::fs;
use std::path::{Path, PathBuf};
use tools::Tools;

/// What the archive's names end with.
const PLATFORM: &str = "linux-x86_64";

/// The bills of materials: of the agent and the command line, and of `headway-fleet`.
const BILL: &str = "sbom.cdx.json";
const FLEET_BILL: &str = "sbom-fleet.cdx.json";

/// A commit, and what it is called.
struct Release {
    version: String,
    commit: String,
    /// True if files differ from the commit.
    is_modified: bool,
    /// When the commit was made, in seconds since 1970: the only time that is written anywhere.
    epoch: u64,
}

impl Release {
    fn of_checkout() -> Result<Release, Problem> {
        let git = |arguments: &[&str]| output_of(program("git").args(arguments)).map(|text| text.trim().to_owned());
        Ok(Release {
            version: workspace_version()?,
            commit: git(&["rev-parse", "HEAD"])?,
            is_modified: !git(&["status", "--porcelain"])?.is_empty(),
            epoch: git(&["log", "-1", "--format=%ct"])?.parse()?,
        })
    }

    /// The archive without its extension, and its only folder.
    fn name(&self) -> String {
        format!("headway-{}-{PLATFORM}", self.version)
    }

    /// The same of `headway-fleet`.
    fn fleet_name(&self) -> String {
        format!("headway-fleet-{}-{PLATFORM}", self.version)
    }

    /// Version, commit and build, as `headway --version` prints them.
    fn described(&self) -> String {
        let commit: String = self.commit.chars().take(10).collect();
        let mark = if self.is_modified { " with changes" } else { "" };
        format!("{} (commit {commit}{mark}, release for {PLATFORM})", self.version)
    }
}

/// See the file's head.
pub fn dist(rest: &[String]) -> Result<(), Problem> {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => make().map(|_| ()),
        ["--fleet"] => check::fleet_only(),
        ["--check"] => check::everything(),
        ["--check", "--short"] | ["--short", "--check"] => check::one_build(false),
        ["--check", "--short", "--renew"] => check::one_build(true),
        _ => Err(Misuse(format!(
            "takes --check, --check --short, --check --short --renew, --fleet or nothing, not \"{}\"",
            words.join(" ")
        ))
        .into()),
    }
}

/// What can be checked of a release without building one: scripts, the plugin of kubectl, and the
/// recipes of Kubernetes. A part of `./hw test`; the rest takes two link-time optimized builds.
pub fn recipes() -> Result<(), Problem> {
    let complaints = kubernetes::complaints()?;
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("; ").into()),
    }
}

/// Where everything ends up.
fn place() -> PathBuf {
    build_directory().join("dist")
}

/// Builds, packs, and gives the release.
fn make() -> Result<Release, Problem> {
    let release = Release::of_checkout()?;
    let publisher = Publisher::of_checkout()?;
    let tools = Tools::ready()?;
    page::build()?;
    let agent = binaries::agent(&tools, &release)?;
    let cli = binaries::command_line(&tools, &release)?;
    let fleet = binaries::fleet(&tools, &release)?;
    empty(&place())?;
    let bundle = maven::bundle(&release, &publisher, &agent, &cli)?;
    bundle.write(&place().join(format!("{}.tar.gz", maven::name(&release))), release.epoch)?;
    let materials = Materials::read(&release, &tools)?;
    let archive = pack(&release, &tools, &agent, &cli, &materials)?;
    archive.write(&place().join(format!("{}.tar.gz", release.name())), release.epoch)?;
    fs::write(
        place().join(system_packages::deb_name(&release)),
        system_packages::deb(&archive, &release, &publisher)?,
    )?;
    fs::write(
        place().join(system_packages::rpm_name(&release)),
        system_packages::rpm(&archive, &release, &publisher)?,
    )?;
    add_fleet(&release, &tools, &fleet)?;
    debug_symbols(&[agent, cli, fleet])?
        .write(&place().join(format!("{}-debug.tar.gz", release.name())), release.epoch)?;
    fs::copy(root().join("dist/install.sh"), place().join("install.sh"))?;
    fs::write(place().join(BILL), materials.bill()?)?;
    fs::write(place().join("provenance.json"), provenance::text(&release, &tools)?)?;
    archive::write_sums(&place())?;
    for (name, bytes) in archive::files(&place())? {
        println!("{bytes:>10}  build/dist/{name}");
    }
    if let Some(note) = publisher.note() {
        println!("{note}");
    }
    Ok(release)
}

/// Only `headway-fleet`: its archive, its bill of materials and the sums, all else as it was.
fn make_fleet() -> Result<Release, Problem> {
    let release = Release::of_checkout()?;
    let tools = Tools::ready_for_fleet()?;
    page::build()?;
    let fleet = binaries::fleet(&tools, &release)?;
    fs::create_dir_all(place())?;
    add_fleet(&release, &tools, &fleet)?;
    archive::write_sums(&place())?;
    Ok(release)
}

/// The archive of `headway-fleet`, and its bill of materials beside it.
fn add_fleet(release: &Release, tools: &Tools, fleet: &Binary) -> Result<(), Problem> {
    let materials = Materials::of_fleet(release, tools)?;
    let mut archive = Archive::new(&release.fleet_name());
    archive.file("bin/headway-fleet", Mode::Program, &fleet.stripped)?;
    documents::add(&mut archive, documents::FLEET)?;
    add_licences(&mut archive, "headway-fleet", tools, &materials)?;
    documents::check(&archive)?;
    archive.write(&place().join(format!("{}.tar.gz", release.fleet_name())), release.epoch)?;
    fs::write(place().join(FLEET_BILL), materials.bill()?)?;
    Ok(())
}

/// Our licence and those of others.
fn add_licences(archive: &mut Archive, program: &str, tools: &Tools, materials: &Materials) -> Result<(), Problem> {
    let folder = format!("share/doc/{program}");
    archive.file(&format!("{folder}/LICENSE"), Mode::Data, &root().join("LICENSE"))?;
    let of_rust = tools.sysroot.join("share/doc/rust/COPYRIGHT-library.html");
    archive.file(&format!("{folder}/{}", notices::OF_RUST), Mode::Data, &of_rust)?;
    archive.text(&format!("{folder}/THIRD-PARTY-LICENSES.txt"), &notices::text(materials)?);
    Ok(())
}

fn pack(
    release: &Release,
    tools: &Tools,
    agent: &Binary,
    cli: &Binary,
    materials: &Materials,
) -> Result<Archive, Problem> {
    let mut archive = Archive::new(&release.name());
    archive.file("bin/headway", Mode::Program, &cli.stripped)?;
    archive.file("lib/libheadway.so", Mode::Library, &agent.stripped)?;
    archive.file("lib/headway-api.jar", Mode::Data, &root().join("java/api/target/headway-api.jar"))?;
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/headway"),
        ("zsh", "share/zsh/site-functions/_headway"),
        ("fish", "share/fish/vendor_completions.d/headway.fish"),
    ] {
        archive.text(path, &output_of(program(&cli.stripped).args(["completion", shell]))?);
    }
    archive.text("share/man/man1/headway.1", &output_of(program(&cli.stripped).arg("man"))?);
    documents::add(&mut archive, documents::INSTALL)?;
    documents::add(&mut archive, documents::REPORT)?;
    add_licences(&mut archive, "headway", tools, materials)?;
    documents::check(&archive)?;
    Ok(archive)
}

fn debug_symbols(binaries: &[Binary]) -> Result<Archive, Problem> {
    let mut archive = Archive::new("debug");
    for binary in binaries {
        let name = binary.debug.file_name().unwrap_or_default().to_string_lossy();
        archive.file(&name, Mode::Data, &binary.debug)?;
    }
    Ok(archive)
}

fn empty(folder: &Path) -> Result<(), Problem> {
    let _ = fs::remove_dir_all(folder); // it may not be there
    fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()).into())
}

/// The version that all crates have.
fn workspace_version() -> Result<String, Problem> {
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    let workspace = manifest.get("workspace").and_then(|table| table.get("package"));
    let version = workspace.and_then(|table| table.get("version")).and_then(toml::Value::as_str);
    Ok(version.ok_or("Cargo.toml has no workspace.package.version")?.to_owned())
}
