//! Who publishes a release: `dist/publisher.toml`, the only place where that is said.

use crate::process::root;
use crate::Problem;
use serde::Deserialize;
use std::fs;

const FILE: &str = "dist/publisher.toml";

/// What RFC 2606 keeps free for examples: such a name claims nothing.
const RESERVED: [&str; 2] = [".example", ".invalid"];

/// See the file's head.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publisher {
    pub name: String,
    pub email: String,
    /// The address of the project's pages.
    pub home: String,
}

impl Publisher {
    /// Reads the file.
    pub fn of_checkout() -> Result<Publisher, Problem> {
        let text = fs::read_to_string(root().join(FILE)).map_err(|e| format!("cannot read {FILE}: {e}"))?;
        Publisher::parse(&text)
    }

    fn parse(text: &str) -> Result<Publisher, Problem> {
        let publisher: Publisher = toml::from_str(text).map_err(|e| format!("cannot read {FILE}: {e}"))?;
        // They are put into XML and into lines of a package's description.
        let is_plain =
            |value: &str| !value.is_empty() && !value.contains(|c: char| c.is_control() || "<>&\"'".contains(c));
        let values = [(&publisher.name, 0), (&publisher.email, 1), (&publisher.home, 0)];
        match values.iter().find(|(value, ats)| !is_plain(value) || value.matches('@').count() != *ats) {
            Some((value, _)) => Err(format!("{FILE}: \"{value}\" is no name or address").into()),
            None => Ok(publisher),
        }
    }

    /// A sentence, where the names are still those that belong to nobody.
    pub fn note(&self) -> Option<String> {
        let is_reserved = |value: &str| RESERVED.iter().any(|end| value.trim_end_matches('/').ends_with(end));
        (is_reserved(&self.email) || is_reserved(&self.home)).then(|| {
            format!(
                "The packages name {} and {}, which belong to nobody: set {FILE} before they are published.",
                self.email, self.home
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_names_a_publisher_or_says_that_it_does_not() {
        let publisher = Publisher::of_checkout().unwrap();
        let claims_nothing = publisher.home.ends_with(".example") && publisher.email.ends_with(".example");
        assert_eq!(publisher.note().is_some(), claims_nothing, "{publisher:?}");
    }

    #[test]
    fn what_would_break_a_description_is_refused() {
        let read = |name: &str, email: &str, home: &str| {
            Publisher::parse(&format!("name = '''{name}'''\nemail = '''{email}'''\nhome = '''{home}'''\n"))
        };
        assert_eq!(
            read("A & B", "a@b.example", "https://b.example").unwrap_err().to_string(),
            "dist/publisher.toml: \"A & B\" is no name or address"
        );
        assert!(read("A", "a@b@c", "https://b.example").is_err());
        assert!(read("A", "a@b.example", "https://b.example\nEssential: yes").is_err());
        assert!(read("", "a@b.example", "https://b.example").is_err());
        assert!(read("A", "a@b.org", "https://b.org/").unwrap().note().is_none());
        assert!(read("A", "a@b.org", "https://b.example/").unwrap().note().is_some());
    }

    /// Names of hosts stand in one file, so that a publisher cannot miss one.
    #[test]
    fn nothing_else_names_a_host_of_the_project() {
        let host = ["headway", "io"].join(".");
        let home = format!("https://{host}");
        for file in crate::tidy::files().unwrap() {
            let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
            assert!(!text.contains(&home) && !text.contains(&format!("@{host}")), "{file} names {host}");
        }
    }
}
