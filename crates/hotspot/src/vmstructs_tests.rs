//! Tables laid out in an array, the way libjvm lays them out.

use super::*;
use crate::memory::Fragments;

const SYMBOLS: u64 = 0x1_0000;
const STRINGS: u64 = 0x2_0000;
const FIELDS: u64 = 0x3_0000;
const TYPES: u64 = 0x4_0000;
const INTS: u64 = 0x5_0000;
const LONGS: u64 = 0x6_0000;

/// Builds tables and gives the symbols' addresses out.
#[derive(Default)]
struct Image {
    strings: Vec<u8>,
    symbols: Vec<(&'static str, u64)>,
    fields: Vec<u64>,
    types: Vec<u64>,
    ints: Vec<u64>,
    longs: Vec<u64>,
}

impl Image {
    fn new() -> Image {
        let symbols = vec![
            ("gHotSpotVMStructs", FIELDS),
            ("gHotSpotVMStructEntryTypeNameOffset", 0),
            ("gHotSpotVMStructEntryFieldNameOffset", 8),
            ("gHotSpotVMStructEntryIsStaticOffset", 24),
            ("gHotSpotVMStructEntryOffsetOffset", 32),
            ("gHotSpotVMStructEntryAddressOffset", 40),
            ("gHotSpotVMStructEntryArrayStride", 48),
            ("gHotSpotVMTypes", TYPES),
            ("gHotSpotVMTypeEntryTypeNameOffset", 0),
            ("gHotSpotVMTypeEntrySizeOffset", 8),
            ("gHotSpotVMTypeEntryArrayStride", 16),
            ("gHotSpotVMIntConstants", INTS),
            ("gHotSpotVMIntConstantEntryNameOffset", 0),
            ("gHotSpotVMIntConstantEntryValueOffset", 8),
            ("gHotSpotVMIntConstantEntryArrayStride", 16),
            ("gHotSpotVMLongConstants", LONGS),
            ("gHotSpotVMLongConstantEntryNameOffset", 0),
            ("gHotSpotVMLongConstantEntryValueOffset", 8),
            ("gHotSpotVMLongConstantEntryArrayStride", 16),
        ];
        Image { symbols, ..Image::default() }
    }

    fn string(&mut self, text: &str) -> u64 {
        let at = STRINGS + self.strings.len() as u64;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    fn field(&mut self, owner: &str, name: &str, is_static: u64, offset: u64, address: u64) {
        let (owner, name) = (self.string(owner), self.string(name));
        self.fields.extend([owner, name, 0, is_static, offset, address]);
    }

    fn load(mut self) -> Result<VmStructs, LayoutError> {
        self.fields.extend([0; 6]);
        self.types.extend([0; 2]);
        self.ints.extend([0; 2]);
        self.longs.extend([0; 2]);
        let mut memory = Fragments::new();
        let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let values: Vec<u64> = self.symbols.iter().map(|(_, value)| *value).collect();
        memory.add(SYMBOLS, words(&values));
        memory.add(STRINGS, self.strings.clone());
        memory.add(FIELDS, words(&self.fields));
        memory.add(TYPES, words(&self.types));
        memory.add(INTS, words(&self.ints));
        memory.add(LONGS, words(&self.longs));
        let symbol = |name: &str| {
            let at = self.symbols.iter().position(|(n, _)| *n == name)?;
            Some((SYMBOLS + 8 * at as u64) as usize)
        };
        VmStructs::load(&memory, &symbol)
    }
}

#[test]
fn fields_sizes_and_constants_are_found_by_name() {
    let mut image = Image::new();
    image.field("CodeBlob", "_size", 0, 24, 0);
    image.field("CodeCache", "_heaps", 1, 0, 0x7f00_1234);
    let name = image.string("Method");
    image.types.extend([name, 88]);
    let name = image.string("frame::entry_frame_call_wrapper_offset");
    image.ints.extend([name, u64::from(-6i32 as u32)]);
    let name = image.string("ObjectMonitor::ANONYMOUS_OWNER");
    image.longs.extend([name, 1]);
    let structs = image.load().unwrap();
    assert_eq!(structs.offset("CodeBlob::_size"), Ok(24));
    assert_eq!(structs.address("CodeCache::_heaps"), Ok(0x7f00_1234));
    assert_eq!(structs.size("Method"), Ok(88));
    assert_eq!(structs.constant("frame::entry_frame_call_wrapper_offset"), Ok(-6));
    assert_eq!(structs.constant("ObjectMonitor::ANONYMOUS_OWNER"), Ok(1));
    assert_eq!(structs.first_offset(&["X::_y", "CodeBlob::_size"]), Ok(24));
}

#[test]
fn what_is_missing_is_named() {
    let mut image = Image::new();
    image.field("CodeBlob", "_size", 0, 0xffff_ffff, 0);
    let structs = image.load().unwrap();
    let said = |e: LayoutError| e.to_string();
    assert_eq!(said(structs.offset("nmethod::_state").unwrap_err()), "vmStructs has no field nmethod::_state");
    assert_eq!(said(structs.first_offset(&["A::_a", "B::_b"]).unwrap_err()), "vmStructs has no field A::_a or B::_b");
    assert_eq!(said(structs.offset("CodeBlob::_size").unwrap_err()), "CodeBlob::_size is implausible: 0xffffffff");
    assert_eq!(said(structs.size("Method").unwrap_err()), "vmStructs has no type Method");
}

#[test]
fn a_missing_symbol_or_a_wild_table_is_an_error_not_a_crash() {
    let mut image = Image::new();
    image.symbols.retain(|(name, _)| *name != "gHotSpotVMTypes");
    assert_eq!(image.load().unwrap_err(), LayoutError::MissingSymbol("gHotSpotVMTypes".into()));
    let mut image = Image::new();
    image.fields.extend([0xdead_0000, 0, 0, 0, 0, 0]);
    assert!(matches!(image.load().unwrap_err(), LayoutError::Unreadable { address: 0xdead_0000, .. }));
}
