//! The binaries: built small, stripped, their debug symbols in a file beside them.
//!
//! The agent is linked against the names that glibc 2.17 had (zig knows those of every version),
//! with the unwinder inside. The standard library is built with it: small, with frame pointers
//! (the exit hook follows them) and without the symbol reader for backtraces, it saves a seventh
//! of the library. That, and the options of `SMALL_AGENT`, stable compilers do only when they are
//! made to take unstable options (`RUSTC_BOOTSTRAP`).

use super::tools::{Tools, LIBRARY_OF_LINKER, STATIC};
use super::Release;
use crate::fleet;
use crate::process::{program, root, run, target_directory};
use crate::Problem;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// The oldest C library that the agent runs with.
pub const OLDEST_GLIBC: &str = "2.17";

const GNU: &str = "x86_64-unknown-linux-gnu";

/// The agent packs at one level (`ZSTD_LEVEL` of `crates/jfr/src/packing.rs`), which needs none of
/// the slower strategies, and reads only what it packed itself. Copies of the same loop for each width
/// of a match make packing 12 % faster and the library 44 KB larger.
const SMALL_ZSTD: &str = "-DZSTD_EXCLUDE_GREEDY_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_LAZY_BLOCK_COMPRESSOR \
    -DZSTD_EXCLUDE_LAZY2_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_BTLAZY2_BLOCK_COMPRESSOR \
    -DZSTD_EXCLUDE_BTOPT_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_BTULTRA_BLOCK_COMPRESSOR \
    -DHUF_FORCE_DECOMPRESS_X1=1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT=1 -DZSTD_STRIP_ERROR_STRINGS=1 -DDYNAMIC_BMI2=0 \
    -DZSTD_NO_INLINE=1 -DHUF_DISABLE_FAST_DECODE=1 \
    -fno-asynchronous-unwind-tables -fno-unwind-tables";

/// Calls that need no table of addresses, and panics that do not name their line: their messages
/// stay, the lines are 1,300 pairs of text and address. `{:?}` prints nothing, and the code for it is
/// left out: the agent uses it nowhere, which a test below checks.
const SMALL_AGENT: [&str; 6] =
    ["-Z", "relax-elf-relocations=yes", "-Z", "location-detail=none", "-Z", "fmt-debug=none"];

/// A binary in two parts.
pub struct Binary {
    pub stripped: PathBuf,
    pub debug: PathBuf,
}

/// `libheadway.so`.
pub fn agent(tools: &Tools, release: &Release) -> Result<Binary, Problem> {
    let mut build = cargo(tools, release, "dist-agent", &SMALL_AGENT)?;
    build.args(["-p", "headway-agent", "--lib", "--target", &format!("{GNU}.{OLDEST_GLIBC}")]);
    build.args(["-Z", "build-std=std,panic_unwind", "-Z", "build-std-features=optimize_for_size"]);
    build.env("RUSTC_BOOTSTRAP", "1");
    let for_c = format!("{} {SMALL_ZSTD}", build_environment(&build, "CFLAGS"));
    run(build.env("CFLAGS", for_c))?;
    let agent = in_two("libheadway.so")?;
    // Thread-locals come from the dynamic linker. Every process has it, under another name with
    // each C library, so it must not be asked for by name.
    run(tools.patchelf().args(["--remove-needed", "ld-linux-x86-64.so.2"]).arg(&agent.stripped))?;
    Ok(agent)
}

/// `headway`.
pub fn command_line(tools: &Tools, release: &Release) -> Result<Binary, Problem> {
    let mut build = cargo(tools, release, "dist", &[])?;
    build.args(["-p", "headway-cli", "--bin", "headway", "--target", STATIC]);
    build.env("HEADWAY_VERSION", release.described());
    run(&mut build)?;
    in_two("headway")
}

/// `headway-fleet`, of the workspace `fleet/`. It is linked against glibc, not static, because many threads
/// allocate at a time in queries, and musl's allocator has one lock for all of them.
pub fn fleet(tools: &Tools, release: &Release) -> Result<Binary, Problem> {
    let mut build = cargo(tools, release, "dist", &[])?;
    fleet::enter(&mut build);
    build.args(["-p", "headway-fleet", "--bin", "headway-fleet", "--target", &format!("{GNU}.{OLDEST_GLIBC}")]);
    build.env("HEADWAY_VERSION", release.described());
    run(&mut build)?;
    in_two("headway-fleet")
}

fn build_environment(command: &Command, name: &str) -> String {
    let set = command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
    set.unwrap_or_default().to_string_lossy().into_owned()
}

/// A built binary with its debug symbols.
pub fn whole(name: &str) -> PathBuf {
    match name {
        "headway" => built(STATIC, "dist", name),
        "headway-fleet" => built(GNU, "dist", name),
        _ => built(GNU, "dist-agent", name),
    }
}

/// A binary as it is shipped.
pub fn stripped(name: &str) -> PathBuf {
    directory().join("stripped").join(name)
}

/// A directory of its own: other flags would make cargo build everything else again.
fn directory() -> PathBuf {
    target_directory().join("dist")
}

