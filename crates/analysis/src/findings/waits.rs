//! Findings about waiting in the middle of work: databases' row locks, latches,
//! results, permits, queues that are full or empty. Threads that wait for work
//! are left out.

mod enders;
mod lives;
mod meanwhile;

use super::callers::{caller_elsewhere, of_application};
use super::locks::{full, ranked, short};
use super::others::{woken_by, Others, Whose};
use super::seen::{Doing, Doings, OFTEN};
use super::words::{begun, code, count, grouped, percent, Who};
use super::{evidence, lives_of, of_active, part_of_active, unended, Gist, Grounds, MOST};
use crate::aggregate::{share, Range};
use crate::analysis::Analysis;
use crate::ledger::{EntryKind, Quality};
use crate::meanwhile::Seen;
use crate::names::{NameId, Names, PathFrame, PathId, TextId, NO_OBJECT};
use crate::park::Synchronizer;
use crate::report::{Evidence, Finding, FindingKind, FindingStack};
use crate::returned::{had, in_common, Returned};
use crate::summary::{groups, notifiers};
use crate::threads::Threads;
use crate::wait_class::{is_giving, is_join, IMPATIENT_NS};
use crate::waits::{Site, Unanswered};
use headway_model::{DurationNs, ThreadId};
pub(super) use lives::Lives;
pub use lives::ShortLived;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// What is waited for where nothing else is known.
const TIME: &str = "time to pass";
/// What threads poll for leaves no event.
const POLLS: &str = "Such short waits are polling: for room or a result, or for work, and then these threads are idle.";
/// All that ended such waits before wait themselves, in another method for the same object.
pub(super) const LEFT_ALONE: &str =
    "All threads that ended such waits before wait for the same object, too: nobody may be left to \
                          wake them, for example after a `notify` that woke the wrong thread.";
/// Waiting counts if it takes at least this part of the waiters' life.
const OF_LIFE: f64 = 0.02;
/// One method wakes a helper if it does so for this part of its waits.
const MOST_OF: f64 = 0.5;
/// Unfinished waits are mentioned from this part of the waiting on.
const IN_FLIGHT: f64 = 0.05;

/// Waits in one method on one class of object, whatever led there.
#[derive(Debug, Default)]
struct Group {
    synchronizer: Synchronizer,
    entry: EntryKind,
    total: u64,
    reached: u64,
    count: u64,
    max: u64,
    notified: u64,
    timed_out: u64,
    /// Waits that had not ended when the recording did, and their time.
    in_flight: u64,
    in_flight_ns: u64,
    unanswered: Vec<Unanswered>,
    /// Threads wait on several objects.
    many_locks: bool,
    /// Nobody is left to wake them; see [`WaitClasses::is_left_alone`](crate::wait_class::WaitClasses::is_left_alone).
    left_alone: bool,
    threads: FxHashMap<ThreadId, u64>,
    notifiers: FxHashMap<TextId, u64>,
    /// What was seen of others meanwhile, by group and stack, and the elapsed time of that.
    meanwhile: FxHashMap<(TextId, PathId), Seen>,
    seen_elapsed: u64,
    /// Waits and their time by who ended them.
    wakers: FxHashMap<(TextId, Option<PathId>), Ended>,
    paths: FxHashMap<PathId, u64>,
}

/// Waits that were ended in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    times: u64,
    ns: u64,
}

impl Ended {
    fn add(&mut self, other: Ended) {
        self.times += other.times;
        self.ns += other.ns;
    }
}

/// Findings about `Object.wait`, and about parks that acquire no lock; without
/// those that `told` methods are the subject of already.
pub(super) fn find(
    analysis: &Analysis,
    (active_ns, range): (u64, Range),
    grounds: &Grounds<'_>,
    told: &[NameId],
) -> Vec<Finding> {
    let names = &analysis.names;
    let lives = Lives::new(analysis, (active_ns, range));
    let mut grouped: BTreeMap<(TextId, NameId, Synchronizer), Group> = BTreeMap::new();
    for (place, site) in analysis.waits.sites().iter().enumerate() {
        let Some(method) = site.method else { continue };
        let parks = site.synchronizer != Synchronizer::Monitor;
        let said = grounds.classes.is_idle(place) || (parks && told.contains(&method));
        if !said {
            let group = grouped.entry((site.class, method, site.synchronizer)).or_default();
            group.entry = grounds.classes.get(place);
            group.left_alone |= grounds.classes.is_left_alone(place);
            group.add(site);
            group.add_seen(analysis, site);
        }
    }
    let mut findings: Vec<Finding> = grouped
        .iter()
        .filter_map(|((class, method, _), group)| {
            group.finding((names.text(*class), *method), (analysis, grounds), &lives)
        })
        .collect();
    findings.sort_by(|a, b| b.cost_ns.cmp(&a.cost_ns).then_with(|| a.text.cmp(&b.text)));
    findings.truncate(MOST);
    findings
}

