//! Requests and answers on HotSpot's attach socket.
//!
//! Version 1, all JDKs: the strings `1`, command, and exactly three
//! arguments, each closed by a zero byte, each argument at most 1024 bytes.
//! Version 2, JDK 24 and later: the strings `2`, the length of what follows,
//! then command and as many arguments as wanted, of any length. Either way the
//! answer is a number, a line feed, and text up to the end of the stream.
//! A version 1 request `getversion` asks which one the JVM understands.

use crate::attach::trigger::Socket;
use crate::error::Failure;
use crate::interrupt::LOOK_EVERY;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// How long `load` may take. Loading waits for safepoints, and a JVM that
/// collects a large heap or starves may be late.
pub const LOAD_TIMEOUT: Duration = Duration::from_secs(60);
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
const ARGUMENTS_V1: usize = 3;
const LONGEST_ARGUMENT_V1: usize = 1024;
const LONGEST_ANSWER_BYTES: usize = 1 << 20;

/// Which form of requests a JVM understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Three short arguments.
    One,
    /// Any arguments.
    Two,
}

/// The JVM's answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0 if the command was carried out.
    pub code: i32,
    /// What the command printed.
    pub text: String,
}

/// Asks which version the JVM understands.
///
/// # Errors
/// The socket's. A JVM that does not know the question is of version 1.
pub fn version(socket: &Socket) -> Result<Version, Failure> {
    let answer = request(socket, Version::One, "getversion", &[], VERSION_TIMEOUT)?;
    let two = answer.code == 0 && answer.text.trim() == "2";
    Ok(if two { Version::Two } else { Version::One })
}

/// Sends a command and reads the whole answer.
///
/// # Errors
/// Arguments too long for the version, the socket's errors, no answer in time.
pub fn request(
    socket: &Socket,
    version: Version,
    command: &str,
    arguments: &[&str],
    timeout: Duration,
) -> Result<Answer, Failure> {
    let pid = socket.pid();
    let bytes = encode(version, command, arguments).map_err(|longest| Failure::Usage(too_long(longest)))?;
    let mut stream = socket.connect()?;
    let answer =
        stream.set_write_timeout(Some(timeout)).and_then(|()| stream.write_all(&bytes)).map_err(Ending::from).and_then(
            |()| {
                read_answer(&mut stream, timeout, |stream, left| {
                    socket.check_worth_waiting().map_err(Ending::GivenUp)?;
                    Ok(stream.set_read_timeout(Some(left.min(LOOK_EVERY)))?)
                })
            },
        );
    let problem = match answer {
        Ok(bytes) => match decode(&bytes) {
            Some(answer) => return Ok(answer),
            None if bytes.is_empty() => "it closed the connection without an answer".to_owned(),
            None => "its answer is not of the attach protocol".to_owned(),
        },
        Err(Ending::GivenUp(failure)) => return Err(failure),
        Err(Ending::Broken(error)) if timed_out(&error) => match socket.stopped() {
            Some(failure) => return Err(failure),
            None => format!("it did not answer within {} s", timeout.as_secs()),
        },
        Err(Ending::Broken(error)) => error.to_string(),
    };
    Err(Failure::AttachSocket { pid, problem })
}

fn too_long(argument: &str) -> String {
    format!(
        "the path or option {}... is longer than {LONGEST_ARGUMENT_V1} bytes, the most that this JVM's attach protocol takes",
        argument.chars().take(60).collect::<String>()
    )
}

/// The request's bytes, or the argument that is too long for version 1.
fn encode<'a>(version: Version, command: &str, arguments: &[&'a str]) -> Result<Vec<u8>, &'a str> {
    let mut payload = Vec::new();
    let mut append = |text: &str| {
        payload.extend_from_slice(text.as_bytes());
        payload.push(0);
    };
    append(command);
    arguments.iter().for_each(|argument| append(argument));
    if version == Version::Two {
        let mut bytes = format!("2\0{}\0", payload.len()).into_bytes();
        bytes.extend(payload);
        return Ok(bytes);
    }
    (arguments.len()..ARGUMENTS_V1).for_each(|_| append(""));
    match arguments.iter().find(|argument| argument.len() > LONGEST_ARGUMENT_V1) {
        Some(argument) => Err(argument),
        None => Ok([b"1\0".as_slice(), &payload].concat()),
    }
}

fn decode(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (code, rest) = text.split_once('\n').unwrap_or((&text, ""));
    Some(Answer { code: code.trim().parse().ok()?, text: rest.to_owned() })
}

/// Reads to the end, all in all no longer than `timeout`. `limit` says, before
/// each wait, how long it may take at most, or that there shall be none.
fn read_answer<S: Read>(
    stream: &mut S,
    timeout: Duration,
    limit: impl Fn(&S, Duration) -> Result<(), Ending>,
) -> Result<Vec<u8>, Ending> {
    let end = Instant::now() + timeout;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while answer.len() < LONGEST_ANSWER_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        limit(stream, left)?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted || timed_out(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !answer.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(answer)
}

/// Why there is no answer.
#[derive(Debug)]
enum Ending {
    /// The socket failed, or the time is over.
    Broken(io::Error),
    /// We do not wait any longer.
    GivenUp(Failure),
}

impl From<io::Error> for Ending {
    fn from(error: io::Error) -> Ending {
        Ending::Broken(error)
    }
}

fn timed_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_always_has_three_arguments() {
        assert_eq!(encode(Version::One, "getversion", &[]), Ok(b"1\0getversion\0\0\0\0".to_vec()));
        assert_eq!(encode(Version::One, "load", &["a", "true", "b"]), Ok(b"1\0load\0a\0true\0b\0".to_vec()));
    }

    #[test]
    fn version_2_says_how_long_it_is() {
        assert_eq!(encode(Version::Two, "load", &["a", "true"]), Ok(b"2\x0012\0load\0a\0true\0".to_vec()));
    }

    #[test]
    fn only_version_1_minds_long_arguments() {
        let long = "x".repeat(1025);
        assert_eq!(encode(Version::One, "load", &[&long]), Err(long.as_str()));
        assert!(encode(Version::One, "load", &[&long[1..]]).is_ok());
        assert!(encode(Version::Two, "load", &[&long]).is_ok());
    }

    #[test]
    fn answers_are_a_number_and_a_text() {
        let answer = |code, text: &str| Some(Answer { code, text: text.to_owned() });
        assert_eq!(decode(b"0\nreturn code: 0\n"), answer(0, "return code: 0\n"));
        assert_eq!(decode(b"101"), answer(101, ""));
        assert_eq!(decode(b"hello"), None);
        assert_eq!(decode(b""), None);
    }

    #[test]
    fn no_answer_is_a_reason_to_panic() {
        let seeds =
            [&b"0\nreturn code: 0\n"[..], b"101\nx.so: cannot open", b"-1\nDynamic agent loading is not enabled"];
        headway_hostile::change::feed(&seeds.map(<[u8]>::to_vec), 50_000, |bytes| drop(decode(bytes)));
    }

    #[test]
    fn an_answer_that_never_ends_is_given_up() {
        let mut silent = io::repeat(b'0');
        let read = read_answer(&mut silent, Duration::from_secs(5), |_, _| Ok(()));
        assert_eq!(read.map(|bytes| bytes.len() >= LONGEST_ANSWER_BYTES).ok(), Some(true));
        let late = read_answer(&mut io::repeat(b'0'), Duration::ZERO, |_, _| Ok(()));
        assert!(matches!(late, Err(Ending::Broken(error)) if timed_out(&error)));
    }
}
