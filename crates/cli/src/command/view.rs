//! `headway view`: the page, served to this machine's browser for recordings
//! of any size, and for one that is running.

use crate::command::report_html::{self, Opened};
use crate::error::{Failure, DONE};
use crate::interrupt;
use crate::jvm::{find, Jvm};
use crate::recording::input;
use crate::terminal;
use clap::Args;
use headway_loopback::{Door, Server};
use headway_page::contract::{Facts, Opening};
use headway_page::{html, First, Recording};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Deref;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

mod arriving;
mod live;
mod site;
mod watched;

use arriving::Arriving;
use site::{Content, Site};
use watched::Watched;

const EXAMPLES: &str = "\
Examples:
  headway view app.jfr                          look at a recording
  headway view before.jfr after.jfr             compare two
  headway view --source-path src/main/java app.jfr.zst
  headway view 4711                             the recording that runs in process 4711

For a JVM, `view` shows the running recording, and how it grows. If none is running, it
makes a temporary recording of locks and steal. Like `record`, this changes functions of
the JVM in memory and pauses it for some milliseconds at the start (longer if the JVM has
almost no CPU). When `view` ends, it removes that recording, and detaches if it loaded the agent (`headway stop --help` says
what stays).

`view` prints an address with a secret. It answers only requests from this machine that
have the secret. If your browser is on another machine, forward the
port (--port PORT, ssh -L PORT:127.0.0.1:PORT) or write the page into a file:
`headway report app.jfr -o report.html`. Ctrl-C ends `view`.";

/// Rows kept in memory; beyond them short contentions are added up.
const ROWS: usize = 1_500_000;

/// Recordings that have no more bytes are read before the address is printed: in less time than it
/// takes to open it.
const AT_ONCE: u64 = 8 << 20;
/// One that has more bytes than this has first results: what so many events say, in so many rows.
const FIRST_FROM: u64 = 64 << 20;
const FIRST_EVENTS: u64 = 1_000_000;
const FIRST_ROWS: usize = 200_000;

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

    /// A recording, or two to compare (before, after); - is standard input. Or a process id, main
    /// class or jar of a JVM, if no file has that name
    #[arg(required = true, value_name = "FILE|PID|NAME", num_args = 1..=2)]
    files: Vec<PathBuf>,
}

impl View {
    /// Carries out the command; ends at SIGINT or SIGTERM.
    ///
    /// # Errors
    /// A file that is no recording, a port that is taken.
    pub fn execute(self) -> Result<u8, Failure> {
        if let Some(jvm) = self.jvm()? {
            return self.show_jvm(&jvm);
        }
        let opened = report_html::open(&self.files, &self.source_path)?;
        if opened.iter().map(|one| one.progress().len()).sum::<u64>() > AT_ONCE {
            return self.show_arriving(opened);
        }
        let recordings: Vec<Recording> =
            opened.into_iter().map(|one| one.read(self.rows, &self.source_path, None)).collect();
        self.note_damage(&recordings);
        let page = html::served(&opening(facts(&recordings))).map_err(report_html::no_page)?;
        self.serve_until_signal(Content::Whole(page, recordings), || Ok(()))
    }

    /// Serves recordings while they are being read.
    fn show_arriving(self, opened: Vec<Opened>) -> Result<u8, Failure> {
        let arriving = Arc::new(Arriving::new(opened.iter().map(Opened::progress).collect()));
        html::served(&arriving.opening()).map_err(report_html::no_page)?;
        let view = Arc::new(self);
        let reader = view.clone();
        let content = Content::Arriving(arriving.clone());
        view.serve_until_signal(content, || {
            let thread = thread::Builder::new().name("headway reading".to_owned());
            let read = move || {
                let all = panic::catch_unwind(AssertUnwindSafe(|| reader.read(opened, &arriving)));
                if all.is_err() {
                    arriving.fail();
                }
            };
            thread.spawn(read).map(drop).map_err(Failure::doing("cannot read in a thread beside the server"))
        })
    }

