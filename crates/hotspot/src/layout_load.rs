//! Building a [`Layout`] from the VM's tables, with a check of every value
//! that the walker will rely on.

use crate::layout::*;
use crate::live::AddressRange;
use crate::memory::Memory;
use crate::symbols;
use crate::vmstructs::{LayoutError, VmStructs};

type Result<T> = std::result::Result<T, LayoutError>;

/// Reads values for the layout's parts.
pub(crate) struct Loader<'a, M> {
    memory: &'a M,
    structs: &'a VmStructs,
    symbol: &'a dyn Fn(&str) -> Option<usize>,
}

impl<'a, M: Memory> Loader<'a, M> {
    pub(crate) fn new(memory: &'a M, structs: &'a VmStructs, symbol: &'a dyn Fn(&str) -> Option<usize>) -> Self {
        Loader { memory, structs, symbol }
    }

    pub(crate) fn layout(&self) -> Result<Layout> {
        let java_version = self.java_version()?;
        let flags = self.flags()?;
        let layout = Layout {
            java_version,
            code: self.code()?,
            nmethod: self.nmethod(java_version)?,
            frame: self.frame()?,
            method: self.method()?,
            thread: self.thread()?,
            monitor: self.monitor()?,
            oop: self.oop(&flags)?,
            continuation: self.continuation(),
            flags,
        };
        self.check(&layout)?;
        Ok(layout)
    }

    // What is read where.

    fn word(&self, what: &str, address: u64) -> Result<u64> {
        self.memory.read_u64(address).ok_or_else(|| LayoutError::Unreadable { what: what.to_string(), address })
    }

    fn int(&self, what: &str, address: u64) -> Result<u32> {
        self.memory.read_u32(address).ok_or_else(|| LayoutError::Unreadable { what: what.to_string(), address })
    }

    /// The word in a static field; an error while it is still zero.
    fn static_word(&self, name: &str) -> Result<u64> {
        match self.word(name, self.structs.address(name)?)? {
            0 => Err(LayoutError::NotStarted(name.to_string())),
            value => Ok(value),
        }
    }

    /// The word in a variable of libjvm, if there is such a symbol and it is set.
    fn symbol_word(&self, name: &str) -> Option<u64> {
        let address = (self.symbol)(name)? as u64;
        self.memory.read_u64(address).filter(|value| *value != 0)
    }

    /// The positive int in a variable of libjvm.
    fn symbol_int(&self, name: &str) -> Option<u64> {
        let address = (self.symbol)(name)? as u64;
        let value = self.memory.read_i32(address)?;
        u64::try_from(value).ok().filter(|v| *v > 0 && *v < 0x1000)
    }

    fn has(&self, name: &str) -> bool {
        self.structs.field(name).is_some()
    }

    fn offset(&self, name: &str) -> Result<u64> {
        self.structs.offset(name)
    }

    fn optional_offset(&self, name: &str) -> Option<u64> {
        self.structs.offset(name).ok()
    }

    fn byte_constant(&self, name: &str) -> Result<u8> {
        let value = self.structs.constant(name)?;
        u8::try_from(value).map_err(|_| LayoutError::Implausible { what: name.to_string(), value: value as u64 })
    }

    // The parts.

    fn java_version(&self) -> Result<u32> {
        let name = "Abstract_VM_Version::_vm_major_version";
        let version = self.int(name, self.structs.address(name)?)?;
        match version {
            11..=99 => Ok(version),
            _ => Err(LayoutError::Implausible { what: name.to_string(), value: version.into() }),
        }
    }

    fn code(&self) -> Result<CodeLayout> {
        let (heaps, heap_count) = self.heaps()?;
        let in_use = &heaps[..heap_count];
        let bounds = AddressRange {
            start: in_use.iter().map(|h| h.low).min().unwrap_or(0),
            end: in_use.iter().map(|h| h.reserved_end).max().unwrap_or(0),
        };
        let blob_code_begin = match self.has("CodeBlob::_code_begin") {
            true => AddressField::Pointer(self.offset("CodeBlob::_code_begin")?),
            false => AddressField::Distance(self.offset("CodeBlob::_code_offset")?),
        };
        Ok(CodeLayout {
            heaps,
            heap_count,
            bounds,
            block_header_size: self.structs.size("HeapBlock")?,
            block_used: self.offset("HeapBlock::Header::_used")?,
            blob_name: self.offset("CodeBlob::_name")?,
            blob_size: self.offset("CodeBlob::_size")?,
            blob_frame_size: self.offset("CodeBlob::_frame_size")?,
            blob_frame_complete: self.offset("CodeBlob::_frame_complete_offset")?,
            frame_complete_is_short: self.has("CodeBlob::_kind"),
            kind: self.kind_field()?,
            blob_code_begin,
            blob_data_offset: self.offset("CodeBlob::_data_offset")?,
        })
    }

