//! `headway record`: records a running JVM for a while, then shows the report.

use crate::agent::options::AgentOptions;
use crate::agent::reply::Reply;
use crate::agent::written;
use crate::attach::delivery::Delivery;
use crate::attach::Session;
use crate::command::breakdown::Breakdown;
use crate::command::capture::Capture;
use crate::command::causal;
use crate::command::report;
use crate::error::{Failure, DONE};
use crate::jvm::{find, Jvm};
use crate::quantity::{self, Span};
use crate::recording::output;
use crate::render::missing;
use crate::render::own_cost::OwnCost;
use crate::terminal::{self, Screen};
use clap::Args;
use headway_model::DurationNs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

mod progress;
use progress::Progress;

const EXAMPLES: &str = "\
Examples:
  headway record 4711                            30 seconds of process 4711
  headway record -d 2m -o app.jfr.zst Server     the JVM whose main class is Server
  headway record --safe --by contender-thread 4711

Ctrl-C stops early; the recording is kept and its report shown. After each recording,
the changed functions, methods, class and VM flag are restored, and the agent's threads
end. The library, at most two small classes (one more with --jmx) and up to 72 KB of
memory for the patches stay until the JVM ends. If `record` loaded the agent, `record`
also detaches the agent. If the agent was loaded before, the agent stays ready for the
next recording: the JVM still calls it when a thread starts or ends, until `headway stop --detach`.";

/// The agent itself ends a recording that we have not ended this long after its time.
const LATE_NS: u64 = 10_000_000_000;
/// How often we look whether it is time to stop.
const TICK: Duration = Duration::from_millis(50);

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// How long to record (ns, us, ms, s, m, h; a bare number is seconds)
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = quantity::positive_seconds)]
    duration: Span,

    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    breakdown: Breakdown,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Do not print the report
    #[arg(short, long)]
    quiet: bool,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME", help_heading = None)]
    target: String,
}

impl Record {
    /// The command with these options.
    pub fn new(duration: Span, capture: Capture, breakdown: Breakdown, target: String) -> Record {
        Record { duration, capture, breakdown, json: false, quiet: false, target }
    }

    /// Carries out the command.
    ///
    /// # Errors
    /// The target cannot be attached to, or the output not be written; the
    /// target is then unharmed.
    pub fn execute(self) -> Result<u8, Failure> {
        let stop_early = stop_flag()?;
        let pattern = self.capture.pattern()?;
        let jvm = find::jvm(&self.target)?;
        let destination = pattern.expand(jvm.process.pid);
        let if_taken = self.capture.if_taken(&pattern);
        output::check_new_recording(&destination, if_taken)?;
        self.capture.park_statistics.check_for(&jvm.process)?;
        let statistics_before = self.capture.park_statistics.written(&jvm.process);

        // From here on the target listens to us; nothing is loaded into it yet.
        let mut session = Session::open(&jvm)?;
        self.announce(&jvm, &destination);
        announce_changes(&mut session, &self.capture)?;
        let delivery = Delivery::to(&destination, if_taken, &session);
        let options = self
            .capture
            .start_options(&delivery.path_for_agent(&session), if_taken)?
            .with_path("lease", &session.hold_lease()?)?
            .with("duration", &self.duration.ns.saturating_add(LATE_NS).to_string());
        let started = session.command(options)?;
        warn_of_degraded(&started);

        let ended = self.wait(&mut session, &stop_early);
        let ours = started.recording.as_deref().map(Path::new);
        let stopped = self.finish(&mut session, ours, jvm.agent_path.is_some(), &stop_early);
        if let Err(failure @ Failure::StillWriting { .. }) = stopped {
            // Read or moved now it would lack its end; the agent completes it where it is.
            return Err(failure);
        }
        let recording = stopped.as_ref().ok().and_then(|reply| reply.recording.as_deref());
        let recording = recording.or(started.recording.as_deref());
        let path = match delivery.collect(&session, recording) {
            Ok(path) => path,
            // What the agent says about a failed stop is more to the point.
            Err(failure) => return Err(stopped.err().unwrap_or(failure)),
        };
        drop(session);
        let code = self.tell(&path, &started, stopped.as_ref().ok())?;
        match (ended, stopped) {
            (Ended::WithTarget, _) => {
                let kept = format!("; what was recorded until then is in {}", path.display());
                Err(Failure::TargetEnded { pid: jvm.process.pid, when: "while it was being recorded", kept })
            }
            (_, Err(failure)) => Err(failure),
            _ => self.capture.park_statistics.check_written(&jvm.process, statistics_before).map(|()| code),
        }
    }

