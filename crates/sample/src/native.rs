//! Unwinding native code by the unwind tables of its libraries.

use crate::arch::{Cache, Tables, Unwinding};
use crate::modules::{self, Module, Section};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Unwinder as _};
use headway_hotspot::fragment::{Captured, Native, NativeStep};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Libraries come while a program runs, several at a time: how soon to look
/// again after some came, twice as late each time that none did, and how late
/// at most.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// See the module.
pub struct Unwinder {
    tables: Tables<Section>,
    cache: Cache,
    modules: Vec<Module>,
    looked: Instant,
    patience: Duration,
}

impl Default for Unwinder {
    fn default() -> Unwinder {
        Unwinder::new()
    }
}

impl Unwinder {
    /// Knows the libraries that are mapped now.
    pub fn new() -> Unwinder {
        let mut unwinder = Unwinder {
            tables: Tables::new(),
            cache: Cache::new(),
            modules: Vec::new(),
            looked: Instant::now(),
            patience: LOOK_AGAIN.0,
        };
        unwinder.look();
        unwinder
    }

    /// Brought up to date: libraries may have come and gone while nobody looked.
    pub fn renewed(mut self) -> Unwinder {
        self.patience = LOOK_AGAIN.0;
        self.look();
        self
    }

    /// Gives back what is only used while somebody unwinds.
    pub fn rest(&mut self) {
        self.cache = Cache::new();
        self.release_files();
    }

    /// Gives back the memory of files that were looked into. What is needed again
    /// comes from where the system keeps files.
    pub fn release_files(&self) {
        for module in &self.modules {
            module.bytes.release(0..module.bytes.len());
        }
    }

    fn look(&mut self) {
        let before: Vec<(u64, Arc<str>)> = self.modules.iter().map(Module::identity).collect();
        self.modules = modules::all(std::mem::take(&mut self.modules));
        self.looked = Instant::now();
        if self.modules.iter().map(Module::identity).eq(before) {
            self.patience = (self.patience * 2).min(LOOK_AGAIN.1);
            return;
        }
        self.patience = LOOK_AGAIN.0;
        self.tables = Tables::new();
        self.cache = Cache::new();
        for module in &self.modules {
            self.tables.add_module(tables_of(module));
        }
    }

    fn module(&self, address: u64) -> Option<&Module> {
        let after = self.modules.partition_point(|module| module.range.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        module.range.contains(&address).then_some(module)
    }

    /// The function at an address and its library.
    pub fn function(&self, address: u64) -> Option<(Option<String>, Arc<str>)> {
        let module = self.module(address)?;
        Some((module.function(address), module.name.clone()))
    }

    /// True if a library has code at this address.
    pub fn knows(&mut self, address: u64) -> bool {
        if self.module(address).is_none() && self.looked.elapsed() >= self.patience {
            self.look();
        }
        self.module(address).is_some()
    }

    /// See [`headway_hotspot::fragment::Native::caller`].
    pub fn caller(
        &mut self,
        at: &mut Captured,
        interrupted: bool,
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> NativeStep {
        if !self.knows(at.pc) {
            return NativeStep::Lost;
        }
        let Some((sp, mut registers)) = at.sp().zip(Unwinding::of(at)) else { return NativeStep::Lost };
        let address = match interrupted {
            true => Some(FrameAddress::from_instruction_pointer(at.pc)),
            false => FrameAddress::from_return_address(at.pc),
        };
        let Some(address) = address else { return NativeStep::Root };
        let mut read = |address| read(address).ok_or(());
        match self.tables.unwind_frame(address, &mut registers.0, &mut self.cache, &mut read) {
            Ok(Some(0)) | Ok(None) | Err(Error::ReturnAddressIsNull) => NativeStep::Root,
            Ok(Some(pc)) if registers.sp() > sp => {
                *at = registers.captured(pc);
                NativeStep::Caller
            }
            Ok(Some(_)) | Err(_) => NativeStep::Lost,
        }
    }
}

impl Native for Unwinder {
    fn knows(&mut self, pc: u64) -> bool {
        self.knows(pc)
    }

    fn caller(&mut self, at: &mut Captured, interrupted: bool, read: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep {
        self.caller(at, interrupted, read)
    }
}

fn tables_of(module: &Module) -> framehop::Module<Section> {
    let (eh_frame, eh_frame_svma) = module.section(".eh_frame").unzip();
    let (eh_frame_hdr, eh_frame_hdr_svma) = module.section(".eh_frame_hdr").unzip();
    let (text, text_svma) = module.section(".text").unzip();
    let (_, got_svma) = module.section(".got").unzip();
    let debug_frame = module.section(".debug_frame").map(|(section, _)| section);
    framehop::Module::new(
        module.name.to_string(),
        module.range.clone(),
        module.bias,
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma,
            text,
            got_svma,
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame,
            ..Default::default()
        },
    )
}
