//! Where output goes: how wide it is, whether it takes colour, and how to
//! stop quietly when the reader (a pager, `head`) has gone.

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use headway_model::printable::{is_printable, printable};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

/// Width used where output is not a terminal or does not say.
const DEFAULT_WIDTH: usize = 100;
/// Narrower than this nothing can be aligned.
const LEAST_WIDTH: usize = 60;

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// What `--color` said; once, before anything is written.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets when output has colours. Only the first call counts.
pub fn choose_colours(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

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
            colour: match CHOICE.get().copied().unwrap_or_default() {
                ColorChoice::Auto => terminal && colour_is_welcome(),
                ColorChoice::Always => true,
                ColorChoice::Never => false,
            },
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

    /// Text that reports a failure.
    pub fn alarm(&self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }
}

/// Writes text to standard output. Names in it must have been made printable;
/// what is left of control characters besides ours (line feeds, colours) is
/// replaced here.
///
/// # Errors
/// Those of writing, without the one that says that nobody reads any more.
pub fn print(text: &str) -> io::Result<()> {
    write_out(&defused(text))
}

/// Writes a JSON document to standard output, every character that a terminal
/// could obey as an escape, so that nothing disappears.
///
/// # Errors
/// As [`print`].
pub fn print_json(document: &str) -> io::Result<()> {
    write_out(&escaped(document))
}

/// A text of several lines in which only line feeds, tabulators (of scripts),
/// colours of ours and what can be printed is left.
fn defused(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| matches!(c, '\n' | '\t') || is_printable(c);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut defused = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| !harmless(c)) {
        let (before, from) = rest.split_at(at);
        defused.push_str(before);
        let length = style_length(from).unwrap_or(0);
        let (style, after) = from.split_at(length);
        defused.push_str(style);
        rest = after;
        if length == 0 {
            let mut characters = from.chars();
            defused.extend(characters.next().map(|c| printable(c.encode_utf8(&mut [0; 4])).into_owned()));
            rest = characters.as_str();
        }
    }
    defused.push_str(rest);
    Cow::Owned(defused)
}

/// A text without colours and styles of ours.
pub fn without_styles(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let (style, after) = from.split_at(style_length(from).unwrap_or(1));
        if style.len() == 1 {
            plain.push_str(style);
        }
        rest = after;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The length of the colour or style that the text begins with.
fn style_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters.get(end..)?.starts_with('m').then_some("\u{1b}[".len() + end + 1)
}

/// JSON has such characters in its strings only (and line feeds between them).
fn escaped(document: &str) -> Cow<'_, str> {
    let harmless = |c: char| c == '\n' || is_printable(c);
    if document.chars().all(harmless) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        match harmless(character) {
            true => escaped.push(character),
            false => character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(escaped, "\\u{unit:04x}");
            }),
        }
    }
    Cow::Owned(escaped)
}

fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to standard error. A failure there has nobody to read of it.
pub fn note(line: &str) {
    note_lines(&line.replace('\n', "\u{fffd}"));
}

/// Writes a text of several lines, in which names are printable, to standard
/// error.
pub fn note_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", defused(text));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_styles_reach_the_terminal() {
        let screen = Screen { width: 80, colour: true, cut: true };
        let ours = format!("{}\n", screen.alarm("headway:"));
        assert_eq!(defused(&ours), ours);
        assert_eq!(defused("a\u{1b}[2Jb\u{1b}]0;title\u{7}c\u{1b}"), "a\u{fffd}[2Jb\u{fffd}]0;title\u{fffd}c\u{fffd}");
        assert_eq!(defused("a\tb\rc\u{202e}d"), "a\tb\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn json_loses_nothing() {
        let name = "a\u{1b}[2J\n\u{9b}\u{202e}\u{e0001}\u{7f}\u{fc}";
        let document = serde_json::to_string_pretty(&[name]).expect("JSON");
        let printed = escaped(&document);
        assert!(printed.chars().all(|c| c == '\n' || is_printable(c)), "{printed}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&printed).expect("JSON"), [name]);
    }
}
