//! A signal handler that appends to the buffer its own thread is appending to.
#![cfg(not(loom))]
#![allow(unsafe_code)] // installs and sends a real signal

use headway_signal::{Pool, Refused, ThreadBuffer};
use memory::region;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

mod memory;

static POOL: OnceLock<Pool> = OnceLock::new();
static BUFFER: ThreadBuffer = ThreadBuffer::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);
static TAKEN_IN_HANDLER: AtomicU64 = AtomicU64::new(0);
static REFUSED_IN_APPEND: AtomicU64 = AtomicU64::new(0);

/// How many signals are handled at least, wherever they hit.
const SIGNALS: u64 = 200;

/// How long one is waited for that hits an append.
const HIT_WITHIN: Duration = Duration::from_secs(120);

const FROM_HANDLER: u64 = 2 << 16;
const FROM_THREAD: u64 = 1 << 16;

extern "C" fn handler(_signal: libc::c_int) {
    if let Some(pool) = POOL.get() {
        let number = HANDLED.fetch_add(1, Ordering::Relaxed);
        let outcome = BUFFER.append(pool, &[FROM_HANDLER, number, !number]);
        let count = match outcome {
            Ok(()) => &TAKEN_IN_HANDLER,
            Err(Refused::Reentered) => &REFUSED_IN_APPEND,
            Err(_) => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_append_on_top_of_an_append_is_refused_and_harms_nothing() {
    let pool = POOL.get_or_init(|| Pool::new(region(1 << 20), 5));
    let mut collector = pool.collector().unwrap();
    // SAFETY: `handler` only does what a handler may do, and no other code of
    // this process uses the signal.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    // SAFETY: asks for the calling thread's own handle.
    let owner = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    let (mut appended, mut received, mut received_from_handler) = (0u64, 0u64, 0u64);
    let mut last = None;
    let mut sink = |_: u64, record: &[u64]| match record {
        [head, number, check] if head & !0xFFFF == FROM_HANDLER => {
            assert_eq!(*check, !number);
            received_from_handler += 1;
        }
        [head, number, a, b] if head & !0xFFFF == FROM_THREAD => {
            assert_eq!((*a, *b), (*number, !number));
            assert!(last < Some(*number), "{number} after {last:?}");
            last = Some(*number);
            received += 1;
        }
        other => panic!("torn record {other:?}"),
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            // On one processor each signal hits where the owner lost it, which may be
            // the same place outside of an append for as many as there are.
            let begin = Instant::now();
            let has_hit = || REFUSED_IN_APPEND.load(Ordering::Relaxed) > 0;
            while HANDLED.load(Ordering::Relaxed) < SIGNALS || !has_hit() && begin.elapsed() < HIT_WITHIN {
                // SAFETY: the owner lives until this scope has ended.
                unsafe { libc::pthread_kill(owner, libc::SIGUSR1) };
                thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            for _ in 0..1000 {
                let record = [FROM_THREAD, appended, appended, !appended];
                appended += u64::from(BUFFER.append(pool, &record).is_ok());
            }
            collector.drain(&mut sink);
        }
    });
    while !collector.close(&BUFFER, &mut sink) {}
    drop(collector);
    let taken = TAKEN_IN_HANDLER.load(Ordering::Relaxed);
    let reentered = REFUSED_IN_APPEND.load(Ordering::Relaxed);
    assert_eq!(received, appended);
    assert_eq!(received_from_handler, taken);
    assert!(reentered > 0, "no signal ever hit an append");
    assert_eq!(BUFFER.take_refusals().reentered, reentered);
}
