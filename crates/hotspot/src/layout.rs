//! Where this VM keeps what the walker and the decoder read. Built and checked
//! once, then never changed; everything else takes it by reference.

use crate::live::AddressRange;
use crate::memory::Memory;
use crate::vmstructs::{LayoutError, VmStructs};

/// Everything known about the VM. Build it when the VM has started (at VMInit
/// or later): before that the code cache is not there.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    /// Feature release: 17, 21, 25.
    pub java_version: u32,
    /// The code cache and its blobs.
    pub code: CodeLayout,
    /// Compiled methods.
    pub nmethod: NmethodLayout,
    /// Frames that are not compiled methods.
    pub frame: FrameLayout,
    /// Methods, their bytecodes and names.
    pub method: MethodLayout,
    /// Threads.
    pub thread: ThreadLayout,
    /// Monitors.
    pub monitor: MonitorLayout,
    /// Object references.
    pub oop: OopLayout,
    /// Continuations; `None` before 21, or where libjvm has no symbols for
    /// them: then walks of virtual threads stop at the return barrier.
    pub continuation: Option<ContinuationLayout>,
    /// The VM's flags.
    pub flags: FlagTable,
}

/// Most code heaps a VM has (non-nmethod, profiled, non-profiled; one spare).
pub const MAX_HEAPS: usize = 4;

/// One heap of the code cache. Addresses of reserved memory; only what is
/// below the word at `high_addr` is committed and may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HeapLayout {
    /// First address of the heap.
    pub low: u64,
    /// End of its reserved memory.
    pub reserved_end: u64,
    /// Where the VM keeps the end of the committed part.
    pub high_addr: u64,
    /// First byte of the segment map.
    pub segmap: u64,
    /// Segment size, as a power of two.
    pub log2_segment: u32,
}

/// How a value is given in a blob's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AddressField {
    /// An address, stored at this offset (17, 21).
    Pointer(u64),
    /// A 32-bit distance from the blob's start, stored at this offset (25).
    Distance(u64),
}

/// What distinguishes kinds of code blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum KindField {
    /// A byte of its own (25).
    Kind {
        /// Where it is.
        offset: u64,
        /// Its value for compiled methods.
        nmethod: u8,
        /// Its value for upcall stubs.
        upcall: u8,
    },
    /// The size of the header, 32 bits, which only compiled methods share (17,
    /// 21). Their name would do too, but takes two guarded reads.
    HeaderSize {
        /// Where it is.
        offset: u64,
        /// Its value for compiled methods.
        nmethod: u32,
    },
}

/// See [`Layout::code`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CodeLayout {
    /// The heaps, unused ones all zero.
    pub heaps: [HeapLayout; MAX_HEAPS],
    /// How many are in use.
    pub heap_count: usize,
    /// From the lowest to behind the highest address of all heaps.
    pub bounds: AddressRange,
    /// Bytes between a heap block's start and its blob.
    pub block_header_size: u64,
    /// Offset of a block's "in use" byte.
    pub block_used: u64,
    /// Offset of a blob's name.
    pub blob_name: u64,
    /// Offset of its size (32 bits).
    pub blob_size: u64,
    /// Offset of its frame size in words (32 bits).
    pub blob_frame_size: u64,
    /// Offset of the distance, from where its code begins, at which the frame
    /// of a method is built.
    pub blob_frame_complete: u64,
    /// True where that distance has 16 bits (25), false where it has 32.
    pub frame_complete_is_short: bool,
    /// What distinguishes kinds of blobs.
    pub kind: KindField,
    /// Where its code begins.
    pub blob_code_begin: AddressField,
    /// Where its data (25: its oops) begins, a distance (32 bits).
    pub blob_data_offset: u64,
}

