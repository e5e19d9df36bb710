//! Pinned packages of Python, each list in a folder below `build/`.

use crate::process::{build_directory, program, root, run};
use crate::Problem;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder `build/NAME` with the packages that the file `requirements` names; they are
/// fetched again when it changes.
pub fn packages(name: &str, requirements: &str) -> Result<PathBuf, Problem> {
    fetched(name, requirements, None)
}

/// The same for packages of which the registry has sources: the packages of `tools` build them.
pub fn packages_of_sources(name: &str, requirements: &str, tools: &str) -> Result<PathBuf, Problem> {
    let tools = packages(&format!("{name}-build"), tools)?;
    fetched(name, requirements, Some(&tools))
}

fn fetched(name: &str, requirements: &str, tools: Option<&Path>) -> Result<PathBuf, Problem> {
    let folder = build_directory().join(name);
    let stamp = folder.join("requirements.txt");
    let wanted = fs::read(root().join(requirements)).map_err(|e| format!("cannot read {requirements}: {e}"))?;
    if fs::read(&stamp).ok().as_ref() != Some(&wanted) {
        fetch(&folder, requirements, tools)?;
        fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    }
    Ok(folder)
}

fn fetch(folder: &Path, requirements: &str, tools: Option<&Path>) -> Result<(), Problem> {
    eprintln!("hw: fetching the packages of {requirements}");
    let mut pip = program("python3");
    pip.env("PIP_ROOT_USER_ACTION", "ignore"); // it goes into a folder of ours, not into the system
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    match tools {
        // Nothing that is not pinned is fetched to build it.
        Some(tools) => pip.arg("--no-build-isolation").env("PYTHONPATH", tools),
        None => pip.arg("--only-binary=:all:"),
    };
    pip.args(["--upgrade", "--target"]).arg(folder);
    run(pip.args(["--requirement", requirements]))
}
