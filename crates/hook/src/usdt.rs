//! Fallback: a callback at a USDT probe of the library.
//!
//! A probe is a one-byte `nop`. It is overwritten by a trap; the SIGTRAP
//! handler calls back with the probe's arguments and lets the thread go on
//! behind it. One byte changes at once, and no thread can stand inside of it,
//! so nothing has to be quiesced. The price is a signal at every hit, and that
//! the trap stays as long as the hook does: a thread that blocks SIGTRAP later
//! and then comes by would end the process.
//!
//! HotSpot runs through its monitor probes only while the VM flag
//! `DTraceMonitorProbes` is set; the hook sets it and gives it its old value
//! back.

use crate::arch::{Registers, NOP, TRAP};
use crate::detour::{read, write};
use crate::error::HookError;
use crate::flag::BoolFlag;
use crate::image::probes::{Argument, Probe};
use crate::image::Image;
use crate::sys::Sys;
use crate::trap::{self, TrapCall};
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A thread at a probe. Valid during the callback only.
#[derive(Debug)]
pub struct Hit<'a> {
    /// The thread's registers.
    pub registers: &'a Registers,
    arguments: &'a [Argument],
}

impl Hit<'_> {
    /// The probe's n-th argument, from 0; `None` beyond the last.
    pub fn argument(&self, n: usize) -> Option<u64> {
        // SAFETY: the argument belongs to the probe at which these registers
        // were taken.
        self.arguments.get(n).map(|argument| unsafe { argument.value(self.registers) })
    }
}

/// Called in a signal handler on the thread that came by: it must not
/// allocate, lock or panic.
pub type Callback = extern "C" fn(hit: &Hit<'_>);

/// One place of a probe. Kept for ever: a late trap may still ask for it.
struct Site {
    address: usize,
    semaphore: Option<usize>,
    arguments: Vec<Argument>,
    callback: AtomicUsize,
    call: TrapCall,
}

/// Sites by address, and whether they are hooked now.
type Known = BTreeMap<usize, (&'static Site, bool)>;

/// Sites ever hooked, and whether they are now. Its mutex makes installers
/// take turns.
static SITES: Mutex<Known> = Mutex::new(BTreeMap::new());

fn sites() -> MutexGuard<'static, Known> {
    SITES.lock().unwrap_or_else(|held| held.into_inner())
}

/// A probe and its callback. Dropping it changes nothing.
pub struct ProbeHook {
    name: String,
    sites: Vec<&'static Site>,
    callback: Callback,
    flag: Option<BoolFlag>,
    flag_before: Mutex<Option<bool>>,
    sys: &'static dyn Sys,
}

impl std::fmt::Debug for ProbeHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hook of probe {} ({} places)", self.name, self.sites.len())
    }
}

