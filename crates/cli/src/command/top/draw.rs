//! The picture on the terminal. Bold, dim, reverse and two of the terminal's
//! own colours, so that it reads on light and on dark.

use super::method_name::short;
use super::state::State;
use crate::render::numbers;
use headway_analysis::pressure::live::{LiveLock, LivePark, Picture};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::Frame;

/// Narrower terminals show fewer columns of history.
const WIDE: u16 = 120;
/// Lines for the call stacks of a lock.
const DETAIL_LINES: u16 = 9;

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const IN_PHASE: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let details = if state.details && !state.parks { DETAIL_LINES } else { 0 };
    let areas: [Rect; 4] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Min(2),
        Constraint::Length(details),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let [heading, table, chains, keys] = areas;
    frame.render_widget(Paragraph::new(heading_lines(state, heading.width)), heading);
    match (&state.picture, state.parks) {
        (None, _) => frame.render_widget(Paragraph::new("waiting for the first interval to end ..."), table),
        (Some(_), true) => parks(frame, state, table),
        (Some(_), false) => locks(frame, state, table),
    }
    if details > 0 {
        frame.render_widget(Paragraph::new(chain_lines(state)), chains);
    }
    frame.render_widget(Paragraph::new(keys_line(state)), keys);
}

fn heading_lines(state: &State, width: u16) -> Vec<Line<'static>> {
    // What must be seen comes before the program's name, which may be long.
    let mut title = vec![Span::styled("headway top", STRONG)];
    if state.paused {
        title.push(Span::styled("  paused", IN_PHASE));
    }
    let dropped = state.picture.as_ref().map_or(0, |picture| picture.dropped);
    if dropped > 0 {
        title.push(Span::styled(format!("  {} dropped", numbers::grouped(dropped)), IN_PHASE));
    }
    let every = state.picture.as_ref().map(|picture| format!("  every {}", numbers::time(picture.interval_ns)));
    let taken = Line::from(title.clone()).width() + every.as_ref().map_or(0, String::len) + 2;
    let name = without_middle(&state.title, usize::from(width).saturating_sub(taken));
    title.push(Span::styled(format!("  {name}"), STRONG));
    let Some(picture) = &state.picture else { return vec![Line::from(title)] };
    title.extend(every.map(|every| Span::styled(every, FAINT)));
    vec![Line::from(title), threads_line(picture), pressure_line(picture, width)]
}

/// A process's id and a path: begin and end say most.
fn without_middle(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let begin = text.chars().take(kept / 3);
    begin.chain(std::iter::once('…')).chain(text.chars().skip(length - (kept - kept / 3))).collect()
}

fn threads_line(picture: &Picture) -> Line<'static> {
    let threads = &picture.threads;
    let counts = [
        (threads.running, "running"),
        (threads.blocked, "blocked"),
        (threads.parked, "parked"),
        (threads.waiting, "waiting"),
        (threads.sleeping, "sleeping"),
    ];
    let counts: Vec<String> = counts.iter().map(|(count, what)| format!("{count} {what}")).collect();
    Line::from(format!("threads: {}", counts.join(", ")))
}

fn pressure_line(picture: &Picture, width: u16) -> Line<'static> {
    let text = format!("all locks: {:>7} of the running time  ", numbers::percent(picture.csp));
    let room = usize::from(width).saturating_sub(text.len());
    Line::from(vec![Span::raw(text), Span::raw(history(&picture.history, room))])
}

/// The newest intervals that fit, scaled to the highest of them.
fn history(pressures: &[f32], room: usize) -> String {
    let newest = pressures.get(pressures.len().saturating_sub(room)..).unwrap_or_default();
    let peak = newest.iter().copied().fold(0.0, f32::max);
    let level = |pressure: &f32| numbers::level(if peak > 0.0 { f64::from(pressure / peak) } else { 0.0 });
    newest.iter().map(level).collect()
}

/// Columns of a table: fixed ones, and names that share the rest.
struct Columns {
    history: usize,
    lock: usize,
    method: usize,
}

impl Columns {
    fn of(width: u16) -> Columns {
        let width = usize::from(width);
        let history = if width < usize::from(WIDE) { 12 } else { 30 };
        let rest = width.saturating_sub(8 + 8 + history + 5);
        Columns { history, lock: rest * 4 / 10, method: rest * 3 / 10 }
    }
}