    /// Reads the recordings. Of a large one, if it is alone, its beginning is shown first.
    fn read(&self, opened: Vec<Opened>, arriving: &Arc<Arriving>) {
        let has_first = matches!(opened.as_slice(), [one] if one.progress().len() > FIRST_FROM);
        let first = || {
            let (arriving, source_path) = (arriving.clone(), self.source_path.clone());
            let take = move |recording| arriving.show(vec![report_html::with_sources(recording, &source_path)], false);
            First { events: FIRST_EVENTS, rows: FIRST_ROWS.min(self.rows), take: Box::new(take) }
        };
        let read = |one: Opened| one.read(self.rows, &self.source_path, has_first.then(first));
        let recordings: Vec<Recording> = opened.into_iter().map(read).collect();
        self.note_damage(&recordings);
        arriving.show(recordings, true);
    }

    fn note_damage(&self, recordings: &[Recording]) {
        if let Some(failure) = report_html::damage(&self.files, recordings) {
            terminal::note(&format!("headway: {failure}"));
        }
    }

    /// Answers until SIGINT or SIGTERM; `meanwhile` begins what goes on beside that.
    fn serve_until_signal(
        &self,
        content: Content,
        meanwhile: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<u8, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::doing("cannot wait for signals"))?;
        let server = self.serve(content)?;
        meanwhile()?;
        signals.forever().next();
        server.stop();
        Ok(DONE)
    }

    /// The JVM that is meant, if it is no file.
    fn jvm(&self) -> Result<Option<Jvm>, Failure> {
        let [target] = self.files.as_slice() else { return Ok(None) };
        let Some(name) = target.to_str().filter(|name| may_be_jvm(name, target)) else { return Ok(None) };
        match find::jvm(name) {
            Ok(jvm) => Ok(Some(jvm)),
            // It may be a file's name that is misspelt: then that is said.
            Err(Failure::NoJvmNamed { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Shows a JVM's recording until SIGINT or SIGTERM.
    fn show_jvm(&self, jvm: &Jvm) -> Result<u8, Failure> {
        report_html::check_sources(&self.source_path)?;
        let mut watched = Watched::open(jvm)?;
        let shown = self.show_watched(&mut watched);
        let closed = watched.close();
        // What ended the watching says more than what it led to.
        shown.and(closed)?;
        Ok(DONE)
    }

    fn show_watched(&self, watched: &mut Watched) -> Result<(), Failure> {
        let live = Arc::new(watched.read(self.rows, &self.source_path)?);
        html::served(&live.opening()).map_err(report_html::no_page)?;
        let server = self.serve(Content::Live(live.clone()))?;
        let mut goes_on = true;
        while !interrupt::came() {
            if let Some(why) = goes_on.then(|| watched.ended(&live)).flatten() {
                terminal::note(&format!("{why} The page keeps what was recorded; Ctrl-C ends."));
                live.end(why);
                goes_on = false;
            }
            std::thread::sleep(interrupt::LOOK_EVERY);
        }
        server.stop();
        Ok(())
    }

    /// Begins to answer, and prints the address.
    fn serve(&self, content: Content) -> Result<Server, Failure> {
        // Bound before anybody learns the address.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(self.cannot_listen())?;
        let port = listener.local_addr().map_err(self.cannot_listen())?.port();
        let door = Door::new(port).map_err(Failure::doing("cannot make a secret"))?;
        let server = Server::start(listener, door, Site::new(content)).map_err(self.cannot_listen())?;
        terminal::print(&format!("{}\n", server.address()))
            .map_err(Failure::doing("cannot write to standard output"))?;
        terminal::note("open this address in a browser of this machine; Ctrl-C ends");
        Ok(server)
    }

    fn cannot_listen(&self) -> impl FnOnce(io::Error) -> Failure {
        Failure::doing(format!("cannot listen on port {} of this machine", self.port))
    }
}

fn facts<R: Deref<Target = Recording>>(recordings: impl IntoIterator<Item = R>) -> Vec<Facts> {
    recordings.into_iter().map(|recording| recording.facts().clone()).collect()
}

fn opening(recordings: Vec<Facts>) -> Opening {
    Opening { recordings, version: env!("CARGO_PKG_VERSION").to_owned(), live: None }
}

/// True for what is no file, and no misspelt name of a recording.
fn may_be_jvm(name: &str, path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok();
    let is_recording = [".jfr", ".zst", ".lz4", ".gz"].iter().any(|end| name.ends_with(end));
    !is_file && !is_recording && !input::is_standard(path) && !name.contains(['/', '*', '?', '['])
}
