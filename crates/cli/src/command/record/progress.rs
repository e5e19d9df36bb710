//! The line that reports, on a terminal, how a recording is going.

use crate::agent::options::AgentOptions;
use crate::attach::Session;
use crate::render::numbers;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the agent is asked; asking costs the target a little.
const INTERVAL: Duration = Duration::from_secs(1);

/// The progress line; silent where standard error is not a terminal.
pub struct Progress {
    total: Duration,
    shown: bool,
    asked: Instant,
    counts: String,
}

impl Progress {
    /// A line for a recording of this length.
    pub fn new(total: Duration) -> Progress {
        Progress { total, shown: io::stderr().is_terminal(), asked: Instant::now(), counts: String::new() }
    }

    /// Brings the line up to date.
    pub fn show(&mut self, elapsed: Duration, session: &mut Session) {
        if !self.shown {
            return;
        }
        if self.asked.elapsed() >= INTERVAL {
            self.asked = Instant::now();
            if let Ok(reply) = session.command(AgentOptions::new("status")) {
                let (events, dropped) = (numbers::grouped(reply.event_count()), numbers::grouped(reply.loss_count()));
                self.counts = format!("   {events} events   {dropped} dropped");
            }
        }
        let (elapsed, total) = (elapsed.as_secs_f64(), self.total.as_secs_f64());
        let line = format!("\r\x1b[K  {elapsed:.0} of {total:.0} s{}   Ctrl-C stops early", self.counts);
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}