    /// Says beforehand what is done to which process.
    fn announce(&self, jvm: &Jvm, destination: &Path) {
        terminal::note(&format!(
            "Recording process {} ({}, Java {}) for {} into {}.",
            jvm.process.pid,
            jvm.short_name(),
            jvm.java_version,
            DurationNs(self.duration.ns),
            destination.display()
        ));
        if jvm.agent_path.is_none() {
            let classes = match (self.capture.jmx, self.capture.experiments.is_some()) {
                (false, false) => "two",
                (true, true) => "four",
                _ => "three",
            };
            terminal::note(&format!(
                "libheadway.so is loaded into the process. It stays there afterwards, idle, with at most {classes} small \
                 classes and up to 72 KB of memory for the patches."
            ));
        }
    }

    fn wait(&self, session: &mut Session, stop_early: &AtomicBool) -> Ended {
        let begin = Instant::now();
        let length = Duration::from_nanos(self.duration.ns);
        let mut progress = Progress::new(length);
        while begin.elapsed() < length {
            if stop_early.load(Ordering::SeqCst) {
                return Ended::Early;
            }
            if !session.target_lives() {
                return Ended::WithTarget;
            }
            progress.show(begin.elapsed(), session);
            std::thread::sleep(TICK.min(length.saturating_sub(begin.elapsed())));
        }
        Ended::InTime
    }

    /// Ends the recording. An agent that came with us leaves with us.
    fn finish(
        &self,
        session: &mut Session,
        ours: Option<&Path>,
        stays: bool,
        stop_early: &AtomicBool,
    ) -> Result<Reply, Failure> {
        if let Some(ours) = ours {
            if session.records_other(ours)? {
                return Err(Failure::WatchedRecordingEnded { pid: session.process().pid });
            }
        }
        let reply = match session.command(AgentOptions::new("stop")) {
            Err(failure @ Failure::StillWriting { .. }) => {
                // Whoever asks us to end once more does not wait.
                stop_early.store(false, Ordering::SeqCst);
                written::when_written(session, failure, || !stop_early.load(Ordering::SeqCst))?
            }
            answered => answered?,
        };
        if !stays {
            let _ = session.detach_unused();
        }
        Ok(reply)
    }

    fn tell(&self, path: &Path, started: &Reply, stopped: Option<&Reply>) -> Result<u8, Failure> {
        stopped.into_iter().flat_map(|reply| &reply.notes).for_each(|note| terminal::note(note));
        let cost = OwnCost::from(stopped.unwrap_or(started)).sentences();
        let cost = cost.map(|sentences| format!(" {sentences}")).unwrap_or_default();
        terminal::note(&format!("Recorded into {}.{cost}", path.display()));
        if self.quiet {
            return Ok(DONE);
        }
        if let Some(experiments) = &self.capture.experiments {
            return causal::show(path, experiments);
        }
        let question = self.breakdown.question();
        report::show(&[PathBuf::from(path)], &question, self.json)
    }
}

/// Says what recording changes in the process, before it does.
fn announce_changes(session: &mut Session, capture: &Capture) -> Result<(), Failure> {
    let preview = session.command(capture.preview_options())?;
    if capture.safe {
        terminal::note("No function, method or class of the process is changed.");
    } else if !preview.will_change.is_empty() {
        terminal::note("Until the recording ends, this is changed or open in the process:");
        preview.will_change.iter().for_each(|change| terminal::note(&format!("  - {change}")));
    }
    Ok(())
}

/// Why recording ended.
enum Ended {
    InTime,
    Early,
    WithTarget,
}

/// A flag that Ctrl-C and its like set, in place of ending us.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(Failure::doing("cannot handle signals"))?;
    }
    Ok(flag)
}

/// One line per mechanism that is not active as it should be.
pub fn warn_of_degraded(reply: &Reply) {
    let screen = Screen::stderr();
    let degraded = reply.degraded.iter().map(|degraded| (&*degraded.mechanism, &*degraded.reason));
    for reason in missing::sentences(degraded) {
        terminal::note(&format!("{} {reason}", screen.warning("degraded:")));
    }
}
