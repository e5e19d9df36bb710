//! Ways to run and to build a JVM: locking modes, headers, collectors,
//! compilers, stripped libraries.

use super::stage::{shows_less, shows_owners, Stage};
use super::Fault;
use crate::guarded::Guarded;
use crate::Problem;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const GROUP: &str = "Ways to run a JVM";
const BUILDS: &str = "Builds of the JVM";
const OWNERS: &str = "contentions with the owners' call stacks; the program runs on";

/// Flags that change how locks, objects or code are represented.
const MODES: [(u32, &str); 33] = [
    (17, ""),
    (17, "-XX:+UseHeavyMonitors"),
    (17, "-XX:+UseBiasedLocking"),
    (17, "-XX:+UseSerialGC"),
    (17, "-XX:+UseParallelGC"),
    (17, "-XX:+UseZGC"),
    (17, "-XX:-UseCompressedOops"),
    (17, "-XX:-UseCompressedClassPointers"),
    (17, "-Xint"),
    (17, "-XX:TieredStopAtLevel=1"),
    (17, "-XX:-TieredCompilation"),
    (17, "-XX:-UsePerfData"),
    (17, "-Xss512k"),
    (17, "-Xss180k"),
    (17, "-Xrs"),
    (21, ""),
    (21, "-XX:LockingMode=0"),
    (21, "-XX:LockingMode=1"),
    (21, "-XX:LockingMode=2"),
    (21, "-XX:+UseZGC -XX:+ZGenerational"),
    (21, "-Xint"),
    (25, ""),
    (25, "-XX:LockingMode=0"),
    (25, "-XX:LockingMode=1"),
    (25, "-XX:+UseCompactObjectHeaders"),
    (25, "-XX:+UseObjectMonitorTable"),
    (25, "-XX:+UseZGC"),
    (25, "-XX:+UseShenandoahGC"),
    (25, "-XX:-UseCompressedOops"),
    (25, "-Xint"),
    (25, "-XX:TieredStopAtLevel=1"),
    (25, "-Xshare:off"),
    (25, "-Xss180k"),
];

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults: Vec<Fault> = MODES.into_iter().map(mode).collect();
    for release in [17, 25] {
        faults.push(Fault::new(
            BUILDS,
            format!("JDK {release} whose `libjvm.so` has no symbols"),
            STRIPPED,
            move |stage| {
                let mut program = stripped(stage, release)?;
                shows_less(&stage.record(&mut program, &[])?, "SafeFetch")
            },
        ));
        faults.push(Fault::new(
            GROUP,
            format!("JDK {release}, monitors that native code enters and exits (JNI)"),
            "contentions, the native methods' callers among the owners; the program runs on",
            move |stage| jni(stage, release),
        ));
    }
    faults
}

const STRIPPED: &str = "contentions; one line for what is missing and what is used instead; the program runs on";

fn mode((release, flags): (u32, &'static str)) -> Fault {
    let what = match flags {
        "" => format!("JDK {release}"),
        flags => format!("JDK {release}, `{flags}`"),
    };
    Fault::new(GROUP, what, OWNERS, move |stage| {
        let mut options = vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions"];
        options.extend(flags.split_whitespace());
        let mut program = stage.contended(release, &options)?;
        let seen = shows_owners(&stage.record(&mut program, &["-e", "monitor"])?)?;
        let ignored = fs::read_to_string(stage.path("program-err-0")).unwrap_or_default().contains("gnoring");
        Ok(seen + if ignored { " (this build ignores the flag)" } else { "" })
    })
}

/// A JDK like the other, but for its library, which has lost its symbols.
fn stripped(stage: &Stage, release: u32) -> Result<Guarded, Problem> {
    let home = stage.jdk(release)?.home.canonicalize()?;
    let copy = stage.path("jdk");
    run(Command::new("cp").arg("-as").arg(&home).arg(&copy))?;
    // The launcher looks for the JDK where it lies itself.
    for file in ["bin/java", "lib/libjli.so", "lib/server/libjvm.so"] {
        let place = copy.join(file);
        fs::remove_file(&place)?;
        fs::copy(home.join(file).canonicalize()?, &place)?;
    }
    run(Command::new("strip").arg("--strip-all").arg(copy.join("lib/server/libjvm.so")))?;
    let none: [&str; 0] = [];
    stage.ready(&mut stage.java(&copy.join("bin/java"), &none, &[]))
}

fn jni(stage: &Stage, release: u32) -> Result<String, Problem> {
    let library = native_library(stage)?.display().to_string();
    let java = stage.jdk(release)?.tool("java");
    let none: [&str; 0] = [];
    let mut program = stage.ready(&mut stage.java(&java, &none, &["jni", "--native", &library]))?;
    shows_owners(&stage.record(&mut program, &["-e", "monitor"])?)
}

/// The directory of `jni.h`, of a JDK that has its headers.
///
/// # Errors
/// There is none.
pub fn headers(stage: &Stage) -> Result<PathBuf, Problem> {
    let headers = [17, 21, 25].into_iter().find_map(|release| {
        let include = stage.jdk(release).ok()?.home.join("include");
        include.join("jni.h").is_file().then_some(include)
    });
    headers.ok_or_else(|| "no JDK here has jni.h".into())
}

/// The native methods, compiled.
fn native_library(stage: &Stage) -> Result<PathBuf, Problem> {
    let include = headers(stage)?.display().to_string();
    let flags = ["-shared", "-fPIC", &format!("-I{include}"), &format!("-I{include}/linux")];
    compile(stage, include_str!("native/monitors.c"), "libmonitors.so", &flags)
}

/// Compiles a C source into a file of this name in the stage's directory.
///
/// # Errors
/// It cannot be compiled.
pub fn compile(stage: &Stage, source: &str, name: &str, flags: &[&str]) -> Result<PathBuf, Problem> {
    let (file, product) = (stage.path(&format!("{name}.c")), stage.path(name));
    fs::write(&file, source)?;
    run(Command::new("cc").args(flags).args(["-O1", "-o"]).arg(&product).arg(&file))?;
    Ok(product)
}

/// Runs a tool that must succeed.
///
/// # Errors
/// It does not.
pub fn run(command: &mut Command) -> Result<(), Problem> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