/// Where a compiled method's debug information lies.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DebugInfoLayout {
    /// Inside the blob (17, 21).
    InBlob {
        /// Pointer to the scopes.
        scopes_data_begin: u64,
        /// Distance of the PcDescs; the scopes end there too.
        scopes_pcs_offset: u64,
        /// Distance of what follows the PcDescs.
        scopes_pcs_end_offset: u64,
        /// Distance of the oops.
        oops_offset: u64,
        /// Distance of the metadata; the oops end there.
        metadata_offset: u64,
        /// Distance of the table of exception handlers, and of what follows it.
        #[cfg_attr(feature = "serde", serde(default))]
        handler_table: Option<(u64, u64)>,
    },
    /// In memory of its own (25).
    Outside {
        /// Pointer to the immutable data: PcDescs and scopes.
        immutable_data: u64,
        /// Its size.
        immutable_data_size: u64,
        /// Distance of the PcDescs in it.
        scopes_pcs_offset: u64,
        /// Distance of the scopes in it; the PcDescs end there.
        scopes_data_offset: u64,
        /// Pointer to the mutable data: relocations, then metadata.
        mutable_data: u64,
        /// Its size.
        mutable_data_size: u64,
        /// Size of the relocations.
        relocation_size: u64,
        /// Distance of the table of exception handlers in the immutable data (16 bits); it ends
        /// where the PcDescs begin.
        #[cfg_attr(feature = "serde", serde(default))]
        handler_table: Option<u64>,
    },
}

/// See [`Layout::nmethod`]. Offsets are from the blob's start.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NmethodLayout {
    /// The `Method*`.
    pub method: u64,
    /// Compile id (32 bits), unique for the life of the process.
    pub compile_id: u64,
    /// Tier (17: 32 bits, later a byte; the low byte is enough).
    pub comp_level: u64,
    /// State (a signed byte).
    pub state: u64,
    /// Distance of the stubs, behind which the deoptimization handlers lie.
    pub stub_offset: u64,
    /// The handler a deoptimized frame returns to.
    pub deopt_handler: AddressField,
    /// The same for method handle calls, where there is one.
    pub deopt_mh_handler: Option<AddressField>,
    /// Where in a deoptimized frame the real pc is, in bytes from its sp.
    pub orig_pc_offset: u64,
    /// The debug information.
    pub debug_info: DebugInfoLayout,
    /// First byte value that is not special in compressed integers: 0 for 17,
    /// 1 from 21 on.
    pub unsigned5_base: u8,
}

/// See [`Layout::frame`]. Interpreter slots are the same in all releases
/// supported (x86-64) and are constants of [`crate::frame`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameLayout {
    /// The interpreter's code.
    pub interpreter: AddressRange,
    /// Return address into the call stub: marks an entry frame.
    pub call_stub_return: u64,
    /// Where an entry frame keeps its `JavaCallWrapper*`, in bytes from fp.
    pub entry_wrapper: i64,
    /// Offset of the anchor in a `JavaCallWrapper`.
    pub wrapper_anchor: u64,
    /// Offsets of sp, pc and fp in a `JavaFrameAnchor`.
    pub anchor_sp: u64,
    /// See `anchor_sp`.
    pub anchor_pc: u64,
    /// See `anchor_sp`.
    pub anchor_fp: u64,
    /// Offset, in an upcall stub's blob, of the 32-bit distance from sp to its
    /// frame data, which begins with a `JavaFrameAnchor`.
    pub upcall_frame_data: Option<u64>,
}

