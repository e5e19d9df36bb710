//! The store on a real S3 server: conditions on puts, writers at once and killed, compaction, commands, a server that
//! goes away; Spark on it. `./hw fleet-test` runs it; `HEADWAY_S3_SERVER` is the server's program.

mod commands;
mod server;
mod spark;
mod writers;

#[path = "../scrape/mod.rs"]
mod scrape;

#[path = "../../../store/tests/made_up/mod.rs"]
mod made_up;

#[path = "../spark/engines.rs"]
mod engines;

#[path = "../spark/equal.rs"]
mod equal;
