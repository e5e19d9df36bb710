//! The place where the current thread acquires a lock, read through JVMTI.

use crate::chain::by_jvmti;
use crate::jni::Jni;
use crate::jvmti::table::FrameInfo;
use crate::jvmti::Jvmti;
use crate::naming::{self, ConstantPool, Site};

const ACC_STATIC: u32 = 0x0008;
const ACC_SYNCHRONIZED: u32 = 0x0020;

/// What the lock that the current thread acquires right now is called at its
/// leaf frame; `None` if the bytecode does not say.
pub fn lock_name(jvmti: &Jvmti, jni: Jni) -> Option<String> {
    let mut leaf = [FrameInfo::EMPTY; 1];
    let count = jvmti.current_stack(&mut leaf).ok()?;
    let leaf = *leaf.get(..count)?.first()?;
    let method = by_jvmti::method_of(jvmti, jni, leaf.method);
    let code = jvmti.bytecodes(leaf.method).ok()?;
    let class = jvmti.method_class(leaf.method).ok()?;
    let pool = jvmti.constant_pool(class);
    jni.forget(class);
    let (entries, bytes) = pool.ok()?;
    let site = Site {
        class: &method.class,
        is_static: method.access_flags & ACC_STATIC != 0,
        is_synchronized: method.access_flags & ACC_SYNCHRONIZED != 0,
        code: &code,
        bci: usize::try_from(leaf.location).unwrap_or(0),
    };
    naming::lock_name(&site, &ConstantPool::parse(entries, bytes))
}