fn locks(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let columns = Columns::of(area.width);
    let widths = [8, 8, columns.history, columns.lock, columns.method, columns.method];
    let widths = widths.map(|width| Constraint::Length(width as u16));
    let now = format!("{:>7}", "now");
    let header = [now.as_str(), "    max", "history", "lock", "owned by", "blocked in"].map(str::to_owned);
    let rows: Vec<Row<'_>> = state.locks().into_iter().map(|lock| lock_row(lock, &columns)).collect();
    let note = rows.is_empty().then_some("no thread was blocked acquiring a lock");
    let table = Table::new(rows, widths).header(Row::new(header).style(FAINT)).row_highlight_style(chosen_style());
    let mut chosen = TableState::new().with_selected(state.chosen());
    frame.render_stateful_widget(table, area, &mut chosen);
    say(frame, note, area);
}

fn lock_row<'a>(lock: &LiveLock, columns: &Columns) -> Row<'a> {
    let style = if lock.phase_ns.is_some() { IN_PHASE } else { Style::new() };
    Row::new([
        Cell::from(format!("{:>7}", numbers::percent(lock.csp))).style(style),
        Cell::from(format!("{:>7}", numbers::percent(lock.csp_peak))),
        Cell::from(history(&lock.history, columns.history)),
        Cell::from(crate::render::prose_fitted(&lock.name, columns.lock)).style(style),
        Cell::from(short(&lock.owner_method, columns.method)),
        Cell::from(short(&lock.waiter_method, columns.method)),
    ])
}

fn parks(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rest = area.width.saturating_sub(4 * 11 + 5);
    let widths = [11, 11, 11, 11, rest].map(Constraint::Length);
    let header = ["times", "now", "peak", "time", "blocker"].map(|text| match text {
        "blocker" => text.to_owned(),
        text => format!("{text:>10}"),
    });
    let rows: Vec<Row<'_>> = state.parked().into_iter().map(|park| park_row(park, rest)).collect();
    let note = rows.is_empty().then_some("no park was recorded");
    let table = Table::new(rows, widths).header(Row::new(header).style(FAINT)).row_highlight_style(chosen_style());
    let mut chosen = TableState::new().with_selected(state.chosen());
    frame.render_stateful_widget(table, area, &mut chosen);
    say(frame, note, area);
}

fn park_row<'a>(park: &LivePark, room: u16) -> Row<'a> {
    let figure = |text: String| Cell::from(format!("{text:>10}"));
    Row::new([
        figure(numbers::grouped(park.times_parked)),
        figure(numbers::grouped(park.parked_now)),
        figure(numbers::grouped(park.peak_parked)),
        figure(numbers::time(park.thread_time_ns)),
        Cell::from(crate::render::prose_fitted(&park.name, usize::from(room))),
    ])
}

fn chosen_style() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// A line below the table's header.
fn say(frame: &mut Frame<'_>, note: Option<&str>, area: Rect) {
    if let Some(note) = note.filter(|_| area.height > 1) {
        let below = Rect { y: area.y + 1, height: 1, ..area };
        frame.render_widget(Paragraph::new(note.to_owned()), below);
    }
}

fn chain_lines(state: &State) -> Vec<Line<'static>> {
    let locks = state.locks();
    let Some(lock) = locks.get(state.chosen()) else { return Vec::new() };
    let mut lines = vec![Line::styled(format!("{} ({})", lock.name, lock.class), STRONG)];
    for (what, chain) in [("owned by", &lock.owner_stack), ("blocked in", &lock.waiter_stack)] {
        let frames = usize::from(DETAIL_LINES) / 2 - 1;
        lines.extend(chain.iter().take(frames).enumerate().map(|(nth, frame)| {
            let what = if nth == 0 { what } else { "" };
            Line::from(vec![Span::styled(format!("{what:>10}  "), FAINT), Span::raw(frame.clone())])
        }));
    }
    lines
}

