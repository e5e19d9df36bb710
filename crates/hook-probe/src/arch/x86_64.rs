//! Our USDT probe, as the assembler writes it for any program.

std::arch::global_asm!(
    // hook_probe_site(a, b): the probe with a, b (on the stack), the lower half
    // of a + b, and -3; returns a + b.
    ".type hook_probe_site, @function",
    "hook_probe_site:",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 16",
    "mov [rbp - 8], rsi",
    "lea rax, [rdi + rsi]",
    "990: nop",
    "leave",
    "ret",
    ".size hook_probe_site, . - hook_probe_site",
    ".pushsection .probes, \"aw\", @progbits",
    ".balign 2",
    "hook_probe_semaphore: .2byte 0",
    ".popsection",
    ".pushsection .stapsdt.base, \"a\", @progbits",
    "hook_probe_base: .space 1",
    ".popsection",
    ".pushsection .note.stapsdt, \"\", @note",
    ".balign 4",
    ".4byte 992f - 991f, 994f - 993f, 3",
    "991: .asciz \"stapsdt\"",
    "992: .balign 4",
    "993: .8byte 990b, hook_probe_base, hook_probe_semaphore",
    ".asciz \"headway\"",
    ".asciz \"test__site\"",
    ".asciz \"-8@%rdi 8@-8(%rbp) 4@%eax -4@$-3\"",
    "994: .balign 4",
    ".popsection",
    // The semaphore's value.
    "hook_probe_listeners:",
    "movzx eax, word ptr [rip + hook_probe_semaphore]",
    "ret",
);

extern "C" {
    fn hook_probe_site(a: u64, b: u64) -> u64;
    fn hook_probe_listeners() -> u64;
}

/// Runs through the probe.
#[no_mangle]
pub extern "C" fn hook_probe_call_site(a: u64, b: u64) -> u64 {
    // SAFETY: the function above, which only adds.
    unsafe { hook_probe_site(a, b) }
}

/// How many listen to the probe.
#[no_mangle]
pub extern "C" fn hook_probe_call_listeners() -> u64 {
    // SAFETY: the function above, which only reads.
    unsafe { hook_probe_listeners() }
}
