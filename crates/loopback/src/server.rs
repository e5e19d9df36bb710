//! The site over HTTP.
//!
//! One thread waits for all connections at once. A browser opens some ahead of
//! need and leaves them silent; those cost a descriptor each and hold nobody up.
//! A site answers questions on other threads, as each takes a while. If a client goes
//! away, the answer on its way is dropped.
//!
//! Everything a client can make us keep is bounded: connections, the size of a
//! request's head and body, and the time until both are complete. The next head
//! counts from the answer before, so that an idle connection ends as well. Where
//! there are as many connections as there may be, the one that has been without
//! a question the longest ends for the next: who connects and stays silent, or
//! sends a byte now and then, locks nobody out.

use crate::door::{Door, Knock};
use crate::{Reply, Site};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use std::{io, net};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Threads for what a site does beside the waiting (`tokio::task::spawn_blocking`).
const WORKERS: usize = 4;
/// For one more another ends. Each has one question under way at most.
const MOST_CONNECTIONS: usize = 256;
/// Longer questions are refused.
const LONGEST_QUERY: usize = 1 << 20;
/// Longer heads are refused, if not to the byte: a read may exceed this. Cookies
/// count, and those of every server on this machine go to each of them.
const LONGEST_HEAD: usize = 1 << 16;
/// In which a head must have come, and as long again a body.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is under way when the command has to end may take so much longer.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// Until the next attempt, where no descriptor was free for a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Sent with every answer. The page's own policy stands in the page; this adds
/// what only a header can say.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("frame-ancestors 'none'")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// Answers until it is stopped.
#[derive(Debug)]
pub struct Server {
    address: String,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

/// What is served, and to whom.
struct House {
    door: Door,
    site: Box<dyn Site>,
}

impl Server {
    /// Answers whoever connects to this listener and comes through the door.
    ///
    /// # Errors
    /// The system refuses what waiting for many connections takes.
    pub fn start(listener: net::TcpListener, door: Door, site: impl Site) -> io::Result<Server> {
        let address = door.address();
        let house = Arc::new(House { door, site: Box::new(site) });
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread().enable_all().max_blocking_threads(WORKERS).build()?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("headway-view".to_owned())
            .spawn(move || run(runtime, serve(listener, house, stopped)))?;
        Ok(Server { address, stop, thread })
    }

    /// What to open in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Takes no more connections, and ends after the answers that are under way,
    /// unless they take long.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join(); // a panic has been printed
    }
}

fn run(runtime: Runtime, serving: impl Future<Output = ()>) {
    runtime.block_on(serving);
    runtime.shutdown_background(); // an answer that nobody waits for is not waited for
}

