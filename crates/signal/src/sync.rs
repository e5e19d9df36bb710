//! The atomics of this crate: the processor's, or loom's while a model is
//! being checked.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::fence;
#[cfg(not(loom))]
pub use core::sync::atomic::AtomicU64;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::fence;
#[cfg(loom)]
pub use loom::sync::atomic::AtomicU64;

pub(crate) use core::sync::atomic::Ordering;

/// Between two `SeqCst` operations on different words whose order matters.
///
/// Sequentially consistent operations are in one total order already, so this
/// is nothing at run time. Loom treats them as acquire/release only and needs
/// the fence to see the same order.
#[inline(always)]
pub(crate) fn between_seq_cst() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Keeps what different threads write on different cache lines (two, because
/// the processor fetches them in pairs).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// A `const fn` except under loom, whose atomics are made at run time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        $(#[$meta])*
        #[cfg(not(loom))]
        $vis const fn $name($($arg: $ty),*) -> $ret $body

        $(#[$meta])*
        #[cfg(loom)]
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}
pub(crate) use const_fn;
