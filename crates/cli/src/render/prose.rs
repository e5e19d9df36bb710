//! Sentences and names on lines of a limited width.

use crate::terminal::Screen;
use unicode_width::UnicodeWidthStr;

/// `text` broken at blanks into lines of at most `width` columns, each
/// indented. A word longer than a line stays whole: names are for copying. A
/// number stays with its unit.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        if !line.is_empty() && indent + line.width() + 1 + word.width() > width {
            lines.push(format!("{:indent$}{line}", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(format!("{:indent$}{line}", ""));
    }
    lines
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

fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 5] = ["ns", "us", "ms", "s", "%"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            // `> 99 %`, `(< 0.1 %)`; frames of a stack have a `<` between them, too.
            Some(sign) if [">", "(>", "<", "(<"].contains(&sign.as_str()) && starts_with_digit(word) => {
                sign.push(' ');
                sign.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
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
