//! One clock for a recording whose chunks each bring the wall clock's time.

use super::plan::Ticks;
use crate::header::ChunkHeader;
use headway_model::TimeNs;

/// How far the wall clock may run from the ticks between two chunks without having been
/// set: clocks are slewed by half a millisecond a second at most.
const SET_NS: u64 = 50_000_000;
/// A chunk further from where its ticks put it than this counts other ticks.
const OTHER_TICKS_NS: u64 = 10 * 365 * 24 * 3600 * 1_000_000_000;

/// The wall clock was set between two chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockJump {
    /// When the later chunk begins, on the recording's one clock.
    pub at: TimeNs,
    /// By how much the wall clock moved, beyond what had passed; negative if it was set back.
    pub by_ns: i64,
}

/// Places chunks by the first one's clock.
#[derive(Debug, Default)]
pub(super) struct OneClock {
    first: Option<ChunkHeader>,
    /// How far the wall clock was from the first chunk's at the latest chunk.
    ahead_ns: i64,
    jumps: Vec<ClockJump>,
}

impl OneClock {
    /// Moves a chunk's first moment to where its ticks put it.
    pub(super) fn place(&mut self, header: &mut ChunkHeader) {
        let Some(first) = self.first.filter(|first| first.frequency == header.frequency) else {
            self.first.get_or_insert(*header);
            return;
        };
        let placed = Ticks::new(&first).time(header.start_ticks);
        let ahead = header.start_nanos.wrapping_sub(placed) as i64;
        if ahead.unsigned_abs() > OTHER_TICKS_NS {
            return;
        }
        let by_ns = ahead - self.ahead_ns;
        if by_ns.unsigned_abs() > SET_NS {
            self.jumps.push(ClockJump { at: TimeNs(placed), by_ns });
        }
        self.ahead_ns = ahead;
        header.start_nanos = placed;
    }

    pub(super) fn jumps(&self) -> &[ClockJump] {
        &self.jumps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(start_nanos: u64, start_ticks: u64) -> ChunkHeader {
        ChunkHeader { start_nanos, start_ticks, frequency: 1_000_000_000, ..ChunkHeader::default() }
    }

    #[test]
    fn chunks_stand_where_their_ticks_put_them() {
        const SECOND: u64 = 1_000_000_000;
        let mut clock = OneClock::default();
        // The wall clock is slewed a little, then set back by an hour, then stays there.
        let wall = [10_000 * SECOND, 10_060 * SECOND + 1_000, 6_520 * SECOND, 6_580 * SECOND];
        let ticks = [5 * SECOND, 65 * SECOND, 125 * SECOND, 185 * SECOND];
        let placed: Vec<u64> = wall
            .into_iter()
            .zip(ticks)
            .map(|(wall, ticks)| {
                let mut header = chunk(wall, ticks);
                clock.place(&mut header);
                header.start_nanos / SECOND
            })
            .collect();
        assert_eq!(placed, [10_000, 10_060, 10_120, 10_180]);
        let jumps = [ClockJump { at: TimeNs(10_120 * SECOND), by_ns: -3_600_000_001_000 }];
        assert_eq!(clock.jumps(), jumps);
    }

    #[test]
    fn a_chunk_of_other_ticks_keeps_its_place() {
        let mut clock = OneClock::default();
        clock.place(&mut chunk(1_700_000_000_000_000_000, 5));
        let mut other = chunk(1_700_000_060_000_000_000, 1_600_000_000_000_000_000);
        clock.place(&mut other);
        assert_eq!(other.start_nanos, 1_700_000_060_000_000_000);
        assert!(clock.jumps().is_empty());
    }
}
