//! Metrics for whoever asks: one question, one answer, and the connection ends. A few
//! threads, each with one connection at a time, for a bounded time.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Connections at a time.
const WORKERS: usize = 2;
/// Longer questions are refused.
const LONGEST: usize = 8 << 10;
/// In which a question must have come, and as long again its answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers `GET /metrics` with a text as long as the process lives.
pub(crate) fn serve(listener: TcpListener, text: impl Fn() -> String + Send + Sync + 'static) -> io::Result<()> {
    let text = Arc::new(text);
    for _ in 0..WORKERS {
        let (listener, text) = (listener.try_clone()?, text.clone());
        let work = move || loop {
            match listener.accept() {
                // Who leaves early has what he wanted.
                Ok((stream, _)) => drop(answer(stream, &*text)),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        };
        thread::Builder::new().name("headway metrics".into()).spawn(work)?;
    }
    Ok(())
}

fn answer(mut stream: TcpStream, text: impl Fn() -> String) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let question = question(&mut stream)?;
    let (status, body) = match question.split([' ', '?']).collect::<Vec<_>>()[..] {
        ["GET", "/metrics", ..] => ("200 OK", text()),
        ["GET", ..] => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The first line of what comes before the empty line.
fn question(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_one_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        serve(listener, || "a 1\n".to_owned()).expect("started");
        let ask = |line: &str| {
            let mut stream = TcpStream::connect(address).expect("connected");
            stream.write_all(format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("answered");
            answer
        };
        // A silent one holds up no more than its thread.
        let _silent = TcpStream::connect(address).expect("connected");
        for line in ["GET /metrics", "GET /metrics?a=b"] {
            let answer = ask(line);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n"), "{answer}");
        }
        assert!(ask("GET /").starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics").starts_with("HTTP/1.1 405 "));
    }
}
