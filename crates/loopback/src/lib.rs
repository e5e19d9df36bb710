//! A site for this machine's browser, and for nobody else.
//!
//! Three things keep other web pages and other users of the machine out: the
//! server listens on the loopback address only, every path begins with a secret,
//! and a request must name this server as its host and origin (so that a name
//! that somebody lets point to the loopback address gets no answer).
//!
//! What is served is a [`Site`]; `headway view` has one of recordings,
//! `headway fleet view` one of a store.

mod door;
mod server;

pub use door::Door;
pub use server::Server;

use std::future::Future;
use std::pin::Pin;

/// An answer on its way.
pub type Replying = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// What is served to those who know the secret.
pub trait Site: Send + Sync + 'static {
    /// What a request gets. Whoever goes away before gets nothing: the future is dropped.
    fn reply(&self, asked: Asked) -> Replying;
}

/// A request that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// True for GET; anything else counts as POST.
    pub get: bool,
    /// What follows the secret in the path.
    pub path: String,
    /// What follows `?`.
    pub parameters: String,
    /// What was sent with it.
    pub body: String,
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status code of HTTP.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The page, an answer as JSON, or a sentence that says why not.
    pub body: String,
}

impl Reply {
    /// A page.
    pub fn page(body: String) -> Reply {
        Reply { status: 200, content_type: "text/html; charset=utf-8", body }
    }

    /// An answer in JSON.
    pub fn json(body: String) -> Reply {
        Reply { status: 200, content_type: "application/json", body }
    }

    /// Says no, and why.
    pub fn refusal(status: u16, why: &str) -> Reply {
        Reply { status, content_type: "text/plain; charset=utf-8", body: why.to_owned() }
    }

    /// There is no such path.
    pub fn nothing_here() -> Reply {
        Reply::refusal(404, "there is nothing here")
    }
}
