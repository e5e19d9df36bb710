//! Names of the VM's own threads: Linux keeps 15 bytes of each.

/// Those that are longer.
const LONGER: [&str; 8] = [
    "C1 CompilerThread",
    "C2 CompilerThread",
    "JVMCI CompilerThread",
    "Monitor Deflation Thread",
    "Notification Thread",
    "Reference Handler",
    "Signal Dispatcher",
    "VM Periodic Task Thread",
];
/// Bytes that Linux keeps.
const KEPT: usize = 15;

/// The whole name of a native thread, if this is the beginning of a known one.
pub fn whole(name: &str) -> &str {
    let is_cut = name.len() == KEPT;
    LONGER.into_iter().find(|longer| is_cut && longer.starts_with(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_cut_are_whole_again() {
        let cut = ["C2 CompilerThre", "VM Periodic Tas", "Attach Listener", "headway-sample", "C2 Compiler"];
        let shown =
            ["C2 CompilerThread", "VM Periodic Task Thread", "Attach Listener", "headway-sample", "C2 Compiler"];
        assert_eq!(cut.map(whole), shown);
    }
}