/// What is known of the waits in a method.
#[derive(Clone)]
pub(super) struct SeenIn {
    /// What those did who were waited for, in a sentence.
    pub did: Option<String>,
    /// The same for the verdict.
    pub gist: Gist,
    /// The stacks of both.
    pub stacks: Vec<FindingStack>,
    /// See [`Group::called`].
    pub called: Option<String>,
}

/// `whose` it was if threads of one group wait for each other.
pub(super) fn seen_in(
    analysis: &Analysis,
    (method, synchronizer): (NameId, Synchronizer),
    whose: Whose,
    lives: &Lives<'_>,
) -> SeenIn {
    let mut group = Group::default();
    let sites = analysis.waits.sites().iter();
    for site in sites.filter(|site| site.method == Some(method) && site.synchronizer == synchronizer) {
        group.add(site);
        group.add_seen(analysis, site);
    }
    let names = &analysis.names;
    let others = group.seen(names, &group.enders(), whose);
    let mut did = others.as_ref().and_then(Others::text);
    let mut gist = group.gist(method, others.as_ref(), names);
    if let Some(few) = others.as_ref().and_then(|others| group.few_at_work(others, analysis, lives)) {
        gist.add(&few);
        did = did.map(|did| format!("{did} {few}"));
    }
    SeenIn { did, gist, stacks: group.stacks(names), called: group.called(names) }
}

/// What the owner of a lock waited for meanwhile.
pub(super) struct OfOwner {
    /// ``in `Orders.price` for a result``.
    pub waited: String,
    /// What was waited for: `a result`.
    pub awaited: String,
    /// What those did that it waited for, in a sentence.
    pub did: Option<String>,
    /// The same for the verdict.
    pub mostly: Option<String>,
}

