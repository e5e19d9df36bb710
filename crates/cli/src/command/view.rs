//! `headway view`: the page, served to this machine's browser for recordings
//! of any size.

use crate::command::report_html;
use crate::error::{Failure, DONE};
use crate::terminal;
use clap::Args;
use headway_page::contract::Opening;
use headway_page::{html, Recording};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

mod server;
mod site;

use server::Server;
use site::Site;

const EXAMPLES: &str = "\
Examples:
  headway view app.jfr                          look at a recording
  headway view before.jfr after.jfr             compare two
  headway view --source-path src/main/java app.jfr.zst

`view` prints an address with a secret, and answers only on this machine and only
those who know the secret. If your browser is on another machine, forward the
port (--port PORT, ssh -L PORT:127.0.0.1:PORT) or write the page into a file:
`headway report -o report.html`. Ctrl-C ends it.";

/// Rows kept in memory; beyond them short stretches are added up.
const ROWS: usize = 1_500_000;

/// Options of `view`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct View {
    /// Listen on this port of 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Find source files in this directory tree, to show their lines (repeatable)
    #[arg(long, value_name = "DIR")]
    source_path: Vec<PathBuf>,

    /// Show at most this many contentions, waits and samples one by one; the others are only in
    /// sums by interval
    #[arg(long, value_name = "ROWS", default_value_t = ROWS)]
    rows: usize,

    /// A recording, or two to compare (before, after); - is standard input
    #[arg(required = true, value_name = "FILE", num_args = 1..=2)]
    files: Vec<PathBuf>,
}

impl View {
    /// Carries out the command; ends at SIGINT or SIGTERM.
    ///
    /// # Errors
    /// A file that is no recording, a port that is taken.
    pub fn execute(self) -> Result<u8, Failure> {
        let recordings = report_html::read(&self.files, self.rows, &self.source_path)?;
        if let Some(failure) = report_html::damage(&self.files, &recordings) {
            terminal::note(&format!("headway: {failure}"));
        }
        let page = html::served(&opening(&recordings)).map_err(report_html::no_page)?;
        // Bound before anybody is told the address.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(self.cannot_listen())?;
        let port = listener.local_addr().map_err(self.cannot_listen())?.port();
        let site = Site::new(page, recordings, port).map_err(Failure::doing("cannot make a secret"))?;
        let address = format!("http://127.0.0.1:{port}/{}/\n", site.token());
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::doing("cannot wait for signals"))?;
        let server = Server::start(listener, site).map_err(self.cannot_listen())?;
        terminal::print(&address).map_err(Failure::doing("cannot write to standard output"))?;
        terminal::note("open this address in a browser of this machine; Ctrl-C ends");
        signals.forever().next();
        server.stop();
        Ok(DONE)
    }

    fn cannot_listen(&self) -> impl FnOnce(io::Error) -> Failure {
        Failure::doing(format!("cannot listen on port {} of this machine", self.port))
    }
}

fn opening(recordings: &[Recording]) -> Opening {
    Opening {
        recordings: recordings.iter().map(|recording| recording.facts().clone()).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
