//! What is shown, and what keys do to it.

use headway_analysis::pressure::live::{LiveLock, LivePark, Picture};
use ratatui::termion::event::Key;

/// What locks are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Pressure in the last interval.
    Now,
    /// Highest pressure so far.
    Max,
    /// Time spent acquiring so far.
    Total,
    /// Name.
    Name,
}

impl Sort {
    /// The word in the heading.
    pub const fn name(self) -> &'static str {
        match self {
            Sort::Now => "now",
            Sort::Max => "max",
            Sort::Total => "total",
            Sort::Name => "name",
        }
    }

    const fn next(self) -> Sort {
        match self {
            Sort::Now => Sort::Max,
            Sort::Max => Sort::Total,
            Sort::Total => Sort::Name,
            Sort::Name => Sort::Now,
        }
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub struct State {
    /// Process and main class.
    pub title: String,
    /// The last picture; `None` before the first interval is over.
    pub picture: Option<Picture>,
    /// True while new pictures are let go by.
    pub paused: bool,
    /// What locks are sorted by.
    pub sort: Sort,
    /// Only names with this in them.
    pub filter: String,
    /// True while the filter is being typed.
    pub typing: bool,
    /// True if parks are shown instead of locks.
    pub parks: bool,
    /// True if the chosen lock's call chains are shown.
    pub details: bool,
    chosen: usize,
}

impl State {
    /// Nothing known yet.
    pub fn new(title: &str) -> State {
        State {
            title: title.to_owned(),
            picture: None,
            paused: false,
            sort: Sort::Now,
            filter: String::new(),
            typing: false,
            parks: false,
            details: false,
            chosen: 0,
        }
    }

    /// Locks in the order shown.
    pub fn locks(&self) -> Vec<&LiveLock> {
        let mut locks: Vec<&LiveLock> = self.picture.iter().flat_map(|picture| &picture.locks).collect();
        locks.retain(|lock| self.fits(&[&lock.name, &lock.class, &lock.owner_method, &lock.waiter_method]));
        locks.sort_by(|a, b| match self.sort {
            Sort::Now => b.csp.total_cmp(&a.csp),
            Sort::Max => b.csp_peak.total_cmp(&a.csp_peak),
            Sort::Total => b.acquiring_ns.cmp(&a.acquiring_ns),
            Sort::Name => a.name.cmp(&b.name),
        });
        locks
    }

    /// Blockers in the order shown.
    pub fn parked(&self) -> Vec<&LivePark> {
        let parks = self.picture.iter().flat_map(|picture| &picture.parks);
        parks.filter(|park| self.fits(&[&park.name, &park.class])).collect()
    }

    fn fits(&self, texts: &[&str]) -> bool {
        let wanted = self.filter.to_lowercase();
        texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    /// Which row is chosen.
    pub fn chosen(&self) -> usize {
        let rows = if self.parks { self.parked().len() } else { self.locks().len() };
        self.chosen.min(rows.saturating_sub(1))
    }

    /// A key was typed; false if it was the last one.
    pub fn key(&mut self, key: Key) -> bool {
        match key {
            Key::Ctrl('c') => return false,
            key if self.typing => self.type_filter(key),
            Key::Char('q') => return false,
            Key::Char('p' | ' ') => self.paused = !self.paused,
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char('k') => self.parks = !self.parks,
            Key::Char('/') => self.typing = true,
            Key::Char('\n') => self.details = !self.details,
            Key::Esc => self.filter.clear(),
            Key::Down => self.chosen = self.chosen() + 1,
            Key::Up => self.chosen = self.chosen().saturating_sub(1),
            _ => {}
        }
        true
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char('\n') => self.typing = false,
            Key::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Char(letter) => self.filter.push(letter),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let lock = |name: &str, csp, csp_peak, acquiring_ns| LiveLock {
            name: name.into(),
            csp,
            csp_peak,
            acquiring_ns,
            ..LiveLock::default()
        };
        let locks = vec![lock("b", 0.1, 0.9, 5), lock("a", 0.3, 0.3, 7), lock("Cart", 0.2, 0.5, 9)];
        State { picture: Some(Picture { locks, ..Picture::default() }), ..State::new("1") }
    }

    fn names(state: &State) -> Vec<String> {
        state.locks().iter().map(|lock| lock.name.clone()).collect()
    }

    #[test]
    fn s_goes_through_the_orders() {
        let mut state = state();
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.push(names(&state).join(" "));
            state.key(Key::Char('s'));
        }
        assert_eq!(seen, ["a Cart b", "b Cart a", "Cart a b", "Cart a b", "a Cart b"]);
    }

    #[test]
    fn a_filter_is_typed_and_taken_back() {
        let mut state = state();
        for key in "/cax".chars() {
            assert!(state.key(Key::Char(key)));
        }
        assert!(names(&state).is_empty());
        state.key(Key::Backspace);
        // While it is typed, letters are no commands.
        assert!(state.key(Key::Char('r')) && state.typing);
        state.key(Key::Char('\n'));
        assert_eq!(names(&state), ["Cart"]);
        state.key(Key::Esc);
        assert_eq!(names(&state).len(), 3);
    }

    #[test]
    fn the_choice_stays_among_the_rows() {
        let mut state = state();
        for _ in 0..9 {
            state.key(Key::Down);
        }
        assert_eq!(state.chosen(), 2);
        state.key(Key::Up);
        assert_eq!(state.chosen(), 1);
        assert!(!state.key(Key::Char('q')));
    }
}
