//! Sentences and names on lines of a limited width.

use crate::terminal::{self, Screen};
use std::io;
use unicode_width::UnicodeWidthStr;

/// Columns by which the further lines of a folded line stand behind its first.
const HANGING: usize = 4;

/// `text` broken at blanks into lines of at most `width` columns, each
/// indented. A word longer than a line stays whole: names are for copying. A
/// number stays with its unit.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let words = words(text).into_iter().map(|word| Word { gap: 1, ..word });
    broken(words, width, indent, indent)
}

/// A text of several lines, each of which is broken as [`wrapped`] does it where it is
/// wider than the screen and the screen's lines are cut. What is aligned in a line stays
/// so, and its further lines hang behind its first; both stand in the left half of the screen.
pub fn folded(text: &str, screen: &Screen) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let ended = line.strip_suffix('\n').unwrap_or(line);
        if !screen.cut || columns(ended) <= screen.width {
            out.push_str(line);
            continue;
        }
        let indent = (ended.len() - ended.trim_start_matches(' ').len()).min(screen.width / 2);
        let hanging = (indent + HANGING).min(screen.width / 2);
        let lines = broken(words(ended).into_iter(), screen.width, indent, hanging);
        out.push_str(&lines.join("\n"));
        out.push_str(line.get(ended.len()..).unwrap_or_default());
    }
    out
}

/// Writes sentences, and what is aligned in lines, [`folded`], to standard output.
///
/// # Errors
/// As [`terminal::print`].
pub fn print_folded(text: &str) -> io::Result<()> {
    terminal::print(&folded(text, &Screen::stdout()))
}

/// Lines of at most `width` columns: the first one indented by `indent`, the others by `hanging`.
fn broken(words: impl Iterator<Item = Word>, width: usize, indent: usize, hanging: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut length, mut margin) = (String::new(), 0, indent);
    for Word { gap, text } in words {
        let wide = columns(&text);
        if !line.is_empty() && margin + length + gap + wide > width {
            lines.push(format!("{}{line}", blanks(margin)));
            line.clear();
            (length, margin) = (0, hanging);
        }
        let gap = if line.is_empty() { 0 } else { gap };
        line.push_str(&blanks(gap));
        line.push_str(&text);
        length += gap + wide;
    }
    if !line.is_empty() {
        lines.push(format!("{}{line}", blanks(margin)));
    }
    lines
}

/// Not by a width in a format: one above 65,535 panics, and a text may begin with more blanks.
fn blanks(count: usize) -> String {
    " ".repeat(count)
}

/// `items` with commas between them, on lines that break between items only.
pub fn listed(items: &[String], width: usize, indent: usize) -> Vec<String> {
    let last = items.len().saturating_sub(1);
    let words = items.iter().enumerate().map(|(index, item)| {
        let comma = if index == last { "" } else { "," };
        Word { gap: 1, text: format!("{item}{comma}") }
    });
    broken(words, width, indent, indent)
}

/// Columns that a text takes: styles take none.
fn columns(text: &str) -> usize {
    terminal::without_styles(text).width()
}

/// At most `most` of the lines that [`wrapped`] gives, the last one ending in
/// an ellipsis where there are more; all of them where nothing is cut.
pub fn wrapped_at_most(most: usize, text: &str, indent: usize, screen: &Screen) -> Vec<String> {
    let mut lines = wrapped(text, screen.width, indent);
    if screen.cut && lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
    }
    lines
}

/// A word that stays whole, and the blanks in front of it.
struct Word {
    gap: usize,
    text: String,
}

fn words(text: &str) -> Vec<Word> {
    const UNITS: [&str; 5] = ["ns", "us", "ms", "s", "%"];
    let mut words: Vec<Word> = Vec::new();
    let mut gap = 0;
    for word in text.split(char::is_whitespace) {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.text.ends_with(|c: char| c.is_ascii_digit()) => {
                number.text.push(' ');
                number.text.push_str(word);
            }
            // `pid 4711`, `> 99 %`, `(< 0.1 %)`; frames of a stack have a `<` between them, too.
            Some(sign) if ["pid", ">", "(>", "<", "(<"].contains(&sign.text.as_str()) && starts_with_digit(word) => {
                sign.text.push(' ');
                sign.text.push_str(word);
            }
            _ => words.push(Word { gap, text: word.to_owned() }),
        }
        gap = 1;
    }
    words
}

fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Names between backticks shown strong; the backticks go where the screen
/// can show them otherwise.
pub fn with_names(text: &str, screen: &Screen) -> String {
    if !screen.colour {
        return text.to_owned();
    }
    let mut shown = String::new();
    for (index, part) in text.split('`').enumerate() {
        shown.push_str(&if index % 2 == 1 { screen.strong(part) } else { part.to_owned() });
    }
    shown
}

/// A name that fits `width` columns where the screen's lines are cut: packages
/// are shortened to their first letters from the left, then left out, and only what is
/// still too long loses its middle.
pub fn fitted(name: &str, width: usize, screen: &Screen) -> String {
    if !screen.cut || name.width() <= width {
        return name.to_owned();
    }
    let mut fitted = name.to_owned();
    while fitted.width() > width {
        match shorten_first_package(&fitted) {
            Some(shorter) => fitted = shorter,
            None => return without_middle(without_letters(&fitted), width),
        }
    }
    fitted
}