/// What threads mostly waited for in this method and what it called, if they can have owned a lock meanwhile: one after
/// the other for each of so many `locks`, and for at least so long.
pub(super) fn of_owner(
    owner: NameId,
    (locks, least_ns): (u64, u64),
    range_ns: u64,
    (analysis, grounds): (&Analysis, &Grounds<'_>),
) -> Option<OfOwner> {
    let names = &analysis.names;
    let is_in_owner = |path: PathId| names.frames(path).iter().any(|frame| frame.name == owner);
    let mut grouped: FxHashMap<(TextId, NameId, Synchronizer), Group> = FxHashMap::default();
    for (place, site) in analysis.waits.sites().iter().enumerate() {
        let method = site.method.filter(|_| site.path.is_some_and(is_in_owner) && !grounds.classes.is_idle(place));
        let Some(method) = method else { continue };
        let group = grouped.entry((site.class, method, site.synchronizer)).or_default();
        group.entry = grounds.classes.get(place);
        group.add(site);
        group.add_seen(analysis, site);
    }
    let all: u64 = grouped.values().map(|group| group.total).sum();
    let ((_, method, _), group) = ranked(&grouped, |group| group.total).first().copied()?;
    let is_it =
        share(group.total, all) >= MOST_OF && group.total >= least_ns && group.total <= range_ns.saturating_mul(locks);
    if !is_it {
        return None;
    }
    let mut others = group.others(analysis, grounds).0.map(|(others, _)| others);
    if let Some(others) = others.as_mut().filter(|others| others.own.is_none()) {
        // One after the other: the time in which somebody waited is the sum.
        others.doings.compare_with(group.total);
    }
    let awaited = group.what_for(names);
    let by = group.ended_by_group();
    let most = ranked(&by, |ns| *ns).first().filter(|(_, ns)| share(**ns, group.total) >= MOST_OF).copied();
    let ended = most.map(|(by, _)| format!("{} ended these waits.", named(*by, names).begun()));
    Some(OfOwner {
        waited: format!("in {} for {awaited}", code(&short(*method, names))),
        did: others.as_ref().and_then(Others::text).or_else(|| ended.clone()),
        mostly: others.as_ref().and_then(|others| others.mostly(&awaited)).or(ended),
        awaited,
    })
}

/// The same, from which on the waiters give each other what they wait for.
const BY_OWN: f64 = 0.3;
/// Part of the waited time that threads ended, from which on it is said what they did.
const OF_MANY: f64 = 0.5;
/// Part of what was seen from which on the others that had it are not worth a word.
const ALONE: f64 = 0.9;
/// Call stacks of waits that are looked at for the method that has what is waited for, most time first.
const PATHS: usize = 16;
/// Samples from which on it is known that threads were looked at.
const FEW_SEEN: u64 = 5;
/// Who returns what others had, and wakes those that wait for it: those that had it hand
/// it over, and wake the helper.
struct Helper {
    name: String,
    /// `` `Orders.order` in `request-*` `` that mostly wakes it.
    woken_by: String,
    /// The threads that wake it and the stacks with which they do.
    wakers: Vec<(TextId, PathId)>,
}

impl Group {
    fn add_seen(&mut self, analysis: &Analysis, site: &Site) {
        for (actor, seen) in analysis.meanwhile.of(site.class, site.path) {
            let known = self.meanwhile.entry(*actor).or_default();
            known.count += seen.count;
            known.ns += seen.ns;
        }
        self.seen_elapsed += analysis.meanwhile.elapsed_ns(site.class, site.path);
    }

    fn add(&mut self, site: &Site) {
        self.synchronizer = site.synchronizer;
        for (waker, (times, ns)) in &site.wakers {
            self.wakers.entry(*waker).or_default().add(Ended { times: *times, ns: *ns });
        }
        self.total += site.total_ns;
        self.reached += site.reached_ns;
        self.count += site.count;
        self.max = self.max.max(site.max_ns);
        self.notified += site.notified;
        self.timed_out += site.timed_out;
        self.in_flight += site.in_flight;
        self.in_flight_ns += site.in_flight_ns;
        self.unanswered.push(site.unanswered);
        self.many_locks |= site.many_locks;
        for (thread, ns) in &site.threads {
            *self.threads.entry(*thread).or_default() += ns;
        }
        for (notifier, times) in &site.notifiers {
            *self.notifiers.entry(*notifier).or_default() += times;
        }
        if let Some(path) = site.path {
            *self.paths.entry(path).or_default() += site.total_ns;
        }
    }

    fn finding(
        &self,
        (class, method): (&str, NameId),
        (analysis, grounds): (&Analysis, &Grounds<'_>),
        lives: &Lives<'_>,
    ) -> Option<Finding> {
        let names = &analysis.names;
        let life = self.life_ns(lives, names);
        // One thread that waits for time keeps to a schedule.
        let keeps_to_a_schedule = self.entry == EntryKind::WaitTime && self.threads.len() == 1;
        if share(self.total, life) < OF_LIFE || keeps_to_a_schedule {
            return None;
        }
        let from = self.called(names).map_or_else(String::new, |called| format!(", {called},"));
        let (others, woken) = self.others(analysis, grounds);
        let (others, did) = others.unzip();
        let by_thread = self.threads.iter().map(|(thread, ns)| (*thread, *ns));
        let part = part_of_active((self.total, lives.active_ns), by_thread, names);
        let mut text = format!(
            "{} waited {}{} in {}{from} for {}. {}.",
            self.waiters(names),
            evidence::time(self.total),
            of_active(part),
            code(&short(method, names)),
            self.what_for(names),
            self.outcome(method, names, (woken.as_ref(), lives), did.is_some()),
        );
        if let Some(did) = &did {
            text = format!("{text} {did}");
        }
        let mut gist = self.gist(method, others.as_ref(), names);
        gist.waits_in = (self.synchronizer == Synchronizer::Monitor).then_some(method);
        let who_works = |others: &Others| {
            self.few_at_work(others, analysis, lives).or_else(|| self.only_busy(others, analysis, lives))
        };
        if let Some(few) = others.as_ref().and_then(who_works) {
            text = format!("{text} {few}");
            gist.add(&few);
        }
        // What was seen for the smaller part of the time says little of those who end the waits.
        let are_seen = others.as_ref().is_some_and(|others| others.doings.are_of_half());
        if let Some(waited) = self.enders_wait((analysis, grounds), lives).filter(|_| !are_seen) {
            text = format!("{text} {waited}");
            gist.add(&waited);
        }
        if let Some(came_and_went) = self.came_and_went(lives, names) {
            text = format!("{text} {came_and_went}");
            gist.add(&came_and_went);
        }
        if self.polls(names) {
            text = format!("{text} {POLLS}");
            gist.add(POLLS);
        }
        if self.left_alone {
            text = format!("{text} {LEFT_ALONE}");
            gist.add(LEFT_ALONE);
            gist.is_left_alone = true;
        }
        if let Some(no_more) = self.ended_no_more(lives) {
            text = format!("{text} {no_more}");
            gist.add(&no_more);
        }
        if let Some(gave_up) = self.gave_up() {
            gist.add(&gave_up);
        }
        if let Some(unended) = self.unended(lives) {
            gist.add(&unended);
            gist.is_unended = true;
        }
        if self.in_flight == self.count {
            let waits_for_result = self.entry == EntryKind::WaitResult;
            let path = self.path().filter(|_| waits_for_result);
            let pool =
                path.and_then(|path| unended::whole_pool(&self.threads, path, (lives.threads, lives.range), names));
            if let Some(pool) = pool {
                text = format!("{text} {pool}");
                gist.add(&pool);
            }
        }
        let mut evidence = self.evidence();
        evidence.extend(others.as_ref().and_then(|others| others.doings.evidence()));
        Some(Finding {
            kind: FindingKind::Waiting,
            text,
            subject: code(&short(method, names)),
            details: self.details(class, method, names),
            stacks: self.stacks(names),
            cost_ns: self.total,
            share: part,
            evidence,
            gist,
            ..Finding::default()
        })
    }

    /// What those did that others waited for, with the sentence that says it; else, or behind it, who woke the helper that
    /// ended the waits.
    fn others(&self, analysis: &Analysis, grounds: &Grounds<'_>) -> (Option<(Others, String)>, Option<Helper>) {
        let names = &analysis.names;
        let said = |others: Others| others.text().map(|did| (others, did));
        let mut direct = self.seen(names, &self.enders(), self.whose(names));
        direct = direct.filter(|others| self.is_of_many(&others.groups));
        if let Some(others) = direct.as_mut().filter(|others| others.is_seldom) {
            // Of a thread that several things are waited for, a sample is about one of them.
            let here =
                |actor: &(TextId, PathId)| others.groups.contains(&actor.0) && self.meanwhile.contains_key(actor);
            others.is_seldom = share(analysis.meanwhile.elapsed_of(here), self.longest_ns()) < MOST_OF;
        }
        // Who was mostly idle itself got from others what it passed on.
        let is_idle = || direct.as_ref().is_none_or(|others| !others.doings.are_of_half() || others.doings.are_idle());
        let (behind, passes_on) = if is_idle() { self.behind(analysis, grounds) } else { None }.unzip();
        let direct = behind.or(direct).and_then(said);
        // What those did that had it says more than who woke a helper.
        let woken = if direct.is_none() { self.helper(analysis, grounds) } else { None };
        let by_helper = || self.seen_by_helper(names, woken.as_ref()?).and_then(said);
        let others = direct.or_else(by_helper);
        let woken = passes_on.or_else(|| woken.filter(|_| others.is_none()));
        (others, woken)
    }

    /// `others` is what is said of those that were waited for.
    fn gist(&self, method: NameId, others: Option<&Others>, names: &Names) -> Gist {
        let groups = self.own_groups(names);
        let who = match (groups.len(), groups.iter().next(), self.threads.keys().next()) {
            (1, Some(group), Some(thread)) => Gist::who(self.threads.len(), &names.thread_text(*thread), group),
            _ => String::new(),
        };
        let place = self.path().and_then(|path| of_application(path, names)).unwrap_or(method);
        let (awaited, place) = (self.what_for(names), code(&short(place, names)));
        let did = others.and_then(|others| others.mostly(&awaited)).or_else(|| self.ended_by_others(method, names));
        Gist { who, awaited, place, meanwhile: did.unwrap_or_default(), ..Gist::default() }
    }

    /// True if these threads look again and again for something that neither an event nor their call stack shows.
    fn polls(&self, names: &Names) -> bool {
        let by_time = self.entry == EntryKind::WaitTime && self.synchronizer == Synchronizer::Other;
        let is_short = self.total < IMPATIENT_NS.saturating_mul(self.count);
        by_time && is_short && self.what_for(names).starts_with(TIME)
    }

    /// For the verdict, where it is not known what others did: who of another group ended most of these waits.
    fn ended_by_others(&self, method: NameId, names: &Names) -> Option<String> {
        let (own, by) = (self.own_groups(names), self.ended_by_group());
        let (group, ns) = ranked(&by, |ns| *ns).first().copied()?;
        let is_most = share(*ns, self.total) >= MOST_OF && !own.contains(names.text(*group));
        is_most.then(|| self.returned(method, names)).flatten().map(|returned| format!("{returned}."))
    }

    fn path(&self) -> Option<PathId> {
        ranked(&self.paths, |ns| *ns).first().map(|(path, _)| **path)
    }

    fn evidence(&self) -> Vec<Evidence> {
        let ended: u64 = self.wakers.values().map(|ended| ended.ns).sum();
        let mut evidence = vec![Evidence::of(self.entry, self.total, Quality::Exact, None)];
        if ended > 0 {
            let by_whom = share(ended, self.total);
            evidence.push(Evidence {
                coverage: Some(by_whom),
                ..Evidence::exact("ended-by-known-thread", ended, Some(by_whom))
            });
        }
        evidence
    }

    /// `` called through a library from `Orders.serve` ``: how the method was called in which most of the waiting was.
    fn called(&self, names: &Names) -> Option<String> {
        let (called, from) = caller_elsewhere(self.path()?, names)?;
        // Where a thread begins says nothing.
        (from != "Thread.run").then(|| format!("{called} {}", code(&from)))
    }

    fn what_for(&self, names: &Names) -> String {
        #[cfg(feature = "advice")]
        if let Some(known) = crate::advice::awaited(&self.stacks(names)) {
            return known.to_owned();
        }
        let words = self.synchronizer.words();
        match (self.entry, self.synchronizer) {
            (_, Synchronizer::Semaphore) => words.to_owned(),
            (_, Synchronizer::Sleep) => "time to pass (`Thread.sleep`)".to_owned(),
            (_, Synchronizer::CyclicBarrier | Synchronizer::Phaser) => format!("the last thread at {words}"),
            (EntryKind::WaitPermit, _) if self.path().is_some_and(|path| is_giving(path, names)) => {
                match self.synchronizer {
                    Synchronizer::Other => "room for another item".to_owned(),
                    _ => format!("room in {words}"),
                }
            }
            (EntryKind::WaitPermit, Synchronizer::Monitor) => {
                "something that another thread returns (`Object.wait`)".to_owned()
            }
            // A future, or an object that a pool makes for each that waits.
            (EntryKind::WaitPermit, _) if self.many_locks => {
                format!("another thread of the same group to return or finish something ({words})")
            }
            // Of several groups, each may return what another one waits for.
            (EntryKind::WaitPermit, _) if !self.ended_by_own(names) || self.own_groups(names).len() > 1 => {
                format!("a permit or a pooled object ({words})")
            }
            (EntryKind::WaitPermit, _) => {
                format!("a permit or pooled object that another thread of the same group returns ({words})")
            }
            (_, Synchronizer::Monitor) if self.path().is_some_and(|path| is_join(path, names)) => {
                format!("{} (`Thread.join`)", Synchronizer::Join.words())
            }
            (EntryKind::WaitTime, Synchronizer::Monitor) => "time to pass (`Object.wait` with a limit)".to_owned(),
            (EntryKind::WaitTime, Synchronizer::Condition) => {
                "time to pass (`Condition.await` with a limit)".to_owned()
            }
            (_, Synchronizer::Monitor) => "a notify (`Object.wait`)".to_owned(),
            (EntryKind::WaitTime, Synchronizer::Other) => format!("{TIME} (`LockSupport.parkNanos`)"),
            _ => words.to_owned(),
        }
    }

    /// `16 threads `worker-*``, `Thread `main``.
    fn waiters(&self, names: &Names) -> String {
        let mut ids = self.threads.keys();
        if let (Some(only), None) = (ids.next(), ids.next()) {
            return format!("Thread {}", code(&names.thread_text(*only)));
        }
        let groups = groups(self.threads.keys().map(|thread| (names.group_text(*thread), 1)));
        let first = groups.first().map_or("", |group| &group.name);
        match groups.len() {
            1 => format!("{} {}", count(self.threads.len() as u64, "thread"), code(first)),
            _ => format!("{}, most of them {},", count(self.threads.len() as u64, "thread"), code(first)),
        }
    }

    /// The helper that ends these waits, if one does: a pool's returns what others had, who hand
    /// it over. `None` where the stacks of those that wait, and of those that wake the helper, have
    /// no method of the application in common.
    fn helper(&self, analysis: &Analysis, grounds: &Grounds<'_>) -> Option<Helper> {
        let names = &analysis.names;
        let by = self.ended_by_group();
        let helper = **ranked(&by, |ns| *ns).first().map(|(group, _)| group)?;
        let own = self.own_groups(names);
        if own.contains(names.text(helper)) {
            return None;
        }
        let waits = names.frames(self.path()?);
        let (mut all, mut woken) = (0, FxHashMap::<(NameId, TextId), u64>::default());
        let mut wakers = Vec::new();
        for ((group, path), (times, _)) in idle_sites(helper, analysis, grounds).flat_map(|site| &site.wakers) {
            all += times;
            let Some(path) = path.filter(|_| own.contains(names.text(*group))) else { continue };
            let ended = names.frames(path);
            let Some(had) = had(&ended, &waits, names) else { continue };
            wakers.push((*group, path));
            if let Some(frame) = ended.get(ended.len() - had) {
                *woken.entry((frame.name, *group)).or_default() += times;
            }
        }
        let ((method, group), times) = ranked(&woken, |times| *times).first().copied()?;
        let is_most = share(*times, all) >= MOST_OF;
        let [name, group] = [helper, *group].map(|group| code(&names.group_or_thread(group)));
        let woken_by = format!("{} in {group}", code(&short(*method, names)));
        is_most.then_some(Helper { name, woken_by, wakers })
    }

    /// What those did that gave work to a helper, which ended most of these waits and was idle until it got that work;
    /// and the helper. `None` if the waiters gave it, or if it is not known for half of the time what those did.
    fn behind(&self, analysis: &Analysis, grounds: &Grounds<'_>) -> Option<(Others, Helper)> {
        let (names, by, own) = (&analysis.names, self.ended_by_group(), self.own_groups(&analysis.names));
        let helper = **ranked(&by, |ns| *ns).first().map(|(group, _)| group)?;
        if own.contains(names.text(helper)) || !self.is_of_many(&[helper]) {
            return None;
        }
        let mut idle = Group::default();
        for site in idle_sites(helper, analysis, grounds) {
            idle.add(site);
            idle.add_seen(analysis, site);
        }
        let mut others = idle.seen(names, &idle.enders(), Whose::WaitedFor)?;
        let is_other = others.own.is_none() && others.groups.iter().all(|group| !own.contains(names.text(*group)));
        others.doings.compare_with(self.longest_ns());
        let is_known = is_other && idle.is_of_many(&others.groups) && others.doings.are_of_half();
        let name = named(helper, names);
        let woken_by = others.who.name.clone();
        others.helper = Some(name.clone());
        is_known.then_some((others, Helper { name: name.name, woken_by, wakers: Vec::new() }))
    }

    /// How long the thread waited that waited longest: together they did for no less.
    fn longest_ns(&self) -> u64 {
        self.threads.values().copied().max().unwrap_or_default()
    }

    fn outcome(
        &self,
        method: NameId,
        names: &Names,
        (woken, lives): (Option<&Helper>, &Lives<'_>),
        is_seen: bool,
    ) -> String {
        let mean = DurationNs(self.total / self.count.max(1));
        let were = if self.count == 1 { "was" } else { "were" };
        let mut text = format!("There {were} {}, mean {mean}", count(self.count, "wait"));
        if self.synchronizer != Synchronizer::Monitor {
            text += &self.ended_by(method, names);
            text = with_helper(text, woken);
        } else if self.notified > 0 {
            let part_of_waits = |times: u64| format!("{} of the waits", percent(share(times, self.count)));
            let part = part_of_waits(self.notified);
            let by = notifiers(&self.notifiers, names);
            match (self.returned(method, names), by.first()) {
                (Some(returned), _) => text += &format!(". {returned}"),
                // What those did that had it says more than who woke them.
                (None, Some(by)) if !is_seen => {
                    let ended = format!(". A notify ended {part}, most often one in {}", code(&by.name));
                    text += &with_helper(ended, woken);
                }
                (None, _) => text += &format!(". A notify ended {part}"),
            }
        }
        if self.timed_out == self.count {
            text += ". Each ended at its planned time, none by a wake-up";
        } else if self.timed_out > 0 {
            text += &format!(
                ". {} of the waits ended at their planned time",
                begun(&percent(share(self.timed_out, self.count)))
            );
        }
        let in_flight = share(self.in_flight_ns, self.total);
        if self.in_flight == self.count {
            text += ". None of them ended during the recording";
            if let Some(none) = self.nothing_returned(lives) {
                text += &format!(". {}", none.trim_end_matches('.'));
            }
        } else if in_flight >= IN_FLIGHT {
            text += &format!(
                ". {} of the time belongs to waits that had not ended when the recording ended",
                begun(&percent(in_flight))
            );
        }
        text
    }

    /// `. Waiting threads were woken by Job.finish in worker-* (80 % of the waiting time)`.
    fn ended_by(&self, method: NameId, names: &Names) -> String {
        if let Some(returned) = self.returned(method, names) {
            return format!(". {returned}");
        }
        let by = self.ended_by_group();
        let Some((group, ns)) = ranked(&by, |ns| *ns).first().copied() else { return String::new() };
        format!(". {}", woken_by(&code(&names.group_or_thread(*group)), &self.part_of_time(*ns)))
    }

    /// `80 % of the waiting time`.
    fn part_of_time(&self, ns: u64) -> String {
        format!("{} of the waiting time", percent(share(ns, self.total)))
    }

    /// From where most of the waiting was ended: `Job.finish`, or `Pool.giveBack`,
    /// called from `Orders.handle`; by threads of which group, and which other one if that did much of it, too; and how
    /// long these waits were. `None` where nothing but plumbing is on the stack.
    fn returned(&self, method: NameId, names: &Names) -> Option<String> {
        /// What was ended, and the stack that ended the most of it.
        type Most = (Ended, (u64, Option<PathId>));
        let waits = self.path().map(|path| names.frames(path)).unwrap_or_default();
        let mut by: FxHashMap<(TextId, Option<Returned>), Most> = FxHashMap::default();
        for ((group, path), ended) in &self.wakers {
            let from = path.and_then(|path| Returned::of(&names.frames(path), &waits, method, names));
            let (all, most) = by.entry((*group, from)).or_default();
            all.add(*ended);
            *most = (*most).max((ended.ns, *path));
        }
        let ranked = ranked(&by, |(all, _)| all.ns);
        let ((group, from), (ended, (_, most))) = ranked.first().copied()?;
        let stack = most.map(|path| names.frames(path)).unwrap_or_default();
        let returned = returned_text(from.as_ref()?, &stack, names);
        let by = |group: TextId| code(&names.group_or_thread(group));
        let woken = woken_by(&format!("{returned} in {}", by(*group)), &self.part_of_time(ended.ns));
        let mut others = ranked.iter().skip(1).filter(|((_, too), _)| too == from);
        let other = others.next().filter(|(_, (ended, _))| share(ended.ns, self.total) >= OFTEN);
        Some(match other {
            Some(((group, _), (ended, _))) => {
                format!("{woken} and in {} ({})", by(*group), percent(share(ended.ns, self.total)))
            }
            None => woken,
        })
    }

    /// How long the waits were that threads of each group ended.
    fn ended_by_group(&self) -> FxHashMap<TextId, u64> {
        let mut by: FxHashMap<TextId, u64> = FxHashMap::default();
        self.wakers.iter().for_each(|((group, _), ended)| *by.entry(*group).or_default() += ended.ns);
        by
    }

    /// True if threads of the waiters' own group ended as much as is said of many; also where nobody is known to have.
    fn ended_by_own(&self, names: &Names) -> bool {
        let (own, by) = (self.own_groups(names), self.ended_by_group());
        let theirs: u64 = by.iter().filter(|(group, _)| own.contains(names.text(**group))).map(|(_, ns)| ns).sum();
        by.is_empty() || share(theirs, by.values().sum()) >= BY_OWN
    }

    fn own_groups(&self, names: &Names) -> FxHashSet<String> {
        self.threads.keys().map(|thread| names.group_text(*thread)).collect()
    }

    /// Who ends such waits, and with which stacks.
    fn enders(&self) -> Vec<(TextId, PathId)> {
        self.wakers.keys().filter_map(|(group, path)| Some((*group, (*path)?))).collect()
    }

    /// True if such threads ended more than a small part of the waits: what a few did says nothing of the others.
    fn is_of_many(&self, groups: &[TextId]) -> bool {
        let by = self.ended_by_group();
        share(groups.iter().filter_map(|group| by.get(group)).sum(), by.values().sum()) >= OF_MANY
    }

    fn details(&self, class: &str, method: NameId, names: &Names) -> Vec<String> {
        let woken = if self.synchronizer == Synchronizer::Monitor { "notified" } else { "unparked" };
        // Recordings of other tools do not say how waits ended.
        let ended = match (self.notified, self.timed_out) {
            (0, _) | (_, 0) => String::new(),
            _ => format!("; {woken} {}, timed out {}", grouped(self.notified), grouped(self.timed_out)),
        };
        let longest = DurationNs(self.max);
        let mut details = vec![format!("longest {longest}{ended}")];
        // The method is in the stack, too.
        if class != NO_OBJECT {
            details.push(format!("waiting on: {class}, in {}", full(method, names)));
        }
        details
    }

    fn stacks(&self, names: &Names) -> Vec<FindingStack> {
        let waker = ranked(&self.wakers, |ended| ended.ns).first().and_then(|((_, path), _)| *path);
        let frames = [self.path(), waker].map(|path| path.map(|path| names.acting_text(path)));
        let is_other = frames[0] != frames[1];
        let [waits, wakes] = frames;
        let stack = |whose: &str, frames: Vec<String>| FindingStack { whose: whose.to_owned(), frames };
        let waits = waits.map(|frames| stack("waiting in", frames));
        // Who comes last to a barrier ends the waiting where the others wait.
        let wakes = wakes.filter(|_| is_other).map(|frames| stack("ended by", frames));
        waits.into_iter().chain(wakes).collect()
    }
}

/// A group of threads, or the only thread of it that is known.
fn named(group: TextId, names: &Names) -> Who {
    Who::group(&names.group_or_thread(group), names.is_several(group))
}

/// Where only threads of this group wait for work.
fn idle_sites<'a>(group: TextId, analysis: &'a Analysis, grounds: &'a Grounds<'_>) -> impl Iterator<Item = &'a Site> {
    sites_of(group, analysis).filter(|(place, _)| grounds.classes.is_idle(*place)).map(|(_, site)| site)
}

/// Where only threads of this group wait, with the place of that.
fn sites_of(group: TextId, analysis: &Analysis) -> impl Iterator<Item = (usize, &Site)> {
    let names = &analysis.names;
    let is_of_group = move |thread: &ThreadId| names.group_text(*thread) == names.text(group);
    let sites = analysis.waits.sites().iter().enumerate();
    sites.filter(move |(_, site)| site.threads.keys().all(is_of_group))
}

/// `` `Job.finish` ``, or `` `Pool.giveBack`, called from `Orders.handle`, ``; `ended` is the stack with which most of
/// the waiting was ended.
fn returned_text(returned: &Returned, ended: &[PathFrame], names: &Names) -> String {
    let by = code(&short(returned.by, names));
    let Some(from) = returned.called_from.filter(|from| *from != returned.by) else { return by };
    let mut callers = ended.iter().map(|frame| frame.name).skip_while(|name| *name != returned.by);
    let called = match callers.find(|name| *name != returned.by) == Some(from) {
        true => "called from",
        false => "called indirectly from",
    };
    format!("{by}, {called} {},", code(&short(from, names)))
}

/// What ended waits, and who wakes the helper that did, if that is known.
fn with_helper(mut text: String, woken: Option<&Helper>) -> String {
    let Some(helper) = woken else { return text };
    text += &format!(". {} wakes {}", helper.woken_by, helper.name);
    text
}