async fn serve(listener: TcpListener, house: Arc<House>, mut stopped: oneshot::Receiver<()>) {
    let connections = GracefulShutdown::new();
    let mut attended = Attended::default();
    while let Some(connection) = next(&listener, &mut stopped).await {
        match connection {
            Ok(stream) => {
                attended.make_room();
                let visitor = Arc::new(Visitor { house: house.clone(), last_answer: AtomicU64::new(0) });
                attended.0.push((visitor.clone(), attend(stream, visitor, &connections)));
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, connections.shutdown()).await;
}

/// The next connection; none once it has to stop.
async fn next(listener: &TcpListener, stopped: &mut oneshot::Receiver<()>) -> Option<io::Result<TcpStream>> {
    poll_fn(|context| match Pin::new(&mut *stopped).poll(context) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => listener.poll_accept(context).map(|accepted| Some(accepted.map(|(stream, _)| stream))),
    })
    .await
}

/// One connection's other end.
struct Visitor {
    house: Arc<House>,
    /// Number of its last answer, counted over all visitors; 0 before the first.
    /// Refusals do not count: who does not know the secret has no answer.
    last_answer: AtomicU64,
}

impl Visitor {
    fn answered(&self) {
        static ANSWERS: AtomicU64 = AtomicU64::new(1);
        self.last_answer.store(ANSWERS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The connections that there are, oldest first.
#[derive(Default)]
struct Attended(Vec<(Arc<Visitor>, JoinHandle<()>)>);

impl Attended {
    /// Ends connections until one more is allowed: those without an answer first,
    /// the oldest of them, then those whose last answer is the longest ago.
    fn make_room(&mut self) {
        self.0.retain(|(_, task)| !task.is_finished());
        while self.0.len() >= MOST_CONNECTIONS {
            let last_answer = |(_, (visitor, _)): &(usize, &(Arc<Visitor>, JoinHandle<()>))| {
                visitor.last_answer.load(Ordering::Relaxed)
            };
            let Some((at, _)) = self.0.iter().enumerate().min_by_key(last_answer) else { return };
            self.0.remove(at).1.abort();
        }
    }
}

/// Answers what comes on one connection, beside all others.
fn attend(stream: TcpStream, visitor: Arc<Visitor>, connections: &GracefulShutdown) -> JoinHandle<()> {
    let _ = stream.set_nodelay(true); // else it is slower, no more
    let answering = service_fn(move |request| respond(visitor.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), answering);
    let connection = connections.watch(connection);
    // How a connection fails concerns its other end only.
    tokio::spawn(async { drop(connection.await) })
}

async fn respond(visitor: Arc<Visitor>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let reply = match read(body).await {
        Err(refused) => refused,
        Ok(body) => {
            let knock = Knock {
                get: head.method == Method::GET,
                path: &head.uri.to_string(),
                host: only(&head.headers, &HOST).unwrap_or_default(),
                origin: only(&head.headers, &ORIGIN),
            };
            match visitor.house.door.let_in(&knock, body) {
                Err(refused) => refused,
                Ok(asked) => visitor.house.site.reply(asked).await,
            }
        }
    };
    if reply.status == StatusCode::OK.as_u16() {
        visitor.answered();
    }
    Ok(response(reply))
}

/// The body, complete and in time.
async fn read(body: Incoming) -> Result<String, Reply> {
    let Ok(read) = timeout(PATIENCE, Limited::new(body, LONGEST_QUERY).collect()).await else {
        return Err(Reply::refusal(408, "the question did not come to its end"));
    };
    let read = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => Reply::refusal(413, "the question is too long"),
        false => Reply::refusal(400, "the question did not come to its end"),
    })?;
    String::from_utf8(read.to_bytes().into()).map_err(|_| Reply::refusal(400, "the question is not UTF-8"))
}

/// A header's value. One that is there twice, or is no text, is empty: it must
/// not pass for another one, nor for none.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    Some(value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or_default())
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    response.headers_mut().extend(HEADERS);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asked, Replying};
    use std::future::{pending, ready};
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpStream};
    use std::sync::mpsc;

    /// A page, questions that are too much for it, and one that it never answers.
    struct Small {
        dropped: mpsc::Sender<()>,
    }

    /// Says when it is dropped.
    struct Drops(mpsc::Sender<()>);

    impl Drop for Drops {
        fn drop(&mut self) {
            let _ = self.0.send(()); // not every test listens
        }
    }

    impl Site for Small {
        fn reply(&self, asked: Asked) -> Replying {
            match (asked.get, asked.path.as_str()) {
                (true, "") => Box::pin(ready(Reply::page("<page>".to_owned()))),
                (false, "query") => Box::pin(ready(Reply::refusal(400, "this is no question"))),
                (false, "never") => {
                    let drops = Drops(self.dropped.clone());
                    Box::pin(async move {
                        let _drops = drops;
                        pending().await
                    })
                }
                _ => Box::pin(ready(Reply::nothing_here())),
            }
        }
    }

    struct Running {
        server: Option<Server>,
        address: SocketAddr,
        token: String,
    }

    impl Drop for Running {
        fn drop(&mut self) {
            self.server.take().into_iter().for_each(Server::stop);
        }
    }

    impl Running {
        fn start() -> Running {
            Running::with(mpsc::channel().0)
        }

        /// `dropped` hears of an answer that nobody waits for any more.
        fn with(dropped: mpsc::Sender<()>) -> Running {
            let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let address = listener.local_addr().expect("an address");
            let door = Door::new(address.port()).expect("random numbers");
            let server = Server::start(listener, door, Small { dropped }).expect("a server");
            let token = server.address().rsplit('/').nth(1).expect("a token").to_owned();
            Running { server: Some(server), address, token }
        }

        fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).expect("a connection")
        }

        /// Sends a request whose headers begin with the right host.
        fn ask(&self, first_line: &str, rest: &str) -> TcpStream {
            let mut stream = self.connect();
            let request = format!("{first_line} HTTP/1.1\r\nHost: {}\r\n{rest}", self.address);
            // What is refused may be refused before all of it has been sent.
            let _ = stream.write_all(request.as_bytes());
            stream
        }

        fn page(&self) -> String {
            format!("GET /{}/", self.token)
        }
    }

    /// Everything until the other end closes.
    fn received(mut stream: TcpStream) -> String {
        let mut all = Vec::new();
        // What was not read of a refused body makes the end an error.
        let _ = stream.read_to_end(&mut all);
        String::from_utf8(all).expect("text")
    }

    fn starts(reply: &str, status: &str) {
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "not {status}: {reply}");
    }

    const LAST: &str = "Connection: close\r\n\r\n";

    #[test]
    fn the_page_comes_with_what_only_headers_can_say() {
        let running = Running::start();
        let reply = received(running.ask(&running.page(), LAST));
        starts(&reply, "200");
        for header in [
            "content-length: 6",
            "content-type: text/html; charset=utf-8",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "content-security-policy: frame-ancestors 'none'",
            "cross-origin-resource-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
        ] {
            assert!(reply.contains(&format!("\r\n{header}\r\n")), "{header} is missing: {reply}");
        }
        assert!(reply.ends_with("\r\n\r\n<page>"), "{reply}");
    }

    #[test]
    fn silent_connections_hold_nobody_up() {
        let running = Running::start();
        let silent: Vec<TcpStream> = (0..64).map(|_| running.connect()).collect();
        starts(&received(running.ask(&running.page(), LAST)), "200");
        // It was answered beside them, not after they had been given up.
        assert!(silent.iter().all(is_open));
    }

    #[test]
    fn no_number_of_silent_or_slow_connections_locks_anybody_out() {
        let running = Running::start();
        let again = format!("{} HTTP/1.1\r\nHost: {}\r\n", running.page(), running.address);
        let mut kept = running.ask(&running.page(), "\r\n");
        kept.read_exact(&mut [0; 15]).expect("an answer");
        let slow = |n: usize| {
            let mut stream = running.connect();
            let part = if n.is_multiple_of(2) { "GET /" } else { "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{" };
            stream.write_all(part.as_bytes()).expect("sent");
            stream
        };
        let slow: Vec<TcpStream> = (0..MOST_CONNECTIONS + 64).map(slow).collect();
        starts(&received(running.ask(&running.page(), LAST)), "200");
        // Who has had an answer stays.
        kept.write_all(format!("{again}{LAST}").as_bytes()).expect("sent");
        assert_eq!(received(kept).matches("<page>").count(), 2);
        // They were answered beside the slow ones, not after those had been given up: of these
        // only the oldest made room.
        let oldest_open = slow.len() - (MOST_CONNECTIONS - 2);
        let open: Vec<usize> = (0..slow.len()).filter(|n| is_open(&slow[*n])).collect();
        assert_eq!(open, (oldest_open..slow.len()).collect::<Vec<usize>>());
    }

    /// True if the other end has neither closed nor sent anything.
    fn is_open(mut stream: &TcpStream) -> bool {
        stream.set_nonblocking(true).expect("set");
        stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn a_connection_carries_several_requests() {
        let running = Running::start();
        let mut stream = running.ask(&running.page(), "\r\n");
        let again = format!("{} HTTP/1.1\r\nHost: {}\r\n{LAST}", running.page(), running.address);
        stream.write_all(again.as_bytes()).expect("sent");
        assert_eq!(received(stream).matches("<page>").count(), 2);
    }

    #[test]
    fn strangers_are_refused() {
        let running = Running::start();
        starts(&received(running.ask("GET /0123/", LAST)), "404");
        starts(&received(running.ask(&running.page(), &format!("Host: evil.example\r\n{LAST}"))), "403");
        starts(&received(running.ask(&running.page(), &format!("Origin: http://evil.example\r\n{LAST}"))), "403");
        starts(&received(running.ask(&running.page(), &format!("Origin: \u{e4}\r\n{LAST}"))), "403");
        let whole_address = format!("GET http://{}/{}/", running.address, running.token);
        starts(&received(running.ask(&whole_address, LAST)), "404");
        let mut stream = running.connect();
        let request = format!("{} HTTP/1.1\r\nHost: evil.example\r\n{LAST}", running.page());
        stream.write_all(request.as_bytes()).expect("sent");
        starts(&received(stream), "403");
    }

    #[test]
    fn heads_and_bodies_are_bounded() {
        let running = Running::start();
        let long = format!("Cookie: {}\r\n{LAST}", "c".repeat(4 * LONGEST_HEAD));
        starts(&received(running.ask(&running.page(), &long)), "431");
        let query = format!("POST /{}/query", running.token);
        let body = |length: usize| format!("Content-Length: {length}\r\n{LAST}{}", " ".repeat(length));
        starts(&received(running.ask(&query, &body(LONGEST_QUERY))), "400"); // read, but no question
        starts(&received(running.ask(&query, &body(LONGEST_QUERY + 1))), "413");
    }

    #[test]
    fn an_answer_is_dropped_when_the_client_goes_away() {
        let (dropped, was_dropped) = mpsc::channel();
        let running = Running::with(dropped);
        let asking = running.ask(&format!("POST /{}/never", running.token), "\r\n");
        assert_eq!(was_dropped.recv_timeout(Duration::from_millis(20)), Err(mpsc::RecvTimeoutError::Timeout));
        drop(asking);
        assert_eq!(was_dropped.recv_timeout(PATIENCE), Ok(()));
    }

    #[test]
    fn stopping_waits_for_no_silent_connection() {
        let mut running = Running::start();
        let silent = running.connect();
        let kept = running.ask(&running.page(), "\r\n");
        running.server.take().into_iter().for_each(Server::stop);
        assert_eq!(received(silent), "");
        drop(kept);
        assert!(TcpStream::connect(running.address).is_err(), "still listening");
    }
}
