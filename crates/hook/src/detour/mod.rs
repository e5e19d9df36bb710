//! Detours: a function's entry jumps to a hook, which may call the original.
//!
//! # Protocol
//!
//! Installers take turns (a mutex) and may wait for the process
//! to come to a safe point. **Threads that run through the function never
//! wait**, whatever happens to the installer: at every moment the entry holds
//! the original instructions, a trap that leads to the hook, or a jump that
//! leads to the hook.
//!
//! Installing (`55 48 89 e5 41 55` to `e9 .. .. .. .. 55`):
//!
//! 1. `cc 48 89 e5 41 55`: the trap is armed in [`crate::trap`], then byte 0
//!    becomes the trap instruction. One byte, so no thread sees half of it.
//!    Whoever comes is sent to the thunk by the SIGTRAP handler.
//! 2. Threads may still stand *between* the overwritten instructions. The
//!    caller's `quiesce` ends when none does: for functions of the VM an empty
//!    safepoint, since they run in states that hold off a safepoint. Several
//!    functions share one: all have their traps by then.
//! 3. `cc .. .. .. .. 55`: nobody can execute bytes 1 to 4 any more.
//! 4. `e9 .. .. .. .. 55`: byte 0. The trap is retired; a thread that took it
//!    but was not given the signal yet executes the entry again.
//!
//! Removing goes 4, 3, 1 backwards. It needs no `quiesce`: the jump is one
//! instruction, so no thread stands inside of it, and the callable original
//! returns behind the overwritten instructions. A removal that is refused or fails
//! makes the hook's slot lead to the callable original, so that what stays in the
//! code only passes through.
//!
//! **Somebody else who patches the same function** (another agent, a debugger; we
//! are excluded by the mutex) is looked for right before and right after every
//! write; what was found there that neither the function nor we have put there is
//! never written over, and the change stops. The look and the write are not one
//! step, so a change of theirs may fall in between:
//!
//! * Before byte 0 becomes our trap (step 1, or the beginning of a removal): their
//!   byte 0 is lost, the bytes behind it are theirs, and the look after the write
//!   notices. Byte 0 stays our trap, since nobody knows what they had put there,
//!   and leads to the callable original: the function works, without either hook,
//!   and [`HookError::LeftTrapped`] says so. Where they wrote after us, byte 0 is
//!   theirs, so is the function, and ours is retired.
//! * While the trap is in place they write over a breakpoint that is not theirs;
//!   whoever looks, as we do, refuses. One who looked before the trap was there and
//!   writes in the instant between our look and our writing of bytes 1 to 4 cannot
//!   be excluded by anything that two patchers who do not know of each other could
//!   do. If they put a jump there, the function leads to our hook all the same.
//!
//! After each write every core is made to forget fetched code
//! ([`crate::sys::Sys::sync_cores`]), because the CPU's manual promises
//! nothing about threads that execute bytes changed under them otherwise.
//! Trampolines are never unmapped and never changed.

mod code;
mod trampoline;

use crate::arch::{self, ContextArguments, Prologue, JUMP_BYTES, TRAP};
use crate::error::{HookError, ImageError};
use crate::image::Function;
use crate::sys::Sys;
use crate::trap;
pub(crate) use code::{read, write};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use trampoline::Placed;

/// Ends when every thread that stood somewhere inside the patched function at
/// its beginning has left the overwritten instructions.
pub type Quiesce<'a> = &'a mut dyn FnMut() -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Everything there is of one function.
#[derive(Clone)]
struct Entry {
    placed: Placed,
    context: ContextArguments,
    original: Vec<u8>,
    jump: [u8; JUMP_BYTES],
    in_force: bool,
}

/// Functions ever detoured, by address. Its mutex makes installers take turns.
static INSTALLED: Mutex<BTreeMap<usize, Entry>> = Mutex::new(BTreeMap::new());

fn installed() -> MutexGuard<'static, BTreeMap<usize, Entry>> {
    INSTALLED.lock().unwrap_or_else(|held| held.into_inner())
}

/// What a removal that was refused or failed left in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// A jump. It passes through to the original.
    Jump,
    /// A trap. It leads to the original, by a signal, and a thread that blocks the
    /// signal and runs into it would end the process.
    Trap,
    /// Somebody else's change over ours, which may pass through our jump.
    Covered,
}

/// A function and the hook to be called in its place. Dropping it changes
/// nothing: an installed hook stays until [`Detour::remove`].
pub struct Detour {
    function: Function,
    prologue: Prologue,
    entry: Entry,
    hook: usize,
    sys: &'static dyn Sys,
}

impl std::fmt::Debug for Detour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Detour of {} at {:#x}", self.function.name, self.function.address)
    }
}

