//! What is kept of a thread for who follows what it does.

use headway_causal::accounting::Account;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What experiments keep of a thread: its account, what it did with locks that are
/// targets, and how often it was woken.
#[derive(Default)]
pub struct Observed {
    /// What it has had of the delays.
    pub delays: Account,
    /// True while it sleeps off what it owes.
    pub is_paying: AtomicBool,
    /// When it last acquired one after a wait.
    pub acquired: AtomicU64,
    /// When it last released one for which others waited.
    pub released: AtomicU64,
    /// Times that another thread woke it.
    pub woken: AtomicU64,
    /// Times that it came back from a block, a sleep or a delay.
    pub resumed: AtomicU64,
    /// Where the ring with its samples lies, 0 if it has none.
    pub ring: AtomicU64,
    /// True for a thread of the JDK that only hands on what others did: it owes
    /// nothing.
    pub hands_on: AtomicBool,
}

impl Observed {
    /// The place is another thread's from now on.
    pub fn reset(&self) {
        self.is_paying.store(false, Ordering::Relaxed);
    }
}
