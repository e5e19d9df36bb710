//! The index of ways to places.
#![cfg(not(loom))]

use headway_signal::WayIndex;
use memory::region;
use std::collections::HashSet;

mod memory;

fn places(index: &WayIndex, way: u64) -> HashSet<usize> {
    index.places(way).collect()
}

#[test]
fn ways_lead_to_their_places_and_nowhere_else() {
    let index = WayIndex::new(region(32_768));
    for place in 0..8_192 {
        index.add(place as u64 * 3 + 1, place);
        index.add(1 << 40 | (place as u64 / 2), place);
    }
    assert!(index.is_whole());
    for place in 0..8_192 {
        assert_eq!(places(&index, place as u64 * 3 + 1), HashSet::from([place]));
        assert_eq!(places(&index, 1 << 40 | (place as u64 / 2)), HashSet::from([place & !1, place | 1]));
    }
    assert!(places(&index, 2).is_empty() && places(&index, 1 << 41).is_empty());
}

#[test]
fn what_comes_and_goes_leaves_no_words_behind() {
    let index = WayIndex::new(region(256));
    index.add(7, 7);
    for round in 1_000..101_000 {
        index.add(round, 3);
        index.add(round, 3);
        index.add(round + 1_000_000, 4);
        assert_eq!((places(&index, round), places(&index, 7)), (HashSet::from([3]), HashSet::from([7])));
        index.remove(round, 3);
        assert!(places(&index, round).is_empty());
        index.remove(round + 1_000_000, 4);
    }
    assert!(index.is_whole());
    assert_eq!(places(&index, 7), HashSet::from([7]));
}

#[test]
fn what_is_removed_does_not_hide_what_is_behind_it() {
    for seed in 0..50 {
        let index = WayIndex::new(region(64));
        let ways = || (0..48).map(|nth| seed * 48 + nth + 1);
        ways().for_each(|way| index.add(way, 5));
        for gone in ways().filter(|way| way % 3 == 0) {
            index.remove(gone, 5);
            ways().filter(|way| way % 3 != 0).for_each(|way| assert_eq!(places(&index, way), HashSet::from([5])));
        }
        assert!(ways().filter(|way| way % 3 == 0).all(|way| places(&index, way).is_empty()));
    }
}

#[test]
fn a_way_without_room_is_known_until_it_is_removed() {
    let index = WayIndex::new(region(4));
    (0..5).for_each(|place| index.add(place as u64 + 1, place));
    assert!(!index.is_whole());
    assert_eq!((1..=5).filter(|way| !places(&index, *way).is_empty()).count(), 4);
    index.remove(5, 4);
    assert!(index.is_whole());
    assert_eq!((1..=4).map(|way| places(&index, way).len()).sum::<usize>(), 4);
}

/// The largest ways and places are kept whole.
#[test]
fn bounds() {
    let index = WayIndex::new(region(64));
    let (way, place) = ((1 << WayIndex::WAY_BITS) - 1, WayIndex::MAX_PLACES - 1);
    index.add(way, place);
    assert_eq!(places(&index, way), HashSet::from([place]));
    assert!(places(&index, way - 1).is_empty() && places(&index, 0).is_empty());
    index.remove(way, place);
    assert!(places(&index, way).is_empty());
}
