//! What a served page may ask.

use super::arriving::Arriving;
use super::live::Live;
use headway_loopback::{Asked, Reply, Replying};
use headway_page::contract::Query;
use headway_page::{html, Recording};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// A page and its recordings.
#[derive(Debug)]
pub struct Site(Arc<Content>);

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

impl Site {
    /// A site of this content.
    pub fn new(content: Content) -> Site {
        Site(Arc::new(content))
    }
}

impl headway_loopback::Site for Site {
    fn reply(&self, asked: Asked) -> Replying {
        let content = self.0.clone();
        let answered = spawn_blocking(move || content.reply(&asked));
        Box::pin(async { answered.await.unwrap_or_else(|_| Reply::refusal(500, "the answer to this question failed")) })
    }
}

impl Content {
    /// What a request gets that was let in.
    pub fn reply(&self, asked: &Asked) -> Reply {
        match (asked.get, asked.path.as_str()) {
            (true, "") => self.page(),
            (false, "query") => self.query(&asked.parameters, &asked.body),
            (false, "now") => self.now(&asked.body),
            _ => Reply::nothing_here(),
        }
    }

    /// An answer. Of a recording that is being written or read, `beginning=N` says which beginning the question's times
    /// count from, and what its ids stand for. With
    /// `names=no`, which only a page asks that has all of the recording, the answer leaves out names that this page has.
    fn query(&self, parameters: &str, body: &str) -> Reply {
        let query: Query = match serde_json::from_str(body) {
            Ok(query) => query,
            Err(error) => return Reply::refusal(400, &format!("this is no question: {error}")),
        };
        let asked = Recording::asked(&query);
        let answer = match self {
            Content::Whole(_, recordings) => recordings.get(asked).map(|recording| recording.answer(&query)),
            Content::Arriving(arriving) => {
                let beginning = parameters.strip_prefix("beginning=").and_then(|number| number.parse().ok());
                let Some(recordings) = arriving.recordings_since(beginning) else {
                    return Reply::refusal(409, "more was read meanwhile: this question is about earlier results");
                };
                recordings.get(asked).map(|recording| recording.answer(&query))
            }
            Content::Live(live) => {
                let Some(Ok(beginning)) = parameters.strip_prefix("beginning=").map(str::parse) else {
                    return Reply::refusal(400, "the question does not say from which beginning its times count");
                };
                let Some(recording) = live.recording_since(beginning) else {
                    return Reply::refusal(
                        409,
                        "the front of this recording was removed: its times count from a later moment",
                    );
                };
                (asked == 0).then(|| recording.answer(&query))
            }
        };
        match answer {
            Some(answer) if parameters == "names=no" => json(&answer.without_names()),
            Some(answer) => json(&answer),
            None => Reply::refusal(400, "there is no such recording"),
        }
    }

    fn page(&self) -> Reply {
        let page = match self {
            Content::Whole(page, _) => Ok(page.clone()),
            Content::Arriving(arriving) => html::served(&arriving.opening()),
            Content::Live(live) => html::served(&live.opening()),
        };
        match page {
            Ok(body) => Reply::page(body),
            Err(error) => Reply::refusal(500, &error.to_string()),
        }
    }

    /// How far a running recording was read; the body is the generation that the page has.
    fn now(&self, body: &str) -> Reply {
        match (self, body.trim().parse()) {
            (Content::Live(live), Ok(generation)) => json(&live.now(generation)),
            (Content::Arriving(arriving), Ok(generation)) => json(&arriving.now(generation)),
            (Content::Live(_) | Content::Arriving(_), Err(_)) => {
                Reply::refusal(400, "this is no number of a generation")
            }
            (Content::Whole(..), _) => Reply::refusal(404, "this recording is over"),
        }
    }
}

fn json(answer: &impl serde::Serialize) -> Reply {
    match serde_json::to_string(answer) {
        Ok(body) => Reply::json(body),
        Err(error) => Reply::refusal(500, &format!("cannot write the answer: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(path: &str, body: &str) -> Reply {
        let asked = Asked { get: false, path: path.into(), parameters: String::new(), body: body.into() };
        Content::Whole("<page>".to_owned(), Vec::new()).reply(&asked)
    }

    #[test]
    fn questions_that_make_no_sense_are_refused() {
        assert_eq!(post("query", "{}").status, 400);
        assert_eq!(post("query", "{\"ask\":\"entry\",\"recording\":0,\"row\":0}").status, 400);
        assert_eq!(post("elsewhere", ""), Reply::nothing_here());
    }

    #[test]
    fn a_recording_that_is_over_is_not_followed() {
        assert_eq!(post("now", "1"), Reply::refusal(404, "this recording is over"));
    }
}
