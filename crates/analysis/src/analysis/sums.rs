//! Contentions and waits of which the recording has only sums, per thread and lock: they were
//! shorter than a minimum, or no random instant lay in them.

use super::Analysis;
use crate::aggregate::Range;
use crate::monitor::{ContentionSink, Kind, Sum};
use crate::park::{ParkWait, Synchronizer};
use crate::sampled::{Drawn, Share};
use crate::waits::Context;
use headway_model::event::{ShortParks, Spent};
use headway_model::{DurationNs, Event, ThreadId, TimeNs};

/// All time.
const ALWAYS: Range = Range { from: TimeNs(0), to: TimeNs(u64::MAX) };

impl Analysis {
    pub(super) fn add_short_enters(&mut self, spent: &Spent, also: &mut dyn ContentionSink) {
        let Spent { time, thread, lock, chain, count, total, .. } = *spent;
        self.numbered = true;
        self.threads.acts(thread, time);
        let start = self.start_of_sum(time, total);
        self.add_or_keep(Sum::without_owner(Kind::Monitor, (lock, thread, chain), (start, time), count, total), also);
    }

    pub(super) fn add_short_parks(&mut self, parks: &ShortParks, event: &Event, also: &mut dyn ContentionSink) {
        let ShortParks { time, thread, blocker, chain, count, total } = *parks;
        self.numbered = true;
        self.threads.acts(thread, time);
        self.virtual_threads.park(event, self.range, &self.names);
        let class = self.names.lock(blocker).map(|def| def.class.clone()).unwrap_or_default();
        let acquires = self.replays.parks.acquires(event, &self.names);
        if self.accepts(thread) {
            self.parks.add_sum(parks, &class, acquires, self.range);
        }
        let kind = if acquires { Kind::Juc } else { Kind::Conditional };
        let start = self.start_of_sum(time, total);
        self.add_or_keep(Sum::without_owner(kind, (blocker, thread, chain), (start, time), count, total), also);
    }

    /// Waits by `Object.wait`: of the ones added up nobody knows where they were, until they are shared out.
    pub(super) fn add_short_waits(&mut self, spent: &Spent) {
        let Spent { time, thread, lock, chain, count, total, .. } = *spent;
        self.numbered = true;
        self.threads.acts(thread, time);
        let start = self.start_of_sum(time, total);
        let sum = Sum::without_owner(Kind::Conditional, (lock, thread, chain), (start, time), count, total);
        let born = self.born(thread);
        self.sampled.keep_waits(sum, born);
    }

    /// Where a recording samples, a sum waits for what says where its time was spent.
    fn add_or_keep(&mut self, sum: Sum, also: &mut dyn ContentionSink) {
        let born = self.born(sum.thread);
        if let Some(sum) = self.sampled.keep(sum, born) {
            self.add_sum(&sum, None, also);
        }
    }

    /// Adds what is known by now of contentions and waits that were only added up.
    pub(super) fn share_out(&mut self, watermark: TimeNs, also: &mut dyn ContentionSink) {
        let (names, threads) = (&self.names, &self.threads);
        let died = |thread| threads.span(thread, ALWAYS).map_or(ALWAYS.to, |(_, died)| died);
        let shares = self.sampled.share_out(watermark, died, |lock| names.lock_class_text(lock).into());
        self.add_shares(shares, also);
    }

    /// At the end: what could not be shared out so far.
    pub(super) fn share_out_rest(&mut self, also: &mut dyn ContentionSink) {
        let names = &self.names;
        let shares = self.sampled.share_out_as_before(|lock| names.lock_class_text(lock).into());
        self.add_shares(shares, also);
        for sum in self.sampled.rest() {
            self.add_sum(&sum, None, also);
        }
    }

    fn add_shares(&mut self, shares: Vec<Share>, also: &mut dyn ContentionSink) {
        for Share { mut sum, wait, drawn } in shares {
            sum.owner = self.replays.monitors.owners_mut().as_owner_of(sum.lock, sum.owner);
            // Sleep, input and output are no waits for anybody, and the breakdown has no Object.wait.
            if wait.is_none_or(|wait| wait.synchronizer.is_conditional()) {
                self.add_sum(&sum, Some(&drawn), also);
            }
            if let Some(wait) = wait {
                self.add_waits_like(&wait, &sum, also);
            }
        }
    }

    /// Adds waits of which the recording has only the sum, and which were like this one.
    pub(super) fn add_waits_like(&mut self, wait: &ParkWait, sum: &Sum, also: &mut dyn ContentionSink) {
        let is_service = self.names.thread(sum.thread).is_some_and(|def| def.is_service);
        let Some(sum) = &sum.within(self.range).filter(|_| !is_service && self.accepts(sum.thread)) else { return };
        if !wait.synchronizer.is_conditional() && wait.synchronizer != Synchronizer::Monitor {
            let is_io = wait.synchronizer == Synchronizer::Io;
            return self.accounts.parked_sum(sum.thread, sum.total_ns, is_io);
        }
        let mut context = Context { names: &mut self.names, threads: &mut self.threads, range: self.range };
        self.waits.sum(wait, sum, &mut context);
        also.waited_sum(wait, sum);
        self.accounts.waited_sum(sum.thread, sum.total_ns);
    }

    /// When a thread began; 0 where that was before the recording.
    fn born(&self, thread: ThreadId) -> TimeNs {
        self.threads.span(thread, ALWAYS).map_or(TimeNs(0), |(born, _)| born)
    }

    /// When contentions began that ended then: as late as is possible, but not before the recording.
    fn start_of_sum(&self, time: TimeNs, total: DurationNs) -> TimeNs {
        TimeNs(time.0.saturating_sub(total.0)).max(self.start.min(time))
    }

    /// Contentions that were summed up where they were recorded. How long each was is
    /// not known: a minimum leaves them all out. A share of a sum has the instants of what it is like.
    pub(super) fn add_sum(&mut self, sum: &Sum, drawn: Option<&Drawn>, also: &mut dyn ContentionSink) {
        also.summed(sum, self.replays.monitors.owners_by_id());
        if !self.accepts(sum.thread) {
            return;
        }
        let is_waiting = sum.kind == Kind::Conditional;
        if self.options.min_duration > DurationNs::ZERO {
            if let Some(sum) = sum.within(self.range).filter(|_| !is_waiting) {
                self.aggregate.leave_out(sum.count, sum.total_ns);
                self.accounts.left_out(sum.thread, sum.total_ns, 0);
            }
            return;
        }
        let aggregate = match is_waiting {
            true => self.waited.as_mut(),
            false => Some(&mut self.aggregate),
        };
        if let Some(aggregate) = aggregate {
            let ns = aggregate.add_sum(sum, drawn, self.replays.monitors.owners_by_id(), self.range, &mut self.names);
            if !is_waiting {
                self.accounts.blocked(sum.thread, ns, 0);
            }
        }
    }
}
