//! What can go wrong with a store.

use crate::layout::Day;
use std::fmt;

/// Why a store could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such directory.
    Missing(String),
    /// The place is no store, or one that was never written to.
    NotAStore(String),
    /// The place cannot be understood.
    BadPlace(String, String),
    /// The store has a format that this version does not know.
    Format(u32),
    /// The object store refused or failed.
    Object(object_store::Error),
    /// A request to the place had no answer, and what happened instead.
    NoAnswer(String, &'static str),
    /// There are no credentials for the place.
    NoCredentials(String),
    /// A file is no Parquet file of ours.
    Parquet(String, String),
    /// A commit or manifest cannot be understood.
    Damaged(String, String),
    /// Another batch of this name is in the store, with other rows.
    Conflict(String),
    /// Rows of this day were removed because of their age.
    Retired(Day),
    /// Writing took longer than files may be without a commit.
    TooSlow,
    /// The place cannot put an object on the condition that there is none of its name.
    NoCondition(String),
    /// Whether an object is there is not clear: it can neither be put nor read.
    Unsettled(String),
    /// Others changed the day again and again.
    Contended(Day),
    /// Rows could not be put in columns, or taken out.
    Arrow(arrow::error::ArrowError),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Missing(place) => write!(f, "there is no directory {place}"),
            StoreError::NotAStore(place) => {
                write!(f, "{place} is not a store of Headway (it has no store.json); headway-fleet ingest makes one")
            }
            StoreError::BadPlace(place, why) => write!(f, "{place} cannot be a store: {why}"),
            StoreError::Format(format) => {
                write!(f, "the store has format {format}, this version knows {}; use a newer version", crate::FORMAT)
            }
            StoreError::Object(error) => write!(f, "the store failed: {}", without_answer(&error.to_string())),
            StoreError::NoAnswer(place, why) => {
                write!(f, "{place} cannot be reached: {why}. Check AWS_ENDPOINT, AWS_REGION, the network and proxies")
            }
            StoreError::NoCredentials(place) => write!(
                f,
                "there are no credentials for {place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run on a \
                 machine with an instance role"
            ),
            StoreError::Parquet(path, why) => write!(f, "{path} cannot be read as Parquet: {why}"),
            StoreError::Damaged(path, why) => write!(f, "{path} is damaged: {why}"),
            StoreError::Conflict(batch) => {
                write!(
                    f,
                    "batch {batch} is in the store with other rows, or as another service or version: the recording \
                     was longer or shorter when it was delivered, or named differently; nothing was changed"
                )
            }
            StoreError::Retired(day) => write!(f, "rows of {day} were removed because of their age; none are taken"),
            StoreError::TooSlow => f.write_str("writing took more than an hour, so nothing was committed; try again"),
            StoreError::NoCondition(place) => {
                write!(
                    f,
                    "{place} cannot be a store: it does not refuse a second object of one name (If-None-Match), so \
                     that two writers would replace each other's rows"
                )
            }
            StoreError::Unsettled(path) => {
                write!(f, "{path} can neither be put nor read; nothing was committed; try again")
            }
            StoreError::Contended(day) => write!(f, "others keep changing {day}; nothing was changed; try again"),
            StoreError::Arrow(error) => write!(f, "rows could not be converted: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// What the library says of a failed request, without the body of the answer: a server may repeat in it what it was sent,
/// credentials included. Its error code stays (`AccessDenied`).
pub fn without_answer(sentence: &str) -> String {
    const STATUS: &str = "Server returned non-2xx status code: ";
    const ERROR: &str = "Server returned error response: ";
    let (begin, body) = match (sentence.find(STATUS), sentence.find(ERROR)) {
        (Some(at), _) => {
            let rest = &sentence[at + STATUS.len()..];
            // `403 Forbidden: BODY`
            let status = rest.find(": ").unwrap_or(rest.len());
            sentence.split_at(at + STATUS.len() + status)
        }
        (None, Some(at)) => sentence.split_at(at + ERROR.len() - 2),
        (None, None) => return sentence.to_owned(),
    };
    code_of(body).map_or_else(|| begin.to_owned(), |code| format!("{begin}: {code}"))
}

/// The error code in a server's answer.
pub(crate) fn code_of(answer: &str) -> Option<&str> {
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    code.filter(|code| code.len() <= 32 && code.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> StoreError {
        StoreError::Object(error)
    }
}

impl From<arrow::error::ArrowError> for StoreError {
    fn from(error: arrow::error::ArrowError) -> StoreError {
        StoreError::Arrow(error)
    }
}

#[cfg(test)]
mod tests {
    use super::without_answer;

    #[test]
    fn of_an_answer_only_its_code_is_said() {
        let status = "Error performing GET http://s3/b in 1ms - Server returned non-2xx status code: 403 Forbidden";
        for (body, code) in [
            (": <Error><Code>AccessDenied</Code><Token>secret</Token></Error>; trying", ": AccessDenied"),
            (": POST /secret: secret", ""),
            (": <Code>secret1</Code>", ""),
            (": <Code>secret", ""),
            (": ", ""),
            ("", ""),
        ] {
            assert_eq!(without_answer(&format!("{status}{body}")), format!("{status}{code}"));
        }
        let error = "after 2 retries - Server returned error response: <Code>SlowDown</Code>secret";
        assert_eq!(without_answer(error), "after 2 retries - Server returned error response: SlowDown");
        assert_eq!(without_answer("no space left: <Code>a</Code>"), "no space left: <Code>a</Code>");
    }
}
