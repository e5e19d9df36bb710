//! A library, as a file and as loaded into this process.
//!
//! Symbols come from the file (the loader does not keep them in memory), so
//! the file must be the one that was loaded: build-id, program headers and,
//! function by function, the code are compared before anything is patched.
//! Files are read, not mapped: a mapped file that somebody truncates would
//! take the process with it.

mod elf;
pub mod probes;
mod symbols;

use crate::arch::{self, Prologue};
use crate::error::{HookError, ImageError};
use crate::sys::linux::{find_loaded, LoadedObject};
use crate::sys::Sys;
pub use probes::Probe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use symbols::{Found, SymbolKind, Symbols};

/// A function: where it is and what its code is in the file.
#[derive(Clone, Debug)]
pub struct Function {
    /// The linker's name, `_ZN13ObjectMonitor10ExitEpilog...`.
    pub symbol: String,
    /// The readable name, `ObjectMonitor::ExitEpilog(JavaThread*, ObjectWaiter*)`.
    pub name: String,
    /// Address in this process, or in the file if `live` is false.
    pub address: usize,
    /// Its code as the file has it.
    pub code: Vec<u8>,
    /// True if it is loaded in this process.
    pub live: bool,
}

impl Function {
    /// A function that is known otherwise than by a library's symbols.
    ///
    /// # Safety
    /// `length_bytes` bytes of code must be at `address`, for ever.
    pub unsafe fn at(name: &str, address: *const (), length_bytes: usize) -> Function {
        Function {
            symbol: name.to_owned(),
            name: name.to_owned(),
            address: address as usize,
            // SAFETY: promised by the caller.
            code: unsafe { crate::detour::read(address as usize, length_bytes) },
            live: true,
        }
    }

    /// The instructions that a detour would move.
    ///
    /// # Errors
    /// If they cannot be moved; names the function and its bytes.
    pub fn prologue(&self) -> Result<Prologue, HookError> {
        arch::plan(self.address, &self.code).map_err(|refusal| refusal.of(&self.name, &self.code))
    }
}

/// A library. Clones share what was read.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    bias: Option<usize>,
    file: Arc<elf::Contents>,
    symbols: Arc<Symbols>,
}

impl Image {
    /// The library of this file name (`libjvm.so`) that is loaded here.
    ///
    /// # Errors
    /// If none is, or if its file is unreadable or no longer the same.
    pub fn of_loaded(name: &str, sys: &dyn Sys) -> Result<Image, ImageError> {
        let loaded = find_loaded(name).ok_or_else(|| ImageError::NotLoaded(name.to_owned()))?;
        let mut last = None;
        for path in file_candidates(&loaded, sys) {
            match Image::open(&path).and_then(|image| image.bound_to(&loaded)) {
                Ok(image) => return Ok(image),
                Err(error) => last = last.or(Some(error)),
            }
        }
        Err(last.unwrap_or_else(|| ImageError::NotLoaded(name.to_owned())))
    }

    /// A library file, whether it is loaded or not. Addresses are those in
    /// the file; nothing of it can be patched.
    ///
    /// # Errors
    /// If it is unreadable or no ELF library.
    pub fn of_file(path: &Path) -> Result<Image, ImageError> {
        Image::open(path)
    }

    fn open(path: &Path) -> Result<Image, ImageError> {
        let (file, symbols) = elf::read(path)?;
        let mut image = Image { path: path.to_owned(), bias: None, file: Arc::new(file), symbols: Arc::new(symbols) };
        if !image.symbols.is_full() {
            image.add_separate_symbols();
        }
        Ok(image)
    }

    /// Symbols that the distribution keeps in a file of their own.
    fn add_separate_symbols(&mut self) {
        let Some(id) = self.file.build_id.as_deref().filter(|id| id.len() > 1) else {
            return;
        };
        let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
        let by_id = format!("/usr/lib/debug/.build-id/{}/{}.debug", &hex[..2], &hex[2..]);
        let beside = self.path.with_extension("debuginfo");
        for path in [PathBuf::from(by_id), beside] {
            if let Ok((file, symbols)) = elf::read(&path) {
                if file.build_id.as_deref() == Some(id) && symbols.is_full() {
                    self.symbols = Arc::new(symbols);
                    return;
                }
            }
        }
    }

    fn bound_to(mut self, loaded: &LoadedObject) -> Result<Image, ImageError> {
        if let Some(difference) = self.file.difference_from(loaded) {
            return Err(ImageError::Replaced { path: self.path, difference });
        }
        self.bias = Some(loaded.bias);
        Ok(self)
    }