/// `com.acme.Shop.sell` becomes `c.acme.Shop.sell`: the first part in lower
/// case that a dot follows keeps its first letter only. `None` when there is
/// none that is longer.
fn shorten_first_package(name: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut start = 0;
    for (at, character) in name.char_indices() {
        if is_part(character) {
            continue;
        }
        let part = name.get(start..at)?;
        let is_package =
            part.len() > 1 && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if character == '.' && is_package {
            return Some(format!("{}{}{}", name.get(..start)?, part.get(..1)?, name.get(at..)?));
        }
        start = at + character.len_utf8();
    }
    None
}

/// `Inventory.rebuildIndex` of `c.a.s.Inventory.rebuildIndex`.
fn without_letters(name: &str) -> &str {
    let mut rest = name;
    while let Some((letter, behind)) = rest.split_once('.') {
        if letter.len() != 1 || !letter.starts_with(|c: char| c.is_ascii_lowercase()) {
            break;
        }
        rest = behind;
    }
    rest
}

fn without_middle(text: &str, width: usize) -> String {
    let keep = width.saturating_sub(1).max(2);
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= keep {
        return text.to_owned();
    }
    let tail = keep * 2 / 3;
    let head: String = characters.iter().take(keep - tail).collect();
    let tail: String = characters.iter().skip(characters.len() - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Screen = Screen { width: 80, colour: false, cut: true };

    #[test]
    fn sentences_break_at_blanks_only() {
        let lines = wrapped("threads spent 38 % on a.very.long.name.indeed there", 24, 2);
        assert_eq!(lines, ["  threads spent 38 % on", "  a.very.long.name.indeed", "  there"]);
        assert!(wrapped("", 24, 2).is_empty());
        assert_eq!(wrapped("in all it took 3.09 s, then", 20, 0), ["in all it took", "3.09 s, then"]);
        assert_eq!(wrapped("that much of it: > 99 % is it", 20, 0), ["that much of it:", "> 99 % is it"]);
    }

    #[test]
    fn only_wide_lines_are_folded_and_what_is_aligned_stays_so() {
        let narrow = Screen { width: 40, ..NARROW };
        let text =
            "Mechanisms\n  walker   active    compares its stacks in 0.5 ms with those of the VM\n  owners   off\n";
        let lines = [
            "Mechanisms",
            "  walker   active    compares its stacks",
            "      in 0.5 ms with those of the VM",
            "  owners   off",
            "",
        ];
        assert_eq!(folded(text, &narrow), lines.join("\n"));
        assert_eq!(folded(text, &Screen { cut: false, ..narrow }), text);
        let colourful = Screen { colour: true, width: 12, ..NARROW };
        let painted = format!("{} is {}", colourful.strong("four"), colourful.alarm("five"));
        assert_eq!(folded(&painted, &colourful), painted, "styles take no columns");
    }

    #[test]
    fn a_text_of_very_many_blanks_is_folded_like_any_other() {
        let blank = " ".repeat(100_000);
        let text = format!("{blank}a note{blank}that goes on\n{blank}\n");
        for (width, lines) in [
            (0, "a\nnote\nthat\ngoes\non\n\n"),
            (1, "a\nnote\nthat\ngoes\non\n\n"),
            (20, "          a note\n          that goes\n          on\n\n"),
        ] {
            assert_eq!(folded(&text, &Screen { width, ..NARROW }), lines, "{width} columns");
        }
        assert_eq!(folded(&text, &Screen { cut: false, ..NARROW }), text);
    }

    #[test]
    fn long_lists_end_in_an_ellipsis_where_lines_are_cut() {
        let narrow = Screen { width: 12, ..NARROW };
        assert_eq!(wrapped_at_most(2, "a.B < c.D < e.F < g.H", 0, &narrow), ["a.B < c.D <", "e.F < g.H"]);
        assert_eq!(wrapped_at_most(1, "a.B < c.D < e.F < g.H", 0, &narrow), ["a.B < c.D < …"]);
        let wide = Screen { cut: false, ..narrow };
        assert_eq!(wrapped_at_most(1, "a.B < c.D < e.F < g.H", 0, &wide).len(), 2);
    }

    #[test]
    fn packages_go_first_and_from_the_left() {
        let name = "com.acme.shop.Inventory.rebuildIndex";
        assert_eq!(fitted(name, 40, &NARROW), name);
        assert_eq!(fitted(name, 34, &NARROW), "c.acme.shop.Inventory.rebuildIndex");
        assert_eq!(fitted(name, 30, &NARROW), "c.a.s.Inventory.rebuildIndex");
        assert_eq!(fitted(name, 24, &NARROW), "Inventory.rebuildIndex");
        assert_eq!(fitted(name, 16, &NARROW), "Inven…buildIndex");
        assert_eq!(fitted("Hold.lock (java.lang.Object@1f)", 26, &NARROW), "Hold.lock (j.l.Object@1f)");
    }

    #[test]
    fn nothing_is_cut_where_lines_may_be_long() {
        let wide = Screen { cut: false, ..NARROW };
        assert_eq!(fitted("com.acme.shop.Inventory", 5, &wide), "com.acme.shop.Inventory");
    }

    #[test]
    fn names_stand_out_where_they_can() {
        let colourful = Screen { colour: true, ..NARROW };
        assert_eq!(with_names("on `a.B`", &NARROW), "on `a.B`");
        assert_eq!(with_names("on `a.B`", &colourful), "on \u{1b}[1ma.B\u{1b}[0m");
    }
}