    fn kind_field(&self) -> Result<KindField> {
        if !self.has("CodeBlob::_kind") {
            return Ok(KindField::HeaderSize {
                offset: self.offset("CodeBlob::_header_size")?,
                nmethod: self.structs.size("nmethod")? as u32,
            });
        }
        Ok(KindField::Kind {
            offset: self.offset("CodeBlob::_kind")?,
            nmethod: self.byte_constant("CodeBlobKind::Nmethod")?,
            upcall: self.byte_constant("CodeBlobKind::Upcall")?,
        })
    }

    fn heaps(&self) -> Result<([HeapLayout; MAX_HEAPS], usize)> {
        let list = self.static_word("CodeCache::_heaps")?;
        let count = self.int("GrowableArrayBase::_len", list + self.offset("GrowableArrayBase::_len")?)?;
        let count = match count as usize {
            1..=MAX_HEAPS => count as usize,
            _ => {
                return Err(LayoutError::Implausible { what: "number of code heaps".to_string(), value: count.into() })
            }
        };
        let data = self.word("code heaps", list + self.offset("GrowableArray<int>::_data")?)?;
        let mut heaps = [HeapLayout::default(); MAX_HEAPS];
        for (i, heap) in heaps.iter_mut().enumerate().take(count) {
            *heap = self.heap(self.word("code heap", data + 8 * i as u64)?)?;
        }
        Ok((heaps, count))
    }

    fn heap(&self, address: u64) -> Result<HeapLayout> {
        let memory = address + self.offset("CodeHeap::_memory")?;
        let segmap = address + self.offset("CodeHeap::_segmap")?;
        let low_boundary = self.offset("VirtualSpace::_low_boundary")?;
        let high_boundary = self.offset("VirtualSpace::_high_boundary")?;
        let log2 = address + self.offset("CodeHeap::_log2_segment_size")?;
        let heap = HeapLayout {
            low: self.word("code heap", memory + low_boundary)?,
            reserved_end: self.word("code heap", memory + high_boundary)?,
            high_addr: memory + self.offset("VirtualSpace::_high")?,
            segmap: self.word("code heap's segment map", segmap + low_boundary)?,
            log2_segment: self.int("CodeHeap::_log2_segment_size", log2)?,
        };
        let implausible = |what: &str, value| Err(LayoutError::Implausible { what: what.to_string(), value });
        match heap {
            h if h.low == 0 || h.reserved_end <= h.low => implausible("code heap's end", h.reserved_end),
            h if h.segmap == 0 => implausible("code heap's segment map", 0),
            h if !(4..=16).contains(&h.log2_segment) => implausible("code heap's segment size", h.log2_segment.into()),
            h => Ok(h),
        }
    }

    fn nmethod(&self, java_version: u32) -> Result<NmethodLayout> {
        let (deopt_handler, deopt_mh_handler) = self.deopt_handlers()?;
        Ok(NmethodLayout {
            method: self.structs.first_offset(&["nmethod::_method", "CompiledMethod::_method"])?,
            compile_id: self.offset("nmethod::_compile_id")?,
            comp_level: self.offset("nmethod::_comp_level")?,
            state: self.offset("nmethod::_state")?,
            stub_offset: self.offset("nmethod::_stub_offset")?,
            deopt_handler,
            deopt_mh_handler,
            orig_pc_offset: self.offset("nmethod::_orig_pc_offset")?,
            debug_info: self.debug_info()?,
            // Zero bytes have been kept out of the streams since 20.
            unsigned5_base: u8::from(java_version >= 20),
        })
    }

