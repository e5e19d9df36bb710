//! The functions of HotSpot that Headway hooks, by purpose, under the names
//! that the JDK versions give them.

use crate::arch::ContextArguments;
use crate::error::{HookError, ImageError};
use crate::image::{Function, Image};

/// A function of the VM, by what it does.
///
/// What a function returns differs between versions (nothing on 17, a bool on
/// 25), so a hook should be declared to return a `usize` and hand on whatever
/// the original returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// `(ObjectMonitor*, JavaThread*, ObjectWaiter* successor)`: releases a
    /// monitor for which others queue, and wakes the successor.
    ContendedExit,
    /// `(ObjectMonitor*, JavaThread* notifier)`: takes one waiter out of the
    /// wait set. On 25 it returns whether there was one, which its callers use.
    Notify,
    /// `(ObjectMonitor*, JavaThread*, ObjectWaiter*)`: acquires the monitor
    /// again after `Object.wait`; returns when it is owned.
    Reenter,
    /// `(ObjectMonitor*, JavaThread*, ObjectWaiter*, ContinuationWrapper&)`,
    /// returns bool: tries to go on with a virtual thread after it blocked on
    /// or waited for a monitor; true once the monitor is owned. Only where
    /// virtual threads let go of their carrier then (25, not 21).
    ResumeOperation,
    /// `(jobject virtual thread, bool hide)`: a virtual thread gets a carrier;
    /// with `hide` it begins to, without it has it. Called only while somebody
    /// uses JVMTI; not on 17.
    VirtualMount,
    /// `(jobject virtual thread, bool hide)`: a virtual thread leaves its carrier;
    /// with `hide` it begins to, without it has left.
    VirtualUnmount,
}

impl Known {
    /// Those that monitors go through.
    pub const MONITORS: [Known; 4] = [Known::ContendedExit, Known::Notify, Known::Reenter, Known::ResumeOperation];

    /// Those that virtual threads go through when they change their carrier.
    pub const CARRIERS: [Known; 2] = [Known::VirtualMount, Known::VirtualUnmount];

    /// The names it has had: on 25, then on 17 and 21.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Known::ContendedExit => &[
                "ObjectMonitor::exit_epilog(JavaThread*, ObjectWaiter*)",
                "ObjectMonitor::ExitEpilog(JavaThread*, ObjectWaiter*)",
            ],
            Known::Notify => &["ObjectMonitor::notify_internal(JavaThread*)", "ObjectMonitor::INotify(JavaThread*)"],
            Known::Reenter => &[
                "ObjectMonitor::reenter_internal(JavaThread*, ObjectWaiter*)",
                "ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)",
            ],
            Known::ResumeOperation => {
                &["ObjectMonitor::resume_operation(JavaThread*, ObjectWaiter*, ContinuationWrapper&)"]
            }
            Known::VirtualMount => &["JvmtiVTMSTransitionDisabler::VTMS_vthread_mount(_jobject*, bool)"],
            Known::VirtualUnmount => &["JvmtiVTMSTransitionDisabler::VTMS_vthread_unmount(_jobject*, bool)"],
        }
    }

    /// Where a hook of this function finds the caller's frame pointer and the
    /// stack pointer at entry.
    pub const fn context(self) -> ContextArguments {
        match self {
            Known::ContendedExit | Known::Notify | Known::Reenter | Known::VirtualMount | Known::VirtualUnmount => {
                ContextArguments::FourthAndFifth
            }
            Known::ResumeOperation => ContextArguments::FifthAndSixth,
        }
    }

    /// Finds the function and checks that a detour can move its first
    /// instructions.
    ///
    /// # Errors
    /// If the library has none of the names or the function's beginning is of
    /// an unexpected shape; names symbol and bytes.
    pub fn resolve(self, image: &Image) -> Result<Function, HookError> {
        let mut missing = None;
        for name in self.names() {
            match image.function_named(name) {
                Ok(function) => {
                    function.prologue()?;
                    return Ok(function);
                }
                Err(error @ (ImageError::NoSymbol { .. } | ImageError::Stripped { .. })) => {
                    missing = Some(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(match missing {
            Some(error) => error.into(),
            None => HookError::UnsupportedCpu(std::env::consts::ARCH),
        })
    }
}
