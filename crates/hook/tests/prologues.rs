//! Which beginnings of functions are moved, how, and which are refused.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_hook::arch::{self, ContextArguments, Refusal};

const AT: usize = 0x7f00_0010_0000;
const MOVED_TO: usize = 0x7f00_4000_0000;

/// The original's code in the trampoline: moved instructions and jump back.
fn moved(code: &[u8]) -> Result<Vec<u8>, String> {
    let shape = |refusal| match refusal {
        Refusal::Shape(reason) => reason,
        Refusal::Unsupported(cpu) => cpu.to_owned(),
    };
    let mut function = code.to_vec();
    function.resize(64, 0x90);
    let prologue = arch::plan(AT, &function).map_err(shape)?;
    let context = ContextArguments::FourthAndFifth;
    let built = arch::trampoline(&prologue, MOVED_TO, MOVED_TO + 4096, context).map_err(shape)?;
    Ok(built.code[built.original_offset..].to_vec())
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect()
}

/// The jump at the end leads behind the moved instructions.
fn check_return(code: &[u8], length: usize) {
    let (jump, at) = (&code[code.len() - 5..], MOVED_TO + 32 + code.len() - 5);
    assert_eq!(jump[0], 0xe9);
    let distance = i32::from_le_bytes(jump[1..].try_into().unwrap());
    assert_eq!((at + 5) as i64 + i64::from(distance), (AT + length) as i64);
}

#[test]
fn position_independent_beginnings_are_moved_unchanged() {
    // The beginnings that the functions of HotSpot have, and likely others.
    let shapes = [
        "55 48 89 e5 41 55",             // push rbp; mov rbp, rsp; push r13
        "55 48 8d 47 40",                // push rbp; lea rax, [rdi+0x40]
        "f3 0f 1e fa 55 48 89 e5",       // endbr64; push rbp
        "41 57 41 56 41 55",             // push r15; push r14; push r13
        "48 83 ec 18 48 89 fb",          // sub rsp, 24; mov rbx, rdi
        "48 81 ec 88 00 00 00",          // sub rsp, 136
        "64 48 8b 04 25 28 00 00 00",    // mov rax, fs:[0x28]
        "0f b6 42 34 3c 04",             // movzx eax, [rdx+0x34]; cmp al, 4
        "48 8b 42 10 48 85 c0",          // mov rax, [rdx+0x10]; test rax, rax
        "48 b8 11 22 33 44 55 66 77 88", // movabs rax, imm64
        "c5 f8 77 55 90",                // vzeroupper; push rbp; nop
        "66 0f 1f 44 00 00",             // nop word [rax+rax]
    ];
    for shape in shapes {
        let code = hex(shape);
        let moved = moved(&code).unwrap_or_else(|e| panic!("{shape}: {e}"));
        let length = moved.len() - 5;
        assert_eq!(moved[..length], code[..length], "{shape}");
        assert!(length >= 5, "{shape}");
        check_return(&moved, length);
    }
}

/// Displacement in the moved bytes, counted from the end of its instruction.
fn target_of(moved: &[u8], offset: usize, instruction_length: usize) -> u64 {
    let bytes = moved[offset + instruction_length - 4..][..4].try_into().unwrap();
    let end = (MOVED_TO + 32 + offset + instruction_length) as u64;
    end.wrapping_add_signed(i64::from(i32::from_le_bytes(bytes)))
}

#[test]
fn rip_relative_operands_refer_to_the_same_address() {
    let shapes = [
        // (code, offset and length of the rip-relative instruction)
        ("48 8d 35 36 c1 41 00", 0, 7),    // lea rsi, [rip+...]
        ("55 48 8d 35 36 c1 41 00", 1, 7), // push rbp; lea rsi, [rip+...]
        ("48 8b 05 00 10 00 00", 0, 7),    // mov rax, [rip+...]
        ("55 ff 35 00 f0 ff ff", 1, 6),    // push rbp; push [rip-...]
        ("f3 0f 10 05 44 33 22 01", 0, 8), // movss xmm0, [rip+...]
    ];
    for (shape, offset, length) in shapes {
        let code = hex(shape);
        let moved = moved(&code).unwrap_or_else(|e| panic!("{shape}: {e}"));
        let displacement = code[offset + length - 4..][..4].try_into().unwrap();
        let end = (AT + offset + length) as u64;
        let target = end.wrapping_add_signed(i64::from(i32::from_le_bytes(displacement)));
        assert_eq!(target_of(&moved, offset, length), target, "{shape}");
        check_return(&moved, code.len());
    }
}

