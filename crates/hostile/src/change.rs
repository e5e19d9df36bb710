//! Bytes changed at random, the same way in every run.

pub use headway_model::random::Random;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::time::{clock_gettime, ClockId};
use std::time::Duration;

/// Longest CPU time for one input. On the clock it may take longer, where others have the CPUs.
const LONGEST: Duration = Duration::from_secs(10);
/// Address space that is enough for every parser.
const ENOUGH_BYTES: u64 = 4 << 30;
/// Most edits of one input.
const MOST_EDITS: u64 = 16;
/// Numbers that lengths and counts go wrong with.
const TELLING: [u64; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff_ffff_ffff];

/// Feeds `parse` with the seeds and then with `rounds` changed ones. All inputs
/// together take no more than 4 GB of address space, and none more than ten
/// seconds of this thread's CPU time.
///
/// # Panics
/// If parsing panics or takes too long; the input is printed before.
pub fn feed(seeds: &[Vec<u8>], rounds: u64, mut parse: impl FnMut(&[u8])) {
    limit_memory();
    let mut fed = |bytes: &[u8]| {
        let shown = Shown(bytes);
        let begun = thread_cpu();
        parse(bytes);
        let took = thread_cpu().saturating_sub(begun);
        assert!(took < LONGEST, "it took {took:?}");
        std::mem::forget(shown);
    };
    seeds.iter().for_each(|seed| fed(seed));
    for round in 0..rounds {
        fed(&changed(seeds, &mut Random::new(round)));
    }
}

/// CPU time of this thread so far.
fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Prints an input when its parser panics.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let hex: String = self.0.iter().take(4096).map(|byte| format!("{byte:02x}")).collect();
        eprintln!("the input, {} bytes: {hex}", self.0.len());
    }
}

/// One of the seeds with some edits.
pub fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds.get(random.index(seeds.len())).cloned().unwrap_or_default();
    for _ in 0..=random.next_u64() % MOST_EDITS {
        edit(&mut bytes, seeds, random);
    }
    bytes
}

fn edit(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let (at, count) = (random.index(bytes.len()), 1 + random.index(16));
    let end = (at + count).min(bytes.len());
    match random.index(9) {
        0 | 1 => set(bytes, at, &[random.next_u64() as u8]),
        2 => {
            let flipped = bytes.get(at).copied().unwrap_or(0) ^ (1 << random.index(8));
            set(bytes, at, &[flipped]);
        }
        3 | 4 => {
            let number = TELLING.get(random.index(TELLING.len())).copied().unwrap_or(0);
            let length = [1, 2, 4, 8].get(random.index(4)).copied().unwrap_or(1);
            match random.index(2) {
                0 => set(bytes, at, number.to_le_bytes().get(..length).unwrap_or_default()),
                _ => set(bytes, at, number.to_be_bytes().get(8 - length..).unwrap_or_default()),
            }
        }
        5 => bytes.truncate(at),
        6 => drop(bytes.drain(at..end)),
        7 => {
            let piece = bytes.get(at..end).unwrap_or_default().to_vec();
            let to = random.index(bytes.len());
            bytes.splice(to..to, piece);
        }
        _ => {
            let other = seeds.get(random.index(seeds.len())).map_or(&[][..], Vec::as_slice);
            let from = random.index(other.len());
            let piece = other.get(from..(from + 4 * count).min(other.len())).unwrap_or_default();
            bytes.splice(at..at, piece.iter().copied());
        }
    }
}

fn set(bytes: &mut [u8], at: usize, to: &[u8]) {
    bytes.iter_mut().skip(at).zip(to).for_each(|(byte, to)| *byte = *to);
}

fn limit_memory() {
    let now = getrlimit(Resource::As);
    let enough = Some(ENOUGH_BYTES.min(now.maximum.unwrap_or(u64::MAX)));
    // Where it cannot be set, what takes more goes unnoticed, no worse.
    let _ = setrlimit(Resource::As, Rlimit { current: enough, maximum: now.maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_the_same_in_every_run_and_many() {
        let seeds = [b"one sound input".to_vec(), b"another".to_vec()];
        let all =
            |first: u64| (first..first + 200).map(|seed| changed(&seeds, &mut Random::new(seed))).collect::<Vec<_>>();
        assert_eq!(all(0), all(0));
        let mut different = all(0);
        different.sort();
        different.dedup();
        assert!(different.len() > 150, "{}", different.len());
    }

    #[test]
    #[should_panic(expected = "found it")]
    fn what_fails_is_found() {
        feed(&[vec![0; 8]], 2000, |bytes| assert!(!bytes.windows(2).any(|pair| pair == [0xff, 0xff]), "found it"));
    }
}
