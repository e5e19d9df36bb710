//! Prints what is found in a libjvm and how long finding it takes:
//! `find_cost /path/to/libjvm.so`

use headway_hook::{Image, Known};
use std::path::Path;
use std::time::Instant;

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: find_cost /path/to/libjvm.so");
        std::process::exit(2);
    };
    let begin = Instant::now();
    let image = match Image::of_file(Path::new(&path)) {
        Ok(image) => image,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    println!("opened in {:?}", begin.elapsed());
    for known in Known::MONITORS {
        let begin = Instant::now();
        match known.resolve(&image) {
            Ok(function) => println!("{} in {:?}", function.name, begin.elapsed()),
            Err(error) => println!("{known:?}: {error}"),
        }
    }
}
