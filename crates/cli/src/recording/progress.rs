//! A bar on the terminal while something takes more than a second.

use crate::recording::input;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// What takes less is done before anybody wonders.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the bar moves.
const STEP: Duration = Duration::from_millis(200);

/// Shown as long as it exists, and then gone without a trace.
#[derive(Debug)]
pub struct Progress {
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Watches a file being read. Only if standard error is a terminal.
    pub fn of_reading(path: &Path) -> Progress {
        if !io::stderr().is_terminal() {
            return Progress { watcher: None };
        }
        let size = input::place(path).ok().and_then(|place| fs::metadata(place).ok()).map_or(0, |file| file.len());
        let what = format!("Reading {}", headway_model::printable(&path.display().to_string()));
        let begin = bytes_read();
        let (end, ended) = channel();
        let watch = move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr()).with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {binary_bytes} of {binary_total_bytes} ")
            {
                bar.set_style(style);
            }
            loop {
                // A range takes a look at the whole file before.
                bar.set_position(bytes_read().saturating_sub(begin).min(size));
                if ended.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        };
        let thread = std::thread::Builder::new().name("headway progress".to_owned()).spawn(watch);
        Progress { watcher: thread.ok().map(|thread| (end, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.watcher.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Bytes that this process has read so far: nothing else reads while a recording is read.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a");
        fs::write(&file, vec![0; 1 << 20]).expect("written");
        let begin = bytes_read();
        assert_eq!(fs::read(&file).expect("read").len(), 1 << 20);
        assert!(bytes_read() - begin >= 1 << 20);
    }
}
