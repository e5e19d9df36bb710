//! As much of HTTP as a scrape needs: a question of one line and some headers, one
//! answer, and the connection ends.
//!
//! Bounded: so many connections, each with a thread, a head of so many bytes within so much time. If there are more, the
//! oldest one that has not been answered ends: silent clients do not keep others from being answered.

use crate::error::Failure;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at a time.
const MOST: usize = 32;
/// What a thread needs for one.
const STACK: usize = 128 << 10;
/// Longer heads are refused.
const LONGEST_HEAD: usize = 8 << 10;
/// In which a question must have come, and as long again its answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Until the next attempt, where a connection could not be taken.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers as long as the process lives.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
}

impl Server {
    /// Answers whoever connects to this listener.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(listener: TcpListener) -> Result<Server, Failure> {
        let failed = || Failure::doing("cannot answer at the address");
        let address = listener.local_addr().map_err(failed())?;
        let text = Arc::new(Mutex::new(String::new()));
        let shown = text.clone();
        let work = move || {
            let open = Arc::new(Open::default());
            loop {
                match listener.accept().and_then(|(stream, _)| open.clone().answer(stream, shown.clone())) {
                    Ok(()) => {}
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
        };
        std::thread::Builder::new().name("headway metrics".into()).spawn(work).map_err(failed())?;
        Ok(Server { address, text })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is answered from now on.
    pub fn show(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Connections that have not been answered, oldest first.
#[derive(Debug, Default)]
struct Open(Mutex<VecDeque<(SocketAddr, TcpStream)>>);

impl Open {
    /// Answers a connection on another thread.
    fn answer(self: Arc<Open>, stream: TcpStream, text: Arc<Mutex<String>>) -> io::Result<()> {
        let (from, other) = (stream.peer_addr()?, stream.try_clone()?);
        let oldest = {
            let mut open = self.lock();
            open.push_back((from, other));
            if open.len() > MOST {
                open.pop_front()
            } else {
                None
            }
        };
        if let Some((_, oldest)) = oldest {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let thread = std::thread::Builder::new().name("headway metrics".into()).stack_size(STACK);
        let all = self.clone();
        let work = move || {
            // Who leaves early has what he wanted.
            let _ = answer(stream, &text);
            all.end(from);
        };
        thread.spawn(work).map(drop).inspect_err(|_| self.end(from))
    }

    fn end(&self, from: SocketAddr) {
        self.lock().retain(|(open, _)| *open != from);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(SocketAddr, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let text = || text.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, body) = match path(&head) {
        Some("/metrics") => match text() {
            text if text.is_empty() => ("503 Service Unavailable", "no interval was measured yet\n".to_owned()),
            text => ("200 OK", text),
        },
        Some(_) => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        None => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let length = body.len();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

/// Everything up to the empty line.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// What a GET asks for, without its query.
fn path(head: &str) -> Option<&str> {
    let mut words = head.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().unwrap_or_default().split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, question: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.write_all(question.as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    #[test]
    fn one_question_one_answer() {
        let server = Server::start(TcpListener::bind("127.0.0.1:0").expect("bound")).expect("started");
        let address = server.address();
        let get = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!(ask(address, get).starts_with("HTTP/1.1 503 "));
        server.show("a 1\n".into());
        // However many are silent.
        let silent: Vec<TcpStream> = (0..3 * MOST).filter_map(|_| TcpStream::connect(address).ok()).collect();
        let begun = Instant::now();
        let answer = ask(address, get);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n"), "{answer}");
        assert!(begun.elapsed() < PATIENCE, "it had to wait for silent ones");
        drop(silent);
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
