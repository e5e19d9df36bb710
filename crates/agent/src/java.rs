//! Facts about this Java and its threads that hold for the process's life:
//! version, fields of `java.lang.Thread`, where a thread's JNI environment
//! lies in the VM's thread object.

use crate::jni::{Field, Jni, Ref};
use crate::jvmti::Jvmti;
use crate::naming::class_name;
use headway_model::ThreadId;
use std::fmt;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct JavaFacts {
    /// 17, 21, 25.
    pub version: u32,
    tid: Field,
    eetop: Field,
    interrupted: Option<Field>,
    /// Address of a thread's JNI environment minus that of its VM thread.
    env_offset: u64,
}

/// This VM is not one that the agent knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsuitableVm {
    /// `java.lang.Thread` lacks a field.
    MissingField(&'static str),
    /// Older than JDK 17.
    TooOld(String),
    /// No HotSpot.
    NotHotSpot(String),
    /// The current thread's VM object and JNI environment do not lie together.
    OddThread,
}

impl fmt::Display for UnsuitableVm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnsuitableVm::MissingField(name) => {
                write!(f, "this VM's java.lang.Thread has no field {name}; Headway needs HotSpot of JDK 17 or later")
            }
            UnsuitableVm::TooOld(version) => {
                write!(f, "this is Java {version}; Headway needs JDK 17 or later")
            }
            UnsuitableVm::NotHotSpot(name) => {
                write!(f, "this VM is '{name}'; Headway needs HotSpot of JDK 17 or later")
            }
            UnsuitableVm::OddThread => {
                write!(f, "this VM keeps a thread's JNI environment in an unknown place; Headway needs HotSpot of JDK 17 or later")
            }
        }
    }
}

impl std::error::Error for UnsuitableVm {}

/// The JNI environment lies within the first pages of the thread object.
const MAX_ENV_OFFSET: u64 = 8192;

impl JavaFacts {
    /// Asks the VM. `thread` is the current thread.
    pub fn read(jvmti: &Jvmti, jni: Jni, thread: Ref) -> Result<JavaFacts, UnsuitableVm> {
        let name = jvmti.system_property(c"java.vm.name").unwrap_or_default();
        if name.contains("OpenJ9") || name.contains("GraalVM Native") {
            return Err(UnsuitableVm::NotHotSpot(name));
        }
        let specification = jvmti.system_property(c"java.vm.specification.version").unwrap_or_default();
        let version = match specification.parse::<u32>() {
            Ok(version) if version >= 17 => version,
            _ => return Err(UnsuitableVm::TooOld(specification)),
        };
        let class = c"java/lang/Thread";
        let field = |name: &'static std::ffi::CStr, label| {
            jni.field(class, name, c"J").ok_or(UnsuitableVm::MissingField(label))
        };
        let mut facts = JavaFacts {
            version,
            tid: field(c"tid", "tid")?,
            eetop: field(c"eetop", "eetop")?,
            interrupted: jni.field(class, c"interrupted", c"Z"),
            env_offset: 0,
        };
        let vm_thread = facts.vm_thread(jni, thread);
        facts.env_offset = jni.address().wrapping_sub(vm_thread);
        match vm_thread != 0 && facts.env_offset < MAX_ENV_OFFSET {
            true => Ok(facts),
            false => Err(UnsuitableVm::OddThread),
        }
    }

    /// `java.lang.Thread.threadId()` of a thread object.
    pub fn thread_id(&self, jni: Jni, thread: Ref) -> ThreadId {
        ThreadId(jni.long_field(thread, self.tid) as u64)
    }

    /// Address of the VM's object of a platform thread; 0 if it is not alive.
    pub fn vm_thread(&self, jni: Jni, thread: Ref) -> u64 {
        jni.long_field(thread, self.eetop) as u64
    }

    /// Address of the VM's object of the current thread.
    #[inline]
    pub fn current_vm_thread(&self, jni: Jni) -> u64 {
        jni.address().wrapping_sub(self.env_offset)
    }

    /// Address of a thread's JNI environment.
    pub fn env_of(&self, vm_thread: u64) -> u64 {
        vm_thread.wrapping_add(self.env_offset)
    }

    /// True for a virtual thread.
    pub fn is_virtual(&self, jni: Jni, thread: Ref) -> bool {
        jni.is_virtual_thread(thread, self.version)
    }

    /// True for a platform thread that runs virtual threads.
    pub fn is_carrier(&self, jvmti: &Jvmti, jni: Jni, thread: Ref) -> bool {
        if self.version < 21 {
            return false;
        }
        let class = jni.class_of(thread);
        let signature = jvmti.class_signature(class).unwrap_or_default();
        jni.forget(class);
        &*class_name(&signature).0 == "jdk.internal.misc.CarrierThread"
    }

    /// The thread's interrupted status.
    pub fn is_interrupted(&self, jni: Jni, thread: Ref) -> bool {
        self.interrupted.is_some_and(|field| jni.boolean_field(thread, field))
    }
}
