//! The commands, one file each; `capture` and `breakdown` are the options
//! that several of them have in common.

pub mod breakdown;
pub mod capture;
pub mod causal;
pub mod completion;
pub mod diff;
pub mod dump;
pub mod export;
pub mod flame;
pub mod fleet;
pub mod list;
pub mod man;
pub mod method;
pub mod metrics;
pub mod park_statistics;
pub mod parks;
pub mod pressure;
pub mod record;
pub mod report;
pub mod report_html;
pub mod run;
pub mod start;
pub mod status;
pub mod stop;
pub mod top;
pub mod view;
pub mod weighing;

use crate::args::Command;
use crate::error::Failure;

/// The first of these options that is on the command line, for commands on which they have no effect.
pub fn first_given<const N: usize>(options: [(bool, &'static str); N]) -> Option<&'static str> {
    options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
}

/// Carries out a command and gives the exit code.
///
/// # Errors
/// What the command could not do.
pub fn execute(command: Command) -> Result<u8, Failure> {
    match command {
        Command::List(list) => list.execute(),
        Command::Run(run) => run.execute(),
        Command::Record(record) => record.execute(),
        Command::Start(start) => start.execute(),
        Command::Stop(stop) => stop.execute(),
        Command::Dump(dump) => dump.execute(),
        Command::Status(status) => status.execute(),
        Command::Top(top) => top.execute(),
        Command::Metrics(metrics) => metrics.execute(),
        Command::Report(report) => report.execute(),
        Command::Causal(causal) => causal.execute(),
        Command::Parks(parks) => parks.execute(),
        Command::View(view) => view.execute(),
        Command::Flame(flame) => flame.execute(),
        Command::Diff(diff) => diff.execute(),
        Command::Export(export) => export.execute(),
        Command::Sql(fleet) => fleet.execute("sql"),
        Command::Ingest(fleet) => fleet.execute("ingest"),
        Command::Ship(fleet) => fleet.execute("ship"),
        Command::Fleet(fleet) => fleet.execute("fleet"),
        Command::Completion(completion) => completion.execute(),
        Command::Man(man) => man.execute(),
    }
}
