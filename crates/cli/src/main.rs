//! The `headway` command.
fn main() {}
