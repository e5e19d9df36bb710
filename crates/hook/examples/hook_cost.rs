//! Measures what a detour adds to a call: ns per call of a small function
//! without the hook, and with a hook that only calls the original.

// It patches its own code.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
fn main() -> Result<(), headway_hook::HookError> {
    measured::run()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("not supported on this CPU");
}

#[cfg(target_arch = "x86_64")]
mod measured {
    use headway_hook::arch::ContextArguments;
    use headway_hook::sys::linux::Linux;
    use headway_hook::{Detour, Function, HookError};
    use std::hint::black_box;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    const CALLS: u32 = 20_000_000;
    const ROUNDS: usize = 15;

    // With the beginning of HotSpot's ExitEpilog.
    std::arch::global_asm!(
        ".p2align 4",
        "hook_cost_target:",
        "push rbp",
        "mov rbp, rsp",
        "push r13",
        "push r12",
        "lea rax, [rdi + rsi]",
        "pop r12",
        "pop r13",
        "pop rbp",
        "ret",
        "hook_cost_target_end:",
    );

    extern "C" {
        fn hook_cost_target(a: u64, b: u64) -> u64;
        fn hook_cost_target_end();
    }

    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn hook(a: u64, b: u64, _c: u64, _frame: usize, _stack: usize) -> u64 {
        let original = ORIGINAL.load(Ordering::Relaxed);
        // SAFETY: the callable original, stored before installation.
        let original: extern "C" fn(u64, u64) -> u64 = unsafe { std::mem::transmute(original) };
        original(a, b)
    }

    fn ns_per_call() -> f64 {
        let begin = Instant::now();
        for i in 0..u64::from(CALLS) {
            // SAFETY: the function above.
            black_box(unsafe { hook_cost_target(black_box(i), 1) });
        }
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Takes turns, so that both see the same machine.
    pub fn run() -> Result<(), HookError> {
        let start = hook_cost_target as *const ();
        let length = hook_cost_target_end as *const () as usize - start as usize;
        // SAFETY: code of this program; hook and function agree.
        let detour = unsafe {
            let function = Function::at("hook_cost_target", start, length);
            let context = ContextArguments::FourthAndFifth;
            Detour::prepare(&function, hook as *const (), context, &Linux)?
        };
        ORIGINAL.store(detour.original() as usize, Ordering::SeqCst);
        let (mut without, mut with, mut installing) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(ns_per_call());
            let begin = Instant::now();
            // SAFETY: this is the only thread.
            unsafe { detour.install(&mut || Ok(()))? };
            installing.push(begin.elapsed().as_nanos() as f64);
            with.push(ns_per_call());
            detour.remove()?;
        }
        let (without, with) = (median(without), median(with));
        println!("without {without:.2} ns, with {with:.2} ns: {:.2} ns a call", with - without);
        println!("installing takes {:.0} us", median(installing) / 1e3);
        Ok(())
    }
}
