//! Room on the stack for what is more than an event: a JVM with a small `-Xss` calls the agent on threads whose whole
//! stack is smaller than what beginning a recording needs.

use crate::jni;
use crate::masked_signals::MaskedSignals;
use std::ffi::CStr;

/// Below this, the work is done on a thread made for it.
const ENOUGH: usize = 512 << 10;
/// What that thread has.
const ROOM: usize = 2 << 20;

/// Does `work` here, if the stack has room for it; else on a thread of this name, which the VM knows meanwhile. `None` if
/// there is no such thread, or the work panicked.
pub fn with_room<T: Send>(name: &'static CStr, work: impl FnOnce() -> T + Send) -> Option<T> {
    if left().is_none_or(|left| left >= ENOUGH) {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_string_lossy().into_owned()).stack_size(ROOM);
        let masked = MaskedSignals::all_but_faults();
        let thread = thread.spawn_scoped(scope, || jni::attached(name, |_| work())).ok()?;
        drop(masked);
        thread.join().ok().flatten()
    })
}

/// Bytes between here and the lowest address of this thread's stack.
fn left() -> Option<usize> {
    // SAFETY: all-zero memory is room for the attributes, which the call below fills in.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: the current thread, and room for its attributes.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) } != 0 {
        return None;
    }
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes that were filled in above; they are freed once.
    let code = unsafe {
        let code = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        code
    };
    let here = std::ptr::addr_of!(code) as usize;
    (code == 0).then(|| here.saturating_sub(lowest as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_stack_is_used_and_its_size_is_seen() {
        let seen = |bytes: usize| {
            let thread = std::thread::Builder::new().stack_size(bytes);
            thread.spawn(|| left().unwrap()).unwrap().join().unwrap()
        };
        let (small, large) = (seen(200 << 10), seen(4 << 20));
        assert!(small < 220 << 10 && small > 100 << 10, "{small}");
        assert!(large > 3 << 20, "{large}");
        let here = std::thread::Builder::new().stack_size(4 << 20);
        let same = here.spawn(|| {
            let caller = std::thread::current().id();
            with_room(c"room", || std::thread::current().id()) == Some(caller)
        });
        assert!(same.unwrap().join().unwrap());
    }

    #[test]
    fn without_a_vm_a_small_stack_has_no_room() {
        let small = std::thread::Builder::new().stack_size(200 << 10);
        assert_eq!(small.spawn(|| with_room(c"room", || 1)).unwrap().join().unwrap(), None);
    }
}
