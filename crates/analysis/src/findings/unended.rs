//! Waits that nobody ended while the recording lasted: the threads are idle, or they are stuck.

use super::seen::{short, without_line};
use super::words::{begun, code, count};
use crate::aggregate::{share, Range};
use crate::names::{is_plumbing, Names, PathId};
use crate::park::Synchronizer;
use crate::report::{Report, WaitSite};
use crate::threads::Threads;
use headway_model::ThreadId;
use rustc_hash::FxHashMap;

/// Idle threads are named from this part of all threads' time on.
const MANY: f64 = 0.25;
/// Those that wait elsewhere are named, too, from this part of the time of the first ones on.
const AS_MANY: f64 = 0.5;
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
pub(super) fn never_woken(report: &Report) -> Option<NeverWoken> {
    let is_candidate = |site: &&WaitSite| site.idle && site.in_flight == site.count;
    let mut sites: Vec<&WaitSite> = report.waits.iter().filter(is_candidate).collect();
    sites.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.stack.cmp(&b.stack)));
    // In a library's pool, a thread without work waits for it.
    let place = |site: &WaitSite| {
        let mut frames = site.stack.iter().map(|frame| without_line(frame.as_str()));
        frames.find(|full| !is_plumbing(full)).map(|full| code(&short(full)))
    };
    let who = |site: &WaitSite| {
        let group = site.groups.first().map(|group| code(&group.name)).unwrap_or_default();
        match site.threads {
            1 => format!("thread {group}"),
            n => format!("{} {group}", count(n, "thread")),
        }
    };
    let first = *sites.first()?;
    let other = sites.get(1).filter(|other| share(other.total_ns, first.total_ns) >= AS_MANY);
    let named_ns = first.total_ns + other.map_or(0, |other| other.total_ns);
    if share(named_ns, report.ledger.total_ns) < MANY {
        return None;
    }
    let (begun, at) = (begun(&who(first)), place(first)?);
    if let Some((other, there)) = other.and_then(|other| Some((other, place(other)?))) {
        let for_each_other = may_wait_for_each_other(first, other);
        let how = if for_each_other { "they may wait for each other" } else { "idle, or nobody woke them" };
        let (were, other) = (if first.threads == 1 { "was" } else { "were" }, who(other));
        return Some(NeverWoken {
            text: format!("{begun} {were} in {at} all the time, and {other} in {there}: {how}."),
            for_each_other,
        });
    }
    let text = match first.threads {
        1 => format!("{begun} was in {at} all the time: idle, or nobody woke it."),
        _ => format!("{begun} were in {at} all the time: idle, or nobody woke them."),
    };
    Some(NeverWoken { text, for_each_other: false })
}

/// What is said of threads that nobody woke.
pub(super) struct NeverWoken {
    /// A sentence.
    pub text: String,
    /// True if they may wait for each other, which idle threads do not.
    pub for_each_other: bool,
}

/// True if both wait with `Object.wait` for one object in different methods of one class, as those do that give and take.
/// A time limit wakes a thread, too.
fn may_wait_for_each_other(one: &WaitSite, other: &WaitSite) -> bool {
    let in_class = |site: &WaitSite| site.method.rsplit_once('.').map(|(class, _)| class.to_owned());
    let may_last = |site: &&WaitSite| site.synchronizer == Synchronizer::Monitor && site.in_flight_with_limit == 0;
    [one, other].iter().all(may_last)
        && one.lock == other.lock
        && one.method != other.method
        && in_class(one).is_some()
        && in_class(one) == in_class(other)
}
