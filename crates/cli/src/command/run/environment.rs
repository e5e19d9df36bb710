//! What `JAVA_TOOL_OPTIONS` says so that each JVM loads the agent.

use crate::agent::options::AgentOptions;
use crate::error::Failure;
use std::path::Path;

/// The variable that every JVM reads.
pub const VARIABLE: &str = "JAVA_TOOL_OPTIONS";

/// The variable's value: what it said before, and the agent.
///
/// # Errors
/// A library path that the variable cannot hold.
pub fn tool_options(library: &Path, options: &AgentOptions) -> Result<String, Failure> {
    let agent = agent_option(library, options)?;
    let before = std::env::var_os(VARIABLE).unwrap_or_default();
    let before =
        before.to_str().ok_or_else(|| Failure::Usage(format!("the environment variable {VARIABLE} is not UTF-8")))?;
    Ok(with_agent(before, &agent))
}

/// The agent comes last. But where the variable loads Headway already, it comes first: what the agent is loaded with
/// first is what counts.
fn with_agent(before: &str, agent: &str) -> String {
    let loads_headway = |word: &str| word.starts_with("-agent") && word.contains("headway");
    match before.trim() {
        "" => agent.to_owned(),
        before if before.split_whitespace().any(loads_headway) => format!("{agent} {before}"),
        before => format!("{before} {agent}"),
    }
}

/// `-agentpath:LIBRARY=OPTIONS`. The JVM splits the variable at white space
/// outside of quotes, and the option at the first `=`; the options themselves
/// have both escaped.
fn agent_option(library: &Path, options: &AgentOptions) -> Result<String, Failure> {
    let path = library.to_str().filter(|path| !path.contains(['=', '\'', '"'])).ok_or_else(|| {
        Failure::Usage(format!(
            "the agent's path {} has a character that {VARIABLE} cannot hold: copy libheadway.so elsewhere and set HEADWAY_AGENT to its path",
            library.display()
        ))
    })?;
    let path = if path.contains(char::is_whitespace) { format!("'{path}'") } else { path.to_owned() };
    Ok(format!("-agentpath:{path}={}", options.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(library: &str) -> Result<String, String> {
        agent_option(Path::new(library), &AgentOptions::new("start").with("file", "/a b/%p.jfr"))
            .map_err(|f| f.to_string())
    }

    #[test]
    fn the_option_survives_the_jvms_splitting() {
        assert_eq!(
            option("/lib/libheadway.so").as_deref(),
            Ok("-agentpath:/lib/libheadway.so=start,file=/a%20b/%25p.jfr")
        );
        assert_eq!(option("/my lib/x.so").as_deref(), Ok("-agentpath:'/my lib/x.so'=start,file=/a%20b/%25p.jfr"));
        assert!(option("/a=b/x.so").is_err());
    }

    #[test]
    fn what_was_set_before_stays() {
        assert_eq!(with_agent("", "-agentpath:x"), "-agentpath:x");
        assert_eq!(with_agent("-Xmx1g ", "-agentpath:x"), "-Xmx1g -agentpath:x");
        let loaded = "-Xmx1g -agentpath:/opt/libheadway.so=name=a";
        assert_eq!(with_agent(loaded, "-agentpath:x"), format!("-agentpath:x {loaded}"));
    }
}
