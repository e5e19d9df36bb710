//! The agent's code may be entered at any time after its hooks were taken out
//! again, so the loader must never unload it.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