impl Detour {
    /// Checks the function and makes its trampoline. Nothing is patched yet,
    /// but [`Detour::original`] can be called already.
    ///
    /// `hook` is the address of an `extern "C"` function. It receives the
    /// function's arguments and, as `context` says, two more: the caller's
    /// frame pointer, and the stack pointer at entry, which points to the
    /// return address. What it returns, the caller gets.
    ///
    /// # Safety
    /// `hook` must have the function's signature apart from the two extra
    /// arguments, must neither unwind nor ever be unloaded, and the function
    /// must not have more integer arguments than `context` leaves to it, nor
    /// take any on the stack.
    ///
    /// # Errors
    /// If the function's code in memory is not that of its file, if its first
    /// instructions cannot be moved, or if there is no memory near it.
    pub unsafe fn prepare(
        function: &Function,
        hook: *const (),
        context: ContextArguments,
        sys: &'static dyn Sys,
    ) -> Result<Detour, HookError> {
        let prologue = function.prologue()?;
        if !function.live {
            return Err(HookError::Image(ImageError::UnfitSymbol {
                symbol: function.symbol.clone(),
                reason: "its library was opened as a file, it is not loaded here".to_owned(),
            }));
        }
        let mut known = installed();
        expect_file_code(function, known.get(&function.address))?;
        let entry = match known.get(&function.address) {
            Some(entry) if entry.context == context && entry.original == prologue.bytes => entry.clone(),
            Some(entry) if entry.in_force => return Err(already_hooked(function)),
            _ => new_entry(function, &prologue, context, sys)?,
        };
        known.insert(function.address, entry.clone());
        Ok(Detour { function: function.clone(), prologue, entry, hook: hook as usize, sys })
    }

    /// The original function, for the hook to call: same signature, works
    /// whether the hook is installed or not, for ever.
    pub fn original(&self) -> *const () {
        self.entry.placed.original as *const ()
    }

    /// The function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// True while the function leads to this hook.
    pub fn is_installed(&self) -> bool {
        let known = installed();
        self.is_in_force(&known) && self.hook_slot() == self.hook
    }

    /// What of this detour is in the code now; `None` if nothing is.
    pub fn in_place(&self) -> Option<InPlace> {
        let known = installed();
        if !self.is_in_force(&known) {
            return None;
        }
        let now = self.in_memory();
        match now.first() {
            Some(&TRAP) => Some(InPlace::Trap),
            _ if now == self.entry.jump => Some(InPlace::Jump),
            _ if now == self.prologue.overwritten() => None,
            _ => Some(InPlace::Covered),
        }
    }

    /// Lets the function lead to the hook. Does nothing if it does already.
    ///
    /// # Safety
    /// `quiesce` must do what [`Quiesce`] says. It runs while other installers
    /// wait: it must not install or remove anything.
    ///
    /// # Errors
    /// If a thread blocks SIGTRAP, a tracer is attached, somebody else changed
    /// the code, or a step fails; then the code is back as it was (or the
    /// error is [`HookError::LeftTrapped`]).
    pub unsafe fn install(&self, quiesce: Quiesce<'_>) -> Result<(), HookError> {
        // SAFETY: the caller's promise.
        let mut installed = unsafe { Detour::install_all(&[self], quiesce) };
        installed.pop().unwrap_or(Ok(()))
    }

    /// As [`Detour::install`], for several functions with one `quiesce`, which is
    /// not called if no function needs it. Each has its own result, in this order;
    /// one that fails does not keep the others from being installed.
    ///
    /// # Safety
    /// As for [`Detour::install`], for each function.
    pub unsafe fn install_all(detours: &[&Detour], quiesce: Quiesce<'_>) -> Vec<Result<(), HookError>> {
        let mut known = installed();
        let mut threads = None;
        let begun: Vec<_> = detours.iter().map(|detour| detour.begin(&mut known, &mut threads)).collect();
        let waiting = detours.iter().zip(&begun).find(|(_, begun)| matches!(begun, Ok(Some(_))));
        let passed = match waiting {
            None => Ok(()),
            // A thread may have blocked SIGTRAP or been started meanwhile.
            Some((detour, _)) => {
                quiesce().map_err(HookError::NotQuiesced).and_then(|()| trap::check_threads(detour.sys))
            }
        };
        let passed = passed.map_err(Arc::new);
        drop(threads);
        let finish = |(detour, begun): (&&Detour, Result<Option<Vec<u8>>, HookError>)| match begun? {
            Some(trapped) => detour.finish(&mut known, &trapped, &passed),
            None => Ok(()),
        };
        let finished: Vec<_> = detours.iter().zip(begun).map(finish).collect();
        drop(passed);
        finished.into_iter().map(|result| result.map_err(HookError::alone)).collect()
    }

