//! Who owes how much delay.
//!
//! While an experiment runs, each sample in the target lets everybody else
//! wait for `speedup x period`: relative to them the target was faster.
//! The [`Ledger`] holds by how much a thread should have been delayed since the start
//! (`G`), each thread's [`Account`] what it did (`L`). A thread pays `G - L` by
//! sleeping; a hit in the target counts as paid, because it *is* the speedup.
//!
//! A thread that is blocked until another thread wakes it has waited while that
//! one paid: it gets credit for the delays that were inserted meanwhile. What it
//! owed when it blocked it has paid up to the rest of its wait: with
//! the target really faster it would have begun to wait earlier. A thread that
//! waits for time or for the world outside gets nothing: its waiting would not
//! have been longer.
//!
//! Hits are entered one by one. Entering ten at a time, as other tools do,
//! delays threads long after the work that they are to be compared with, which
//! is wrong where threads meet more often than that.
//!
//! # Protocol
//! `G` only grows, by anybody. An account's thread pays and takes credit; hits
//! may be entered by another thread. All are single atomic additions, except for
//! what a thread slept too long, which whoever counts it takes out first; nobody
//! waits, and nothing is published by them, so relaxed suffices: a debt read
//! too early is paid at the next look. `L` never exceeds `G` for longer than
//! such an addition takes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Delays are slept in pieces of at most this length, so that a thread can be
/// stopped, or find that it owes less, in between.
pub const SLICE_NS: u64 = 500_000;

/// Longest stand-still beyond its debt that a thread is credited with. On a busy machine
/// who gives up its CPU for half a millisecond may get it back many later; that, too, is
/// the experiment's doing. Longer ones are the machine's.
pub const MOST_EXCESS_NS: u64 = 20_000_000;

/// How much delay every thread should have had so far.
#[derive(Debug, Default)]
pub struct Ledger {
    total: AtomicU64,
}

impl Ledger {
    /// A ledger without delays.
    pub const fn new() -> Ledger {
        Ledger { total: AtomicU64::new(0) }
    }

    /// Delay so far, in ns.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }
}

/// What one thread has had of it.
#[derive(Debug, Default)]
pub struct Account {
    paid: AtomicU64,
    /// Slept beyond the debts so far.
    excess: AtomicU64,
    blocked_at: AtomicU64,
    blocked_total: AtomicU64,
    blocked_debt: AtomicU64,
}

impl Account {
    /// An account without delays.
    pub const fn new() -> Account {
        Account {
            paid: AtomicU64::new(0),
            excess: AtomicU64::new(0),
            blocked_at: AtomicU64::new(0),
            blocked_total: AtomicU64::new(0),
            blocked_debt: AtomicU64::new(0),
        }
    }

    /// What the thread still has to sleep, in ns.
    #[inline]
    pub fn debt(&self, ledger: &Ledger) -> u64 {
        self.unpaid(ledger).saturating_sub(self.excess.load(Relaxed))
    }

    #[inline]
    fn unpaid(&self, ledger: &Ledger) -> u64 {
        ledger.total().saturating_sub(self.paid.load(Relaxed))
    }

    /// The thread was sampled in the target: it is ahead by `delay_ns`, and
    /// everybody else owes as much. What it slept too long before counts first: else the
    /// hit would only make up for delays that it has had, and nobody would be delayed.
    #[inline]
    pub fn hit(&self, ledger: &Ledger, delay_ns: u64) {
        self.count_excess(ledger);
        self.hit_alone(ledger, delay_ns);
    }

    /// A hit before which nothing else counts: what that loses the simulator shows.
    #[inline]
    pub fn hit_alone(&self, ledger: &Ledger, delay_ns: u64) {
        let paid = self.paid.fetch_add(delay_ns, Relaxed) + delay_ns;
        ledger.total.fetch_max(paid, Relaxed);
    }

    /// The thread slept for its debt. What it slept too long counts against the
    /// next debt, so that clumsy timers and waits for a CPU do not add up; but no more
    /// than [`MOST_EXCESS_NS`] of it, or a thread that the machine forgot for long would
    /// be spared later delays.
    #[inline]
    pub fn slept(&self, ledger: &Ledger, slept_ns: u64) {
        // While it is taken out nobody else counts it.
        let had = self.excess.swap(0, Relaxed) + slept_ns;
        let counted = had.min(self.unpaid(ledger));
        self.paid.fetch_add(counted, Relaxed);
        self.excess.fetch_add((had - counted).min(MOST_EXCESS_NS), Relaxed);
    }

    /// Lets what was slept too long pay.
    fn count_excess(&self, ledger: &Ledger) {
        let mut had = self.excess.load(Relaxed);
        loop {
            let counted = had.min(self.unpaid(ledger));
            if counted == 0 {
                return;
            }
            match self.excess.compare_exchange_weak(had, had - counted, Relaxed, Relaxed) {
                Ok(_) => {
                    self.paid.fetch_add(counted, Relaxed);
                    return;
                }
                Err(changed) => had = changed,
            }
        }
    }

    /// The thread is about to block until another thread wakes it, or time runs
    /// out.
    #[inline]
    pub fn block(&self, ledger: &Ledger, now_ns: u64) {
        self.blocked_total.store(ledger.total(), Relaxed);
        self.blocked_debt.store(self.debt(ledger), Relaxed);
        self.blocked_at.store(now_ns.max(1), Relaxed);
    }

