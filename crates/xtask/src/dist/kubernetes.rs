//! Recipes and plugin for Kubernetes, where they can be tried without a cluster.

use crate::process::{is_on_path, program, root, run};
use crate::{packages, Problem};
use std::process::Command;

/// What is wrong with them: scripts are read by shellcheck, the plugin speaks with a kubectl that
/// writes down what it is asked, and the recipes are decoded strictly by Kubernetes' own types.
pub fn complaints() -> Result<Vec<String>, Problem> {
    for tool in ["shellcheck", "bats"] {
        if !is_on_path(tool) && !packages::install_one_of(&[tool]) {
            return Err(format!("needs {tool} (package {tool})").into());
        }
    }
    if !is_on_path("go") {
        return Err("needs go, to decode the recipes of dist/kubernetes".into());
    }
    let scripts = ["install.sh", "first-finding.sh", "attach-footprint.sh", "kubernetes/kubectl-headway"]
        .map(|name| root().join("dist").join(name));
    let mut complaints = Vec::new();
    let mut check = |command: &mut Command, complaint: &str| {
        if run(command).is_err() {
            complaints.push(complaint.to_owned());
        }
    };
    check(program("shellcheck").args(scripts), "shellcheck has complaints about scripts in dist");
    check(program("bats").arg("dist/kubernetes/check/kubectl-headway.bats"), "the plugin of kubectl fails its tests");
    check(
        program("go").current_dir(root().join("dist/kubernetes/check")).args(["test", "./..."]),
        "the recipes of Kubernetes fail their tests",
    );
    Ok(complaints)
}
