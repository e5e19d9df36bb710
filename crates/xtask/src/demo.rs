//! `./hw demo [--jdk RELEASE] [--seconds N]`: the main job on a real program.
//!
//! Builds what is missing, runs the order mix on H2 and the inventory under
//! `headway run`, and says where the recording is. The report is the one that
//! `headway run` prints.

use crate::process::{build_directory, program, root, run};
use crate::{java, jdks, pairs, products, Misuse, Problem};
use std::path::{Path, PathBuf};

/// See the file's head.
pub fn demo(rest: &[String]) -> Result<(), Problem> {
    let mut seconds = "15".to_owned();
    let mut release = None;
    for (name, value) in pairs(rest, &["--jdk", "--seconds"])? {
        let number: u32 = value.parse().map_err(|_| Misuse(format!("{name} takes a whole number, not \"{value}\"")))?;
        match name {
            "--jdk" => release = Some(number),
            _ => seconds = number.max(1).to_string(),
        }
    }
    let jdk = release.map(jdk_of).transpose()?;
    println!("hw: building what is missing (the first time takes some minutes)");
    products::rust(&["headway-cli", "headway-agent"])?;
    products::workloads(None)?;

    let recording = recording_path(release)?;
    let truth = recording.with_file_name("truth.json");
    println!("hw: the demo runs for {seconds} s; its report follows");
    let mut headway = program(products::headway());
    headway.args(["run", "--exact", "--force", "-o"]).arg(&recording).arg("--").arg(java_program(jdk));
    headway.arg("-jar").arg(java::workloads_jar());
    headway.args(["demo", "--seconds", &seconds, "--truth"]).arg(&truth);
    run(&mut headway)?;
    let size =
        std::fs::metadata(&recording).map_err(|e| format!("no recording at {}: {e}", recording.display()))?.len();
    println!("\nrecording:    {} ({size} bytes)", from_root(&recording));
    println!(
        "look closer:  {} report {} --by lock,owner-chain",
        from_root(&products::headway()),
        from_root(&recording)
    );
    println!("in a browser: {} view {}", from_root(&products::headway()), from_root(&recording));
    println!("what the program measured of itself: {}", from_root(&truth));
    Ok(())
}

/// A path as one can type it in the project's root.
pub fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn jdk_of(release: u32) -> Result<PathBuf, Problem> {
    jdks::find(release)
        .or_else(|| jdks::fetch(release))
        .ok_or_else(|| format!("no JDK {release} found; HEADWAY_JDK{release} says where one is").into())
}

/// The JDK asked for, else that of `JAVA_HOME`, else the one on the path.
pub fn java_program(jdk: Option<PathBuf>) -> PathBuf {
    let home = jdk.or_else(|| std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from));
    home.map_or_else(|| "java".into(), |home| home.join("bin/java"))
}

fn recording_path(release: Option<u32>) -> Result<PathBuf, Problem> {
    let folder = build_directory().join("demo");
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let name = release.map_or_else(|| "demo.jfr".to_owned(), |release| format!("demo-jdk{release}.jfr"));
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path); // an older one must not be taken for this run's
    Ok(path)
}
