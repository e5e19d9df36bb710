//! What a served page may ask, and who may ask it.
//!
//! Three things keep other web pages and other users of the machine out: the
//! server listens on the loopback address only, every path begins with a secret,
//! and a request must name this server as its host and origin (so that a name
//! that somebody lets point to the loopback address gets no answer).

use super::arriving::Arriving;
use super::live::Live;
use headway_page::contract::Query;
use headway_page::{html, Recording};
use std::io;
use std::sync::Arc;

/// A page, its recordings, and the secret.
#[derive(Debug)]
pub struct Site {
    content: Content,
    token: String,
    hosts: [String; 2],
}

/// What is served.
#[derive(Debug)]
pub enum Content {
    /// A page, and its recordings.
    Whole(String, Vec<Recording>),
    /// Recordings that are being read.
    Arriving(Arc<Arriving>),
    /// A recording that is still being written.
    Live(Arc<Live>),
}

/// What a request gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status code of HTTP.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The page, an answer as JSON, or a sentence that says why not.
    pub body: String,
}

/// The part of a request that decides.
#[derive(Debug)]
pub struct Asked<'a> {
    /// True for GET; anything else counts as POST.
    pub get: bool,
    /// What stands in the request line, a query string included.
    pub path: &'a str,
    /// The one `Host`; empty if there is none or more than one.
    pub host: &'a str,
    /// `Origin`, if the request has one.
    pub origin: Option<&'a str>,
    /// What was sent with it.
    pub body: &'a str,
}

