//! When those lived that wait, and those that they may wait for.

use super::*;
use headway_model::quantity::digits;
use std::cell::OnceCell;

/// Threads that come and go from which on they are many.
const MANY_SHORT: u64 = 100;

/// When threads lived, within the report's range.
pub(in crate::findings) struct Lives<'a> {
    pub(super) threads: &'a Threads,
    pub(super) range: Range,
    /// The active thread time; 0 where it is not known.
    pub(super) active_ns: u64,
    /// Asked for by each wait for the end of threads, and found once: it looks at all threads.
    short_lived: OnceCell<Option<ShortLived>>,
}

/// Threads of a group that started and ended in the report's range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShortLived {
    /// The group's name.
    pub(in crate::findings) group: String,
    /// How many.
    pub(in crate::findings) threads: u64,
    /// How long they lived together.
    pub(in crate::findings) life_ns: u64,
    /// How many of them for each second of the range.
    pub(in crate::findings) per_second: f64,
}

impl ShortLived {
    /// How long each lived on average.
    pub(in crate::findings) fn mean_life_ns(&self) -> u64 {
        self.life_ns / self.threads.max(1)
    }

    /// ``Meanwhile, 4,724 threads `request` started and ended (on average, 909 per second).``
    pub(in crate::findings) fn text(&self) -> String {
        let (threads, group, per_second) = (count(self.threads, "thread"), code(&self.group), digits(self.per_second));
        format!("Meanwhile, {threads} {group} started and ended (on average, {per_second} per second).")
    }
}

impl<'a> Lives<'a> {
    pub(in crate::findings) fn new(analysis: &'a Analysis, (active_ns, range): (u64, Range)) -> Lives<'a> {
        Lives { threads: &analysis.threads, range, active_ns, short_lived: OnceCell::new() }
    }

    /// The platform threads of the application that lived, and how long.
    pub(super) fn of_application<'n>(&'n self, names: &'n Names) -> impl Iterator<Item = (ThreadId, u64)> + 'n {
        let is_of_application =
            |thread: &ThreadId| names.thread(*thread).is_some_and(|def| !def.is_service && !def.is_virtual);
        let lives = self
            .threads
            .ids()
            .filter(is_of_application)
            .map(|thread| (thread, self.threads.life_ns(thread, self.range)));
        lives.filter(|(_, life)| *life > 0)
    }

    /// The group of which most threads started and ended in the range, if they are many.
    pub(in crate::findings) fn short_lived(&self, names: &Names) -> Option<&ShortLived> {
        self.short_lived.get_or_init(|| self.most_short_lived(names)).as_ref()
    }

    fn most_short_lived(&self, names: &Names) -> Option<ShortLived> {
        let came_and_went = || self.threads.ids().filter(|thread| self.threads.is_of(*thread, self.range));
        // Mostly there are few, and no name has to be made.
        if (came_and_went().count() as u64) < MANY_SHORT {
            return None;
        }
        let mut groups: FxHashMap<String, (u64, u64)> = FxHashMap::default();
        for thread in came_and_went() {
            if names.thread(thread).is_some_and(|def| !def.is_service && !def.is_virtual) {
                let (threads, life_ns) = groups.entry(names.group_text(thread)).or_default();
                *threads += 1;
                *life_ns += self.threads.life_ns(thread, self.range);
            }
        }
        let (group, (threads, life_ns)) =
            groups.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))?;
        let range_ns = self.range.to.since(self.range.from).0;
        let per_second = threads as f64 * 1e9 / range_ns as f64;
        (threads >= MANY_SHORT && range_ns > 0).then_some(ShortLived { group, threads, life_ns, per_second })
    }

    /// The application's platform threads of a group that lived, and how long.
    pub(super) fn of_group(&self, group: TextId, names: &Names) -> Vec<(ThreadId, u64)> {
        self.of_application(names).filter(|(thread, _)| names.group_text(*thread) == names.text(group)).collect()
    }
}

