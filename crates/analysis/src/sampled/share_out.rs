//! Shares sums out among what was seen.

use super::{Drawn, Seen, Share};
use crate::monitor::Sum;
use headway_model::ThreadId;

/// Shares the sums out in proportion to the weights of what was seen. Time and number of
/// each sum stay exact: shares of it add up to it. As many shares as sums and parts
/// together, at most: each sum takes from where the one before it ended.
pub(super) fn share_out(mut sums: Vec<Sum>, seen: &mut [Seen], shares: &mut Vec<Share>) {
    // Threads stand in the same order on both sides, so that most get their own parts.
    sums.sort_by_key(|sum| (sum.thread, sum.time));
    seen.sort_by_key(|seen| (seen.thread, seen.chain, seen.owner));
    let total: u64 = sums.iter().map(|sum| sum.total_ns).sum();
    let ends = ends(seen, total);
    let (mut part, mut at) = (0, 0);
    for sum in sums {
        let (mut given, mut counted) = (0, 0);
        loop {
            // The last part has whatever rounding left.
            let end = if part + 1 >= seen.len() { u64::MAX } else { ends[part] };
            let take = (sum.total_ns - given).min(end - at);
            given += take;
            at += take;
            let is_over = given == sum.total_ns;
            let count = if is_over { sum.count } else { in_proportion(sum.count, given, sum.total_ns) };
            if let Some(seen) = seen.get(part).filter(|_| take > 0 || count > counted) {
                shares.push(share(&sum, seen, take, count - counted));
            }
            counted = count;
            if is_over {
                break;
            }
            part += 1;
        }
    }
}

/// Where each part's share of `total` ends.
fn ends(seen: &[Seen], total: u64) -> Vec<u64> {
    let all: f64 = seen.iter().map(|seen| seen.weight).sum();
    let mut sum = 0.0;
    let end = |seen: &Seen| {
        sum += seen.weight;
        let share = if all > 0.0 { sum / all } else { 1.0 };
        ((total as f64 * share) as u64).min(total)
    };
    seen.iter().map(end).collect()
}

fn in_proportion(count: u64, part: u64, whole: u64) -> u64 {
    (u128::from(count) * u128::from(part) / u128::from(whole.max(1))) as u64
}

fn share(sum: &Sum, seen: &Seen, total_ns: u64, count: u64) -> Share {
    let Seen { kind, chain, owner, basis, after_wait, wait, drawn, .. } = *seen;
    let any_thread = sum.thread == ThreadId::SOME_VIRTUAL;
    let thread = if any_thread { seen.thread } else { sum.thread };
    let sum = Sum { thread, kind, chain, owner, basis, after_wait, total_ns, count, is_estimated: true, ..*sum };
    Share { sum, wait, drawn: Drawn { any_thread, ..drawn } }
}
