//! Totals of the few keys that weigh most.

/// Adds up by key and keeps the heaviest keys. Beyond its size the lightest
/// key gives way, and the new one inherits its total: a key whose true total
/// is more than 1/8 of all stays for certain (Metwally et al., Space-Saving,
/// ICDT 2005).
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally<K> {
    totals: Vec<(K, u64)>,
}

/// Keys kept.
const SIZE: usize = 8;

impl<K: Copy + Ord> Tally<K> {
    /// Adds to a key.
    pub fn add(&mut self, key: K, amount: u64) {
        if let Some((_, total)) = self.totals.iter_mut().find(|(known, _)| *known == key) {
            *total += amount;
        } else if self.totals.len() < SIZE {
            self.totals.push((key, amount));
        } else if let Some(lightest) = self.totals.iter_mut().min_by_key(|(_, total)| *total) {
            *lightest = (key, lightest.1 + amount);
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Tally<K>) {
        for (key, total) in &other.totals {
            self.add(*key, *total);
        }
    }

    /// The heaviest key; of equal ones the smallest.
    pub fn heaviest(&self) -> Option<K> {
        self.totals.iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_survives_many_light_ones() {
        let mut tally = Tally::default();
        for i in 0..1000 {
            tally.add(i + 10, 1);
            tally.add(7, 1);
        }
        assert_eq!(tally.heaviest(), Some(7));
    }

    #[test]
    fn totals_of_two_tallies_join() {
        let (mut a, mut b) = (Tally::default(), Tally::default());
        a.add(1, 5);
        b.add(2, 4);
        b.add(1, 1);
        b.add(2, 3);
        a.merge(&b);
        assert_eq!(a.heaviest(), Some(2));
        assert_eq!(Tally::<u8>::default().heaviest(), None);
    }
}
