//! The page itself: one HTML file, built from `web/`, with places for what a
//! recording adds.

use crate::contract::Opening;
use crate::embed::embed;
use crate::recording::Recording;
use flate2::read::DeflateDecoder;
use serde::Serialize;
use std::fmt;
use std::io::{self, Read};

/// The built page, packed; empty if it was not built before this crate.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.html.deflate"));

/// Where the data goes.
const DATA: &str = "<!--headway:data-->";
/// What the content security policy of a page in one file says about
/// connections; a served page may ask its server.
const NO_CONNECTIONS: &str = "connect-src 'none'";
const OWN_SERVER: &str = "connect-src 'self'";

/// Element with what a page of recordings knows at once.
const RECORDINGS: &str = "headway-opening";
/// Element with what a page of a store knows at once.
pub const FLEET: &str = "headway-fleet";

/// Why there is no page.
#[derive(Debug)]
pub enum PageError {
    /// This binary was built without the page.
    NotBuilt,
    /// Packing failed.
    Pack(io::Error),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::NotBuilt => f.write_str("this headway was built without its page; `./hw build` builds both"),
            PageError::Pack(error) => write!(f, "cannot pack the recording: {error}"),
        }
    }
}

impl std::error::Error for PageError {}

/// The page with recordings in it, complete in one file.
///
/// # Errors
/// There is no page in this binary, or packing failed.
pub fn in_one_file(recordings: &[Recording]) -> Result<String, PageError> {
    let mut data = String::new();
    for recording in recordings {
        // Base64 has no character that could end the element.
        let packed = embed(recording).map_err(PageError::Pack)?;
        data.push_str("<script type=\"application/octet-stream\" class=\"headway-recording\">");
        data.push_str(&packed);
        data.push_str("</script>\n");
    }
    fill(&data)
}

/// The page that asks the server it came from.
///
/// # Errors
/// There is no page in this binary.
pub fn served(opening: &Opening) -> Result<String, PageError> {
    served_as(RECORDINGS, opening)
}

/// The page that asks the server it came from, with an opening in an element of this name: [`FLEET`].
///
/// # Errors
/// There is no page in this binary.
pub fn served_as(element: &str, opening: &impl Serialize) -> Result<String, PageError> {
    let json = serde_json::to_string(opening).map_err(|error| PageError::Pack(error.into()))?;
    let data = format!("<script type=\"application/json\" id=\"{element}\">{}</script>", harmless(&json));
    Ok(fill(&data)?.replacen(NO_CONNECTIONS, OWN_SERVER, 1))
}

fn fill(data: &str) -> Result<String, PageError> {
    // The first place is in the head; what scripts or names hold comes later.
    match template().map_err(PageError::Pack)?.split_once(DATA) {
        Some((before, after)) => Ok([before, data, after].concat()),
        None => Err(PageError::NotBuilt),
    }
}

fn template() -> io::Result<String> {
    let mut page = String::new();
    DeflateDecoder::new(PACKED).read_to_string(&mut page)?;
    Ok(page)
}

/// JSON that cannot end the element in which it stands, nor begin a comment.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page is a quarter of what it would take in the binary.
    #[test]
    fn the_page_is_packed_and_comes_out_whole() {
        let page = template().unwrap_or_default();
        let built = std::fs::read_to_string("../../web/dist/index.html").unwrap_or_default();
        assert!(page == built, "{} bytes, not {}", page.len(), built.len());
        assert!(page.is_empty() || PACKED.len() < page.len() / 2, "{} of {} bytes", PACKED.len(), page.len());
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let name = "</script><script>alert(1)</script><!-- & ";
        let json = serde_json::to_string(name).unwrap_or_default();
        let text = harmless(&json);
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).ok().as_deref(), Some(name));
    }
}
