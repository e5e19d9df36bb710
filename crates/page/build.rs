//! Puts the built page, packed, where the crate includes it. The page is built by
//! `./hw` (npm); without it everything else still builds, and the commands that
//! need the page say so.

use flate2::{write::DeflateEncoder, Compression};
use std::io::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let built = Path::new("../../web/dist/index.html");
    println!("cargo::rerun-if-changed={}", built.display());
    let page = fs::read(built).unwrap_or_default();
    let place = env::var_os("OUT_DIR").unwrap_or_default();
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&page)?;
    fs::write(Path::new(&place).join("page.html.deflate"), packed.finish()?)
}
