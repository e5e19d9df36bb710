//! Puts the built page where the crate includes it. The page is built by
//! `./hw` (npm); without it everything else still builds, and the commands that
//! need the page say so.

use std::path::Path;
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let built = Path::new("../../web/dist/index.html");
    println!("cargo::rerun-if-changed={}", built.display());
    let page = fs::read_to_string(built).unwrap_or_default();
    let place = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&place).join("page.html"), page)
}