#[test]
fn a_rip_relative_operand_before_an_immediate_is_moved_and_all_else_stays() {
    // push rbp; cmp dword [rip+0x1000], 0x11223344: the distance is not at the instruction's end.
    let code = hex("55 81 3d 00 10 00 00 44 33 22 11");
    let moved = moved(&code).unwrap();
    let distance = i32::from_le_bytes(moved[3..7].try_into().unwrap());
    let (from, to) = ((AT + code.len()) as i64, (MOVED_TO + 32 + code.len()) as i64);
    assert_eq!(to + i64::from(distance), from + 0x1000);
    assert_eq!((&moved[..3], &moved[7..code.len()]), (&code[..3], &code[7..]));
    check_return(&moved, code.len());
}

#[test]
fn an_operand_relative_to_the_lower_half_of_rip_is_refused() {
    // lea rax, [eip+0x1000]: the address is cut to 32 bits, so it is another one elsewhere.
    let reason = moved(&hex("67 48 8d 05 00 10 00 00")).unwrap_err();
    assert!(reason.contains("moved"), "{reason}");
}

#[test]
fn a_rip_relative_operand_out_of_reach_is_refused() {
    // lea rax, [rip+0x7fffffff], moved 1 GB down.
    let mut function = hex("48 8d 05 ff ff ff 7f");
    function.resize(64, 0x90);
    let prologue = arch::plan(AT, &function).unwrap();
    let down = AT - (1 << 30);
    let context = ContextArguments::FourthAndFifth;
    let refused = arch::trampoline(&prologue, down, down + 4096, context).unwrap_err();
    assert!(matches!(refused, Refusal::Shape(reason) if reason.contains("moved")));
}

#[test]
fn what_may_go_elsewhere_is_refused() {
    let shapes = [
        ("74 10 55 48 89 e5", "at +0"),       // je
        ("85 ff 74 10 55", "at +2"),          // test edi, edi; je
        ("55 0f 84 00 01 00 00", "at +1"),    // push rbp; je rel32
        ("eb 10 55 48 89 e5", "at +0"),       // jmp rel8
        ("e9 00 01 00 00", "at +0"),          // jmp rel32: already a detour
        ("55 e8 00 01 00 00", "at +1"),       // push rbp; call
        ("ff 25 00 01 00 00", "at +0"),       // jmp [rip+...]
        ("31 c0 c3 90 90 90", "at +2"),       // xor eax, eax; ret
        ("cc 48 89 e5 41 55", "at +0"),       // int3: a debugger's
        ("e3 10 55 48 89 e5", "at +0"),       // jrcxz
        ("e2 10 55 48 89 e5", "at +0"),       // loop
        ("0f 05 55 48 89 e5", "at +0"),       // syscall
        ("0f 0b 55 48 89 e5", "at +0"),       // ud2
        ("55 06 89 e5 41 55", "not a known"), // invalid in 64-bit mode
    ];
    for (shape, expected) in shapes {
        let reason = moved(&hex(shape)).expect_err(shape);
        assert!(reason.contains(expected), "{shape}: {reason}");
    }
}

#[test]
fn a_branch_back_between_the_overwritten_bytes_is_refused() {
    // push rbp; mov rbp, rsp; push r13; nop; jmp short to +1, and to +0
    let to = |distance: u8| {
        let mut function = hex("55 48 89 e5 41 55 90 eb");
        function.push(distance);
        function.resize(64, 0x90);
        arch::plan(AT, &function)
    };
    let refused = to(0xf8).unwrap_err(); // ends at +9, back 8: +1
    assert!(matches!(refused, Refusal::Shape(reason) if reason.contains("+0x7 leads into")));
    assert_eq!(to(0xf7).unwrap().bytes.len(), 6); // to the entry itself: it may
}

#[test]
fn a_function_shorter_than_a_jump_is_refused() {
    let refused = arch::plan(AT, &hex("55 48 89 e5")).unwrap_err();
    assert!(matches!(refused, Refusal::Shape(reason) if reason.contains("4 bytes")));
}

#[test]
fn the_error_names_function_and_bytes() {
    let refused = arch::plan(AT, &hex("74 10 55 48 89 e5")).unwrap_err();
    let error = refused.of("Foo::bar(int)", &hex("74 10 55 48 89 e5")).to_string();
    assert!(error.contains("Foo::bar(int)") && error.contains("74 10 55"), "{error}");
}