    /// Gives back the memory that only questions not asked before need.
    pub fn rest(&self) {
        self.symbols.forget_table();
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is added to addresses in the file; `None` if not loaded.
    pub fn bias(&self) -> Option<usize> {
        self.bias
    }

    /// The linker's build-id, if the file has one (not every vendor's does).
    pub fn build_id(&self) -> Option<&[u8]> {
        self.file.build_id.as_deref()
    }

    /// True if the file (or its separate debug file) has a full symbol table.
    pub fn has_full_symbols(&self) -> bool {
        self.symbols.is_full()
    }

    /// The function with exactly this linker's name.
    ///
    /// # Errors
    /// If there is none or it is no function with code.
    pub fn function(&self, symbol: &str) -> Result<Function, ImageError> {
        let found = self.symbols.exact(symbol, SymbolKind::Function).ok_or_else(|| self.no_symbol(symbol))?;
        self.to_function(&found)
    }

    /// The function whose demangled name is `Class::method` followed by
    /// exactly this argument list: `ObjectMonitor::INotify(JavaThread*)`.
    /// Parts that the compiler split off (`[clone .cold]`) do not match.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn function_named(&self, name: &str) -> Result<Function, ImageError> {
        let all = self.symbols.demangled(name);
        match all.as_slice() {
            [] => Err(self.no_symbol(name)),
            [one] => self.to_function(one),
            several => {
                Err(ImageError::Ambiguous { symbol: name.to_owned(), count: several.len(), path: self.path.clone() })
            }
        }
    }

    fn to_function(&self, found: &Found) -> Result<Function, ImageError> {
        let code = self
            .file
            .code(found.address, found.size)
            .map_err(|reason| ImageError::UnfitSymbol { symbol: found.symbol.clone(), reason })?;
        Ok(Function {
            symbol: found.symbol.clone(),
            name: symbols::demangle(&found.symbol).unwrap_or_else(|| found.symbol.clone()),
            address: self.bias.unwrap_or(0) + found.address as usize,
            code,
            live: self.bias.is_some(),
        })
    }

    /// Address of a variable of at least `size` bytes with this linker's name.
    ///
    /// # Errors
    /// If there is none, it is smaller, or the image is not loaded.
    pub fn variable(&self, symbol: &str, size: u64) -> Result<usize, ImageError> {
        let found = self.symbols.exact(symbol, SymbolKind::Variable).ok_or_else(|| self.no_symbol(symbol))?;
        if found.size < size {
            return Err(ImageError::UnfitSymbol {
                symbol: symbol.to_owned(),
                reason: format!("{} bytes, expected at least {size}", found.size),
            });
        }
        Ok(self.live_bias()? + found.address as usize)
    }

    /// Address in this process of the function or variable with exactly this
    /// linker's name; `None` if there is none or the image is not loaded.
    pub fn address_of(&self, symbol: &str) -> Option<usize> {
        let found = [SymbolKind::Variable, SymbolKind::Function]
            .into_iter()
            .find_map(|kind| self.symbols.exact(symbol, kind))?;
        Some(self.bias? + found.address as usize)
    }

    /// The probe sites of this name, as the file describes them, with
    /// addresses in this process if the library is loaded.
    ///
    /// # Errors
    /// If there is none.
    pub fn probes(&self, provider: &str, name: &str) -> Result<Vec<Probe>, ImageError> {
        let bias = self.bias.unwrap_or(0);
        let found: Vec<Probe> = self
            .file
            .probes
            .iter()
            .filter(|p| p.provider == provider && p.name == name)
            .map(|p| p.moved_by(bias))
            .collect();
        if found.is_empty() {
            return Err(ImageError::NoProbe {
                provider: provider.to_owned(),
                name: name.to_owned(),
                path: self.path.clone(),
            });
        }
        Ok(found)
    }

    /// Address of the GOT slot through which the library calls an imported
    /// function.
    ///
    /// # Errors
    /// If it does not import it so, or the image is not loaded.
    pub fn got_slot(&self, symbol: &str) -> Result<usize, ImageError> {
        let bias = self.live_bias()?;
        self.file
            .got_slot(symbol)
            .map(|address| bias + address as usize)
            .ok_or_else(|| ImageError::NoGotSlot { symbol: symbol.to_owned(), path: self.path.clone() })
    }

    /// True for addresses inside the loaded library.
    pub fn contains(&self, address: usize) -> bool {
        self.bias.and_then(|bias| address.checked_sub(bias)).is_some_and(|offset| self.file.covers(offset as u64))
    }

    /// An error unless the image is loaded in this process.
    pub(crate) fn require_live(&self) -> Result<(), ImageError> {
        self.live_bias().map(|_| ())
    }

    fn live_bias(&self) -> Result<usize, ImageError> {
        self.bias.ok_or_else(|| ImageError::NotLive { path: self.path.clone() })
    }

    fn no_symbol(&self, symbol: &str) -> ImageError {
        let (symbol, path) = (symbol.to_owned(), self.path.clone());
        if self.symbols.is_full() {
            ImageError::NoSymbol { symbol, path }
        } else {
            ImageError::Stripped { symbol, path }
        }
    }
}

/// Where the file of a loaded object may be found: the path the linker knows,
/// the path the kernel knows, and, for a deleted file, the kernel's own handle
/// on it (which needs a privilege).
fn file_candidates(loaded: &LoadedObject, sys: &dyn Sys) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    let mapping = sys.mappings().ok().and_then(|all| all.into_iter().find(|m| m.range.contains(&loaded.bias)));
    if let Some(mapping) = mapping {
        let path = mapping.path.trim_end_matches(" (deleted)");
        candidates.push(PathBuf::from(path));
        candidates
            .push(PathBuf::from(format!("/proc/self/map_files/{:x}-{:x}", mapping.range.start, mapping.range.end)));
    }
    candidates.insert(candidates.len().min(1), PathBuf::from(&loaded.path));
    candidates.dedup();
    candidates
}
