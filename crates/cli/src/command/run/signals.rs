//! Waiting for the command while passing on the signals meant for it.
//!
//! A key press (Ctrl-C, Ctrl-\) reaches the whole foreground process group,
//! the command included; passing it on would deliver it twice. A signal that a
//! process sent to us alone would not reach the command; that one is passed on.
//! A signal is the command's if it arrives before the command has ended. The
//! handler decides that, when it arrives: whoever reads about it later may only
//! get a processor when the command has ended on it.

use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::SignalsInfo;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Signals caught for a command, which need not run yet: none must be missed,
/// or end us, while it is being started.
pub struct Forwarding {
    signals: SignalsInfo<WithOrigin>,
    /// True once the command has ended: signals do to us what they do to
    /// everyone from then on.
    ended: Arc<AtomicBool>,
}

impl Forwarding {
    /// Begins to catch signals.
    ///
    /// # Errors
    /// Those of installing signal handlers.
    pub fn begin() -> io::Result<Forwarding> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in PASSED_ON {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&ended))?;
        }
        Ok(Forwarding { signals: SignalsInfo::<WithOrigin>::new(PASSED_ON)?, ended })
    }

    /// Passes signals on until the child ends. Afterwards signals mean to us
    /// what they meant before.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn wait(mut self, child: &mut Child) -> io::Result<ExitStatus> {
        // A handle that cannot come to mean another process once the child is
        // waited for.
        let target = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let target = target.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        std::thread::spawn(move || {
            for origin in &mut self.signals {
                let sent_by_a_process = origin.process.is_some();
                if sent_by_a_process {
                    pass_on(target.as_ref(), origin.signal);
                }
            }
        });
        let status = child.wait();
        self.ended.store(true, Ordering::SeqCst);
        status
    }
}

fn pass_on(target: Option<&OwnedFd>, signal: i32) {
    if let (Some(target), Some(signal)) = (target, Signal::from_named_raw(signal)) {
        let _ = pidfd_send_signal(target, signal);
    }
}
