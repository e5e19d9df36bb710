//! Running other programs.

use crate::Problem;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Where cargo builds.
pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Where everything else that is made or fetched goes; not under version control.
pub fn build_directory() -> PathBuf {
    root().join("build")
}

/// A program, to be run in the project's root.
pub fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this.
pub fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a program to its end; its output goes where ours does.
pub fn run(command: &mut Command) -> Result<(), Problem> {
    let status = command.status().map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} ended with {status}", shown(command)).into()),
    }
}

/// What a program wrote on its standard output.
pub fn output_of(command: &mut Command) -> Result<String, Problem> {
    command.stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", shown(command), output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program, shows its output as it comes, and gives all of it (both
/// streams, in order) with whether the program was content.
pub fn run_and_read(command: &mut Command) -> Result<(String, bool), Problem> {
    // One pipe for both streams, so that their order is kept.
    let mut both = Command::new("sh");
    both.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => both.env(name, value),
            None => both.env_remove(name),
        };
    }
    both.current_dir(command.get_current_dir().unwrap_or(&root()));
    let mut child = both
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            println!("{line}");
            text.push_str(&line);
            text.push('\n');
        }
    }
    Ok((text, child.wait()?.success()))
}

/// True if a program of this name is on the path.
pub fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.take(6).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
