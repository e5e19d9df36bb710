//! A process of a test's own: gone with the test, however that ends.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::process::Child;

/// See the module.
#[derive(Debug)]
pub struct Guarded(pub Child);

impl Guarded {
    /// The process id, as words of a command.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Deref for Guarded {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
        // A JVM that is killed leaves its attach socket behind, which stands in the
        // way of the next one with this pid if that is another user's.
        let _ = fs::remove_file(format!("/tmp/.java_pid{}", self.0.id()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    fn guarded(program: &str) -> (Guarded, PathBuf) {
        let child = Command::new(program).stdin(Stdio::piped()).spawn().unwrap();
        let socket = PathBuf::from(format!("/tmp/.java_pid{}", child.id()));
        fs::write(&socket, "").unwrap();
        (Guarded(child), socket)
    }

    #[test]
    fn what_runs_is_killed_and_its_socket_removed() {
        let (guarded, socket) = guarded("cat");
        let process = PathBuf::from(format!("/proc/{}", guarded.pid()));
        drop(guarded);
        assert!(!process.exists() && !socket.exists());
    }

    #[test]
    fn what_ended_by_itself_may_have_a_successor_with_its_pid() {
        let (mut guarded, socket) = guarded("true");
        guarded.wait().unwrap();
        drop(guarded);
        assert!(socket.exists());
        fs::remove_file(socket).unwrap();
    }
}
