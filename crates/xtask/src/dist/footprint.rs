//! What the agent takes of memory in many JVMs that it is attached to (`dist/attach-footprint.sh`).

use super::{place, Release};
use crate::process::{build_directory, program, run, run_and_read};
use crate::Problem;

const JVMS: &str = "50";

/// Of tmpfs, by all JVMs together: as much as one copy.
const MOST_TMPFS_KIB: u64 = 4096;

/// What is wrong, if anything is.
pub fn complaint(release: &Release) -> Result<Option<String>, Problem> {
    let folder = build_directory().join("dist-footprint");
    super::empty(&folder)?;
    let archive = place().join(format!("{}.tar.gz", release.name()));
    run(program("tar").arg("-xzf").arg(archive).args(["--strip-components", "1", "-C"]).arg(&folder))?;
    run(program("javac").args(["--release", "17", "-d"]).arg(&folder).arg("dist/Idle.java"))?;
    let mut script = program("unshare");
    script.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "dist/attach-footprint.sh"]);
    let (text, is_content) = run_and_read(script.arg(&folder).arg(JVMS))?;
    Ok(if is_content { judged(&text) } else { Some(format!("attaching to {JVMS} JVMs fails")) })
}

fn judged(text: &str) -> Option<String> {
    let taken = text.lines().find_map(|line| {
        line.strip_prefix("JVMs: ")?.split_once("tmpfs: ")?.1.split_once(" KiB")?.0.parse::<u64>().ok()
    });
    let left = text.lines().find_map(|line| line.strip_prefix("left in /tmp:")).map(str::trim);
    match (taken, left) {
        (Some(taken), _) if taken > MOST_TMPFS_KIB => {
            Some(format!("{JVMS} JVMs take {taken} KiB of tmpfs, at most {MOST_TMPFS_KIB} are allowed"))
        }
        (Some(_), Some("")) => None,
        (_, Some(left)) if !left.is_empty() => Some(format!("after attaching is left: {left}")),
        _ => Some("what the agent takes of memory was not measured".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_what_is_left_are_found() {
        let said = |taken: u32, left: &str| {
            judged(&format!("JVMs: 50, tmpfs: {taken} KiB, proportional\nleft in /tmp: {left}\n")).unwrap_or_default()
        };
        assert_eq!(said(4096, ""), "");
        assert!(said(4097, "").contains("take 4097 KiB"));
        assert!(said(0, "/tmp/a ").contains("is left: /tmp/a"));
        assert!(judged("").is_some() && judged("left in /tmp: \n").is_some());
    }
}