    fn deopt_handlers(&self) -> Result<(AddressField, Option<AddressField>)> {
        if self.has("CompiledMethod::_deopt_handler_begin") {
            return Ok((
                AddressField::Pointer(self.offset("CompiledMethod::_deopt_handler_begin")?),
                self.optional_offset("CompiledMethod::_deopt_mh_handler_begin").map(AddressField::Pointer),
            ));
        }
        let handler =
            self.structs.first_offset(&["nmethod::_deopt_handler_offset", "nmethod::_deopt_handler_entry_offset"])?;
        let for_method_handles = self.optional_offset("nmethod::_deopt_mh_handler_offset");
        Ok((AddressField::Distance(handler), for_method_handles.map(AddressField::Distance)))
    }

    fn debug_info(&self) -> Result<DebugInfoLayout> {
        let handler_table = self.optional_offset("nmethod::_handler_table_offset");
        if !self.has("CodeBlob::_mutable_data") {
            return Ok(DebugInfoLayout::InBlob {
                scopes_data_begin: self.offset("CompiledMethod::_scopes_data_begin")?,
                scopes_pcs_offset: self.offset("nmethod::_scopes_pcs_offset")?,
                scopes_pcs_end_offset: self.offset("nmethod::_dependencies_offset")?,
                oops_offset: self.offset("nmethod::_oops_offset")?,
                metadata_offset: self.offset("nmethod::_metadata_offset")?,
                handler_table: handler_table.zip(self.optional_offset("nmethod::_nul_chk_table_offset")),
            });
        }
        Ok(DebugInfoLayout::Outside {
            immutable_data: self.offset("nmethod::_immutable_data")?,
            immutable_data_size: self.offset("nmethod::_immutable_data_size")?,
            scopes_pcs_offset: self.offset("nmethod::_scopes_pcs_offset")?,
            scopes_data_offset: self.offset("nmethod::_scopes_data_offset")?,
            mutable_data: self.offset("CodeBlob::_mutable_data")?,
            mutable_data_size: self.offset("CodeBlob::_mutable_data_size")?,
            relocation_size: self.offset("CodeBlob::_relocation_size")?,
            handler_table,
        })
    }

    fn frame(&self) -> Result<FrameLayout> {
        let queue = self.static_word("AbstractInterpreter::_code")?;
        let buffer = self.word("StubQueue", queue + self.offset("StubQueue::_stub_buffer")?)?;
        let limit = self.int("StubQueue", queue + self.offset("StubQueue::_buffer_limit")?)?;
        let wrapper = self.structs.constant("frame::entry_frame_call_wrapper_offset")?;
        Ok(FrameLayout {
            interpreter: AddressRange { start: buffer, end: buffer + u64::from(limit) },
            call_stub_return: self.static_word("StubRoutines::_call_stub_return_address")?,
            entry_wrapper: wrapper * 8,
            wrapper_anchor: self.offset("JavaCallWrapper::_anchor")?,
            anchor_sp: self.offset("JavaFrameAnchor::_last_Java_sp")?,
            anchor_pc: self.offset("JavaFrameAnchor::_last_Java_pc")?,
            anchor_fp: self.offset("JavaFrameAnchor::_last_Java_fp")?,
            upcall_frame_data: self.optional_offset("UpcallStub::_frame_data_offset"),
        })
    }

    fn method(&self) -> Result<MethodLayout> {
        let line_numbers = self
            .structs
            .constant("ConstMethodFlags::_misc_has_linenumber_table")
            .or_else(|_| self.structs.constant("ConstMethod::_has_linenumber_table"))?;
        Ok(MethodLayout {
            const_method: self.offset("Method::_constMethod")?,
            access_flags: self.offset("Method::_access_flags")?,
            constants: self.offset("ConstMethod::_constants")?,
            const_flags: self.structs.first_offset(&["ConstMethod::_flags._flags", "ConstMethod::_flags"])?,
            has_line_numbers: line_numbers as u32,
            code_size: self.offset("ConstMethod::_code_size")?,
            name_index: self.offset("ConstMethod::_name_index")?,
            signature_index: self.offset("ConstMethod::_signature_index")?,
            max_locals: self.offset("ConstMethod::_max_locals")?,
            const_method_size: self.structs.size("ConstMethod")?,
            pool_holder: self.offset("ConstantPool::_pool_holder")?,
            pool_length: self.offset("ConstantPool::_length")?,
            pool_tags: self.offset("ConstantPool::_tags")?,
            source_file_name_index: self.offset("ConstantPool::_source_file_name_index")?,
            pool_size: self.structs.size("ConstantPool")?,
            klass_name: self.offset("Klass::_name")?,
            symbol_length: self.offset("Symbol::_length")?,
            symbol_body: self.structs.first_offset(&["Symbol::_body", "Symbol::_body[0]"])?,
        })
    }

