//! Ids that are the same on every machine and in every build: hashes of names.
//!
//! An id is the 64-bit FNV-1a hash of its names, each followed by the byte 0xFF, which
//! UTF-8 has nowhere, then mixed once more (the finalizer of SplitMix64), because FNV's
//! low bits alone are weak. Among a million different names the chance that any two share
//! an id is 1 in 37 million. Line numbers are in no id: they change with every edit. Ids
//! are signed, because not every engine knows unsigned numbers; 0 stands for none.

/// Hashes names, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u64);

impl Hash {
    /// The hash of names of one kind: equal names of different kinds differ.
    pub fn of(kind: &str) -> Hash {
        Hash(0xcbf2_9ce4_8422_2325).name(kind)
    }

    /// Takes in a name.
    #[must_use]
    pub fn name(self, name: &str) -> Hash {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Hash(name.bytes().chain([0xff]).fold(self.0, step))
    }

    /// The id; never 0.
    pub fn id(self) -> i64 {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        match (z ^ (z >> 31)) as i64 {
            0 => 1,
            id => id,
        }
    }
}

/// The id of a lock, or of what is waited for.
pub fn site(class: &str, member: &str, kind: &str) -> i64 {
    Hash::of("site").name(class).name(member).name(kind).id()
}

/// The id of a call stack: its methods, leaf first, without lines.
pub fn stack<'a>(methods: impl IntoIterator<Item = &'a str>) -> i64 {
    methods.into_iter().fold(Hash::of("stack"), Hash::name).id()
}

/// The id of a JVM: one process, whichever of its recordings says so. Recordings of one
/// process may put its start some milliseconds apart, so only the second counts.
pub fn jvm(host: &str, pid: u32, start_ns: u64) -> i64 {
    let second = start_ns.saturating_add(500_000_000) / 1_000_000_000;
    Hash::of("jvm").name(host).name(&pid.to_string()).name(&second.to_string()).id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_what_they_are() {
        // Stores hold them: a change here is a change of the format.
        assert_eq!(site("com.acme.Inventory", "Inventory.lock", "monitor"), SITE);
        assert_eq!(stack(["com.acme.Inventory.find", "com.acme.Main.main"]), STACK);
        assert_eq!(jvm("web-1", 17, 1_700_000_000_123_000_000), jvm("web-1", 17, 1_700_000_000_130_000_000));
    }

    const SITE: i64 = -219_996_761_466_073_318;
    const STACK: i64 = -5_643_014_702_923_271_358;

    #[test]
    fn names_do_not_run_together() {
        assert_ne!(site("ab", "c", "monitor"), site("a", "bc", "monitor"));
        assert_ne!(stack(["a", "b"]), stack(["b", "a"]));
        assert_ne!(stack([]), stack([""]));
    }
}
