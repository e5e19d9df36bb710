//! Compiling the test programs, and running them in JVMs of
//! their own with the probe loaded.

pub use headway_jdk::Jdk;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

/// The probe, which cargo builds beside the tests.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let library = test.with_file_name("libheadway_hotspot_probe.so");
    assert!(library.exists(), "{} was not built", library.display());
    library
}

/// The compiled test programs: by the oldest JDK there is with a compiler, for
/// 17, so that every JDK runs the same classes.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let compiler = [17, 25, 21].into_iter().find_map(|version| {
            let javac = Jdk::wanted(version)?.tool("javac");
            javac.exists().then_some(javac)
        });
        let out = scratch("classes");
        let sources = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/java")).unwrap();
        let status = Command::new(compiler.expect("a JDK with javac"))
            .args(["--release", "17", "-g", "-d"])
            .arg(&out)
            .args(sources.map(|source| source.unwrap().path()))
            .status()
            .unwrap();
        assert!(status.success());
        out
    })
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

/// What the probe saw in one JVM.
pub struct Seen {
    pub counters: BTreeMap<String, u64>,
    /// Which JVM that was and what was seen: what a failed test has to say.
    pub text: String,
}

impl Seen {
    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    #[allow(dead_code)] // each test file takes what it needs
    /// All stacks equal, all names and lines equal, no key for two stacks, and
    /// re-used walks like fresh ones.
    pub fn assert_agreement(&self, at_least: u64) {
        let checks = self.get("checks_native") + self.get("checks_enter") + self.get("checks_exit");
        assert!(checks >= at_least, "only {checks} checks\n{}", self.text);
        for name in WRONG {
            assert_eq!(self.get(name), 0, "{name}\n{}", self.text);
        }
        let moved = self.get("monitors_moved");
        assert!(moved * 50 <= checks, "{moved} of {checks} beside a collection\n{}", self.text);
        assert!(self.get("methods") > 0, "{}", self.text);
    }
}

/// Counters that must stay zero.
#[allow(dead_code)] // as above
const WRONG: [&str; 12] = [
    "unequal",
    "undecodable",
    "no_start",
    "no_jvmti_stack",
    "key_aliases",
    "names_unequal",
    "lines_unequal",
    "reuse_unequal",
    "same_but_other",
    "monitors_unequal",
    "monitors_not_owned",
    "threads_unequal",
];

/// Runs a test program and gives what the probe saw.
#[allow(dead_code)] // each test file takes what it needs
pub fn run(jdk: &Jdk, flags: &[&str], program: &str) -> Seen {
    run_with(jdk, flags, program, &[])
}

/// The same with more in the environment.
pub fn run_with(jdk: &Jdk, flags: &[&str], program: &str, environment: &[(&str, OsString)]) -> Seen {
    let library = library();
    let report = scratch("report").join(format!("{}-{program}{}", jdk.release, flags.concat()));
    let output = Command::new(jdk.home.join("bin/java"))
        .arg(format!("-agentpath:{}={}", library.display(), report.display()))
        .arg(format!("-Dprobe.library={}", library.display()))
        .args(["-Xmx256m", "-XX:-CreateCoredumpOnCrash", "--enable-native-access=ALL-UNNAMED"])
        .arg(format!("-XX:ErrorFile={}.crash", report.display()))
        .args(flags)
        .arg("-cp")
        .arg(classes())
        .arg(program)
        .envs(environment.iter().map(|(name, value)| (*name, value)))
        .output()
        .unwrap();
    assert!(output.status.success(), "{jdk:?} {flags:?} {program}: {}", said(&output));
    let text = fs::read_to_string(&report).unwrap();
    let counter = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_string(), value.parse().ok()?))
    };
    let counters = text.lines().filter_map(counter).collect();
    Seen { counters, text: format!("{} {flags:?} {program}\n{text}", jdk.release) }
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}
