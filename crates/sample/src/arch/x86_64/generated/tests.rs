//! Code as the VM generates it, byte by byte.

use super::*;
use headway_hotspot::Fragments;

const START: u64 = 0x1000;

fn code(bytes: &[u8]) -> (Fragments, AddressRange) {
    let mut memory = Fragments::new();
    memory.add(START, bytes.to_vec());
    (memory, AddressRange { start: START, end: START + bytes.len() as u64 })
}

fn on_sp(offset: i64) -> Location {
    Location::Memory(Reg::SP, offset)
}

/// mov [rsp-0x14000], eax; push rbp; sub rsp, 0x20; nop; add rsp, 0x20; pop rbp;
/// cmp rsp, [r15+0x378]; ja +2; ret; nop; nop
const METHOD: [u8; 33] = [
    0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49,
    0x3b, 0xa7, 0x78, 0x03, 0x00, 0x00, 0x77, 0x02, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90,
];

#[test]
fn a_frame_is_followed_while_it_is_built() {
    let (memory, range) = code(&METHOD);
    let mut reader = Reader::new(&memory);
    let own = Location::Register(Reg::BP, 0);
    let built = |reader: &mut Reader<'_, _>, at: u64| reader.built(range, START + at);
    let entry = Shape { pc: on_sp(0), sp: Location::Register(Reg::SP, 8), fp: own };
    assert_eq!(built(&mut reader, 0), Some(entry));
    assert_eq!(built(&mut reader, 7), Some(entry));
    let pushed = Shape { pc: on_sp(8), sp: Location::Register(Reg::SP, 16), fp: own };
    assert_eq!(built(&mut reader, 8), Some(pushed));
    let whole = Shape { pc: on_sp(40), sp: Location::Register(Reg::SP, 48), fp: own };
    assert_eq!(built(&mut reader, 12), Some(whole));
    assert_eq!(built(&mut reader, 9), None, "inside an instruction");
}

#[test]
fn a_method_that_is_not_entrant_any_more_is_followed_behind_the_jump() {
    let mut bytes = METHOD;
    bytes[..5].copy_from_slice(&[0xe9, 0x00, 0x10, 0x00, 0x00]);
    let (memory, range) = code(&bytes);
    let shape = Reader::new(&memory).built(range, START + 8).unwrap();
    assert_eq!(shape.pc, on_sp(8));
}

/// The entry of a native method's wrapper: cmp rax, [rsi+8]; je +6; jmp +0x1000; nop; then from an aligned address on:
/// mov [rsp-0x14000], eax; push rbp; mov rbp, rsp; sub rsp, 0x60. With and without instructions that do nothing.
#[test]
fn the_entry_of_a_wrapper_follows_the_jump_to_the_handler_of_a_wrong_receiver() {
    let entry = [0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x60];
    let jump = [0xe9, 0x00, 0x10, 0x00, 0x00];
    let before: [&[u8]; 3] = [
        &[0x48, 0x3b, 0x46, 0x08, 0x74, 0x09, 0x90],
        &[0x48, 0x3b, 0x46, 0x08, 0x74, 0x05, 0x90, 0x90, 0x90, 0x90, 0x90],
        &[0x48, 0x3b, 0x46, 0x08, 0x74, 0x06, 0x90, 0x90, 0x90, 0x90],
    ];
    for before in before {
        let mut bytes = [before, &jump].concat();
        while bytes.len() % 8 != 0 {
            bytes.push(0x90);
        }
        let at = START + bytes.len() as u64;
        bytes.extend(entry);
        let (memory, range) = code(&bytes);
        let mut reader = Reader::new(&memory);
        for (offset, pc) in [(0, 0), (7, 0), (8, 8), (11, 8), (15, 104)] {
            let shape = reader.built(range, at + offset);
            assert_eq!(shape.map(|shape| shape.pc), Some(on_sp(pc)), "{offset} behind {} bytes", at - START);
        }
    }
}

