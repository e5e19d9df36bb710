//! `ingest`: recordings into a store.

use crate::arguments::Ingest;
use crate::failure::Failure;
use headway_jfr::Problem;
use headway_model::printable;
use headway_rollup::{Rolled, Rollup, Source};
use headway_store::Store;
use std::path::Path;

/// See the module's description.
///
/// # Errors
/// The store fails, no recording can be read, or one was damaged.
pub async fn ingest(asked: &Ingest) -> Result<(), Failure> {
    if asked.service.is_empty() {
        return Err(Failure::Usage("--service is empty; name what the JVMs are instances of".into()));
    }
    let source = Source {
        host: asked.host.clone().unwrap_or_else(this_machine),
        service: asked.service.clone(),
        version: asked.version.clone(),
        environment: asked.environment.clone(),
        labels: asked.labels.clone(),
        cpus: asked.cpus,
    };
    // All are looked at before anything is written.
    if let Some(missing) = asked.files.iter().find(|file| !file.is_file()) {
        return Err(Failure::Failed(format!("there is no recording {}", missing.display())));
    }
    let store = Store::open_or_make(&asked.store).await?;
    let mut damaged = Vec::new();
    for file in &asked.files {
        let mut rolled = read(file, &source)?;
        rolled.recording = kept_at(file);
        let delivered = store.deliver(&rolled).await?;
        let name = printable(&file.display().to_string()).into_owned();
        let minutes = counted(rolled.load.len(), "minute");
        match (delivered.new.len(), delivered.known.len()) {
            (0, _) => println!("{name}: {minutes}, already in the store"),
            (_, 0) => println!("{name}: {minutes}, {} rows", delivered.rows),
            (_, known) => {
                let days = counted(known, "day");
                println!("{name}: {minutes}, {} rows; {days} already in the store", delivered.rows);
            }
        }
        report_gaps(&name, &rolled);
        damaged.extend(rolled.problems.first().map(|problem| format!("{name} is damaged: {problem}")));
    }
    match damaged.first() {
        None => Ok(()),
        Some(first) if damaged.len() == 1 => Err(Failure::Damaged(first.clone())),
        Some(first) => Err(Failure::Damaged(format!("{} recordings are damaged; {first}", damaged.len()))),
    }
}

/// Where a recording is found again: from the root on, links followed.
fn kept_at(file: &Path) -> Option<String> {
    Some(file.canonicalize().ok()?.to_str()?.to_owned())
}

/// `1 minute`, `2 minutes`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Nothing is missing silently.
fn report_gaps(name: &str, rolled: &Rolled) {
    let dropped: u64 = rolled.load.iter().map(|row| row.dropped).sum();
    if dropped > 0 {
        eprintln!("{name}: {dropped} losses, as in the report of the recording (load_minute.dropped)");
    }
    if rolled.folded > 0 {
        eprintln!("{name}: a memory bound was reached {} times: totals are right, stacks are missing", rolled.folded);
    }
    if !rolled.clock_jumps.is_empty() {
        eprintln!("{name}: the wall clock was set {} times while recording (clock_jump)", rolled.clock_jumps.len());
    }
}

/// Reads a recording.
///
/// # Errors
/// It cannot be read as one.
pub fn read(file: &Path, source: &Source) -> Result<Rolled, Failure> {
    Rollup::read(file, source).map_err(|problem| match problem {
        Problem::NotARecording(path) => {
            Failure::Failed(format!("{} is neither a recording (JFR) nor a store", path.display()))
        }
        other => Failure::Failed(other.to_string()),
    })
}

/// The name of this machine.
pub fn this_machine() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}
