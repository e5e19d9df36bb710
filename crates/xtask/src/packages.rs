//! System packages that are installed where that is possible.

use crate::process::{is_on_path, program, run};

/// Installs the first of these Debian packages that the system offers. False
/// if that is not possible here (no apt, not root) or none is offered.
pub fn install_one_of(names: &[&str]) -> bool {
    if !is_on_path("apt-get") || !is_root() {
        return false;
    }
    let install_first = || names.iter().any(|name| is_offered(name) && install(name));
    // Lists are missing on a new system, and on an old one name what is no longer there.
    install_first() || (update() && install_first())
}

fn update() -> bool {
    run(program("apt-get").args(["update", "-q"])).is_ok()
}

fn is_root() -> bool {
    // The owner of our own entry in /proc is the effective user.
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn is_offered(name: &str) -> bool {
    let shown = program("apt-cache").args(["show", "--no-all-versions", name]).output();
    shown.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

fn install(name: &str) -> bool {
    eprintln!("hw: installing the system package {name}");
    let mut apt = program("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "-y", "-q", "--no-install-recommends", name]);
    run(&mut apt).is_ok()
}
