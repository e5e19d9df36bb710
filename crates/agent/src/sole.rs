//! One agent in a process.
//!
//! Several copies of this library can get into one JVM: command lines that attach
//! at the same time, two versions, `-agentpath` twice. Each has variables of its
//! own, so only one may work; hooks of two would undo each other.
//!
//! The atomic step is the definition of [`HELPER`] in the boot loader, which the
//! VM does once. Who defined it stores the address of its [`Table`] in a static
//! field of the class. Every other copy reads the address there, hands its command
//! over, and initialises nothing. A table stays where it is for the life of the
//! process, since the library is never unloaded.

use crate::jni::{Class, Jni};
use jni_sys::{jint, JavaVM};
use std::ffi::{c_char, CStr, CString};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The class that is defined in the boot loader, dotted.
pub const HELPER: &str = "java.util.concurrent.locks.HeadwayParking";
const HELPER_NAME: &CStr = c"java/util/concurrent/locks/HeadwayParking";
const HELPER_BYTES: &[u8] = include_bytes!("park/HeadwayParking.class");
const FIELD: &CStr = c"table";

/// What a table begins with.
const MAGIC: u64 = u64::from_le_bytes(*b"headway\0");
/// Version of [`Table`]; entries are only ever appended.
const TABLE_VERSION: u32 = 1;
/// Longest time from the definition of the class to its table: the copy that
/// defined it has only to store a number.
const TABLE_WITHIN: Duration = Duration::from_secs(5);

/// How other copies of the library reach the agent. Its layout is a promise to
/// every later version.
#[repr(C)]
pub struct Table {
    magic: u64,
    version: u32,
    bytes: u32,
    /// The agent's version, zero-terminated.
    agent_version: *const c_char,
    /// Carries out a command, given as the options of `Agent_OnAttach`; gives what that returns.
    command: extern "C" fn(vm: *mut JavaVM, options: *const c_char) -> jint,
}

// SAFETY: never changed after it was made; what it points to is constant.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

static OURS: OnceLock<Table> = OnceLock::new();

/// The helper class, once this copy has defined it.
static CLASS: OnceLock<Class> = OnceLock::new();

/// Which copy of the library is the process's agent.
pub enum Claim {
    /// This one.
    Ours(Class),
    /// Another one, which takes commands.
    Theirs(&'static Table),
}

/// The helper class, if this copy is the process's agent.
pub fn class() -> Option<Class> {
    CLASS.get().copied()
}

/// Makes this copy the process's agent if there is none.
///
/// # Errors
/// The VM refuses the class, or there is an agent that takes no commands of ours.
pub fn claim(jni: Jni, command: extern "C" fn(*mut JavaVM, *const c_char) -> jint) -> Result<Claim, String> {
    if let Some(class) = CLASS.get() {
        return Ok(Claim::Ours(*class));
    }
    if let Some(class) = jni.define_boot_class(HELPER_NAME, HELPER_BYTES) {
        let class = *CLASS.get_or_init(|| class);
        let table = OURS.get_or_init(|| Table {
            magic: MAGIC,
            version: TABLE_VERSION,
            bytes: size_of::<Table>() as u32,
            agent_version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
            command,
        });
        let address = std::ptr::from_ref(table) as i64;
        return match jni.set_static_long(class, FIELD, address) {
            true => Ok(Claim::Ours(class)),
            false => Err(format!("{HELPER} has no field {}", FIELD.to_string_lossy())),
        };
    }
    let class = jni.global_class(HELPER_NAME);
    let class = class.ok_or(
        "the VM refused to define the agent's class in the boot loader, by which two agents know of each other",
    )?;
    their_table(jni, class).map(Claim::Theirs)
}

fn their_table(jni: Jni, class: Class) -> Result<&'static Table, String> {
    let deadline = Instant::now() + TABLE_WITHIN;
    loop {
        match jni.static_long(class, FIELD) {
            None => {
                return Err("an agent of Headway before version 0.2 is in this process, which cannot hand commands \
                            over: restart the JVM, or use the command line of that version"
                    .to_owned())
            }
            Some(0) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
            Some(0) => {
                return Err(
                    "another agent of Headway began to load in this process and did not finish: restart the JVM"
                        .to_owned(),
                )
            }
            Some(address) => return checked(address as usize as *const Table),
        }
    }
}

fn checked(table: *const Table) -> Result<&'static Table, String> {
    // SAFETY: the field is private to a class that only agents of Headway define,
    // and holds 0 or the address of a table that lives as long as the process.
    let table = unsafe { &*table };
    let fits = table.magic == MAGIC && table.version >= TABLE_VERSION && table.bytes as usize >= size_of::<Table>();
    fits.then_some(table).ok_or_else(|| "the agent of Headway in this process is not known to this one".to_owned())
}

impl Table {
    /// Has the process's agent carry out a command; what its entry point returns.
    pub fn forward(&self, vm: *mut JavaVM, options: &str) -> jint {
        // What has a zero inside ends there, as it does for the VM.
        let options = options.split('\0').next().unwrap_or_default();
        CString::new(options).map_or(1, |options| (self.command)(vm, options.as_ptr()))
    }

    /// The version of the process's agent.
    pub fn agent_version(&self) -> String {
        // SAFETY: zero-terminated, constant (see `Table`).
        unsafe { CStr::from_ptr(self.agent_version) }.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn length(_: *mut JavaVM, options: *const c_char) -> jint {
        // SAFETY: `forward` passes a zero-terminated string.
        unsafe { CStr::from_ptr(options) }.to_bytes().len() as jint
    }

    fn table(magic: u64, version: u32) -> Table {
        let bytes = size_of::<Table>() as u32;
        Table { magic, version, bytes, agent_version: c"9.9".as_ptr(), command: length }
    }

    #[test]
    fn a_command_is_handed_to_the_table() {
        let table = table(MAGIC, TABLE_VERSION);
        assert_eq!(table.forward(std::ptr::null_mut(), "status"), 6);
        assert_eq!(table.forward(std::ptr::null_mut(), "stop\0after"), 4);
        assert_eq!(table.agent_version(), "9.9");
    }

    #[test]
    fn only_a_table_of_headway_is_taken() {
        let taken = |magic, version| checked(&table(magic, version)).is_ok();
        assert!(taken(MAGIC, TABLE_VERSION) && taken(MAGIC, TABLE_VERSION + 1));
        assert!(!taken(0, TABLE_VERSION) && !taken(MAGIC, 0));
    }
}
