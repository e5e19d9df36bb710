//! `headway parks`: how much threads parked on each blocker object, from a
//! recording or from a running JVM.

use crate::agent::options::AgentOptions;
use crate::agent::reply::Reply;
use crate::attach::Session;
use crate::command::first_given;
use crate::error::{Failure, DONE, FAILURE};
use crate::interrupt;
use crate::json;
use crate::jvm::{find, Jvm};
use crate::quantity::{self, Span};
use crate::recording::analysed::{read_with_names, unreadable};
use crate::recording::input;
use crate::render::numbers::grouped;
use crate::render::park_statistics::park_statistics;
use crate::render::print_folded;
use crate::terminal::Screen;
use clap::Args;
use headway_analysis::park::statistics::{ParkStatisticsReport, ParkSummary, TallyOptions};
use headway_jfr::Reader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  headway parks app.jfr
  headway parks -d 10 4711
  headway parks --print-threshold 100 --json Server | jq '.blockers[0]'

Threads that wait for work, or for the end of threads, are idle: ignore blockers
that are marked `idle`. Of the others, the one with the most thread time is likely the bottleneck.
If each wait has its own object (a future, a latch), all rows are small: then see
WAITING in `headway report --full FILE`, which adds up the waits at one place.

Columns:
  now, peak      threads that are parked now, and most threads parked at one time
  thread time    parked time, added up over all threads
  real time      time in which at least one thread was parked
  avg park       thread time / number of parks
  avg hold       real time / number of parks that ended. For a lock that always has a
                 queue, this is about how long each owner had it; for a semaphore,
                 how long no permit was available. Ignore it for other blockers
  real / run     real time as a part of the measured time
  thread / run   thread time as a part of the measured time. 100 %: one thread
                 was parked on average
  real / life, thread / life
                 the same, as parts of the time between the first and the last
                 event on this blocker

If no recording runs in the JVM, `parks` attaches the agent, counts parks, and
undoes its changes at the end. If `parks` is killed, the agent undoes them.";

/// Options of `parks`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Parks {
    /// Measure a blocker (the object that threads park on) from its Nth park on; default: from the first
    #[arg(long, value_name = "N", help_heading = "What to show")]
    threshold: Option<u64>,

    /// Show only blockers with at least this many parks; default: all
    #[arg(long, value_name = "N", help_heading = "What to show")]
    print_threshold: Option<u64>,

    /// Show this many frames of each stack
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "What to show")]
    frames: usize,

    /// Show this many blockers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to show")]
    top: u32,

    /// In a running JVM: count for this long first. Default: show what has been counted so far;
    /// if that is nothing, count for 10 s
    #[arg(short, long, value_name = "TIME", value_parser = quantity::seconds)]
    duration: Option<Span>,

    /// In a running JVM: forget garbage-collected blockers after they have been shown
    #[arg(long)]
    free_on_print: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Recording, or process id, main class or jar of a running JVM
    #[arg(value_name = "FILE|PID|NAME")]
    target: String,
}

/// How long is counted where nothing is counted yet.
const COUNT: Duration = Duration::from_secs(10);
/// The agent itself ends counting that we have not ended this long after its time.
const LATE: Duration = Duration::from_secs(60);

const ENDED_MEANWHILE: &str =
    "parks are not counted in this JVM any more: whatever counted them ended meanwhile; run the command again";

impl Parks {
    /// Carries out the command.
    ///
    /// # Errors
    /// No such recording or JVM, or the JVM does not answer. Of a damaged
    /// recording the readable part is shown first.
    pub fn execute(self) -> Result<u8, Failure> {
        let path = PathBuf::from(&self.target);
        let looks_like_file =
            input::is_standard(&path) || path.exists() || self.target.contains('/') || self.target.contains(".jfr");
        let (report, damage) = match looks_like_file {
            true => self.of_recording(&path)?,
            false => (self.of_jvm(&find::jvm(&self.target)?)?, None),
        };
        self.show(report)?;
        damage.map_or(Ok(DONE), Err)
    }

    fn of_recording(&self, path: &Path) -> Result<(ParkStatisticsReport, Option<Failure>), Failure> {
        let options = [(self.duration.is_some(), "--duration"), (self.free_on_print, "--free-on-print")];
        if let Some(option) = first_given(options) {
            return Err(Failure::Usage(format!("{option} has no effect on a recording: leave it out")));
        }
        let mut summary = ParkSummary::new(TallyOptions {
            collection_threshold: self.threshold.unwrap_or(0),
            printing_threshold: self.print_threshold.unwrap_or(0),
            ..TallyOptions::offline()
        });
        let mut damage = None;
        let reader = Reader::open(input::place(path)?).map_err(|problem| unreadable(path, problem))?;
        read_with_names(reader, self.json, |item| match item {
            Ok(event) => summary.feed(event),
            Err(problem) => {
                damage.get_or_insert(Failure::DamagedRecording { path: path.to_owned(), problem });
            }
        });
        Ok((summary.finish(), damage))
    }

    fn of_jvm(&self, jvm: &Jvm) -> Result<ParkStatisticsReport, Failure> {
        let mut session = Session::open(jvm)?;
        // Killed, we could not end it.
        let lease = session.hold_lease()?;
        let lasts = self.duration.map_or(COUNT, |duration| Duration::from_nanos(duration.ns)).saturating_add(LATE);
        let lasts = u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX).to_string();
        let first = session.command(self.options().with_path("lease", &lease)?.with("duration", &lasts))?;
        let wait = match (self.duration, first.parks_began) {
            (Some(duration), _) => Duration::from_nanos(duration.ns),
            (None, true) => COUNT,
            (None, false) => return self.statistics(first),
        };
        let until = Instant::now() + wait;
        // An interruption shows what was counted until then.
        interrupt::finish();
        while Instant::now() < until && !interrupt::came() && session.target_lives() {
            std::thread::sleep(Duration::from_millis(50).min(until.saturating_duration_since(Instant::now())));
        }
        // What another command line began is not ours to end. If that ended it meanwhile, it
        // begins once more here, and ends with our lease.
        let last = session.command(self.options().with_path("lease", &lease)?.with_flag("end", first.parks_began))?;
        match last.parks_began {
            true => Err(Failure::Agent { message: ENDED_MEANWHILE.to_owned(), exit_code: FAILURE }),
            false => self.statistics(last),
        }
    }

    fn statistics(&self, reply: Reply) -> Result<ParkStatisticsReport, Failure> {
        let pid = reply.pid;
        let reply = if self.json { reply } else { reply.printable() };
        reply.parks.ok_or_else(|| Failure::NoReply { pid, problem: "its reply has no park statistics".into() })
    }

    fn options(&self) -> AgentOptions {
        AgentOptions::new("parks")
            .with_some("park_threshold", self.threshold)
            .with_some("park_print_threshold", self.print_threshold)
            .with_flag("park_free_on_print", self.free_on_print)
    }

    fn show(&self, mut report: ParkStatisticsReport) -> Result<(), Failure> {
        let top = self.top as usize;
        let hidden = report.blockers.len().saturating_sub(top);
        if self.json {
            return json::print(&report);
        }
        report.blockers.truncate(top);
        let more = if hidden > 0 { format!("{} more beyond --top.\n", grouped(hidden as u64)) } else { String::new() };
        let printed = print_folded(&park_statistics(&report, self.frames, &more, &Screen::stdout()));
        printed.map_err(Failure::doing("cannot write to standard output"))
    }
}