/// See [`Layout::method`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MethodLayout {
    /// `Method::_constMethod`.
    pub const_method: u64,
    /// `Method::_access_flags` (16 bits are enough).
    pub access_flags: u64,
    /// `ConstMethod::_constants`.
    pub constants: u64,
    /// `ConstMethod::_flags` (16 bits are enough).
    pub const_flags: u64,
    /// Bit in them: there is a line number table.
    pub has_line_numbers: u32,
    /// `ConstMethod::_code_size` (16 bits).
    pub code_size: u64,
    /// `ConstMethod::_name_index` (16 bits).
    pub name_index: u64,
    /// `ConstMethod::_signature_index` (16 bits).
    pub signature_index: u64,
    /// `ConstMethod::_size_of_parameters` (16 bits), `_max_locals` likewise.
    pub max_locals: u64,
    /// Size of a `ConstMethod`: the bytecodes begin there.
    pub const_method_size: u64,
    /// `ConstantPool::_pool_holder`.
    pub pool_holder: u64,
    /// `ConstantPool::_length` (32 bits).
    pub pool_length: u64,
    /// `ConstantPool::_tags`.
    pub pool_tags: u64,
    /// `ConstantPool::_source_file_name_index` (16 bits).
    pub source_file_name_index: u64,
    /// Size of a `ConstantPool`: the entries begin there.
    pub pool_size: u64,
    /// `Klass::_name`.
    pub klass_name: u64,
    /// `Symbol::_length` (16 bits).
    pub symbol_length: u64,
    /// `Symbol::_body`.
    pub symbol_body: u64,
}

/// See [`Layout::thread`]. Offsets in a `JavaThread`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadLayout {
    /// `_anchor`.
    pub anchor: u64,
    /// `_thread_state` (32 bits).
    pub state: u64,
    /// `_current_pending_monitor`.
    pub pending_monitor: u64,
    /// `_current_waiting_monitor`.
    pub waiting_monitor: u64,
    /// `_threadObj`, an `OopHandle`: the platform (or carrier) thread.
    pub thread_obj: u64,
    /// `_vthread`, an `OopHandle`: the current thread (21, 25).
    pub vthread: Option<u64>,
    /// `_monitor_owner_id`: id of the current thread, virtual or not (25).
    pub monitor_owner_id: Option<u64>,
    /// `_lock_stack`: the locks that it has and that are not inflated (21, 25).
    #[cfg_attr(feature = "serde", serde(default))]
    pub lock_stack: Option<LockStackLayout>,
    /// `_osthread`.
    pub os_thread: u64,
    /// `OSThread::_thread_id` (32 bits).
    pub os_thread_id: u64,
    /// `_stack_base`: the end of the stack, its highest address.
    pub stack_base: u64,
    /// `_stack_size`.
    pub stack_size: u64,
    /// Offset of `tid` in a `java.lang.Thread`, if libjvm's symbols have it.
    pub tid_in_object: Option<u64>,
}

/// See [`ThreadLayout::lock_stack`]. Offsets in a `JavaThread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockStackLayout {
    /// The word (32 bits) that has the offset of the first free entry.
    pub top: u64,
    /// The first entry: an object's address.
    pub base: u64,
}

/// See [`Layout::monitor`]. Offsets in an `ObjectMonitor`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MonitorLayout {
    /// `_owner`.
    pub owner: u64,
    /// `_object`, a `WeakHandle`.
    pub object: u64,
    /// `_recursions`.
    pub recursions: u64,
    /// `_WaitSet`, the head of the ring of waiters.
    pub wait_set: u64,
    /// True where `_owner` holds a thread id (25), false where it holds a
    /// `JavaThread*` or an address on the owner's stack (17, 21).
    pub owner_is_thread_id: bool,
    /// Owners up to this value are not threads (none, anonymous, deflater).
    pub last_special_owner: u64,
    /// Offset of the state in an `ObjectWaiter`. Not in the VM's tables: measured.
    pub waiter_state: u64,
    /// True where it is a byte (25), false where it is an int (17, 21).
    pub waiter_state_is_byte: bool,
    /// Size of an `ObjectMonitor`.
    pub size: u64,
    /// Offset of `_obj` in a `BasicObjectLock`.
    pub lock_object: u64,
    /// Size of a `BasicObjectLock`.
    pub lock_size: u64,
}

