//! Where the control groups of a process are.

use crate::jvm::process::Process;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where they are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// Directories of control groups with this controller in which the process is, and of those around them, of version 2 and
/// of version 1; most of these do not exist.
pub fn of(process: &Process, controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string(process.directory().join("cgroup")).unwrap_or_default();
    match process.shares_our_files() {
        true => directories(&groups, controller, Path::new(MOUNT), true),
        // Where groups are mounted for it, its own may be the root; where they are for us, the root may be ours.
        false => {
            let its = directories(&groups, controller, &process.path_inside(Path::new(MOUNT)), true);
            [its, directories(&groups, controller, Path::new(MOUNT), false)].concat()
        }
    }
}

/// Where groups of `groups` (`/proc/PID/cgroup`) and those around them may be under a mount; `with_root`: the mount's root
/// is one of them.
fn directories(groups: &str, controller: &str, mount: &Path, with_root: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths_with(groups, controller) {
        // Relative to the root of our groups: a path that leads out of them leads nowhere here.
        let leads_out = Path::new(path).components().any(|part| part == Component::ParentDir);
        let path = if leads_out { "" } else { path.trim_start_matches('/') };
        for root in ["", "unified", controller].map(|name| mount.join(name)) {
            let within = root.join(path);
            let around = within.ancestors().take_while(|directory| directory.starts_with(&root));
            found.extend(around.filter(|directory| with_root || *directory != root).map(Path::to_owned));
        }
    }
    found
}

/// The paths of version 2, and of version 1's controller.
fn paths_with<'a>(groups: &'a str, controller: &'a str) -> impl Iterator<Item = &'a str> {
    groups.lines().filter_map(move |line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        (controllers.is_empty() || controllers.split(',').any(|name| name == controller)).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &str, with_root: bool) -> Vec<String> {
        let found = directories(groups, "pids", Path::new("/m"), with_root);
        found.iter().map(|directory| directory.display().to_string()).collect()
    }

    #[test]
    fn groups_are_those_of_the_controller_and_all_around_them() {
        let groups = "12:cpu,cpuacct:/a\n7:pids:/b:c\n1:name=systemd:/d\n0::/e\n";
        assert_eq!(paths_with(groups, "pids").collect::<Vec<_>>(), ["/b:c", "/e"]);
        let all = found("7:pids:/a/b\n", true);
        for place in ["/m/pids/a/b", "/m/pids/a", "/m/pids/", "/m/unified/a", "/m/a/b", "/m/"] {
            assert!(all.iter().any(|found| Path::new(found) == Path::new(place)), "{place}: {all:?}");
        }
    }

    #[test]
    fn the_root_of_our_own_groups_says_nothing_about_a_process_elsewhere() {
        assert_eq!(found("0::/a\n", false), ["/m/a", "/m/unified/a", "/m/pids/a"]);
        assert!(found("0::/../b\n", false).is_empty());
        assert!(found("0::/../b\n", true).iter().all(|place| !place.contains("..")));
    }
}
