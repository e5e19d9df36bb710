//! `headway metrics`: sums of a running JVM for Prometheus.

mod exposition;
mod http;

use crate::command::pressure;
use crate::command::top::source::Source;
use crate::error::{Failure, DONE};
use crate::interrupt;
use crate::jvm::find;
use crate::quantity::Span;
use crate::terminal;
use clap::Args;
use exposition::Target;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  headway metrics 4711                         http://127.0.0.1:9471/metrics
  headway metrics --listen 0.0.0.0:9471 Server
  headway metrics --once 4711                  print them and end

`metrics` uses the running recording if there is one. Otherwise it starts a
recording of pressure (-e pressure), and ends it when you end `metrics`. Like
`record`, this changes functions of the JVM in memory and pauses it for some
milliseconds at the start (longer if the JVM has almost no CPU). If `metrics` loaded the agent, `metrics` then detaches
it (`headway stop --help` says what stays). If another command stops the
recording, `metrics` starts a new recording of pressure.

The command listens, not the JVM. Anyone who can reach the address can read
names of locks and methods. `headway metrics --once PID` prints each metric
with a line that explains it. Headway's source repository has two alert rules
and a dashboard (docs/monitoring.md).";

/// How often the JVM is asked for something new.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whoever ended a recording may want to do something before the next one.
const BEGIN_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Options of `metrics`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Metrics {
    /// Listen on this address, HOST:PORT
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9471", value_parser = address)]
    listen: SocketAddr,

    /// Time between measurements (at least 10ms). While a recording runs, its pressure interval is
    /// used instead
    #[arg(long, value_name = "TIME", value_parser = pressure::interval, default_value = "1s")]
    interval: Span,

    /// Print the metrics once and end
    #[arg(long)]
    once: bool,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl Metrics {
    /// Carries out the command; ends at SIGINT or SIGTERM, or when the JVM ends.
    ///
    /// # Errors
    /// The target cannot be attached to, or ended; the address is taken.
    pub fn execute(self) -> Result<u8, Failure> {
        let jvm = find::jvm(&self.target)?;
        let target = Target { pid: jvm.process.pid, main: jvm.main.clone() };
        // Bound before anything is begun in the JVM.
        let server = match self.once {
            true => None,
            false => Some(http::Server::start(self.bind()?)?),
        };
        interrupt::finish();
        if let Some(server) = &server {
            let address = format!("http://{}/metrics\n", server.address());
            terminal::print(&address).map_err(Failure::doing("cannot write to standard output"))?;
        }
        loop {
            let mut source = Source::open(&jvm, self.interval)?;
            let served = self.serve(&mut source, &target, server.as_ref());
            let closed = source.close();
            match served {
                // Whoever monitors does not want to begin again by hand.
                Err(Failure::WatchedRecordingEnded { .. }) if server.is_some() && !interrupt::came() => {
                    terminal::note("Another command ended the recording that was being measured; the next one begins, and sums begin at 0.");
                    std::thread::sleep(BEGIN_AGAIN_AFTER);
                }
                served => {
                    served.and(closed)?;
                    return Ok(DONE);
                }
            }
        }
    }

    fn bind(&self) -> Result<TcpListener, Failure> {
        TcpListener::bind(self.listen).map_err(Failure::doing(format!("cannot listen at {}", self.listen)))
    }

    fn serve(&self, source: &mut Source, target: &Target, server: Option<&http::Server>) -> Result<(), Failure> {
        while !interrupt::came() {
            if let Some(picture) = source.next()? {
                let text = exposition::text(target, &picture);
                match server {
                    Some(server) => server.show(text),
                    None => return terminal::print(&text).map_err(Failure::doing("cannot write to standard output")),
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// `HOST:PORT`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = || format!("\"{text}\" is no address: write HOST:PORT, as 127.0.0.1:9471");
    text.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(expected)
}