/// How references are kept in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Coloring {
    /// As plain addresses.
    None,
    /// ZGC without generations (17, 21): colour in bits of a multi-mapped address. Good if no bit of
    /// the word at this address is set.
    MultiMapped {
        /// Where the mask of bad colours is.
        bad_mask_addr: u64,
    },
    /// Generational ZGC: address shifted left over the colours.
    Shifted {
        /// Where the mask of bad colours is.
        bad_mask_addr: u64,
        /// Where the shift is.
        shift_addr: u64,
    },
    /// A collector whose references are not known to be good.
    Unknown,
}

/// See [`Layout::oop`].
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OopLayout {
    /// References in objects take 32 bits.
    pub compressed: bool,
    /// Added to a compressed reference.
    pub base: u64,
    /// After it was shifted left by this.
    pub shift: u32,
    /// How uncompressed ones are kept.
    pub coloring: Coloring,
}

/// See [`Layout::continuation`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ContinuationLayout {
    /// Return address that stands for "the caller is in a stack chunk".
    pub return_barrier: u64,
    /// Where the VM keeps the address of the compiled method `enterSpecial`,
    /// whose frame is the bottom of a continuation and begins with a
    /// `ContinuationEntry`. Null until the first continuation runs.
    pub enter_special_addr: u64,
    /// Offset in a `ContinuationEntry` of its `Continuation` object.
    pub entry_cont: u64,
    /// Offset in it of the flags (32 bits): not 0 for a virtual thread.
    pub entry_flags: u64,
    /// Offset of `tail` in a `Continuation` object.
    pub tail: u64,
    /// Offset in it of `target`, what it runs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub target: Option<u64>,
    /// Offset in it of `mounted` (a byte).
    #[cfg_attr(feature = "serde", serde(default))]
    pub mounted: Option<u64>,
    /// Offset in a `VirtualThread` object of its `Continuation`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub of_thread: Option<u64>,
    /// Offset of `parent` in a `StackChunk` object.
    pub chunk_parent: u64,
    /// Offset of `size` (32 bits, words).
    pub chunk_size: u64,
    /// Offset of `sp` (32 bits, words from the start of the stack).
    pub chunk_sp: u64,
    /// Offset of `pc`.
    pub chunk_pc: u64,
    /// Offset of `bottom` (32 bits, words from the start): the frames' end.
    pub chunk_bottom: u64,
    /// Offset of the stack itself.
    pub chunk_stack: u64,
}

/// Where the VM keeps its flags.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlagTable {
    /// The array of `JVMFlag`.
    pub start: u64,
    /// How many.
    pub count: u64,
    /// Size of one.
    pub stride: u64,
    /// Offset of the name.
    pub name: u64,
    /// Offset of the address of the value.
    pub address: u64,
}

impl FlagTable {
    /// Address of a flag's value, e.g. of `DebugNonSafepoints`.
    pub fn find<M: Memory>(&self, memory: &M, flag: &str) -> Option<u64> {
        (0..self.count).find_map(|i| {
            let entry = self.start + i * self.stride;
            let name = memory.read_u64(entry + self.name)?;
            (memory.read_c_string(name, 128)? == flag).then(|| memory.read_u64(entry + self.address))?
        })
    }

    /// Value of a boolean flag; `None` if the VM has no such flag.
    pub fn is_set<M: Memory>(&self, memory: &M, flag: &str) -> Option<bool> {
        Some(memory.read_u8(self.find(memory, flag)?)? != 0)
    }
}

impl Layout {
    /// Reads and checks the layout. `symbol` finds symbols of libjvm by their
    /// linker name: the exported `gHotSpotVM*` are required, those of the full
    /// symbol table (see [`crate::symbols`]) are used where there are any.
    ///
    /// # Errors
    /// The first thing that is missing or implausible, by name.
    pub fn load<M: Memory>(memory: &M, symbol: impl Fn(&str) -> Option<usize>) -> Result<Layout, LayoutError> {
        let structs = VmStructs::load(memory, &symbol)?;
        crate::layout_load::Loader::new(memory, &structs, &symbol).layout()
    }
}