impl Site {
    /// A site with a secret of its own.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(content: Content, port: u16) -> io::Result<Site> {
        let mut secret = [0_u8; 16];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        let token = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Site { content, token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// The secret with which every path begins.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What a request gets, having been read.
    pub fn reply(&self, asked: &Asked<'_>) -> Reply {
        if !self.hosts.iter().any(|host| host == asked.host) {
            return refusal(403, "this server answers to its loopback address only");
        }
        if asked.origin.is_some_and(|origin| !self.hosts.iter().any(|host| origin == format!("http://{host}"))) {
            return refusal(403, "this server answers to its own page only");
        }
        let Some(rest) = self.after_token(asked.path) else {
            return refusal(404, "there is nothing here; the address that `headway view` printed is longer");
        };
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        match (asked.get, rest) {
            (true, "") => self.page(),
            (false, "query") => self.query(parameters, asked.body),
            (false, "now") => self.now(asked.body),
            _ => refusal(404, "there is nothing here"),
        }
    }

    /// What follows `/TOKEN/`. Takes as long for a wrong secret as for the right one.
    fn after_token<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        let differences = token.bytes().zip(self.token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        (differences == 0 && token.len() == self.token.len()).then_some(rest)
    }

    /// An answer. Of a recording that is being written or read, `beginning=N` says which beginning the question's times
    /// count from, and what its ids stand for.
    fn query(&self, parameters: &str, body: &str) -> Reply {
        let query: Query = match serde_json::from_str(body) {
            Ok(query) => query,
            Err(error) => return refusal(400, &format!("this is no question: {error}")),
        };
        let asked = Recording::asked(&query);
        let answer = match &self.content {
            Content::Whole(_, recordings) => recordings.get(asked).map(|recording| recording.answer(&query)),
            Content::Arriving(arriving) => {
                let beginning = parameters.strip_prefix("beginning=").and_then(|number| number.parse().ok());
                let Some(recordings) = arriving.recordings_since(beginning) else {
                    return refusal(409, "more was read meanwhile: this question is about earlier results");
                };
                recordings.get(asked).map(|recording| recording.answer(&query))
            }
            Content::Live(live) => {
                let Some(Ok(beginning)) = parameters.strip_prefix("beginning=").map(str::parse) else {
                    return refusal(400, "the question does not say from which beginning its times count");
                };
                let Some(recording) = live.recording_since(beginning) else {
                    return refusal(
                        409,
                        "the front of this recording was removed: its times count from a later moment",
                    );
                };
                (asked == 0).then(|| recording.answer(&query))
            }
        };
        answer.map_or_else(|| refusal(400, "there is no such recording"), |answer| json(&answer))
    }

    fn page(&self) -> Reply {
        let page = match &self.content {
            Content::Whole(page, _) => Ok(page.clone()),
            Content::Arriving(arriving) => html::served(&arriving.opening()),
            Content::Live(live) => html::served(&live.opening()),
        };
        match page {
            Ok(body) => Reply { status: 200, content_type: "text/html; charset=utf-8", body },
            Err(error) => refusal(500, &error.to_string()),
        }
    }

    /// How far a running recording was read; the body is the generation that the page has.
    fn now(&self, body: &str) -> Reply {
        match (&self.content, body.trim().parse()) {
            (Content::Live(live), Ok(generation)) => json(&live.now(generation)),
            (Content::Arriving(arriving), Ok(generation)) => json(&arriving.now(generation)),
            (Content::Live(_) | Content::Arriving(_), Err(_)) => refusal(400, "this is no number of a generation"),
            (Content::Whole(..), _) => refusal(404, "this recording is over"),
        }
    }
}

fn json(answer: &impl serde::Serialize) -> Reply {
    match serde_json::to_string(answer) {
        Ok(body) => Reply { status: 200, content_type: "application/json", body },
        Err(error) => refusal(500, &format!("cannot write the answer: {error}")),
    }
}

/// Says no, and why.
pub fn refusal(status: u16, why: &str) -> Reply {
    Reply { status, content_type: "text/plain; charset=utf-8", body: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::new(Content::Whole("<page>".to_owned(), Vec::new()), 4711).expect("random numbers")
    }

    fn status(site: &Site, get: bool, path: &str, host: &str, origin: Option<&str>) -> u16 {
        site.reply(&Asked { get, path, host, origin, body: "{}" }).status
    }

    #[test]
    fn only_who_knows_the_secret_and_asks_this_host_gets_the_page() {
        let site = site();
        let path = format!("/{}/", site.token());
        let local = "127.0.0.1:4711";
        assert_eq!(status(&site, true, &path, local, None), 200);
        assert_eq!(status(&site, true, &path, "localhost:4711", None), 200);
        assert_eq!(status(&site, true, &path, local, Some("http://127.0.0.1:4711")), 200);
        assert_eq!(status(&site, true, &path, "evil.example:4711", None), 403);
        assert_eq!(status(&site, true, &path, local, Some("http://evil.example")), 403);
        assert_eq!(status(&site, true, "/", local, None), 404);
        assert_eq!(status(&site, true, "//", local, None), 404);
        let wrong = format!("/{}/", "0".repeat(site.token().len()));
        assert_eq!(status(&site, true, &wrong, local, None), 404);
        assert_eq!(status(&site, true, &path[..path.len() - 2], local, None), 404);
    }

    #[test]
    fn questions_that_make_no_sense_are_refused() {
        let site = site();
        let ask = |body: &str| {
            let path = format!("/{}/query", site.token());
            site.reply(&Asked { get: false, path: &path, host: "127.0.0.1:4711", origin: None, body }).status
        };
        assert_eq!(ask("{}"), 400);
        assert_eq!(ask("{\"ask\":\"stretch\",\"recording\":0,\"row\":0}"), 400);
    }

    #[test]
    fn a_recording_that_is_over_is_not_followed() {
        let site = site();
        let path = format!("/{}/now", site.token());
        let asked = Asked { get: false, path: &path, host: "127.0.0.1:4711", origin: None, body: "1" };
        assert_eq!(site.reply(&asked), refusal(404, "this recording is over"));
    }

    #[test]
    fn every_site_has_its_own_secret() {
        assert_ne!(site().token(), site().token());
        assert_eq!(site().token().len(), 32);
    }
}