    /// Step 1 of the protocol. The code with the trap in it; `None` if the function
    /// leads to the hook already. `threads` is whether they can bear a trap, once
    /// somebody asked.
    fn begin(
        &self,
        known: &mut BTreeMap<usize, Entry>,
        threads: &mut Option<Result<(), Arc<HookError>>>,
    ) -> Result<Option<Vec<u8>>, HookError> {
        if self.is_in_force(known) {
            if !self.hook_is_ours() {
                return Err(already_hooked(&self.function));
            }
            if self.in_memory() == self.entry.jump {
                self.lead_to(self.hook);
                return Ok(None);
            }
            self.remove_locked(known)?;
        }
        threads.get_or_insert_with(|| trap::check_threads(self.sys).map_err(Arc::new)).clone()?;
        self.expect_original()?;
        trap::install_handler()?;
        self.lead_to(self.hook);
        trap::arm_redirect(self.function.address, self.entry.placed.thunk)?;
        match self.change(self.prologue.overwritten(), 0, &[TRAP]) {
            Ok(trapped) => Ok(Some(trapped)),
            Err(cause) => Err(self.give_up(known, cause)),
        }
    }

    /// Steps 3 and 4, if step 2 `passed`.
    fn finish(
        &self,
        known: &mut BTreeMap<usize, Entry>,
        trapped: &[u8],
        passed: &Result<(), Arc<HookError>>,
    ) -> Result<(), HookError> {
        let put_in = || -> Result<(), HookError> {
            passed.clone()?;
            let jump = &self.entry.jump;
            let ready = self.change(trapped, 1, &jump[1..])?;
            self.change(&ready, 0, &jump[..1]).map(drop)
        };
        if let Err(cause) = put_in() {
            return Err(self.give_up(known, cause));
        }
        trap::retire(self.function.address);
        self.set_in_force(known, true);
        Ok(())
    }

    /// Takes out what an installation that failed has put in. Its error.
    fn give_up(&self, known: &mut BTreeMap<usize, Entry>, cause: HookError) -> HookError {
        if self.take_out().is_ok() || self.is_theirs() {
            trap::retire(self.function.address);
            return cause;
        }
        self.set_in_force(known, true);
        self.lead_through();
        self.left_trapped(cause)
    }

    /// Gives the function back its own code. Does nothing if it has it. Calls
    /// that are inside the hook go on there.
    ///
    /// # Errors
    /// As for [`Detour::install`]. [`Detour::in_place`] says what is left in the
    /// code; the hook is not called any more.
    pub fn remove(&self) -> Result<(), HookError> {
        let mut known = installed();
        if !self.is_in_force(&known) {
            return Ok(());
        }
        if !self.hook_is_ours() {
            return Err(already_hooked(&self.function));
        }
        self.remove_locked(&mut known).inspect_err(|_| self.lead_through())
    }

    fn remove_locked(&self, known: &mut BTreeMap<usize, Entry>) -> Result<(), HookError> {
        trap::check_threads(self.sys)?;
        if self.is_theirs() {
            return Err(self.already_patched(&self.in_memory(), &self.entry.jump));
        }
        trap::install_handler()?;
        trap::arm_redirect(self.function.address, self.entry.placed.original)?;
        if let Err(cause) = self.take_out() {
            if !self.is_theirs() {
                return Err(self.left_trapped(cause));
            }
            trap::retire(self.function.address);
            return Err(cause);
        }
        trap::retire(self.function.address);
        self.set_in_force(known, false);
        Ok(())
    }

    /// Lets what is in the code lead to the original, without changing the code: the
    /// hook is not called any more. For a detour that cannot be removed now.
    pub fn pass_through(&self) {
        let known = installed();
        if self.is_in_force(&known) && self.hook_is_ours() {
            self.lead_through();
        }
    }

    /// Back to the original code from any state that an installation or an
    /// interrupted `take_out` leaves.
    fn take_out(&self) -> Result<(), HookError> {
        let original = self.prologue.overwritten();
        let mut now = self.in_memory();
        if now == original {
            return Ok(());
        }
        // Each byte behind the first is the function's or ours: a write may have
        // ended in the middle.
        let mut behind = now.iter().zip(original).zip(&self.entry.jump).skip(1);
        if !behind.all(|((now, original), ours)| now == original || now == ours) {
            return Err(self.already_patched(&now, &self.entry.jump));
        }
        if now.first() != Some(&TRAP) {
            now = self.change(&self.entry.jump, 0, &[TRAP])?;
        }
        if now[1..] != original[1..] {
            now = self.change(&now, 1, &original[1..])?;
        }
        self.change(&now, 0, &original[..1]).map(drop)
    }