impl Group {
    /// How long those that wait lived together.
    pub(super) fn life_ns(&self, lives: &Lives<'_>, names: &Names) -> u64 {
        lives_of(self.threads.keys().copied(), (lives.threads, names), (lives.active_ns, lives.range))
    }

    /// For the verdict: that nearly all waits for a result had a limit and reached it.
    pub(super) fn gave_up(&self) -> Option<String> {
        let part = share(self.timed_out, self.count);
        (self.entry == EntryKind::WaitResult && part >= ALONE).then(|| match self.timed_out == self.count {
            true => "Each of these waits reached its time limit.".to_owned(),
            false => format!("{} of these waits reached their time limit.", begun(&percent(part))),
        })
    }

    /// Of waits for the end of threads: how many threads of the group with most of them came and went, if they are at
    /// least half as many as the waits: ``Meanwhile, 4,724 threads `request` started and ended (on average, 909 per
    /// second).``
    pub(super) fn came_and_went(&self, lives: &Lives<'_>, names: &Names) -> Option<String> {
        if !self.path().is_some_and(|path| is_join(path, names)) {
            return None;
        }
        let short_lived = lives.short_lived(names).filter(|group| share(group.threads, self.count) >= MOST_OF)?;
        Some(short_lived.text())
    }

    /// That no permit or pooled object came back in the last part of the range, or in all of it, although threads waited
    /// for one nearly all of that time, some of them until their limit.
    pub(super) fn ended_no_more(&self, lives: &Lives<'_>) -> Option<String> {
        /// Part of the range from which on it is said.
        const LONG: f64 = 0.2;
        let Range { from, to } = lives.range;
        let all = self.unanswered.iter().copied().reduce(Unanswered::and).unwrap_or_default();
        let last = to.since(all.since.max(from));
        // Where none ended, not even by its limit, that is said already.
        let is_news = all.since > from || self.timed_out > 0;
        let is_known = self.entry == EntryKind::WaitPermit && !all.has_sums && is_news;
        let lasted = share(last.0, to.since(from).0) >= LONG && share(all.waited_ns(), last.0) >= ALONE;
        (is_known && lasted).then(|| {
            format!(
                "In the last {last}, no thread ended such a wait: what these threads wait for is in use for long, or \
                 those that took it have kept it."
            )
        })
    }

    /// For the verdict: that nearly all of the waiting is that of waits which nobody ended.
    pub(super) fn unended(&self, lives: &Lives<'_>) -> Option<String> {
        let part = share(self.in_flight_ns, self.total);
        match self.in_flight == self.count {
            true => Some(
                self.nothing_returned(lives)
                    .unwrap_or_else(|| "None of these waits ended during the recording.".to_owned()),
            ),
            false => (part >= ALONE).then(|| {
                format!(
                    "{} of that time belongs to waits that had not ended when the recording ended.",
                    begun(&percent(part))
                )
            }),
        }
    }

    /// That no permit or pooled object came back, where threads waited for one nearly as long as the recording lasted.
    pub(super) fn nothing_returned(&self, lives: &Lives<'_>) -> Option<String> {
        /// Waits that are known at the begin of the recording begin a moment later.
        const ALL_THE_TIME: f64 = 0.98;
        let range_ns = lives.range.to.since(lives.range.from).0;
        let (threads, waits) = (self.threads.len() as u64, self.count);
        let are_all = self.in_flight == waits && waits == threads && range_ns > 0;
        let lasted = are_all && self.threads.values().all(|ns| share(*ns, range_ns) >= ALL_THE_TIME);
        (lasted && self.entry == EntryKind::WaitPermit).then(|| {
            format!(
                "Each of these waits lasted for nearly the whole recording ({}). Nothing that these threads wait for was \
                 returned meanwhile: those that took it may have kept it.",
                DurationNs(range_ns)
            )
        })
    }
}
