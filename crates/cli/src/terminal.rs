//! Where output goes: how wide it is, whether it takes colour, and how to
//! stop quietly when the reader (a pager, `head`) has gone.

use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal, Write};

/// Width used where output is not a terminal or does not say.
const DEFAULT_WIDTH: usize = 100;
/// Narrower than this nothing can be aligned.
const LEAST_WIDTH: usize = 60;

/// The measures and manners of one output stream.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns that fit in a line.
    pub width: usize,
    /// True if colour and other styling may be written.
    pub colour: bool,
    /// True if what is too long for a line is shortened. Not where output goes
    /// to a file or a program: there full names are worth more.
    pub cut: bool,
}

impl Screen {
    /// The screen behind standard output.
    pub fn stdout() -> Screen {
        Screen::of(&io::stdout())
    }

    /// The screen behind standard error.
    pub fn stderr() -> Screen {
        Screen::of(&io::stderr())
    }

    fn of(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Screen {
        let terminal = stream.is_terminal();
        let asked = columns_from_environment();
        let width = asked.or_else(|| terminal.then(|| columns_of(stream)).flatten()).unwrap_or(DEFAULT_WIDTH);
        Screen {
            width: width.max(LEAST_WIDTH),
            colour: terminal && colour_is_welcome(),
            cut: terminal || asked.is_some(),
        }
    }

    /// `text` in `style` where the screen takes styles.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Text that matters most in its place.
    pub fn strong(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Text that only accompanies.
    pub fn faint(&self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// Text that warns.
    pub fn warning(&self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// Text that tells of a failure.
    pub fn alarm(&self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }
}

/// Writes `text` to standard output.
///
/// # Errors
/// Those of writing, without the one that says that nobody reads any more.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to standard error. A failure there has nobody to tell.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn columns_from_environment() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|c| *c > 0)
}

fn columns_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(size.ws_col as usize)
}

fn colour_is_welcome() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !set("NO_COLOR") && std::env::var("TERM").map_or(true, |term| term != "dumb")
}
