//! Recordings on which the page is measured.

use super::{at, random, sample, Scene, MS};
use headway_model::{ChainId, LockId, ThreadId};
use std::error::Error;
use std::path::Path;

/// About so many megabytes of contention among 64 threads and 50 locks.
pub fn large(path: &Path, megabytes: u64) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let threads: Vec<ThreadId> = (0..64).map(|n| scene.thread(100 + n, &format!("http-nio-8080-exec-{n}"))).collect();
    let locks: Vec<LockId> =
        (0..50).map(|n| scene.lock(1 + n, "com.acme.store.Shard", &format!("Store.shard{n}"))).collect();
    let chains: Vec<ChainId> = (0..400)
        .map(|n| {
            let frames: Vec<String> = (0..20)
                .map(|depth| format!("com.acme.p{}.C{}.m{}:{}", n % 7, n % 50, depth * 31 % 40 + n % 9, depth + 1))
                .collect();
            scene.chain(&frames.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    let mut next = random();
    let mut time = MS;
    let mut round = 0_u64;
    while std::fs::metadata(path).map_or(0, |data| data.len()) < megabytes << 20 {
        let place = next(8) * next(7);
        let (lock, blocked, owner) = (locks[place], threads[next(64)], threads[next(64)]);
        // A lock is taken in a few places only.
        let (waiting, holding) = (chains[place * 8 + next(8)], chains[place * 8 + next(2) * next(4)]);
        let hold = 20_000 + next(1000) as u64 * 1000;
        scene.enter(time, blocked, lock, waiting, owner);
        scene.exit(time + hold, owner, lock, holding);
        scene.entered(time + hold + 20_000, time, blocked, lock, waiting);
        time += 40_000 + next(20_000) as u64;
        round += 1;
        if round % 20_000 == 0 {
            scene.writer.flush(&scene.dictionary, at(time))?;
        }
    }
    scene.end(time + 2 * MS)
}

/// CPU samples of so many call stacks, each 40 to 80 frames deep, as a server with a framework has them:
/// a common root, then ever more branches; of 4000 methods, every fifth one the JDK's.
pub fn stacks(path: &Path, stacks: u64) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let threads: Vec<ThreadId> = (0..16).map(|n| scene.thread(100 + n, &format!("http-nio-8080-exec-{n}"))).collect();
    let mut next = random();
    let mut time = MS;
    for n in 0..stacks {
        let depth = 40 + next(41);
        let mut place = 0_usize;
        let mut frames: Vec<String> = Vec::with_capacity(depth);
        for level in 0..depth {
            // Every fourth frame below the common root calls one of three.
            if level >= 12 && level % 4 == 0 {
                place = (place * 3 + next(3) + 1) % 4_000_037;
            }
            let method = (place * 31 + level * 97) % 4000;
            let package = if method % 5 == 0 { "java.util.stream" } else { "com.acme.store.web" };
            frames.push(format!("{package}.Component{}.invoke{}:{}", method % 400, method / 400, 10 + place % 3));
        }
        frames.reverse();
        let chain = scene.chain(&frames.iter().map(String::as_str).collect::<Vec<_>>());
        for _ in 0..1 + next(4) {
            sample(&mut scene, threads[next(threads.len())], chain, time);
            time += MS;
        }
        if n % 1000 == 999 {
            scene.writer.flush(&scene.dictionary, at(time))?;
        }
    }
    scene.end(time + MS)
}