#[test]
fn an_epilogue_leads_to_the_caller_from_each_of_its_instructions() {
    let (memory, range) = code(&METHOD);
    let mut reader = Reader::new(&memory);
    for (at, pc, fp) in [
        (12, 40, on_sp(32)),
        (13, 40, on_sp(32)),
        (17, 8, on_sp(0)),
        (18, 0, Location::Register(Reg::BP, 0)),
        (27, 0, Location::Register(Reg::BP, 0)),
    ] {
        let Run::Return { caller, straight, .. } = reader.run(range, START + at, 12) else { panic!("at {at}") };
        assert!(straight);
        assert_eq!((caller.pc, caller.fp), (on_sp(pc), fp), "at {at}");
    }
}

/// The end of a native method's wrapper: leave; cmp qword [r15+8], 0; jne +1; ret; jmp +0x1000
#[test]
fn the_end_of_a_wrapper_leads_to_the_caller_from_each_of_its_instructions() {
    let (memory, range) = code(&[0xc9, 0x49, 0x83, 0x7f, 0x08, 0x00, 0x75, 0x01, 0xc3, 0xe9, 0x00, 0x10, 0x00, 0x00]);
    let mut reader = Reader::new(&memory);
    for at in [1, 6, 8] {
        let run = reader.run(range, START + at, 12);
        let Run::Return { caller, .. } = run else { panic!("at {at}: {run:?}") };
        assert_eq!((caller.pc, caller.sp), (on_sp(0), Location::Register(Reg::SP, 8)), "at {at}");
    }
    let run = reader.run(range, START + 9, 12);
    assert!(matches!(run, Run::Jump { caller, .. } if caller.pc == on_sp(0)), "{run:?}");
}

#[test]
fn a_way_that_leads_nowhere_is_given_up_for_another() {
    // test eax, eax; je +1; hlt; ret
    let (memory, range) = code(&[0x85, 0xc0, 0x74, 0x01, 0xf4, 0xc3]);
    let run = Reader::new(&memory).run(range, START, 20);
    assert!(matches!(run, Run::Return { straight: false, .. }));
    // A loop without end: jmp to itself.
    let (memory, range) = code(&[0xeb, 0xfe]);
    assert_eq!(Reader::new(&memory).run(range, START, 1_000_000), Run::Unknown);
}

#[test]
fn the_interpreter_returns_by_a_jump_and_enters_by_pushing_rbp() {
    // mov rbx, [rbp-8]; leave; pop r13; mov rsp, rbx; jmp r13
    let (memory, range) = code(&[0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x41, 0x5d, 0x48, 0x89, 0xdc, 0x41, 0xff, 0xe5]);
    let Run::Return { caller, .. } = Reader::new(&memory).run(range, START, 12) else { panic!() };
    let expected =
        Shape { pc: Location::Memory(Reg::BP, 8), sp: Location::Memory(Reg::BP, -8), fp: Location::Memory(Reg::BP, 0) };
    assert_eq!(caller, expected);
    // pop rax; push 0; push rax; push rbp; mov rbp, rsp
    let (memory, range) = code(&[0x58, 0x6a, 0x00, 0x50, 0x55, 0x48, 0x89, 0xe5]);
    let Run::Enter { caller } = Reader::new(&memory).run(range, START, 12) else { panic!() };
    assert_eq!(caller.pc, on_sp(0));
    let Run::Enter { caller } = Reader::new(&memory).run(range, START + 1, 12) else { panic!() };
    assert_eq!(caller.pc, Location::Register(Reg::AX, 0));
    let Run::Enter { caller } = Reader::new(&memory).run(range, START + 5, 12) else { panic!() };
    assert_eq!((caller.pc, caller.sp), (on_sp(8), Location::Register(Reg::SP, 16)));
}

