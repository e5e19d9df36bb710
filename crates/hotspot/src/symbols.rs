//! Linker names of the libjvm symbols that are used beyond the exported
//! tables. They are in `.symtab`, not `.dynsym`: a stripped libjvm has none.

/// Offset of `tid` in `java.lang.Thread` (an int variable).
pub const THREAD_TID: &str = "_ZN16java_lang_Thread11_tid_offsetE";
/// The return barrier's address (a variable).
pub const RETURN_BARRIER: &str = "_ZN12StubRoutines19_cont_returnBarrierE";
/// The compiled method `enterSpecial` (a variable, null until first used).
pub const ENTER_SPECIAL: &str = "_ZN17ContinuationEntry14_enter_specialE";
/// Offset of `tail` in `jdk.internal.vm.Continuation` (an int variable).
pub const CONTINUATION_TAIL: &str = "_ZN28jdk_internal_vm_Continuation12_tail_offsetE";
/// Likewise of `target`.
pub const CONTINUATION_TARGET: &str = "_ZN28jdk_internal_vm_Continuation14_target_offsetE";
/// Likewise of `mounted`.
pub const CONTINUATION_MOUNTED: &str = "_ZN28jdk_internal_vm_Continuation15_mounted_offsetE";
/// Offset of `cont` in `java.lang.VirtualThread` (an int variable).
pub const VIRTUAL_THREAD_CONTINUATION: &str = "_ZN23java_lang_VirtualThread20_continuation_offsetE";
/// Offset of `parent` in `jdk.internal.vm.StackChunk` (an int variable).
pub const CHUNK_PARENT: &str = "_ZN26jdk_internal_vm_StackChunk14_parent_offsetE";
/// Likewise of `size`.
pub const CHUNK_SIZE: &str = "_ZN26jdk_internal_vm_StackChunk12_size_offsetE";
/// Likewise of `sp`.
pub const CHUNK_SP: &str = "_ZN26jdk_internal_vm_StackChunk10_sp_offsetE";
/// Likewise of `pc`.
pub const CHUNK_PC: &str = "_ZN26jdk_internal_vm_StackChunk10_pc_offsetE";
/// Likewise of `bottom`.
pub const CHUNK_BOTTOM: &str = "_ZN26jdk_internal_vm_StackChunk14_bottom_offsetE";
/// Where a stack chunk's stack begins (an int variable).
pub const CHUNK_STACK: &str = "_ZN23InstanceStackChunkKlass16_offset_of_stackE";
/// Mask of bad colours of generational ZGC (a variable).
pub const Z_LOAD_BAD_MASK: &str = "ZPointerLoadBadMask";
/// Mask of bad colours of 21's other ZGC (a variable).
pub const X_BAD_MASK: &str = "XAddressBadMask";
/// Shift of generational ZGC's addresses (a variable).
pub const Z_LOAD_SHIFT: &str = "ZPointerLoadShift";
/// The VM's guarded read.
pub const SAFE_FETCH_N: &str = "SafeFetchN_impl";

/// All of them, for callers that resolve symbols in one pass.
pub const ALL: [&str; 17] = [
    THREAD_TID,
    RETURN_BARRIER,
    ENTER_SPECIAL,
    CONTINUATION_TAIL,
    CONTINUATION_TARGET,
    CONTINUATION_MOUNTED,
    VIRTUAL_THREAD_CONTINUATION,
    CHUNK_PARENT,
    CHUNK_SIZE,
    CHUNK_SP,
    CHUNK_PC,
    CHUNK_BOTTOM,
    CHUNK_STACK,
    Z_LOAD_BAD_MASK,
    X_BAD_MASK,
    Z_LOAD_SHIFT,
    SAFE_FETCH_N,
];
