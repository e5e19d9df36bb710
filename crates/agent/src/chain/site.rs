//! The place where the current thread acquires a lock, read through JVMTI.

use crate::chain::by_jvmti;
use crate::jni::{Jni, Ref};
use crate::jvmti::table::FrameInfo;
use crate::jvmti::Jvmti;
use crate::naming::{self, Site};
use headway_class_file::ConstantPool;
use headway_model::Method;

const ACC_STATIC: u32 = 0x0008;
const ACC_SYNCHRONIZED: u32 = 0x0020;

/// Frames among which the one is looked for that acquires a synchronizer.
const SEARCHED: usize = 16;
/// Classes through which a thread parks for it.
const WITHIN: [&str; 5] = [
    "java.util.concurrent.locks.",
    "jdk.internal.misc.",
    "jdk.internal.vm.",
    "java.lang.VirtualThread",
    "java.lang.System$",
];

/// What the lock that the current thread acquires right now is called at its
/// leaf frame; `None` if the bytecode does not say.
pub fn lock_name(jvmti: &Jvmti, jni: Jni) -> Option<String> {
    let mut leaf = [FrameInfo::EMPTY; 1];
    let count = jvmti.current_stack(&mut leaf).ok()?;
    lock_name_at(jvmti, jni, &leaf, count)
}

/// The same for another thread, which is blocked.
pub fn lock_name_of(jvmti: &Jvmti, jni: Jni, thread: Ref) -> Option<String> {
    let mut leaf = [FrameInfo::EMPTY; 1];
    let count = jvmti.stack_of(thread, &mut leaf).ok()?;
    lock_name_at(jvmti, jni, &leaf, count)
}

fn lock_name_at(jvmti: &Jvmti, jni: Jni, leaf: &[FrameInfo], count: usize) -> Option<String> {
    let leaf = *leaf.get(..count)?.first()?;
    let method = by_jvmti::method_of(jvmti, jni, leaf.method);
    name_at(jvmti, jni, leaf, &method, naming::lock_name)
}

/// What the synchronizer that the current thread parks for is called where its
/// own code acquires it; `None` if the bytecode does not say.
pub fn synchronizer_name(jvmti: &Jvmti, jni: Jni) -> Option<String> {
    let mut frames = [FrameInfo::EMPTY; SEARCHED];
    let count = jvmti.current_stack(&mut frames).ok()?;
    frames.get(..count)?.iter().find_map(|frame| {
        let method = by_jvmti::method_of(jvmti, jni, frame.method);
        let is_within = WITHIN.iter().any(|prefix| method.class.starts_with(prefix));
        (!is_within).then(|| name_at(jvmti, jni, *frame, &method, naming::synchronizer_name))
    })?
}

fn name_at(
    jvmti: &Jvmti,
    jni: Jni,
    frame: FrameInfo,
    method: &Method,
    name: impl FnOnce(&Site<'_>, &ConstantPool) -> Option<String>,
) -> Option<String> {
    let code = jvmti.bytecodes(frame.method).ok()?;
    let class = jvmti.method_class(frame.method).ok()?;
    let pool = jvmti.constant_pool(class);
    jni.forget(class);
    let (entries, bytes) = pool.ok()?;
    let site = Site {
        class: &method.class,
        is_static: method.access_flags & ACC_STATIC != 0,
        is_synchronized: method.access_flags & ACC_SYNCHRONIZED != 0,
        code: &code,
        bci: usize::try_from(frame.location).unwrap_or(0),
    };
    name(&site, &ConstantPool::parse(entries, bytes))
}
