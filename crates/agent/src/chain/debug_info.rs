//! Debug information for every instruction of compiled code. Without it a
//! thread that stands at a leaf call, as every releasing owner does, cannot be
//! placed in the right inlined callee.

use crate::reply::{MechanismState, State};
use headway_hook::flag::BoolFlag;
use headway_hook::Image;
use headway_hotspot::{DecodeOptions, Memory};
use std::sync::atomic::{AtomicI64, Ordering};

/// Number that the VM gave to the latest compilation (a static int).
const LATEST_COMPILATION: &str = "_ZN13CompileBroker15_compilation_idE";
/// Nothing was compiled with full debug information.
const NONE: i64 = -1;
/// Everything was.
const ALL: i64 = 0;

/// The switch, and since which compilation it has been on.
#[derive(Debug)]
pub struct FullDebugInfo {
    since: AtomicI64,
    /// True if the recording under way switched it on.
    ours: std::sync::atomic::AtomicBool,
}

impl Default for FullDebugInfo {
    fn default() -> Self {
        FullDebugInfo { since: AtomicI64::new(NONE), ours: false.into() }
    }
}

impl FullDebugInfo {
    /// Switches it on if nothing has been compiled yet. `image` is the VM.
    /// Called while the VM starts, when that helps most.
    pub fn switch_on_early(&self, image: &Image) {
        if let Ok(flag) = BoolFlag::find(image, BoolFlag::DEBUG_NON_SAFEPOINTS) {
            // SAFETY: the compilers read the flag at the start of each
            // compilation and nowhere else.
            let before = unsafe { flag.set(true) };
            self.ours.store(!before, Ordering::Relaxed);
            self.since.store(ALL, Ordering::Relaxed);
        }
    }

    /// Switches it on for what is compiled from now on.
    pub fn switch_on(&self, image: Result<&Image, String>, memory: &impl Memory) -> MechanismState {
        let state =
            |state, detail: &str| MechanismState { name: "debug-info".to_owned(), state, detail: detail.to_owned() };
        if self.since.load(Ordering::Relaxed) == ALL {
            return state(State::On, "complete for all compiled code");
        }
        let loss = "some owners inside inlined code are named by the method they were inlined into";
        let found = image.and_then(|image| {
            let flag = BoolFlag::find(image, BoolFlag::DEBUG_NON_SAFEPOINTS);
            flag.map(|flag| (flag, image.address_of(LATEST_COMPILATION))).map_err(|e| e.to_string())
        });
        let (flag, latest) = match found {
            Ok(found) => found,
            Err(reason) => return state(State::Degraded, &format!("{loss}: {reason}")),
        };
        // SAFETY: as in `switch_on_early`.
        let before = unsafe { flag.set(true) };
        self.ours.store(!before, Ordering::Relaxed);
        let since = match (before, latest.and_then(|at| memory.read_u32(at as u64))) {
            (true, _) => ALL,
            (false, Some(latest)) => i64::from(latest) + 1,
            (false, None) => NONE,
        };
        self.since.store(since, Ordering::Relaxed);
        match since {
            ALL => state(State::On, "complete for all compiled code"),
            NONE => {
                state(State::Degraded, &format!("{loss}: the VM does not tell which code is older than the switch"))
            }
            _ => state(
                State::On,
                "owner methods are exact in code that the JVM compiles from now on; in older code they can be approximate (~)",
            ),
        }
    }

    /// True if the VM's own setting is to be given back.
    pub fn is_switched(&self) -> bool {
        self.ours.load(Ordering::Relaxed)
    }

    /// Gives the VM its own setting back: the recording ends.
    pub fn switch_back(&self, image: &Image) {
        if !self.ours.swap(false, Ordering::Relaxed) {
            return;
        }
        if let Ok(flag) = BoolFlag::find(image, BoolFlag::DEBUG_NON_SAFEPOINTS) {
            // SAFETY: as in `switch_on_early`.
            unsafe { flag.set(false) };
        }
        self.since.store(NONE, Ordering::Relaxed);
    }

    /// What the decoder gets.
    pub fn decode_options(&self) -> DecodeOptions {
        let since = u32::try_from(self.since.load(Ordering::Relaxed)).ok();
        DecodeOptions { non_safepoint_info_since: since }
    }
}
