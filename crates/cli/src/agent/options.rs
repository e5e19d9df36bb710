//! The option string that the agent is loaded with, as
//! `docs/agent-protocol.md` describes it: `COMMAND[,key=value]...`.

use crate::error::Failure;
use headway_jfr::IfTaken;
use std::fmt::Write;
use std::path::Path;

/// An option string under construction.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    text: String,
}

impl AgentOptions {
    /// Options of `command`: `start`, `stop`, `dump`, `status`, `detach`.
    pub fn new(command: &str) -> AgentOptions {
        AgentOptions { text: command.to_owned() }
    }

    /// Adds `key=value`, the value escaped.
    pub fn with(mut self, key: &str, value: &str) -> AgentOptions {
        let _ = write!(self.text, ",{key}={}", escape(value));
        self
    }

    /// Adds `key=value` if there is a value.
    pub fn with_some(self, key: &str, value: Option<impl ToString>) -> AgentOptions {
        match value {
            Some(value) => self.with(key, &value.to_string()),
            None => self,
        }
    }

    /// Adds a key that is true by being there.
    pub fn with_flag(mut self, key: &str, set: bool) -> AgentOptions {
        if set {
            let _ = write!(self.text, ",{key}");
        }
        self
    }

    /// Adds what becomes of a file that is there already.
    pub fn if_taken(self, if_taken: IfTaken) -> AgentOptions {
        self.with_flag("force", if_taken == IfTaken::Replace).with_flag("numbered", if_taken == IfTaken::Number)
    }

    /// Adds a path.
    ///
    /// # Errors
    /// The protocol is text: a path that is not UTF-8 cannot be passed.
    pub fn with_path(self, key: &str, path: &Path) -> Result<AgentOptions, Failure> {
        let text = path.to_str().ok_or_else(|| {
            Failure::Usage(format!("the path {} is not UTF-8, so it cannot be passed to the JVM", path.display()))
        })?;
        Ok(self.with(key, text))
    }

    /// What the agent shall do.
    pub fn command(&self) -> &str {
        self.text.split(',').next().unwrap_or_default()
    }

    /// The finished string.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Percent-encodes what has a meaning in option strings, and white space and
/// quotes besides, because `JAVA_TOOL_OPTIONS` is split at them.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            ',' | '%' | '=' | ' ' | '\'' | '"' | '\x7f' | '\0'..='\x1f' => {
                let _ = write!(escaped, "%{:02X}", character as u32);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_keys_are_not() {
        let options = AgentOptions::new("start")
            .with("file", "/a b/%p,x=1.jfr")
            .with_some("max_size", Some(10))
            .with_some("max_age", None::<u64>)
            .with_flag("safe", true)
            .with_flag("strict", false);
        assert_eq!(options.as_str(), "start,file=/a%20b/%25p%2Cx%3D1.jfr,max_size=10,safe");
    }

    #[test]
    fn letters_beyond_ascii_stay() {
        assert_eq!(escape("gr\u{fc}n\t"), "gr\u{fc}n%09");
    }
}
