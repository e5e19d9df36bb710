//! The metrics of `headway ship`, as a collector reads them.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The value of `headway_ship_NAME`.
pub fn metric(address: &str, name: &str) -> f64 {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("written");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("headway_ship_{name} ")));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}: {text}"))
}
