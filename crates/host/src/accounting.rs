//! Whether this kernel's thread times contain steal.
//!
//! A kernel with paravirtual time accounting takes steal out of the clock
//! from which threads are charged; one without charges it to whoever was
//! running. Its configuration says which; where that cannot be read, threads
//! that did nothing but compute show it: their life in an interval is CPU time,
//! run-queue wait and, only if it was left out, steal.

use crate::root::Root;
use flate2::read::DeflateDecoder;
use headway_model::event::StealAccounting;
use std::io::Read;

/// The longest configuration that is read.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// What the kernel's own configuration says; `Unknown` if it cannot be read.
pub fn configured(root: &Root) -> StealAccounting {
    let line = root.read("/proc/cmdline").unwrap_or_default();
    if line.split_ascii_whitespace().any(|word| word == "no-steal-acc") {
        return StealAccounting::Included;
    }
    match configuration(root) {
        Some(text) => of_configuration(&text),
        None => StealAccounting::Unknown,
    }
}

fn configuration(root: &Root) -> Option<String> {
    if let Ok(bytes) = root.bytes("/proc/config.gz") {
        return unpacked(&bytes);
    }
    let release = root.read("/proc/sys/kernel/osrelease").ok()?;
    root.read(&format!("/boot/config-{}", release.trim())).ok()
}

/// What the kernel packed: a gzip header without optional parts, and no more. The sum behind it is
/// not compared, because this is no file but the kernel's memory.
fn unpacked(bytes: &[u8]) -> Option<String> {
    let [0x1f, 0x8b, 8, 0, _, _, _, _, _, _, packed @ ..] = bytes else { return None };
    let mut text = String::new();
    let read = DeflateDecoder::new(packed).take(MAX_CONFIG_BYTES).read_to_string(&mut text);
    read.is_ok().then_some(text)
}

fn of_configuration(text: &str) -> StealAccounting {
    let set = |option: &str| text.lines().any(|line| line.strip_prefix(option) == Some("=y"));
    let whole = text.lines().any(|line| line.starts_with("CONFIG_")) && text.ends_with('\n');
    match set("CONFIG_PARAVIRT_TIME_ACCOUNTING") || set("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE") {
        true => StealAccounting::LeftOut,
        false if whole => StealAccounting::Included,
        false => StealAccounting::Unknown,
    }
}

/// What threads that only computed show, added up until it is enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Time that is neither CPU time nor run-queue wait.
    gap_ns: u64,
    /// Steal that they must have seen.
    expected_ns: u64,
}

/// Expected steal that is enough to decide: some ticks of the kernel's
/// statistics.
const ENOUGH_NS: u64 = 200_000_000;

impl Evidence {
    /// Adds an interval of a thread that never gave up its CPU by itself.
    /// `expected_ns` is its part of the steal, by CPU time.
    pub fn add(&mut self, elapsed_ns: u64, cpu_ns: u64, run_queue_ns: u64, expected_ns: u64) {
        self.gap_ns += elapsed_ns.saturating_sub(cpu_ns).saturating_sub(run_queue_ns);
        self.expected_ns += expected_ns;
    }

    /// What it shows; `Unknown` until there is enough.
    pub fn verdict(&self) -> StealAccounting {
        match self.expected_ns >= ENOUGH_NS {
            false => StealAccounting::Unknown,
            true if self.gap_ns * 2 >= self.expected_ns => StealAccounting::LeftOut,
            true => StealAccounting::Included,
        }
    }
}