#[test]
fn a_handler_is_entered_with_the_return_address_in_rdx() {
    // pop rdx; jmp rbx
    let (memory, range) = code(&[0x5a, 0xff, 0xe3]);
    let Run::Jump { caller, .. } = Reader::new(&memory).run(range, START, 12) else { panic!() };
    assert_eq!((caller.pc, caller.sp), (on_sp(0), Location::Register(Reg::SP, 8)));
    let Run::Jump { caller, .. } = Reader::new(&memory).run(range, START + 1, 12) else { panic!() };
    assert_eq!((caller.pc, caller.sp), (Location::Register(Reg::DX, 0), Location::Register(Reg::SP, 0)));
}

#[test]
fn an_adapter_leads_to_who_called_it() {
    // pop rax; mov r13, rsp; sub rsp, 0x10; and rsp, -16; push rax; jmp [rbx+0x40]
    let (memory, range) = code(&[0x58, 0x49, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x50, 0xff, 0x63, 0x40]);
    let Run::Jump { caller, .. } = Reader::new(&memory).run(range, START, 12) else { panic!() };
    assert_eq!(caller.pc, on_sp(0));
    // jmp [rax+rcx*8]: a dispatch.
    let (memory, range) = code(&[0xff, 0x24, 0xc8]);
    assert_eq!(Reader::new(&memory).run(range, START, 12), Run::Dispatch);
}

/// The way from the interpreter to a compiled method on 25, behind the
/// instructions that align the stack: the return address is at its top, and rdx
/// has nothing to do with it.
#[test]
fn an_adapter_that_jumps_by_a_register_leaves_the_top_of_the_stack_open() {
    let (memory, range) = code(&[
        0x48, 0x8b, 0x70, 0x08, // mov rsi, [rax+8]
        0x49, 0x89, 0x9f, 0xd0, 0x04, 0x00, 0x00, // mov [r15+0x4d0], rbx
        0x48, 0x8b, 0xc3, // mov rax, rbx
        0x41, 0xff, 0xe3, // jmp r11
    ]);
    let Run::Jump { or: Some(or), .. } = Reader::new(&memory).run(range, START, 12) else { panic!() };
    assert_eq!(or.pc, Location::Memory(Reg::SP, 0));
}

/// mov byte [r15+0x3be], 0; pop r13; mov rsp, rbx; cmp rsp, [r15+0x620]; jb +11;
/// mov qword [r15+0x620], 0; jmp r13
const REMOVED_ACTIVATION: [u8; 36] = [
    0x41, 0xc6, 0x87, 0xbe, 0x03, 0x00, 0x00, 0x00, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x49, 0x3b, 0xa7, 0x20, 0x06, 0x00,
    0x00, 0x72, 0x0b, 0x49, 0xc7, 0x87, 0x20, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41, 0xff, 0xe5,
];

#[test]
fn the_interpreters_return_is_followed_from_each_of_its_instructions() {
    let (memory, range) = code(&REMOVED_ACTIVATION);
    let mut reader = Reader::new(&memory);
    let (r13, rbx) = (Location::Register(Reg::R13, 0), Location::Register(Reg::BX, 0));
    let own = Location::Register(Reg::SP, 0);
    for (at, pc, sp) in [(0, on_sp(0), rbx), (8, on_sp(0), rbx), (10, r13, rbx), (13, r13, own), (33, r13, own)] {
        let run = reader.run(range, START + at, 240);
        let Run::Return { caller, straight: true, .. } = run else { panic!("at {at}: {run:?}") };
        assert_eq!(caller, Shape { pc, sp, fp: Location::Register(Reg::BP, 0) }, "at {at}");
    }
}

#[test]
fn another_jump_on_the_way_to_the_return_decides_something() {
    let mut bytes = REMOVED_ACTIVATION;
    bytes[14] = 0x39; // cmp [r15+0x620], rsp
    let (memory, range) = code(&bytes);
    let run = Reader::new(&memory).run(range, START, 240);
    assert!(matches!(run, Run::Return { straight: false, .. }), "{run:?}");
}
