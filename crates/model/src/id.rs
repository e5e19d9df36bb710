//! Ids. Each kind has its own type, so that a thread cannot be passed for a
//! lock. `0` means "none" everywhere; [`ThreadId::is_none`] and its like say so.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// No id: unknown, or not applicable.
            pub const NONE: $name = $name(0);

            /// True for [`Self::NONE`].
            #[inline]
            pub const fn is_none(self) -> bool {
                self.0 == 0
            }

            /// True for every id but [`Self::NONE`].
            #[inline]
            pub const fn is_some(self) -> bool {
                self.0 != 0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}#{}", stringify!($name), self.0)
            }
        }
    };
}

id! {
    /// A Java thread: `java.lang.Thread.threadId()`, platform or virtual. The
    /// VM never re-uses one. Threads without a Java identity (compiler, GC)
    /// carry their kernel thread id with [`ThreadId::NATIVE`] set.
    ThreadId
}

impl ThreadId {
    /// Set in the ids of threads that have no Java identity.
    pub const NATIVE: u64 = 1 << 62;

    /// Stands for virtual threads whose parks were added up together: there may be millions.
    pub const SOME_VIRTUAL: ThreadId = ThreadId(1 << 61);

    /// The id of a thread that only the kernel knows.
    pub const fn native(os_id: u32) -> ThreadId {
        ThreadId(Self::NATIVE | os_id as u64)
    }
}

id! {
    /// A lock: bound when an object is first contended, kept while the object
    /// lives, never an address, never used again within a recording.
    LockId
}
id! {
    /// A call chain, unique within a recording.
    ChainId
}
id! {
    /// A method, unique within a recording.
    MethodId
}
id! {
    /// The place of an event in its lock's own order: 1, 2, 3, ... without a
    /// gap. Timestamps of different threads cannot order events of one lock;
    /// this can. `NONE` where the recording's maker has no such order.
    Seq
}
