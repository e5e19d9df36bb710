//! `headway view`: who gets the page, and how it ends.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use rustix::process::{kill_process, Pid, Signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use support::{eventually, headway, recording, refuses, Guarded};

/// A served recording.
struct Viewed {
    command: Guarded,
    /// `127.0.0.1:PORT`
    host: String,
    /// `/TOKEN/`
    path: String,
}

/// Serves a recording, if this binary holds the page.
fn viewed() -> Option<Viewed> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.jfr");
    recording::shop(&file);
    let mut command = Guarded::spawn(headway(["view"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut address = String::new();
    BufReader::new(command.0.stdout.take()?).read_line(&mut address).expect("read");
    if address.is_empty() {
        let mut why = String::new();
        command.0.stderr.take()?.read_to_string(&mut why).expect("read");
        assert!(why.contains("page"), "{why}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        println!("SKIPPED: {why}");
        return None;
    }
    let (host, path) = address.trim().strip_prefix("http://")?.split_once('/').expect("a path");
    Some(Viewed { host: host.to_owned(), path: format!("/{path}"), command })
}

impl Viewed {
    /// The status that a GET of this path gets when it names this host.
    fn status(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("read");
        told.split(' ').nth(1).expect("a status").to_owned()
    }
}

#[test]
fn only_who_knows_the_address_gets_the_page_and_silent_connections_do_not_matter() {
    let Some(mut viewed) = viewed() else { return };
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&viewed.host).expect("a connection")).collect();
    assert_eq!(viewed.status(&viewed.path, &viewed.host), "200");
    assert_eq!(viewed.status(&viewed.path, "evil.example"), "403");
    assert_eq!(viewed.status("/", &viewed.host), "404");
    assert_eq!(viewed.status(&format!("/{}/", "0".repeat(32)), &viewed.host), "404");

    let pid = Pid::from_child(&viewed.command.0);
    kill_process(pid, Signal::INT).expect("a signal");
    eventually("Ctrl-C ends it", || !viewed.command.lives());
    assert_eq!(viewed.command.0.wait().expect("ended").code(), Some(0));
    drop(silent);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let Some(viewed) = viewed() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.jfr");
    recording::shop(&file);
    let port = viewed.host.rsplit(':').next().expect("a port");
    refuses(headway(["view", "--port", port]).arg(&file), 1, &format!("cannot listen on port {port} of this machine"));
}
