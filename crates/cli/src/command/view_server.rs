//! What a served page may ask, and who may ask it.
//!
//! Three things keep other web pages and other users of the machine out: the
//! server listens on the loopback address only, every path begins with a secret,
//! and a request must name this server as its host and origin (so that a name
//! that somebody lets point to the loopback address gets no answer).

use headway_page::contract::Query;
use headway_page::Recording;
use std::io::{self, Read, Write};
use tiny_http::{Method, Request, StatusCode};

/// Longer questions are refused.
const LONGEST_QUERY: u64 = 1 << 20;

/// Sent with every answer. The page's own policy stands in the page; this adds
/// what only a header can say.
const HEADERS: [(&str, &str); 6] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
];

/// A page, its recordings, and the secret.
#[derive(Debug)]
pub struct Site {
    page: String,
    recordings: Vec<Recording>,
    token: String,
    hosts: [String; 2],
}

/// What a request gets.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    status: u16,
    content_type: &'static str,
    body: String,
}

/// The part of a request that decides.
#[derive(Debug)]
struct Asked<'a> {
    get: bool,
    path: &'a str,
    host: &'a str,
    origin: Option<&'a str>,
    body: &'a str,
}

impl Site {
    /// A site with a secret of its own.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(page: String, recordings: Vec<Recording>, port: u16) -> io::Result<Site> {
        let mut secret = [0_u8; 16];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        let token = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Site { page, recordings, token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// The secret with which every path begins.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Answers a request. Who asked may have gone meanwhile.
    pub fn answer(&self, mut request: Request) {
        let mut body = String::new();
        let read = request.as_reader().take(LONGEST_QUERY).read_to_string(&mut body);
        let header = |name: &'static str| {
            let mut headers = request.headers().iter();
            headers.find(|header| header.field.equiv(name)).map(|header| header.value.as_str())
        };
        let reply = match read {
            Ok(_) => self.reply(&Asked {
                get: *request.method() == Method::Get,
                path: request.url(),
                host: header("Host").unwrap_or_default(),
                origin: header("Origin"),
                body: &body,
            }),
            Err(_) => refusal(400, "the question is not UTF-8"),
        };
        let _ = send(&reply, request.into_writer());
    }

    fn reply(&self, asked: &Asked<'_>) -> Reply {
        if !self.hosts.iter().any(|host| host == asked.host) {
            return refusal(403, "this server answers to its loopback address only");
        }
        if asked.origin.is_some_and(|origin| !self.hosts.iter().any(|host| origin == format!("http://{host}"))) {
            return refusal(403, "this server answers to its own page only");
        }
        let Some(rest) = self.after_token(asked.path) else {
            return refusal(404, "there is nothing here; the address that `headway view` printed is longer");
        };
        match (asked.get, rest) {
            (true, "") => Reply { status: 200, content_type: "text/html; charset=utf-8", body: self.page.clone() },
            (false, "query") => self.query(asked.body),
            _ => refusal(404, "there is nothing here"),
        }
    }

    /// What follows `/TOKEN/`. Takes as long for a wrong secret as for the right one.
    fn after_token<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        let differences = token.bytes().zip(self.token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        (differences == 0 && token.len() == self.token.len()).then_some(rest)
    }

    fn query(&self, body: &str) -> Reply {
        let query: Query = match serde_json::from_str(body) {
            Ok(query) => query,
            Err(error) => return refusal(400, &format!("this is no question: {error}")),
        };
        let Some(recording) = self.recordings.get(Recording::asked(&query)) else {
            return refusal(400, "there is no such recording");
        };
        match serde_json::to_string(&recording.answer(&query)) {
            Ok(body) => Reply { status: 200, content_type: "application/json", body },
            Err(error) => refusal(500, &format!("cannot write the answer: {error}")),
        }
    }
}

/// Writes an answer and ends the connection. A connection that is kept open
/// keeps one of the library's threads, and one that was accepted meanwhile may
/// then wait for seconds until that thread is free.
fn send(reply: &Reply, mut writer: impl Write) -> io::Result<()> {
    let reason = StatusCode(reply.status).default_reason_phrase();
    write!(writer, "HTTP/1.1 {} {reason}\r\nConnection: close\r\n", reply.status)?;
    write!(writer, "Content-Type: {}\r\nContent-Length: {}\r\n", reply.content_type, reply.body.len())?;
    for (name, value) in HEADERS {
        write!(writer, "{name}: {value}\r\n")?;
    }
    writer.write_all(b"\r\n")?;
    writer.write_all(reply.body.as_bytes())?;
    writer.flush()
}

fn refusal(status: u16, why: &str) -> Reply {
    Reply { status, content_type: "text/plain; charset=utf-8", body: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::new("<page>".to_owned(), Vec::new(), 4711).expect("random numbers")
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
    fn an_answer_says_its_length_and_ends_the_connection() {
        let mut sent = Vec::new();
        send(&refusal(404, "\u{fc}ber"), &mut sent).expect("written");
        let sent = String::from_utf8(sent).expect("text");
        assert!(sent.starts_with("HTTP/1.1 404 Not Found\r\nConnection: close\r\n"), "{sent}");
        assert!(sent.contains("Content-Length: 5\r\n"), "{sent}");
        assert!(sent.ends_with("\r\n\r\n\u{fc}ber"), "{sent}");
    }

    #[test]
    fn every_site_has_its_own_secret() {
        assert_ne!(site().token(), site().token());
        assert_eq!(site().token().len(), 32);
    }
}
