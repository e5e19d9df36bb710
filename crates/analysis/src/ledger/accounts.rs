//! What each thread's own events say about its time.

use crate::by_id::ById;
use crate::pauses::Pauses;
use headway_model::{ThreadId, TimeNs};

/// Spans that wait until the pauses in them are known.
const MOST_WAITING: usize = 1 << 18;

/// One thread's time, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Blocked on locks.
    pub blocked: u64,
    /// Blocked on locks in contentions that are left out of everything else: shorter than the minimum duration.
    pub left_out: u64,
    /// Waiting: conditions, permits, results, work.
    pub waited: u64,
    /// Parked in sleep or input and output.
    pub parked: u64,
    /// Of all these, time in which the VM was paused.
    pub paused: u64,
    /// CPU time that samples stand for. Samples see a thread whatever its events say, so this and the next
    /// are no part of [`Account::own`].
    pub sampled_cpu: u64,
    /// Time of waiting, of whatever kind, that samples stand for.
    pub sampled_waiting: u64,
}

impl Account {
    /// Time that the thread's events account for.
    pub fn own(&self) -> u64 {
        self.blocked + self.left_out + self.waited + self.parked
    }

    /// Time of sleep, I/O or native code: waiting that samples saw and no event accounts for.
    pub fn sampled_off_cpu(&self) -> u64 {
        self.sampled_waiting.saturating_sub(self.own())
    }
}

/// All threads.
#[derive(Debug)]
pub(crate) struct Accounts {
    threads: ById<ThreadId, Account>,
    /// Spans in which a thread waited, until pauses in them are known.
    waiting: Vec<(ThreadId, TimeNs, TimeNs)>,
    /// Sleep, and input and output, of virtual threads.
    pub slept: u64,
    pub io: u64,
    bound: usize,
    pub folded: u64,
}

impl Accounts {
    pub fn new(bound: usize) -> Accounts {
        Accounts { threads: ById::default(), waiting: Vec::new(), slept: 0, io: 0, bound, folded: 0 }
    }

    fn account(&mut self, thread: ThreadId) -> Option<&mut Account> {
        let account = self.threads.get_or_add(thread, self.bound, Account::default);
        self.folded += u64::from(account.is_none());
        account
    }

    /// The thread was blocked so long, and the VM paused for a part of that.
    pub fn blocked(&mut self, thread: ThreadId, ns: u64, paused: u64) {
        if let Some(account) = self.account(thread) {
            account.blocked += ns;
            account.paused += paused;
        }
    }

    /// The thread was blocked so long in contentions that are left out; likewise.
    pub fn left_out(&mut self, thread: ThreadId, ns: u64, paused: u64) {
        if let Some(account) = self.account(thread) {
            account.left_out += ns;
            account.paused += paused;
        }
    }

    /// The thread waited so long; when is not known, so that pauses count as outside of it.
    pub fn waited_sum(&mut self, thread: ThreadId, ns: u64) {
        if let Some(account) = self.account(thread) {
            account.waited += ns;
        }
    }

    /// The thread slept so long, or parked for input or output; likewise.
    pub fn parked_sum(&mut self, thread: ThreadId, ns: u64, is_io: bool) {
        if let Some(account) = self.account(thread) {
            account.parked += ns;
            *if is_io { &mut self.io } else { &mut self.slept } += ns;
        }
    }

    /// The thread waited in this span.
    pub fn waited(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs) {
        if let Some(account) = self.account(thread) {
            account.waited += end.since(start).0;
            self.wait_for_pauses(thread, start, end);
        }
    }

    /// The thread slept, or parked for input or output, in this span.
    pub fn parked(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs, is_io: bool) {
        let ns = end.since(start).0;
        if let Some(account) = self.account(thread) {
            account.parked += ns;
            *if is_io { &mut self.io } else { &mut self.slept } += ns;
            self.wait_for_pauses(thread, start, end);
        }
    }

    fn wait_for_pauses(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push((thread, start, end));
        } else {
            // A pause in it counts as one outside of it.
            self.folded += 1;
        }
    }

    /// A sample of the thread stands for so long on a CPU, or of waiting.
    pub fn sampled(&mut self, thread: ThreadId, ns: u64, is_waiting: bool) {
        if let Some(account) = self.account(thread) {
            *if is_waiting { &mut account.sampled_waiting } else { &mut account.sampled_cpu } += ns;
        }
    }

    /// All pauses before `until` are known.
    pub fn known_to(&mut self, until: TimeNs, pauses: &Pauses) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|(thread, start, end)| {
            if *end > until {
                return true;
            }
            if !pauses.none_in(*start, *end) {
                let paused = pauses.within(*start, *end).0;
                if let Some(account) = self.account(*thread) {
                    account.paused += paused;
                }
            }
            false
        });
        self.waiting = waiting;
    }

    /// A thread's account; empty if nothing is known of it.
    pub fn get(&self, thread: ThreadId) -> Account {
        self.threads.get(thread).copied().unwrap_or_default()
    }
}
