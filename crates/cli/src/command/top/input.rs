//! The keyboard, read on a thread of its own: reading blocks.

use ratatui::termion::event::Key;
use ratatui::termion::input::TermRead;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Keys typed so far.
pub struct Input {
    keys: Receiver<Key>,
}

impl Input {
    /// Begins to read. The thread ends with the process.
    pub fn begin() -> Input {
        let (typed, keys) = mpsc::channel();
        std::thread::spawn(move || {
            for key in io::stdin().keys().map_while(Result::ok) {
                if typed.send(key).is_err() {
                    return;
                }
            }
        });
        Input { keys }
    }

    /// The keys typed since the last call; waits for the first one at most so
    /// long.
    pub fn keys(&self, patience: Duration) -> Vec<Key> {
        match self.keys.recv_timeout(patience) {
            Ok(first) => std::iter::once(first).chain(self.keys.try_iter()).collect(),
            Err(mpsc::RecvTimeoutError::Timeout) => Vec::new(),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                // Nobody can type any more; the picture goes on.
                std::thread::sleep(patience);
                Vec::new()
            }
        }
    }
}