    fn thread(&self) -> Result<ThreadLayout> {
        Ok(ThreadLayout {
            anchor: self.offset("JavaThread::_anchor")?,
            state: self.offset("JavaThread::_thread_state")?,
            pending_monitor: self.offset("JavaThread::_current_pending_monitor")?,
            waiting_monitor: self.offset("JavaThread::_current_waiting_monitor")?,
            thread_obj: self.offset("JavaThread::_threadObj")?,
            vthread: self.optional_offset("JavaThread::_vthread"),
            monitor_owner_id: self.optional_offset("JavaThread::_monitor_owner_id"),
            lock_stack: self.lock_stack(),
            os_thread: self.structs.first_offset(&["JavaThread::_osthread", "Thread::_osthread"])?,
            os_thread_id: self.offset("OSThread::_thread_id")?,
            stack_base: self.structs.first_offset(&["JavaThread::_stack_base", "Thread::_stack_base"])?,
            stack_size: self.structs.first_offset(&["JavaThread::_stack_size", "Thread::_stack_size"])?,
            tid_in_object: self.symbol_int(symbols::THREAD_TID),
        })
    }

    fn lock_stack(&self) -> Option<LockStackLayout> {
        let start = self.optional_offset("JavaThread::_lock_stack")?;
        let field = |name| Some(start + self.optional_offset(name)?);
        Some(LockStackLayout { top: field("LockStack::_top")?, base: field("LockStack::_base[0]")? })
    }

    fn monitor(&self) -> Result<MonitorLayout> {
        let deflater = self.structs.constant("ObjectMonitor::DEFLATER_MARKER");
        let owner_is_thread_id = self.has("JavaThread::_monitor_owner_id") && deflater.is_ok();
        Ok(MonitorLayout {
            owner: self.offset("ObjectMonitor::_owner")?,
            object: self.offset("ObjectMonitor::_object")?,
            recursions: self.offset("ObjectMonitor::_recursions")?,
            // The head of the waiters stands right before their number.
            wait_set: self
                .offset("ObjectMonitor::_waiters")?
                .checked_sub(8)
                .ok_or_else(|| LayoutError::Implausible { what: "ObjectMonitor::_waiters".to_string(), value: 0 })?,
            owner_is_thread_id,
            last_special_owner: 2,
            waiter_state: if owner_is_thread_id { 0x34 } else { 0x2c },
            waiter_state_is_byte: owner_is_thread_id,
            size: self.structs.size("ObjectMonitor")?,
            lock_object: self.offset("BasicObjectLock::_obj")?,
            lock_size: self.structs.size("BasicObjectLock")?,
        })
    }

    fn oop(&self, flags: &FlagTable) -> Result<OopLayout> {
        let base = self.first_address(&["CompressedOops::_base", "CompressedOops::_narrow_oop._base"])?;
        let shift = self.first_address(&["CompressedOops::_shift", "CompressedOops::_narrow_oop._shift"])?;
        let flag = |name: &str| flags.is_set(self.memory, name);
        Ok(OopLayout {
            compressed: flag("UseCompressedOops").unwrap_or(false),
            base: self.word("CompressedOops::_base", base)?,
            shift: self.int("CompressedOops::_shift", shift)?,
            coloring: self.coloring(flag),
        })
    }

    fn first_address(&self, names: &[&str]) -> Result<u64> {
        let found = names.iter().find(|name| self.has(name));
        let name = found.ok_or_else(|| LayoutError::MissingField(names.join(" or ")))?;
        self.structs.address(name)
    }

