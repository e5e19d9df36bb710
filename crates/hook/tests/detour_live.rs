//! Detours of a function that threads are running through.

#![cfg(target_arch = "x86_64")]
// The test patches its own code.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;
mod hammer;

use child::in_child;
use hammer::{Hammer, HOOK_ENTERED};
use headway_hook::sys::linux::Linux;
use headway_hook::trap;
use std::sync::atomic::Ordering;

const TIMES: usize = 1000;

#[test]
fn installed_and_removed_a_thousand_times_under_eight_threads() {
    in_child("installed_and_removed_a_thousand_times_under_eight_threads", || {
        let detour = hammer::detour(&Linux);
        let hammer = Hammer::start(8);
        for time in 0..TIMES {
            hammer.install(&detour).unwrap();
            if time % 100 == 0 {
                hammer.wait_for_all();
            }
            hammer.remove(&detour).unwrap();
        }
        let counts = hammer.stop();
        assert_eq!(counts.calls, hammer::target_calls(), "every call ran the original once");
        assert_eq!(counts.hooked, HOOK_ENTERED.load(Ordering::SeqCst));
        assert_eq!(counts.missed, 0, "calls between install and remove that were not hooked");
        assert_eq!(counts.strayed, 0, "calls after remove that were still hooked");
        assert!(counts.hooked > 0 && counts.hooked < counts.calls, "{counts:?}");
        println!("{counts:?}, traps {}", trap::taken());
        assert!(trap::taken() > 0, "no thread ever met the trap");
        trap::remove_handler(&Linux).unwrap();
        assert!(!trap::handler_is_installed());
    });
}
