//! Those that end waits: how few of them work, and what they wait for themselves.

use super::*;
use headway_model::quantity::digits;

/// Part of its life for which a thread that does something has a CPU at least; one that waits for a connection has less.
const RUNS: f64 = 0.001;

/// Threads that work at a time from which on they are several; so many times more wait where these are too few.
const SEVERAL: f64 = 1.5;

impl Group {
    /// How few threads of the group that ended nearly all waits worked at a time, where more waited for a free one:
    /// `` On average, only 4.91 threads `client-*` were at work at a time; 16 threads waited for them. ``; or that these
    /// were all that the group has.
    pub(super) fn few_at_work(&self, others: &Others, analysis: &Analysis, lives: &Lives<'_>) -> Option<String> {
        let life = self.life_ns(lives, &analysis.names);
        let (names, by, &[group]) = (&analysis.names, self.ended_by_group(), &others.groups[..]) else { return None };
        let is_nearly_all = |ns: u64, all: u64| share(ns, all) >= ALONE;
        // Whatever others waited for: of a thread that several things are waited for, a sample is about one of them.
        let here = |actor: &(TextId, PathId)| actor.0 == group && self.meanwhile.contains_key(actor);
        let (seen_ns, looked_ns) = (analysis.meanwhile.ns_of(here), analysis.meanwhile.elapsed_of(here));
        let ends_all = is_nearly_all(by.get(&group).copied().unwrap_or(0), self.total);
        let is_looked_at = is_nearly_all(self.reached, self.total) && is_nearly_all(looked_ns, self.longest_ns());
        let is_other = others.own.is_none() && !others.doings.are_idle() && names.is_several(group);
        let is_known = ends_all && is_looked_at && is_other;
        let waited = self.threads.len() as f64 * share(self.total, life);
        let worked = share(seen_ns, self.longest_ns());
        // A single thread may finish what many wait for at once.
        (is_known && worked >= SEVERAL && waited >= SEVERAL * worked).then(|| {
            let (waiters, who) = (count(self.threads.len() as u64, "thread"), &others.who.name);
            let (all, range_ns) = (lives.of_group(group, names), lives.range.to.since(lives.range.from).0);
            let is_all =
                all.iter().all(|(_, life)| is_nearly_all(*life, range_ns)) && worked >= ALONE * all.len() as f64;
            if is_all {
                let all = match all.len() {
                    2 => "Both threads".to_owned(),
                    n => format!("All {}", count(n as u64, "thread")),
                };
                return format!("{all} {who} were busy nearly all the time; {waiters} waited for them.");
            }
            let worked = digits(worked);
            format!("On average, only {worked} threads {who} were at work at a time; {waiters} waited for them.")
        })
    }

    /// Which threads alone may have done the work that a helper passed on, which had nothing to do itself: the only group
    /// beside the waiters and the helper that neither was idle nor waited for others, and ran.
    pub(super) fn only_busy(&self, others: &Others, analysis: &Analysis, lives: &Lives<'_>) -> Option<String> {
        let is_passed_on = others.own.is_none() && others.helper.is_none() && others.doings.are_idle();
        let (names, own) = (&analysis.names, self.own_groups(&analysis.names));
        let is_helper = |group: &str| others.groups.iter().any(|helper| names.text(*helper) == group);
        let mut all: FxHashMap<String, (Vec<ThreadId>, u64, u64, u64)> = FxHashMap::default();
        for (thread, life) in lives.of_application(names).filter(|_| is_passed_on) {
            let group = names.group_text(thread);
            if own.contains(&group) || is_helper(&group) {
                continue;
            }
            let ran = analysis.steal.totals_of(thread).map_or(0, |totals| totals.corrected_ns);
            let (threads, lived, waited, cpu) = all.entry(group).or_default();
            threads.push(thread);
            (*lived, *waited, *cpu) =
                (*lived + life, *waited + analysis.accounts.get(thread).own().min(life), *cpu + ran);
        }
        // Threads that came and went can have done little of it.
        let range_ns = lives.range.to.since(lives.range.from).0;
        let is_busy = |lived: u64, waited: u64, cpu: u64| {
            share(lived, range_ns) >= MOST_OF && share(waited, lived) <= 1.0 - ALONE && share(cpu, lived) >= RUNS
        };
        let mut busy = all.iter().filter(|(_, (_, lived, waited, cpu))| is_busy(*lived, *waited, *cpu));
        let ((group, (threads, ..)), None) = (busy.next()?, busy.next()) else { return None };
        let (who, were) = match &threads[..] {
            [only] => (format!("thread {}", code(&names.thread_text(*only))), "was"),
            several => (format!("{} {}", count(several.len() as u64, "thread"), code(group)), "were"),
        };
        let it = if threads.len() == 1 { "it" } else { "they" };
        Some(format!("Of all other threads, only {who} {were} busy nearly all the time: {it} may have done the work."))
    }

    /// What those waited for themselves, for most of their life, that ended most of these waits: ``Threads `pool-*` mostly
    /// waited themselves, in `Orders.order` for a result.``
    pub(super) fn enders_wait(
        &self,
        (analysis, grounds): (&Analysis, &Grounds<'_>),
        lives: &Lives<'_>,
    ) -> Option<String> {
        let (names, by) = (&analysis.names, self.ended_by_group());
        let ender = **ranked(&by, |ns| *ns).first().map(|(group, _)| group)?;
        if self.own_groups(names).contains(names.text(ender)) || !self.is_of_many(&[ender]) {
            return None;
        }
        let mut waits: FxHashMap<(NameId, Synchronizer), Group> = FxHashMap::default();
        for (place, site) in sites_of(ender, analysis).filter(|(place, _)| !grounds.classes.is_idle(*place)) {
            let Some(method) = site.method else { continue };
            let group = waits.entry((method, site.synchronizer)).or_default();
            group.entry = grounds.classes.get(place);
            group.add(site);
        }
        let all: u64 = waits.values().map(|group| group.total).sum();
        let threads: FxHashSet<ThreadId> = waits.values().flat_map(|group| group.threads.keys().copied()).collect();
        let who = match threads.len() {
            1 => named(ender, names),
            n => Who::group(names.text(ender), n > 1),
        };
        let life = lives_of(threads.into_iter(), (lives.threads, names), (lives.active_ns, lives.range));
        let ((method, _), most) = ranked(&waits, |group| group.total).first().copied()?;
        let themselves = if who.are_several() { "themselves" } else { "itself" };
        (share(all, life) >= MOST_OF && share(most.total, all) >= MOST_OF).then(|| {
            let (place, awaited) = (code(&short(*method, names)), most.what_for(names));
            format!("{} mostly waited {themselves}, in {place} for {awaited}.", who.begun())
        })
    }
}
