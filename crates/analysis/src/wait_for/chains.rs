//! The chains found so far, and what each explains.
//!
//! There are as many as there are ways for threads to wait for each other, so that a link
//! is four bytes in each: what it says is kept once.

use super::{Explained, Link, DEEPEST};
use crate::numbering::Numbering;
use smallvec::SmallVec;

/// Stands for a link that is in no chain, and behind a chain's last one.
const NO_LINK: u32 = u32::MAX;

/// A chain by the numbers of its links.
type Numbers = [u32; DEEPEST];

/// A chain that is being followed.
#[derive(Debug)]
pub(super) struct Path {
    links: Vec<Link>,
    numbers: Numbers,
}

impl Path {
    pub fn new() -> Path {
        Path { links: Vec::with_capacity(DEEPEST), numbers: [NO_LINK; DEEPEST] }
    }

    /// How many links it has.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Its links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// True if no chain has one of its links.
    fn has_new_link(&self) -> bool {
        self.numbers.iter().take(self.links.len()).any(|number| *number == NO_LINK)
    }

    /// Goes on with a link that has this number.
    pub fn push(&mut self, (link, number): (Link, u32)) {
        if let Some(place) = self.numbers.get_mut(self.links.len()) {
            *place = number;
        }
        self.links.push(link);
    }

    /// Goes back by a link.
    pub fn pop(&mut self) {
        self.links.pop();
        if let Some(place) = self.numbers.get_mut(self.links.len()) {
            *place = NO_LINK;
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Chains {
    links: Vec<Link>,
    link_numbers: Numbering,
    chains: Vec<(Numbers, Explained)>,
    numbers: Numbering,
    bound: usize,
}

impl Chains {
    /// At most `bound` chains.
    pub fn new(bound: usize) -> Chains {
        let (link_numbers, numbers) = (Numbering::default(), Numbering::default());
        Chains { links: Vec::new(), link_numbers, chains: Vec::new(), numbers, bound: bound.min(u32::MAX as usize / 2) }
    }

    /// The link with this number.
    pub fn link(&self, number: u32) -> Option<&Link> {
        self.links.get(number as usize)
    }

    /// The number of a link. Where there is no room for a chain, none is kept for one that
    /// no chain has yet.
    pub fn number(&mut self, link: &Link) -> u32 {
        let Chains { links, link_numbers, .. } = self;
        let known = link_numbers.find(link, |number| links.get(number as usize) == Some(link));
        if known.is_some() || self.chains.len() >= self.bound {
            return known.unwrap_or(NO_LINK);
        }
        let number = links.len() as u32;
        links.push(*link);
        link_numbers.add(link, number);
        number
    }

    /// The chain explains so much more. False if there is no room for it.
    pub fn add(&mut self, path: &Path, ns: u64) -> bool {
        let Chains { chains, numbers, bound, .. } = self;
        if path.has_new_link() {
            return false;
        }
        let is_same = |number: u32| chains.get(number as usize).is_some_and(|(chain, _)| *chain == path.numbers);
        let known = numbers.find(&path.numbers, is_same);
        if let Some((_, known)) = known.and_then(|number| chains.get_mut(number as usize)) {
            known.total_ns += ns;
            known.count += 1;
            return true;
        }
        if chains.len() >= *bound {
            return false;
        }
        numbers.add(&path.numbers, chains.len() as u32);
        chains.push((path.numbers, Explained { total_ns: ns, count: 1 }));
        true
    }

    /// The first link of each chain.
    pub fn firsts(&self) -> impl Iterator<Item = (&Link, Explained)> {
        self.chains.iter().filter_map(|(chain, explained)| Some((self.link(*chain.first()?)?, *explained)))
    }

    /// Each chain, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = (Links, Explained)> + '_ {
        self.chains.iter().map(|(chain, explained)| (spelled(chain, &self.links), *explained))
    }
}

/// A chain's links in full.
pub(crate) type Links = SmallVec<[Link; DEEPEST]>;

fn spelled(chain: &Numbers, links: &[Link]) -> Links {
    chain.iter().map_while(|number| links.get(*number as usize)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Kind;
    use headway_model::{LockId, ThreadId};

    fn link(lock: u64) -> Link {
        Link { kind: Kind::Monitor, lock: LockId(lock), method: None, thread: ThreadId(lock) }
    }

    fn add(chains: &mut Chains, locks: &[u64], ns: u64) -> bool {
        let mut path = Path::new();
        for lock in locks {
            path.push((link(*lock), chains.number(&link(*lock))));
        }
        // What is followed further and left again changes nothing.
        path.push((link(99), NO_LINK));
        path.pop();
        chains.add(&path, ns)
    }

    #[test]
    fn of_too_many_chains_the_first_ones_are_kept() {
        let mut chains = Chains::new(3);
        for locks in [&[1, 2][..], &[1, 2, 3], &[2, 1], &[1, 2]] {
            assert!(add(&mut chains, locks, 10));
        }
        assert!(!add(&mut chains, &[1, 3], 10), "known links, but no such chain");
        assert!(!add(&mut chains, &[1, 4], 10), "no such link");
        assert_eq!(chains.links.len(), 3, "links of chains without room are not kept");
        let mut all: Vec<_> =
            chains.iter().map(|(path, explained)| (path, explained.total_ns, explained.count)).collect();
        all.sort_unstable();
        let of = |locks: &[u64]| locks.iter().map(|lock| link(*lock)).collect::<Links>();
        assert_eq!(all, [(of(&[1, 2]), 20, 2), (of(&[1, 2, 3]), 10, 1), (of(&[2, 1]), 10, 1)]);
        let of_first = chains.firsts().filter(|(first, _)| **first == link(1)).map(|(_, explained)| explained.total_ns);
        assert_eq!(of_first.sum::<u64>(), 30);
    }
}