fn built(target: &str, profile: &str, name: &str) -> PathBuf {
    directory().join(target).join(profile).join(name)
}

fn cargo(tools: &Tools, release: &Release, profile: &str, flags: &[&str]) -> Result<Command, Problem> {
    let places = places(tools)?;
    let mut cargo = tools.cargo();
    cargo.args(["--locked", "--profile", profile, "--target-dir"]).arg(directory());
    let renamed = |option: &str| -> Vec<String> {
        places.iter().map(|(from, to)| format!("{option}={}={to}", from.display())).collect()
    };
    let mut for_rust = flags_of_checkout()?;
    for_rust.extend(renamed("--remap-path-prefix"));
    for_rust.extend(flags.iter().map(|&flag| flag.to_owned()));
    cargo.env("RUSTFLAGS", for_rust.join(" ")).env("CFLAGS", renamed("-ffile-prefix-map").join(" "));
    cargo.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    // The linker compiles its own C files, whose debug symbols name the directory that it runs in. It has
    // no option for that; the compiler inside it reads further options from here ("#": silently). What it
    // compiled for others, without them, is not ours to use.
    let for_linker: Vec<String> = renamed("-ffile-prefix-map").iter().map(|option| format!("+{option}")).collect();
    cargo.env("CCC_OVERRIDE_OPTIONS", format!("#{}", for_linker.join(" ")));
    cargo.env("ZIG_GLOBAL_CACHE_DIR", directory().join("zig-cache"));
    // The two parts of itself that it compiles have no such option. They name this, the same everywhere.
    cargo.env("ZIG_LIB_DIR", LIBRARY_OF_LINKER);
    Ok(cargo)
}

/// What `.cargo/config.toml` says: flags in the environment replace it.
fn flags_of_checkout() -> Result<Vec<String>, Problem> {
    let config: toml::Table = toml::from_str(&fs::read_to_string(root().join(".cargo/config.toml"))?)?;
    let flags = config.get("build").and_then(|build| build.get("rustflags")).and_then(toml::Value::as_array);
    let flags = flags.ok_or(".cargo/config.toml has no build.rustflags")?;
    Ok(flags.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect())
}

/// Where sources lie here, and what they are called in binaries.
fn places(tools: &Tools) -> Result<Vec<(PathBuf, &'static str)>, Problem> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    // The last one that matches counts, so what lies deeper comes later.
    let mut places = vec![(tools.sysroot.join("lib/rustlib/src/rust"), "/rust"), (root(), "/headway")];
    let mut registries: Vec<PathBuf> =
        fs::read_dir(&sources).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    registries.sort();
    places.extend(registries.into_iter().map(|registry| (registry, "/crates")));
    match places.iter().find(|(from, _)| from.to_string_lossy().contains(char::is_whitespace)) {
        Some((from, _)) => Err(format!("cannot build below a path with spaces: {}", from.display()).into()),
        None => Ok(places),
    }
}

/// Splits off the debug symbols.
fn in_two(name: &str) -> Result<Binary, Problem> {
    let whole = whole(name);
    let binary = Binary { stripped: stripped(name), debug: PathBuf::from(format!("{}.debug", whole.display())) };
    fs::create_dir_all(directory().join("stripped"))?;
    let objcopy = || program("objcopy");
    run(objcopy().args(["--only-keep-debug", "--compress-debug-sections=zlib"]).arg(&whole).arg(&binary.debug))?;
    run(objcopy().args(["--strip-all", "--remove-section=.comment"]).arg(&whole).arg(&binary.stripped))?;
    // Jars keep the modes of what is in them; the builder's umask is not theirs.
    fs::set_permissions(&binary.stripped, fs::Permissions::from_mode(0o755))?;
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use crate::process::root;
    use std::fs;
    use std::path::Path;

    /// What the agent is made of.
    const CRATES: [&str; 10] =
        ["agent", "analysis", "causal", "hook", "host", "hotspot", "jfr", "model", "sample", "signal"];

    /// Lines of a file with Debug output, up to its tests.
    fn debug_output(text: &str) -> Vec<String> {
        let code = text
            .lines()
            .take_while(|line| !line.trim_start().starts_with("#[cfg(test)]") && !line.contains("all(test"));
        let is_output =
            |line: &&str| (line.contains(":?}") || line.contains(":#?}")) && !line.trim_start().starts_with("//");
        code.filter(is_output).filter(|line| !line.contains("debug_assert")).map(str::to_owned).collect()
    }

    fn search(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                search(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
                let lines = debug_output(&fs::read_to_string(&path).unwrap());
                found.extend(lines.into_iter().map(|line| format!("{}: {}", path.display(), line.trim())));
            }
        }
    }

    #[test]
    fn the_agent_prints_no_debug_output_which_its_release_leaves_out() {
        assert_eq!(
            debug_output("a {b:?}\n// {c:?}\nd {}\ndebug_assert!(x, \"{:?}\", y);\n#[cfg(test)]\n{e:?}"),
            ["a {b:?}"]
        );
        let mut found = Vec::new();
        CRATES.iter().for_each(|name| search(&root().join("crates").join(name).join("src"), &mut found));
        assert_eq!(found, Vec::<String>::new());
    }
}
