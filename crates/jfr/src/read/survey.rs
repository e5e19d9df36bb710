//! What a chunk consists of, found by walking over all its events once.

use super::cursor::Cursor;
use super::window::{Next, Window};

/// Events of one type whose places are noted; of a type with more of them, those
/// who want them all walk over the chunk again.
const RARE: u32 = 4096;
/// Types with larger numbers are not counted. No maker of recordings has so many.
const MOST_TYPES: u64 = 1 << 16;

/// Where a chunk's parts are. The offsets in the header are not needed for that,
/// so neither a torn nor an unfinished chunk is a special case.
#[derive(Default)]
pub(crate) struct Survey {
    /// The last description of the types.
    pub(crate) metadata: Option<u64>,
    /// Where there are constants.
    pub(crate) checkpoints: Vec<u64>,
    /// How many events there are, by number of their type.
    counts: Vec<u32>,
    /// Type and place of each event of a rare type, in the chunk's order; of
    /// others, of the first ones.
    rare: Vec<(u64, u64)>,
}

impl Survey {
    /// Walks over a chunk.
    pub(crate) fn of(window: &mut Window) -> Survey {
        let mut survey = Survey::default();
        window.rewind();
        while let Next::Event { at, ty, .. } = window.next() {
            match ty {
                0 => survey.metadata = Some(at),
                1 => survey.checkpoints.push(at),
                _ => survey.note(ty, at),
            }
        }
        survey
    }

    #[inline]
    fn note(&mut self, ty: u64, at: u64) {
        let number = ty as usize;
        if number >= self.counts.len() {
            if ty >= MOST_TYPES {
                return;
            }
            self.counts.resize(number + 1, 0);
        }
        let Some(count) = self.counts.get_mut(number) else { return };
        *count = count.saturating_add(1);
        if *count <= RARE {
            self.rare.push((ty, at));
        }
    }

    fn count(&self, ty: u64) -> Option<u32> {
        (ty < MOST_TYPES).then(|| self.counts.get(ty as usize).copied().unwrap_or(0))
    }

    /// True if there is, or may be, an event of the type.
    pub(crate) fn saw(&self, ty: u64) -> bool {
        self.count(ty).is_none_or(|count| count > 0)
    }

    /// Where the events of some types are, in the chunk's order.
    pub(crate) fn places_of(self, types: &[u64], window: &mut Window) -> Vec<u64> {
        if types.iter().all(|ty| self.count(*ty).is_some_and(|count| count <= RARE)) {
            return self.rare.into_iter().filter(|(ty, _)| types.contains(ty)).map(|(_, at)| at).collect();
        }
        let mut places = Vec::new();
        window.rewind();
        while let Next::Event { at, ty, .. } = window.next() {
            if types.contains(&ty) {
                places.push(at);
            }
        }
        places
    }
}

/// The event at an offset that was surveyed.
pub(crate) fn body_at(window: &mut Window, at: u64) -> Option<Cursor<'_>> {
    window.seek(at);
    match window.next() {
        Next::Event { body, .. } => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Encoder;
    use crate::header::{ChunkHeader, COMPRESSED_INTS, HEADER_SIZE};
    use crate::read::window::Body;

    /// A chunk of events without contents, of these types.
    fn window(types: &[u64]) -> Window {
        let mut encoder = Encoder { bytes: vec![0; HEADER_SIZE] };
        for ty in types {
            let mut number = Encoder::default();
            number.varint(*ty);
            encoder.varint(1 + number.bytes.len() as u64);
            encoder.bytes.extend(number.bytes);
        }
        let header = ChunkHeader { flags: COMPRESSED_INTS, ..ChunkHeader::default() };
        Window::new(Body::Memory(encoder.bytes), &header)
    }

    fn types_at(window: &mut Window, places: &[u64]) -> Vec<u64> {
        let mut types = Vec::new();
        for at in places {
            window.seek(*at);
            if let Next::Event { ty, .. } = window.next() {
                types.push(ty);
            }
        }
        types
    }

    #[test]
    fn rare_and_frequent_events_are_found_in_their_order() {
        let mut types = vec![0, 1, 7, 9, 7, 1, 1 << 40];
        types.extend(std::iter::repeat_n(8, RARE as usize + 1));
        types.push(7);
        let mut window = window(&types);
        let survey = || Survey::of(&mut self::window(&types));
        assert_eq!((survey().metadata.is_some(), survey().checkpoints.len()), (true, 2));
        for (wanted, count) in [(vec![7, 9], 4), (vec![8], RARE as usize + 1), (vec![8, 7], RARE as usize + 4)] {
            let places = survey().places_of(&wanted, &mut window);
            let found = types_at(&mut window, &places);
            let expected: Vec<u64> = types.iter().copied().filter(|ty| wanted.contains(ty)).collect();
            assert_eq!((found.len(), &found), (count, &expected));
        }
        assert_eq!(survey().places_of(&[1 << 40], &mut window).len(), 1);
        assert_eq!([7, 8, 1 << 40, 3].map(|ty| survey().saw(ty)), [true, true, true, false]);
    }
}
