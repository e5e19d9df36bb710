//! Waits that nobody ended while the recording lasted: the threads are idle, or they are stuck.

use super::seen::{short, without_line};
use super::words::{code, count};
use crate::aggregate::{share, Range};
use crate::names::{is_plumbing, Names, PathId};
use crate::report::{Report, WaitSite};
use crate::threads::Threads;
use headway_model::ThreadId;
use rustc_hash::FxHashMap;

/// Idle threads are named from this part of all threads' time on.
const MANY: f64 = 0.25;
/// Methods below which a pool's threads execute its tasks.
const RUNS_TASKS: [&str; 3] = [
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.ForkJoinPool.runWorker",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker",
];

/// What is said of a pool all of whose threads wait with the stack `path`, each since its task began.
pub(super) fn whole_pool(
    waiting: &FxHashMap<ThreadId, u64>,
    path: PathId,
    (threads, range): (&Threads, Range),
    names: &Names,
) -> Option<String> {
    let frames = names.frames(path);
    let mut methods = frames.iter().filter_map(|frame| names.method_name(frame.name));
    let runs_tasks = methods.any(|name| RUNS_TASKS.contains(&name.full.as_str()));
    let group = names.group_text(*waiting.keys().next()?);
    let is_of_pool = |thread: &ThreadId| names.group_text(*thread) == group && threads.life_ns(*thread, range) > 0;
    let all = threads.ids().filter(is_of_pool);
    let mut others = all.filter(|thread| !waiting.contains_key(thread));
    if !runs_tasks || others.next().is_some() || waiting.keys().any(|thread| !is_of_pool(thread)) {
        return None;
    }
    let who = match waiting.len() {
        1 => "The only thread of this pool waits".to_owned(),
        n => format!("All {} of this pool wait", count(n as u64, "thread")),
    };
    Some(format!("{who}: if a task of the same pool should end the wait, it cannot start."))
}

/// Which threads looked idle from the beginning to the end, if they are many: where none of them was ever woken, the
/// recording does not show whether they should have been.
pub(super) fn never_woken(report: &Report) -> Option<String> {
    let is_candidate = |site: &&WaitSite| {
        site.idle && site.in_flight == site.count && share(site.total_ns, report.ledger.total_ns) >= MANY
    };
    let site = report.waits.iter().filter(is_candidate).max_by_key(|site| site.total_ns)?;
    let frames = || site.stack.iter().map(|frame| without_line(frame.as_str()));
    // In a library's pool, a thread without work waits for it.
    let place = frames().find(|full| !is_plumbing(full))?;
    let group = site.groups.first().map(|group| code(&group.name)).unwrap_or_default();
    let place = code(&short(place));
    Some(match site.threads {
        1 => format!("Thread {group} was in {place} all the time: idle, or nobody woke it."),
        n => format!("{} {group} were in {place} all the time: idle, or nobody woke them.", count(n, "thread")),
    })
}
