//! Arguments of probes, as they are written for this processor.
#![cfg(target_arch = "x86_64")]

use super::*;
use libc::{REG_R12, REG_RAX, REG_RBP, REG_RSP};

fn argument(text: &str) -> Option<Argument> {
    Argument::parse(text)
}

#[test]
fn arguments_in_all_shapes() {
    let memory = |displacement, base: i32, index| Operand::Memory { displacement, base: base as usize, index };
    let cases = [
        ("-8@%r12", 8, true, Operand::Register(REG_R12 as usize, 0, 64)),
        ("-4@%eax", 4, true, Operand::Register(REG_RAX as usize, 0, 32)),
        ("1@%ah", 1, false, Operand::Register(REG_RAX as usize, 8, 8)),
        ("4@$-3", 4, false, Operand::Constant(-3)),
        ("8@-16(%rbp)", 8, false, memory(-16, REG_RBP, None)),
        ("8@(%rsp)", 8, false, memory(0, REG_RSP, None)),
        ("2@0x10(%rbp,%rax,4)", 2, false, memory(16, REG_RBP, Some((REG_RAX as usize, 4)))),
    ];
    for (text, bytes, signed, operand) in cases {
        let expected = Argument { bytes, signed, operand };
        assert_eq!(argument(text), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_understood_is_not_guessed() {
    for text in ["", "8", "8@", "8@%xmm0", "3@%rax", "8@foo(%rip)", "8@(%eax)", "x@$1"] {
        assert_eq!(argument(text), None, "{text}");
    }
}

#[test]
fn values_are_cut_and_extended_to_their_size() {
    let four = |signed| Argument { bytes: 4, signed, operand: Operand::Constant(0) };
    assert_eq!(four(true).extended(0xffff_ffff_8000_0000), 0xffff_ffff_8000_0000);
    assert_eq!(four(false).extended(0xffff_ffff_8000_0000), 0x8000_0000);
    assert_eq!(four(true).extended(0x1_0000_0001), 1);
}

/// A note as the assembler writes it.
fn note(words: [u64; 3], strings: &str) -> Vec<u8> {
    let mut desc: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    desc.extend(strings.bytes());
    let mut note = Vec::new();
    for word in [8, desc.len() as u32, 3] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"stapsdt\0");
    note.extend(&desc);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

#[test]
fn addresses_move_with_the_base() {
    let section = note([0x100, 0x1000, 0x2000], "hotspot\0thread__park__end\0-8@%rax\0");
    let probes = parse(Endianness::Little, &section, 0x1010);
    assert_eq!(
        probes,
        [Probe {
            provider: "hotspot".into(),
            name: "thread__park__end".into(),
            address: 0x110,
            semaphore: Some(0x2010),
            arguments: "-8@%rax".into(),
        }]
    );
}

#[test]
fn a_torn_section_gives_what_is_whole() {
    let mut section = note([0x100, 0, 0], "hotspot\0a\0\0");
    section.extend(note([0x200, 0, 0], "hotspot\0b\0\0"));
    // Without its padding the last one would be whole.
    for length in 0..section.len() - 4 {
        let probes = parse(Endianness::Little, &section[..length], 0);
        assert!(probes.len() <= 1, "{length}");
    }
    assert_eq!(parse(Endianness::Little, &section, 0).len(), 2);
}
