//! Layout of the JVMTI interface, from the specification ("JVM Tool
//! Interface", function and event index): the function with number `n` is
//! slot `n - 1` of the table, the event with number `e` is slot `e - 50` of
//! the callbacks, capabilities are bits in declaration order.

use jni_sys::{jint, jlong, jmethodID, jobject};
use std::ffi::{c_char, c_void};

/// `JVMTI_VERSION_11`: what every supported JDK offers.
pub const JVMTI_VERSION: jint = 0x300B_0000_u32 as jint;

/// Number of function slots in use (`SetHeapSamplingInterval` is 156).
pub const FUNCTIONS: usize = 160;

/// A `jvmtiEnv`: a pointer to this.
#[repr(C)]
pub struct RawEnv {
    /// The function table.
    pub functions: *const [*const c_void; FUNCTIONS],
}

/// One frame of `GetStackTrace`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameInfo {
    /// The method.
    pub method: jmethodID,
    /// Bytecode index, -1 for native methods.
    pub location: jlong,
}

impl FrameInfo {
    /// No frame.
    pub const EMPTY: FrameInfo = FrameInfo { method: std::ptr::null_mut(), location: -1 };
}

/// A thread's stack as `GetThreadListStackTraces` gives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StackInfo {
    /// The thread.
    pub thread: jobject,
    /// What it is doing.
    pub state: jint,
    /// Its frames, leaf first.
    pub frames: *mut FrameInfo,
    /// How many.
    pub count: jint,
}

/// One entry of `GetLineNumberTable`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LineNumberEntry {
    /// First bytecode index of the line.
    pub start_location: jlong,
    /// The line.
    pub line_number: jint,
}

/// What `GetThreadInfo` fills.
#[repr(C)]
pub struct ThreadInfo {
    /// Modified UTF-8, to be deallocated.
    pub name: *mut c_char,
    /// Java priority.
    pub priority: jint,
    /// Daemon flag.
    pub is_daemon: u8,
    /// Local reference to the group.
    pub thread_group: jobject,
    /// Local reference to the context class loader.
    pub context_class_loader: jobject,
}

/// What `GetThreadGroupInfo` fills.
#[repr(C)]
pub struct ThreadGroupInfo {
    /// Local reference to the parent.
    pub parent: jobject,
    /// Modified UTF-8, to be deallocated.
    pub name: *mut c_char,
    /// Highest priority.
    pub max_priority: jint,
    /// Daemon flag.
    pub is_daemon: u8,
}

/// Events by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    /// The VM is ready.
    VmInit = 50,
    /// The VM ends.
    VmDeath = 51,
    /// A platform thread starts.
    ThreadStart = 52,
    /// A platform thread ends.
    ThreadEnd = 53,
    /// A class is about to be loaded or changed.
    ClassFileLoadHook = 54,
    /// A class was loaded. `AsyncGetCallTrace` works only while somebody listens.
    ClassLoad = 55,
    /// A class can be asked for its methods.
    ClassPrepare = 56,
    /// A thread dump was asked for.
    DataDumpRequest = 71,
    /// `Object.wait` begins.
    MonitorWait = 73,
    /// `Object.wait` is over.
    MonitorWaited = 74,
    /// A thread is about to block on a monitor.
    MonitorContendedEnter = 75,
    /// A thread that had blocked owns the monitor.
    MonitorContendedEntered = 76,
    /// A stop-the-world collection pause starts.
    GarbageCollectionStart = 81,
    /// It ends.
    GarbageCollectionFinish = 82,
    /// A tagged object died.
    ObjectFree = 83,
}

/// `jvmtiEventCallbacks`.
#[repr(C)]
#[derive(Clone)]
pub struct EventCallbacks {
    slots: [*const c_void; 40],
}

impl Default for EventCallbacks {
    fn default() -> Self {
        EventCallbacks { slots: [std::ptr::null(); 40] }
    }
}

impl EventCallbacks {
    /// Sets the callback of an event. `function` must have the signature that
    /// the specification gives for this event.
    pub fn set(&mut self, event: EventKind, function: *const c_void) {
        let slot = event as i32 as usize - EventKind::VmInit as i32 as usize;
        if let Some(place) = self.slots.get_mut(slot) {
            *place = function;
        }
    }
}

/// `jvmtiCapabilities`: 128 bits.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Capabilities {
    words: [u32; 4],
}

/// Capabilities by their bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// `can_tag_objects`
    TagObjects = 0,
    /// `can_get_bytecodes`
    GetBytecodes = 3,
    /// `can_get_source_file_name`
    GetSourceFileName = 11,
    /// `can_get_line_numbers`
    GetLineNumbers = 12,
    /// `can_redefine_any_class`
    RedefineAnyClass = 21,
    /// `can_generate_monitor_events`
    MonitorEvents = 28,
    /// `can_generate_garbage_collection_events`
    GarbageCollectionEvents = 31,
    /// `can_generate_object_free_events`
    ObjectFreeEvents = 32,
    /// `can_get_constant_pool`
    GetConstantPool = 35,
    /// `can_retransform_classes`
    RetransformClasses = 37,
    /// `can_support_virtual_threads` (JDK 21 and later). Not asked for: monitor
    /// events of virtual threads arrive without it, and with it the VM does
    /// more at each mount and unmount.
    SupportVirtualThreads = 44,
}

impl Capabilities {
    /// With this capability added.
    #[must_use]
    pub fn with(mut self, capability: Capability) -> Self {
        let bit = capability as usize;
        if let Some(word) = self.words.get_mut(bit / 32) {
            *word |= 1 << (bit % 32);
        }
        self
    }

    /// True if the capability is in the set.
    pub fn has(&self, capability: Capability) -> bool {
        let bit = capability as usize;
        self.words.get(bit / 32).is_some_and(|word| word & (1 << (bit % 32)) != 0)
    }

    /// What is in both sets.
    #[must_use]
    pub fn and(mut self, other: Capabilities) -> Self {
        for (mine, theirs) in self.words.iter_mut().zip(other.words) {
            *mine &= theirs;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_bits_stand_where_the_header_declares_them() {
        let set = Capabilities::default().with(Capability::MonitorEvents);
        assert_eq!(set.words, [1 << 28, 0, 0, 0]);
        let set = Capabilities::default().with(Capability::SupportVirtualThreads);
        assert_eq!(set.words, [0, 1 << 12, 0, 0]);
        assert!(set.has(Capability::SupportVirtualThreads));
    }

    #[test]
    fn callbacks_start_at_vm_init() {
        let mut callbacks = EventCallbacks::default();
        callbacks.set(EventKind::MonitorContendedEnter, std::ptr::dangling());
        assert!(!callbacks.slots[25].is_null());
    }
}
