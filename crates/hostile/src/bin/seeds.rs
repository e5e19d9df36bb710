//! Writes what every parser is fed with at first: a directory for each below the
//! one that is given.

use headway_hostile::targets::{corpus, TARGETS};
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("say where: seeds DIRECTORY"))?;
    for target in &TARGETS {
        let place = Path::new(&directory).join(target.name);
        fs::create_dir_all(&place)?;
        for (number, seed) in (target.seeds)().into_iter().chain(corpus(target.name)).enumerate() {
            fs::write(place.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