fn keys_line(state: &State) -> Line<'static> {
    if state.typing {
        return Line::from(format!("filter: {}_", state.filter));
    }
    let filter = match state.filter.as_str() {
        "" => String::new(),
        filter => format!("  [{filter}]"),
    };
    let other = if state.parks { "locks" } else { "parks" };
    let keys = format!("q quit  p pause  s sort: {}  / filter{filter}  enter stacks  k {other}", state.sort.name());
    Line::styled(keys, FAINT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::pressure::live::ThreadCounts;
    use ratatui::backend::TestBackend;
    use ratatui::termion::event::Key;
    use ratatui::Terminal;

    fn state() -> State {
        let lock = LiveLock {
            name: "Inventory.lock".into(),
            class: "com.acme.Inventory".into(),
            csp: 0.48,
            csp_peak: 0.52,
            history: vec![0.0, 0.26, 0.52, 0.48],
            phase_ns: Some(2_000_000_000),
            owner_method: "com.acme.Inventory.rebuildIndex".into(),
            waiter_method: "com.acme.Server.handle".into(),
            owner_stack: vec!["com.acme.Inventory.rebuildIndex:88".into()],
            waiter_stack: vec!["com.acme.Server.handle:12".into()],
            ..LiveLock::default()
        };
        let picture = Picture {
            interval_ns: 1_000_000_000,
            intervals: 4,
            csp: 0.48,
            history: vec![0.0, 0.26, 0.52, 0.48],
            threads: ThreadCounts { running: 3, blocked: 2, parked: 1, waiting: 4, sleeping: 5 },
            locks: vec![lock],
            parks: vec![LivePark { name: "CountDownLatch$Sync@1f".into(), times_parked: 1234, ..LivePark::default() }],
            ..Picture::default()
        };
        let mut state = State::new("4711 com.acme.Main");
        state.picture = Some(picture);
        state
    }

    fn drawn(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let lines = buffer.content().chunks(usize::from(width));
        let text = |line: &[ratatui::buffer::Cell]| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
        lines.map(|line| text(line).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn eighty_columns_hold_everything_that_matters() {
        let shown = drawn(&state(), 80, 7);
        let expected = "\
headway top  4711 com.acme.Main  every 1.00 s
threads: 3 running, 2 blocked, 1 parked, 4 waiting, 5 sleeping
all locks:    48 % of the running time  ▁▅█▇
    now      max  history      lock               owned by       blocked in
   48 %     52 %  ▁▅█▇         Inventory.lock     Inven…ildIndex Server.handle

q quit  p pause  s sort: now  / filter  enter stacks  k parks
";
        assert_eq!(shown, expected, "\n{shown}");
    }

    #[test]
    fn a_long_name_leaves_room_for_the_interval() {
        let mut state = state();
        state.title = format!("4711 /srv/{}/shop.jar", "deep/".repeat(30));
        let shown = drawn(&state, 80, 7);
        let heading = shown.lines().next().unwrap();
        assert!(heading.starts_with("headway top  4711") && heading.ends_with("  every 1.00 s"), "{heading}");
        assert!(heading.contains("shop.jar"), "{heading}");
    }

    #[test]
    fn wide_terminals_show_whole_names_and_chains_on_a_key() {
        let mut state = state();
        state.key(Key::Char('\n'));
        let shown = drawn(&state, 200, 24);
        assert!(shown.contains("Inventory.rebuildIndex"), "{shown}");
        assert!(shown.contains("  owned by  com.acme.Inventory.rebuildIndex:88\n"), "{shown}");
        assert!(shown.contains("blocked in  com.acme.Server.handle:12\n"), "{shown}");
    }

    #[test]
    fn parks_are_a_key_away() {
        let mut state = state();
        state.key(Key::Char('k'));
        let shown = drawn(&state, 80, 8);
        assert!(shown.contains("     1,234           0           0        0 ns  CountDownLatch$Sync@1f"), "{shown}");
        assert!(shown.contains("k locks"), "{shown}");
    }

    #[test]
    fn before_the_first_interval_it_says_so_and_tiny_terminals_do_no_harm() {
        assert!(drawn(&State::new("1"), 80, 24).contains("waiting for the first interval"));
        for (width, height) in [(1, 1), (10, 3), (80, 4)] {
            drawn(&state(), width, height);
        }
    }
}