    /// Another thread woke it.
    #[inline]
    pub fn woken(&self, ledger: &Ledger, now_ns: u64) {
        let Some(begun) = self.end_block() else { return };
        let inserted = ledger.total().saturating_sub(self.blocked_total.load(Relaxed));
        let waited = now_ns.saturating_sub(begun).saturating_sub(inserted);
        let credit = inserted + waited.min(self.blocked_debt.load(Relaxed));
        // Never ahead of the ledger: that is for hits alone.
        self.paid.fetch_add(credit.min(self.unpaid(ledger)), Relaxed);
    }

    /// It came back by itself: a timeout, an interrupt.
    #[inline]
    pub fn returned(&self) {
        let _ = self.end_block();
    }

    fn end_block(&self) -> Option<u64> {
        let begun = self.blocked_at.swap(0, Relaxed);
        (begun != 0).then_some(begun)
    }

    /// Everything is forgiven: an experiment begins or ends. Who is blocked
    /// gets credit only for what is inserted from now on.
    pub fn settle(&self, ledger: &Ledger) {
        let total = ledger.total();
        self.paid.store(total, Relaxed);
        self.excess.store(0, Relaxed);
        self.blocked_total.store(total, Relaxed);
        self.blocked_debt.store(0, Relaxed);
    }

    /// How far it has come: what [`Account::inherit`] wants of a parent.
    pub fn standing(&self, ledger: &Ledger) -> u64 {
        self.count_excess(ledger);
        self.paid.load(Relaxed)
    }

    /// A new thread owes what its parent owed when it started it, and what was
    /// inserted since.
    pub fn inherit(&self, standing: u64) {
        self.paid.store(standing, Relaxed);
        self.excess.store(0, Relaxed);
        self.blocked_at.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit_by_another(ledger: &Ledger, ns: u64) {
        let other = Account::new();
        other.settle(ledger);
        other.hit(ledger, ns);
    }

    #[test]
    fn a_hit_delays_everybody_else() {
        let (ledger, hit, other) = (Ledger::new(), Account::new(), Account::new());
        hit.hit(&ledger, 100);
        assert_eq!((hit.debt(&ledger), other.debt(&ledger)), (0, 100));
        // Hits of two threads at once cost the others only once.
        other.hit(&ledger, 100);
        assert_eq!((hit.debt(&ledger), other.debt(&ledger), ledger.total()), (0, 0, 100));
    }

    #[test]
    fn sleeping_pays_and_what_was_too_long_counts_against_the_next_debt() {
        let (ledger, account) = (Ledger::new(), Account::new());
        hit_by_another(&ledger, 100);
        account.slept(&ledger, 70);
        assert_eq!(account.debt(&ledger), 30);
        account.slept(&ledger, 50);
        hit_by_another(&ledger, 100);
        assert_eq!(account.debt(&ledger), 80);
        account.slept(&ledger, 80);
        assert_eq!((account.debt(&ledger), ledger.total()), (0, 200));
        account.slept(&ledger, 2 * MOST_EXCESS_NS);
        hit_by_another(&ledger, MOST_EXCESS_NS + 7);
        assert_eq!(account.debt(&ledger), 7);
    }

    #[test]
    fn who_slept_too_long_is_ahead_by_its_whole_hit() {
        let (ledger, late, child) = (Ledger::new(), Account::new(), Account::new());
        hit_by_another(&ledger, 100);
        late.slept(&ledger, 160);
        hit_by_another(&ledger, 40);
        assert_eq!((late.debt(&ledger), ledger.total()), (0, 140));
        late.hit(&ledger, 100);
        assert_eq!((late.debt(&ledger), ledger.total()), (0, 240));
        // 20 of the 60 are left.
        hit_by_another(&ledger, 30);
        assert_eq!(late.debt(&ledger), 10);
        // Its child was delayed by the same.
        child.inherit(late.standing(&ledger));
        assert_eq!((child.debt(&ledger), late.debt(&ledger)), (10, 10));
    }

    #[test]
    fn who_is_woken_gets_credit_for_delays_and_for_its_own_debt() {
        let (ledger, account) = (Ledger::new(), Account::new());
        hit_by_another(&ledger, 40);
        account.block(&ledger, 1_000);
        hit_by_another(&ledger, 100);
        account.woken(&ledger, 1_130);
        // 100 inserted, and 30 waited beyond that, of 40 owed before.
        assert_eq!(account.debt(&ledger), 10);
    }

    #[test]
    fn who_comes_back_by_itself_pays_everything() {
        let (ledger, account) = (Ledger::new(), Account::new());
        account.block(&ledger, 1_000);
        hit_by_another(&ledger, 100);
        account.returned();
        account.woken(&ledger, 9_000);
        assert_eq!(account.debt(&ledger), 100);
    }

    #[test]
    fn settling_forgives_and_a_block_across_it_counts_from_there() {
        let (ledger, account) = (Ledger::new(), Account::new());
        hit_by_another(&ledger, 40);
        account.block(&ledger, 1_000);
        hit_by_another(&ledger, 60);
        account.settle(&ledger);
        assert_eq!(account.debt(&ledger), 0);
        hit_by_another(&ledger, 7);
        account.woken(&ledger, 5_000);
        assert_eq!(account.debt(&ledger), 0);
    }

    #[test]
    fn a_child_owes_what_its_parent_owes() {
        let (ledger, parent, child) = (Ledger::new(), Account::new(), Account::new());
        hit_by_another(&ledger, 40);
        parent.slept(&ledger, 15);
        child.inherit(parent.standing(&ledger));
        assert_eq!(child.debt(&ledger), 25);
    }
}