    fn coloring(&self, flag: impl Fn(&str) -> Option<bool>) -> Coloring {
        if flag("UseShenandoahGC") == Some(true) {
            return Coloring::Unknown;
        }
        if flag("UseZGC") != Some(true) {
            return Coloring::None;
        }
        if self.has("ZGlobalsForVMStructs::_ZAddressBadMask") {
            let address = self
                .static_word("ZGlobalsForVMStructs::_instance_p")
                .ok()
                .zip(self.optional_offset("ZGlobalsForVMStructs::_ZAddressBadMask"))
                .and_then(|(globals, offset)| self.memory.read_u64(globals + offset));
            return address.map_or(Coloring::Unknown, |bad_mask_addr| Coloring::MultiMapped { bad_mask_addr });
        }
        // 21 has both kinds of ZGC.
        let generational = flag("ZGenerational").unwrap_or(true);
        let symbol = |name| (self.symbol)(name).map(|a| a as u64);
        if let (false, Some(bad_mask_addr)) = (generational, symbol(symbols::X_BAD_MASK)) {
            return Coloring::MultiMapped { bad_mask_addr };
        }
        match (symbol(symbols::Z_LOAD_BAD_MASK), symbol(symbols::Z_LOAD_SHIFT)) {
            (Some(bad_mask_addr), Some(shift_addr)) if generational => Coloring::Shifted { bad_mask_addr, shift_addr },
            _ => Coloring::Unknown,
        }
    }

    fn continuation(&self) -> Option<ContinuationLayout> {
        Some(ContinuationLayout {
            return_barrier: self.symbol_word(symbols::RETURN_BARRIER)?,
            enter_special_addr: (self.symbol)(symbols::ENTER_SPECIAL)? as u64,
            // Not in the VM's tables; measured, the same in 21 and 25: an int,
            // then _parent, _cont, _chunk, _flags.
            entry_cont: 16,
            entry_flags: 32,
            tail: self.symbol_int(symbols::CONTINUATION_TAIL)?,
            target: self.symbol_int(symbols::CONTINUATION_TARGET),
            mounted: self.symbol_int(symbols::CONTINUATION_MOUNTED),
            of_thread: self.symbol_int(symbols::VIRTUAL_THREAD_CONTINUATION),
            chunk_parent: self.symbol_int(symbols::CHUNK_PARENT)?,
            chunk_size: self.symbol_int(symbols::CHUNK_SIZE)?,
            chunk_sp: self.symbol_int(symbols::CHUNK_SP)?,
            chunk_pc: self.symbol_int(symbols::CHUNK_PC)?,
            chunk_bottom: self.symbol_int(symbols::CHUNK_BOTTOM)?,
            chunk_stack: self.symbol_int(symbols::CHUNK_STACK)?,
        })
    }

    fn flags(&self) -> Result<FlagTable> {
        let count = self.structs.address("JVMFlag::numFlags")?;
        let table = FlagTable {
            start: self.static_word("JVMFlag::flags")?,
            count: self.word("JVMFlag::numFlags", count)?,
            stride: self.structs.size("JVMFlag")?,
            name: self.offset("JVMFlag::_name")?,
            address: self.offset("JVMFlag::_addr")?,
        };
        match table.count {
            100..=10_000 => Ok(table),
            value => Err(LayoutError::Implausible { what: "JVMFlag::numFlags".to_string(), value }),
        }
    }

    /// What the parts must agree on.
    fn check(&self, layout: &Layout) -> Result<()> {
        let code = &layout.code;
        let implausible = |what: &str, value| Err(LayoutError::Implausible { what: what.to_string(), value });
        if !code.bounds.holds(layout.frame.interpreter.start, 1) {
            return implausible("start of the interpreter", layout.frame.interpreter.start);
        }
        if !code.bounds.holds(layout.frame.call_stub_return, 1) {
            return implausible("return address of the call stub", layout.frame.call_stub_return);
        }
        if !matches!(code.block_header_size, 8 | 16) {
            return implausible("size of HeapBlock", code.block_header_size);
        }
        // The bytecodes follow it directly, so a wrong size shifts every bci.
        if !(32..=128).contains(&layout.method.const_method_size) {
            return implausible("size of ConstMethod", layout.method.const_method_size);
        }
        let barrier = layout.continuation.as_ref().map(|c| c.return_barrier);
        match barrier {
            Some(pc) if !code.bounds.holds(pc, 1) => implausible("return barrier", pc),
            _ => Ok(()),
        }
    }
}