    /// Changes the code from `before`, at an offset; gives what it is then.
    fn change(&self, before: &[u8], offset: usize, bytes: &[u8]) -> Result<Vec<u8>, HookError> {
        self.expect(before)?;
        // SAFETY: the order of changes, the armed trap and `quiesce` make every
        // state harmless (see the protocol above).
        let written = unsafe { write(self.sys, self.function.address + offset, bytes) };
        self.sys.sync_cores();
        written?;
        let mut after = before.to_vec();
        after[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.expect(&after)?;
        Ok(after)
    }

    fn expect(&self, expected: &[u8]) -> Result<(), HookError> {
        let now = self.in_memory();
        match now == expected {
            true => Ok(()),
            false => Err(self.already_patched(&now, expected)),
        }
    }

    /// True if somebody else's change begins at the entry, so that a trap of ours
    /// is not there any more and nobody runs into ours first.
    fn is_theirs(&self) -> bool {
        let now = self.in_memory();
        now[0] != TRAP && now != self.entry.jump && now != self.prologue.overwritten()
    }

    fn lead_to(&self, target: usize) {
        self.entry.placed.hook_slot().store(target, Ordering::Release);
    }

    /// What stays in the code leads to the original from now on.
    fn lead_through(&self) {
        self.lead_to(self.entry.placed.original);
        // Where the trap is armed it stays so; the table has room, or it were not.
        if self.in_memory().first() == Some(&TRAP) {
            let _ = trap::arm_redirect(self.function.address, self.entry.placed.original);
        }
    }

    /// The bytes that a jump overwrites, as they are now.
    fn in_memory(&self) -> Vec<u8> {
        // SAFETY: code of a loaded library, which is never unloaded.
        unsafe { read(self.function.address, JUMP_BYTES) }
    }

    fn expect_original(&self) -> Result<(), HookError> {
        // SAFETY: as above.
        let live = unsafe { read(self.function.address, self.prologue.bytes.len()) };
        if live == self.prologue.bytes {
            return Ok(());
        }
        Err(self.already_patched(&live, &self.prologue.bytes))
    }

    fn already_patched(&self, live: &[u8], expected: &[u8]) -> HookError {
        HookError::AlreadyPatched { symbol: self.function.name.clone(), live: live.into(), expected: expected.into() }
    }

    fn left_trapped(&self, cause: HookError) -> HookError {
        HookError::LeftTrapped { symbol: self.function.name.clone(), cause: Box::new(cause) }
    }

    /// True if no other detour's hook has the function.
    fn hook_is_ours(&self) -> bool {
        [self.hook, self.entry.placed.original].contains(&self.hook_slot())
    }

    fn hook_slot(&self) -> usize {
        self.entry.placed.hook_slot().load(Ordering::Acquire)
    }

    fn is_in_force(&self, known: &BTreeMap<usize, Entry>) -> bool {
        known.get(&self.function.address).is_some_and(|entry| entry.in_force)
    }

    fn set_in_force(&self, known: &mut BTreeMap<usize, Entry>, in_force: bool) {
        let entry = Entry { in_force, ..self.entry.clone() };
        known.insert(self.function.address, entry);
    }
}

fn new_entry(
    function: &Function,
    prologue: &Prologue,
    context: ContextArguments,
    sys: &dyn Sys,
) -> Result<Entry, HookError> {
    let placed = trampoline::place(sys, &function.name, prologue, context)?;
    let jump =
        arch::jump(function.address, placed.thunk).map_err(|refusal| refusal.of(&function.name, &prologue.bytes))?;
    Ok(Entry { placed, context, original: prologue.bytes.clone(), jump, in_force: false })
}

/// The whole function is compared, not only what is overwritten: not every
/// library has a build-id by which a replaced file is recognized. Bytes that a jump of ours
/// has overwritten are left out, and so are traps: those of our own probes, of
/// a debugger or of the kernel's uprobes.
fn expect_file_code(function: &Function, entry: Option<&Entry>) -> Result<(), HookError> {
    let is_ours = entry.is_some_and(|entry| entry.in_force);
    let start = if is_ours { JUMP_BYTES } else { 0 };
    // SAFETY: code of a loaded library, which is never unloaded.
    let live = unsafe { read(function.address, function.code.len()) };
    let differs = |i: &usize| live[*i] != function.code[*i] && (*i < JUMP_BYTES || live[*i] != TRAP);
    let Some(first) = (start..live.len()).find(differs) else {
        return Ok(());
    };
    let shown = first..live.len().min(first + 16);
    Err(HookError::AlreadyPatched {
        symbol: format!("{}+{first:#x}", function.name),
        live: live[shown.clone()].into(),
        expected: function.code[shown].into(),
    })
}

fn already_hooked(function: &Function) -> HookError {
    HookError::AlreadyHooked { symbol: function.name.clone() }
}