impl ProbeHook {
    /// Finds the probe in a loaded library and understands its arguments.
    /// `flag` is set while the hook is installed.
    ///
    /// # Errors
    /// If there is no such probe, or one of its places is not a `nop` or has
    /// arguments in an unknown form.
    pub fn prepare(
        image: &Image,
        provider: &str,
        name: &str,
        flag: Option<BoolFlag>,
        callback: Callback,
        sys: &'static dyn Sys,
    ) -> Result<ProbeHook, HookError> {
        image.require_live()?;
        let probes = image.probes(provider, name)?;
        let mut known = sites();
        let mut found = Vec::new();
        for probe in &probes {
            let (site, _) = match known.entry(probe.address) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => *place.insert((new_site(probe)?, false)),
            };
            found.push(site);
        }
        Ok(ProbeHook {
            name: format!("{provider}:{name}"),
            sites: found,
            callback,
            flag,
            flag_before: Mutex::new(None),
            sys,
        })
    }

    /// Lets the probe call back. Does nothing if it does already.
    ///
    /// # Errors
    /// As for a detour; what had been changed is changed back.
    pub fn install(&self) -> Result<(), HookError> {
        let mut known = sites();
        trap::check_threads(self.sys)?;
        trap::install_handler()?;
        for site in &self.sites {
            if let Err(error) = self.put_in(site, &mut known) {
                // A place that cannot be restored stays armed, and harmless.
                let _ = self.take_all_out(&mut known);
                return Err(error);
            }
        }
        self.set_flag(true);
        Ok(())
    }

    /// Gives the probe its `nop` and the flag its value back. Does nothing if
    /// they have it.
    ///
    /// # Errors
    /// If code memory cannot be written; the callback may then still be called.
    pub fn remove(&self) -> Result<(), HookError> {
        let mut known = sites();
        self.set_flag(false);
        self.take_all_out(&mut known)
    }

    /// True while a trap of the hook's may be in the code.
    pub fn is_in_place(&self) -> bool {
        let known = sites();
        self.sites
            .iter()
            .any(|site| known.get(&site.address).is_some_and(|(_, in_force)| *in_force && self.is_ours(site)))
    }

    fn take_all_out(&self, known: &mut Known) -> Result<(), HookError> {
        let mut result = Ok(());
        for site in &self.sites {
            result = result.and(self.take_out(site, known));
        }
        result
    }

    fn put_in(&self, site: &'static Site, known: &mut Known) -> Result<(), HookError> {
        let in_force = known.get(&site.address).is_some_and(|(_, in_force)| *in_force);
        if in_force {
            return match self.is_ours(site) {
                true => Ok(()),
                false => Err(HookError::AlreadyHooked { symbol: self.name.clone() }),
            };
        }
        self.expect_nop(site)?;
        site.callback.store(self.callback as usize, Ordering::Release);
        trap::arm_call(site.address, &site.call)?;
        known.insert(site.address, (site, true));
        self.write(site, TRAP)?;
        count_semaphore(site, 1);
        Ok(())
    }

    fn take_out(&self, site: &'static Site, known: &mut Known) -> Result<(), HookError> {
        let in_force = known.get(&site.address).is_some_and(|(_, in_force)| *in_force);
        if !in_force || !self.is_ours(site) {
            return Ok(());
        }
        // SAFETY: code of a loaded library, which is never unloaded.
        if unsafe { read(site.address, 1) } == [TRAP] {
            self.write(site, NOP)?;
            count_semaphore(site, u16::MAX);
        }
        trap::retire(site.address);
        known.insert(site.address, (site, false));
        Ok(())
    }

    fn write(&self, site: &Site, byte: u8) -> Result<(), HookError> {
        // SAFETY: one byte, of a one-byte instruction; the trap is armed.
        let written = unsafe { write(self.sys, site.address, &[byte]) };
        self.sys.sync_cores();
        written
    }

    fn expect_nop(&self, site: &Site) -> Result<(), HookError> {
        // SAFETY: code of a loaded library, which is never unloaded.
        let live = unsafe { read(site.address, 1) };
        if live == [NOP] {
            return Ok(());
        }
        Err(HookError::AlreadyPatched {
            symbol: self.name.clone(),
            live: live.as_slice().into(),
            expected: [NOP].as_slice().into(),
        })
    }

    fn is_ours(&self, site: &Site) -> bool {
        site.callback.load(Ordering::Acquire) == self.callback as usize
    }

    fn set_flag(&self, on: bool) {
        let Some(flag) = self.flag else { return };
        let mut before = self.flag_before.lock().unwrap_or_else(|held| held.into_inner());
        let value = match (on, before.take()) {
            (true, None) => true,
            (true, Some(old)) => {
                *before = Some(old);
                return;
            }
            (false, Some(old)) => old,
            (false, None) => return,
        };
        // SAFETY: the VM reads this flag at each probe again, and a probe
        // without a listener is a nop.
        let old = unsafe { flag.set(value) };
        if on {
            *before = Some(old);
        }
    }
}

fn new_site(probe: &Probe) -> Result<&'static Site, HookError> {
    let unfit = |reason| HookError::UnfitProbe {
        probe: format!("{}:{}", probe.provider, probe.name),
        address: probe.address,
        reason,
    };
    let site = Box::leak(Box::new(Site {
        address: probe.address,
        semaphore: probe.semaphore,
        arguments: probe.parsed_arguments().map_err(unfit)?,
        callback: AtomicUsize::new(0),
        call: TrapCall { function: on_hit, data: 0 },
    }));
    site.call.data = std::ptr::from_ref(site) as usize;
    Ok(site)
}

extern "C" fn on_hit(registers: &Registers, data: usize) {
    // SAFETY: `new_site` stored a reference that lives for ever.
    let site = unsafe { &*(data as *const Site) };
    let callback = site.callback.load(Ordering::Acquire);
    // SAFETY: `put_in` stored a `Callback` before the trap was armed.
    let callback: Callback = unsafe { std::mem::transmute(callback) };
    callback(&Hit { registers, arguments: &site.arguments });
}

/// Lets the library know that somebody listens, or (with the wrapped -1) not.
fn count_semaphore(site: &Site, change: u16) {
    if let Some(address) = site.semaphore {
        // SAFETY: the note says that a 16-bit counter is there; it is shared
        // with other listeners, hence the atomic addition.
        let counter = unsafe { &*(address as *const AtomicU16) };
        counter.fetch_add(change, Ordering::SeqCst);
    }
}
