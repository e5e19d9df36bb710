//! Several things at once that mostly wait, or that must see the same machine.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `each` makes of the items, in their order; so many of them are under way at a time.
///
/// # Panics
/// If `each` does.
pub fn at_once<T: Sync, R: Send>(most: usize, items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        items.get(number).map(|item| (number, item))
    };
    let work = || {
        let mut done = Vec::new();
        while let Some((number, item)) = take() {
            done.push((number, each(item)));
        }
        done
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..most).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(at_once(3, &items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(at_once(3, &[], |item: &u32| *item).is_empty());
    }

    #[test]
    fn so_many_are_under_way_together() {
        let meet = Barrier::new(2);
        // Each waits for another one.
        assert_eq!(at_once(2, &["a", "b"], |_| meet.wait().is_leader()).iter().filter(|leads| **leads).count(), 1);
    }

    #[test]
    #[should_panic(expected = "the second")]
    fn a_panic_is_passed_on() {
        at_once(2, &["the first", "the second"], |item| assert_ne!(*item, "the second", "{item}"));
    }
}
