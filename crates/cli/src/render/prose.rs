//! Sentences and names on lines of a limited width.

use crate::terminal::Screen;
use unicode_width::UnicodeWidthStr;

/// `text` broken at blanks into lines of at most `width` columns, each
/// indented. A word longer than a line stays whole: names are for copying.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.width() + 1 + word.width() > width {
            lines.push(format!("{:indent$}{line}", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(format!("{:indent$}{line}", ""));
    }
    lines
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
/// are shortened to their first letters from the left, and only what is still
/// too long loses its middle.
pub fn fitted(name: &str, width: usize, screen: &Screen) -> String {
    if !screen.cut || name.width() <= width {
        return name.to_owned();
    }
    let mut fitted = name.to_owned();
    while fitted.width() > width {
        match shorten_first_package(&fitted) {
            Some(shorter) => fitted = shorter,
            None => return without_middle(&fitted, width),
        }
    }
    fitted
}

/// `com.acme.Shop.sell` becomes `c.acme.Shop.sell`; `None` when all that is
/// lower-case and followed by a dot has one letter.
fn shorten_first_package(name: &str) -> Option<String> {
    let mut start = 0;
    for part in name.split_inclusive(['.', '/', '(', ' ', '@']) {
        let package = part.strip_suffix('.')?;
        let is_package = package.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if is_package && package.len() > 1 {
            let rest = name.get(start + package.len()..)?;
            return Some(format!("{}{}{rest}", name.get(..start)?, package.get(..1)?));
        }
        if !is_package {
            return None;
        }
        start += part.len();
    }
    None
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
    }

    #[test]
    fn packages_go_first_and_from_the_left() {
        let name = "com.acme.shop.Inventory.rebuildIndex";
        assert_eq!(fitted(name, 40, &NARROW), name);
        assert_eq!(fitted(name, 34, &NARROW), "c.acme.shop.Inventory.rebuildIndex");
        assert_eq!(fitted(name, 30, &NARROW), "c.a.s.Inventory.rebuildIndex");
        assert_eq!(fitted(name, 16, &NARROW), "c.a.s…buildIndex");
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
