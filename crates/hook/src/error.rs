//! What can go wrong, each with the value that was wrong.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that print as `55 48 89 e5`.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

/// Why a library, or something in it, was not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// No loaded library has this file name.
    #[error("no library named {0} is loaded in this process")]
    NotLoaded(String),
    /// The file could not be opened or read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is no ELF library that could be understood.
    #[error("{}: not a readable ELF library: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// The file on disk is not the one that was loaded.
    #[error("{} was replaced since it was loaded ({difference})", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// By what it was noticed.
        difference: String,
    },
    /// The symbol is absent and the file has no full symbol table.
    #[error("symbol {symbol} not found: {} is stripped of its symbol table", path.display())]
    Stripped {
        /// The symbol looked for.
        symbol: String,
        /// The file.
        path: PathBuf,
    },
    /// The file has a full symbol table, without this symbol.
    #[error("{} has no symbol {symbol}", path.display())]
    NoSymbol {
        /// The symbol looked for.
        symbol: String,
        /// The file.
        path: PathBuf,
    },
    /// More than one function has this name.
    #[error("{} has {count} different functions {symbol}", path.display())]
    Ambiguous {
        /// The symbol looked for.
        symbol: String,
        /// How many functions match.
        count: usize,
        /// The file.
        path: PathBuf,
    },
    /// The symbol is there but is not of the kind or size asked for.
    #[error("symbol {symbol} is not usable: {reason}")]
    UnfitSymbol {
        /// The symbol.
        symbol: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The library does not import this function through a GOT slot.
    #[error("{} does not import {symbol} through its global offset table", path.display())]
    NoGotSlot {
        /// The imported function.
        symbol: String,
        /// The file.
        path: PathBuf,
    },
    /// The library has no such USDT probe.
    #[error("{} has no probe {provider}:{name}", path.display())]
    NoProbe {
        /// The probe's provider.
        provider: String,
        /// The probe's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// Asked for live memory of an image that is only a file.
    #[error("{} was opened as a file, it is not loaded here", path.display())]
    NotLive {
        /// The file.
        path: PathBuf,
    },
}

/// Why a hook could not be put in or taken out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// Looking something up failed.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Patching is not implemented for this CPU.
    #[error("patching code is not supported on this CPU ({0})")]
    UnsupportedCpu(&'static str),
    /// The function's first instructions are not of a shape that can be moved.
    #[error("{symbol} begins with {bytes}: {reason}")]
    UnfitPrologue {
        /// The function.
        symbol: String,
        /// Its first bytes.
        bytes: Bytes,
        /// Why they cannot be moved.
        reason: String,
    },
    /// The code in memory is not what the file says: somebody else patched it.
    #[error("{symbol} was already changed in memory: {live} instead of {expected}")]
    AlreadyPatched {
        /// The function, probe or slot.
        symbol: String,
        /// What memory holds.
        live: Bytes,
        /// What the file holds.
        expected: Bytes,
    },
    /// No free address space near enough to the function.
    #[error("no room for a trampoline within 2 GB of {symbol} at {address:#x}: {error}")]
    NoRoomNearby {
        /// The function.
        symbol: String,
        /// Its address.
        address: usize,
        /// What the system said last.
        error: io::Error,
    },
    /// Code memory could not be written, by no means.
    #[error("code at {address:#x} cannot be changed: mprotect: {mprotect}; /proc/self/mem: {mem_file}")]
    WriteDenied {
        /// Address of the code.
        address: usize,
        /// What mprotect said.
        mprotect: io::Error,
        /// What writing through `/proc/self/mem` said.
        mem_file: io::Error,
    },
    /// Memory protection could not be changed.
    #[error("memory protection at {address:#x} cannot be changed: {error}")]
    ProtectDenied {
        /// Address of the page.
        address: usize,
        /// What the system said.
        error: io::Error,
    },
    /// A thread blocks SIGTRAP; at a trap the kernel would kill the process.
    #[error("thread \"{name}\" (tid {tid}) blocks SIGTRAP")]
    TrapBlocked {
        /// Kernel thread id.
        tid: u32,
        /// The thread's name as the kernel has it.
        name: String,
    },
    /// A debugger or tracer is attached and would see our traps first.
    #[error("process {tracer} traces this process and would catch its traps")]
    Traced {
        /// The tracer's process id.
        tracer: u32,
    },
    /// The threads of the process could not be examined.
    #[error("cannot read the state of this process's threads: {0}")]
    ThreadsUnreadable(io::Error),
    /// The process's memory map could not be read.
    #[error("cannot read this process's memory map: {0}")]
    MapUnreadable(io::Error),
    /// The SIGTRAP handler could not be put in place.
    #[error("cannot install a SIGTRAP handler: {0}")]
    NoTrapHandler(io::Error),
    /// Traps are still active, so the handler has to stay.
    #[error("the SIGTRAP handler is still needed by {0} traps")]
    TrapsInForce(usize),
    /// Another handler was installed over ours and may call it.
    #[error("another SIGTRAP handler was installed over ours; it stays and passes everything on")]
    TrapHandlerCovered,
    /// The trap table is full.
    #[error("more than {0} different addresses were trapped")]
    TrapTableFull(usize),
    /// The caller could not bring the process to a safe point. The code is
    /// back as it was.
    #[error("threads could not be brought to a safe point: {0}")]
    NotQuiesced(Box<dyn std::error::Error + Send + Sync>),
    /// Something else is installed at this place by this crate.
    #[error("{symbol} is already hooked")]
    AlreadyHooked {
        /// The function, probe or slot.
        symbol: String,
    },
    /// A failed change could not be undone either; the place works through a
    /// trap, slower, until a removal succeeds.
    #[error("{symbol} is left with a trap on it: {cause}")]
    LeftTrapped {
        /// The function.
        symbol: String,
        /// What failed.
        cause: Box<HookError>,
    },
    /// What kept several functions from being hooked together; each has it as its error.
    #[error(transparent)]
    Shared(#[from] Arc<HookError>),
    /// A USDT probe's place or arguments are not of a shape we know.
    #[error("probe {probe} at {address:#x}: {reason}")]
    UnfitProbe {
        /// `provider:name`.
        probe: String,
        /// Address of the probe.
        address: usize,
        /// What is wrong.
        reason: String,
    },
    /// A GOT slot no longer holds our hook: somebody else changed it since.
    #[error("the slot of {symbol} was changed by somebody else to {value:#x}")]
    SlotChanged {
        /// The imported function.
        symbol: String,
        /// What the slot holds.
        value: usize,
    },
}

impl HookError {
    /// The error itself, if no other function has it, too.
    pub(crate) fn alone(self) -> HookError {
        match self {
            HookError::Shared(error) => Arc::try_unwrap(error).unwrap_or_else(HookError::Shared),
            error => error,
        }
    }
}
