//! `fleet`: looking after a store, `fleet regressions` and `fleet view`.

use crate::arguments::{Days, Task};
use crate::failure::Failure;
use crate::hours::roll_up;
use crate::regressions;
use crate::submit::submit;
use crate::tables::tables;
use headway_store::{Compacted, Day, Removed, Store};
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module's description.
///
/// # Errors
/// The store fails.
pub async fn keep(task: &Task) -> Result<(), Failure> {
    match task {
        Task::Status(place) => status(&Store::open(&place.store).await?).await,
        Task::Regressions(asked) => regressions::regressions(asked).await,
        Task::Search(search) => regressions::spark::search(search).await,
        Task::Estimate => regressions::spark::estimate(),
        Task::View(asked) => crate::view::view(asked).await,
        Task::Compact { place, days } => compact(&Store::open(&place.store).await?, days).await,
        Task::Retain { days, place } => {
            let store = Store::open(&place.store).await?;
            let removed = store.retire(today()?.before(days - 1)).await?;
            report(&removed);
            Ok(())
        }
        Task::Tables { place, days } => {
            println!("{}", tables(&place.store, days).await?.to_json()?);
            Ok(())
        }
        Task::Submit(asked) => submit(asked).await,
        Task::RemoveService { service, place } => {
            let removed = Store::open(&place.store).await?.remove_service(service).await?;
            report(&removed);
            Ok(())
        }
    }
}

/// A line for each day. Files and bytes include those of hours; rows do not, since hours repeat what minutes have.
async fn status(store: &Store) -> Result<(), Failure> {
    println!("{:10}  {:>8}  {:>8}  {:>12}  {:>14}  {:>10}", "day", "batches", "files", "rows", "bytes", "with hours");
    for day in store.days().await? {
        let snapshot = store.snapshot(day).await?;
        let kept = snapshot.hours();
        let of_hours = || kept.values().flat_map(|hours| &hours.files);
        let files = snapshot.files().count() + of_hours().count();
        let rows: u64 = snapshot.files().map(|file| file.rows).sum();
        let bytes: u64 = snapshot.files().chain(of_hours()).map(|file| file.bytes).sum();
        let buckets = format!("{} of {}", kept.len(), kept.len() + snapshot.without_hours().len());
        let batches = snapshot.batches().len();
        println!("{day}  {batches:>8}  {files:>8}  {rows:>12}  {bytes:>14}  {buckets:>10}");
    }
    Ok(())
}

async fn compact(store: &Store, days: &Days) -> Result<(), Failure> {
    for day in store.days().await?.into_iter().filter(|day| days.contain(*day)) {
        let Compacted { batches, files_before, files_after, rows_before, rows_after } = store.compact(day).await?;
        if batches > 0 {
            println!(
                "{day}: {batches} batches; {files_before} files became {files_after}, {rows_before} rows {rows_after}"
            );
        }
        let buckets = roll_up(store, day).await?;
        if buckets > 0 {
            println!("{day}: hours of {buckets} {} made", if buckets == 1 { "bucket" } else { "buckets" });
        }
    }
    let tidied = store.tidy().await?;
    println!("{} unused files deleted, {} bytes", tidied.files + tidied.records, tidied.bytes);
    Ok(())
}

fn report(removed: &Removed) {
    let days: Vec<String> = removed.days.iter().map(Day::to_string).collect();
    match days.is_empty() {
        true => println!("nothing to remove"),
        false => println!("{} rows removed, {} files deleted: {}", removed.rows, removed.files, days.join(", ")),
    }
}

fn today() -> Result<Day, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_err(|_| Failure::Failed("this machine's clock is before 1970".into()))?;
    Ok(Day::of_ns(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)))
}
