//! Where the control groups of a process are.

use std::path::{Path, PathBuf};

/// Where they are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// Where groups of `groups` (`/proc/PID/cgroup`) with this controller, and those around them, may be: of version 2 and of
/// version 1; most of these do not exist.
pub fn directories<'a>(groups: &'a str, controller: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let mounts = move || ["", "unified", controller].map(|mount| Path::new(MOUNT).join(mount));
    paths_with(groups, controller)
        .flat_map(move |path| mounts().map(|mount| mount.join(path.trim_start_matches('/'))))
        .flat_map(|directory| directory.ancestors().map(Path::to_owned).collect::<Vec<_>>())
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

    #[test]
    fn groups_are_those_of_the_controller_and_all_around_them() {
        let groups = "12:cpu,cpuacct:/a\n7:pids:/b:c\n1:name=systemd:/d\n0::/e\n";
        assert_eq!(paths_with(groups, "pids").collect::<Vec<_>>(), ["/b:c", "/e"]);
        let all: Vec<PathBuf> = directories("7:pids:/a/b\n0::/e\n", "pids").collect();
        for place in ["/sys/fs/cgroup/pids/a/b", "/sys/fs/cgroup/pids/a", "/sys/fs/cgroup/e"] {
            assert!(all.contains(&PathBuf::from(place)), "{place}: {all:?}");
        }
    }
}
