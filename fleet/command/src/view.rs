//! `fleet view`: the page of a store, served to this machine's browser.

mod contract;
mod questions;
mod regressed;
mod site;

use crate::arguments::ViewStore;
use crate::failure::Failure;
use crate::session::{only_queries, Database};
use headway_loopback::{Door, Server};
use headway_store::Store;
use site::Site;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use tokio::signal::unix::{signal, SignalKind};

/// Serves the page until SIGINT or SIGTERM.
///
/// # Errors
/// There is no such store, nothing is in it, or the port is taken.
pub async fn view(asked: &ViewStore) -> Result<(), Failure> {
    let place = &asked.place.store;
    let store = Store::open(place).await?;
    let database = Database::of_store(&store, asked.memory).await?;
    if is_empty(&database).await? {
        return Err(Failure::Failed(format!("{place} has no rows yet: `headway ingest` or `headway ship` adds them")));
    }
    site::page(place)?;
    let cannot_wait = |error| Failure::Failed(format!("cannot wait for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_wait)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_wait)?;
    let server = serve(Site::new(store, place, asked.memory, database), asked.port)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    // Its last answers need this runtime, which goes on meanwhile.
    tokio::task::block_in_place(|| server.stop());
    Ok(())
}

async fn is_empty(database: &Database) -> Result<bool, Failure> {
    let session = database.session(&crate::session::Only::default()).await?;
    let frame = session.sql_with_options("SELECT 1 FROM load_minute LIMIT 1", only_queries()).await?;
    Ok(frame.collect().await?.iter().all(|batch| batch.num_rows() == 0))
}

/// Begins to answer, and prints the address.
fn serve(site: Site, port: u16) -> Result<Server, Failure> {
    let cannot_listen =
        |error: io::Error| Failure::Failed(format!("cannot listen on port {port} of this machine: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(cannot_listen)?;
    let bound = listener.local_addr().map_err(cannot_listen)?.port();
    let door = Door::new(bound).map_err(|error| Failure::Failed(format!("cannot make a secret: {error}")))?;
    let server = Server::start(listener, door, site).map_err(cannot_listen)?;
    let written = writeln!(io::stdout(), "{}", server.address()).and_then(|()| io::stdout().flush());
    written.map_err(|error| Failure::Failed(format!("cannot write to standard output: {error}")))?;
    eprintln!("open this address in a browser of this machine; Ctrl-C ends");
    Ok(server)
}
