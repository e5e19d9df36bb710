//! Writers at once, killed, and beside a compaction: each row is in the store once.

use crate::made_up::{counts, rolled, NOON};
use crate::server::{runtime, Guarded, Server};
use headway_store::{Day, Store};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

const PLACE: &str = "HEADWAY_TEST_STORE";
const BATCHES: usize = 12;
const KILLS: u32 = 8;

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

/// What the child process of a test does; it finds the server by its environment.
fn deliver_all(place: &str) {
    runtime().block_on(async {
        let store = Store::open_or_make(place).await.expect("a store");
        for batch in 0..BATCHES as u64 {
            let delivered = store.deliver(&rolled("shop", 1, NOON + 2 * batch)).await.expect("a delivery");
            assert_eq!(delivered.new.len() + delivered.known.len(), 1);
            println!("committed {}", if delivered.new.is_empty() { "known" } else { "new" });
        }
    });
}

/// A child process that delivers all batches.
struct Writer {
    child: Guarded,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// What it committed, and how much of that was not there.
    committed: usize,
    new: usize,
}

impl Writer {
    /// `test` is the one that calls, which is what the child runs, too.
    fn start(server: &Server, test: &str, place: &str) -> Writer {
        let mut command = server.program(std::env::current_exe().expect("this program"));
        command.args(["--exact", &format!("writers::{test}"), "--nocapture"]).env(PLACE, place);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child");
        let mut child = Guarded(child);
        let output = child.0.stdout.take().expect("output");
        Writer { child, lines: BufReader::new(output).lines(), committed: 0, new: 0 }
    }

    /// Reads until it committed so many, or ended.
    fn read(&mut self, until: usize) {
        while self.committed < until {
            let Some(Ok(line)) = self.lines.next() else { return };
            if let Some((_, what)) = line.split_once("committed ") {
                self.committed += 1;
                self.new += usize::from(what == "new");
            }
        }
    }

    /// Reads to its end. True if it ended well.
    fn finish(&mut self) -> bool {
        self.read(usize::MAX);
        self.child.0.wait().expect("an end").success()
    }
}

/// Batches of the store, after a check that the rows of each are there once.
async fn whole_batches(store: &Store) -> usize {
    let snapshot = store.snapshot(day()).await.expect("a snapshot");
    let batches = snapshot.batches().len();
    let [locks, load, ..] = counts(store, &snapshot).await;
    assert_eq!((locks, load), (2 * batches, 2 * batches));
    batches
}

async fn open(server: &Server, prefix: &str) -> Store {
    Store::open_or_make_on(server.objects(prefix), &server.place(prefix)).await.expect("a store")
}

#[test]
fn of_puts_of_a_name_at_once_one_succeeds() {
    let server = Server::start();
    runtime().block_on(async {
        let bucket = server.bucket();
        for round in 0..20 {
            let path = Path::from(format!("name-{round}"));
            let put = |writer: u8| {
                let (bucket, path, content) = (bucket.clone(), path.clone(), vec![writer; 100_000]);
                tokio::spawn(async move { bucket.put_opts(&path, content.into(), PutMode::Create.into()).await })
            };
            let puts: Vec<_> = (0..8).map(put).collect();
            let mut succeeded = Vec::new();
            for (writer, put) in puts.into_iter().enumerate() {
                match put.await.expect("a task") {
                    Ok(_) => succeeded.push(writer as u8),
                    Err(Error::AlreadyExists { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            let content = bucket.get(&path).await.expect("an object").bytes().await.expect("its content");
            assert_eq!(succeeded, [content[0]], "whose put succeeded, and whose is there");
            assert_eq!(content, vec![content[0]; 100_000]);
        }
    });
}

#[test]
fn a_store_is_made_and_no_probe_remains() {
    let server = Server::start();
    runtime().block_on(async {
        for _ in 0..2 {
            open(&server, "rows").await;
            let objects = server.bucket().list_with_delimiter(Some(&Path::from("rows"))).await.expect("a list").objects;
            let names: Vec<_> = objects.iter().map(|object| object.location.as_ref()).collect();
            assert_eq!(names, ["rows/store.json"]);
        }
    });
}

#[test]
fn writers_of_the_same_rows_at_once_deliver_each_once() {
    if let Ok(place) = std::env::var(PLACE) {
        return deliver_all(&place);
    }
    let server = Server::start();
    let name = "writers_of_the_same_rows_at_once_deliver_each_once";
    let mut writers: Vec<_> = (0..3).map(|_| Writer::start(&server, name, &server.place("rows"))).collect();
    assert!(writers.iter_mut().all(Writer::finish));
    assert_eq!(writers.iter().map(|writer| writer.new).sum::<usize>(), BATCHES);
    assert_eq!(writers.iter().map(|writer| writer.committed).sum::<usize>(), 3 * BATCHES);
    runtime().block_on(async { assert_eq!(whole_batches(&open(&server, "rows").await).await, BATCHES) });
}

#[test]
fn a_killed_writer_loses_and_doubles_nothing() {
    if let Ok(place) = std::env::var(PLACE) {
        return deliver_all(&place);
    }
    let server = Server::start();
    let start =
        |prefix: &str| Writer::start(&server, "a_killed_writer_loses_and_doubles_nothing", &server.place(prefix));
    let mut whole = start("whole");
    whole.read(1);
    let began = Instant::now();
    assert!(whole.finish());
    assert_eq!((whole.committed, whole.new), (BATCHES, BATCHES));
    let of_a_batch = began.elapsed() / (BATCHES as u32 - 1);
    let runtime = runtime();
    let mut killed = 0;
    for kill in 0..KILLS {
        // After some batches, and at another moment of the next one each time.
        let mut writer = start("rows");
        writer.read(kill as usize % 4);
        std::thread::sleep(of_a_batch * (2 * kill + 1) / (2 * KILLS));
        writer.child.0.kill().expect("a kill");
        killed += u32::from(!writer.finish());
        runtime.block_on(async {
            let store = open(&server, "rows").await;
            let batches = whole_batches(&store).await;
            assert!(batches >= writer.committed, "{batches} batches, {} were committed", writer.committed);
            // What nothing refers to can go, and takes nothing along.
            store.tidy_older_than(Duration::ZERO).await.expect("tidy");
            assert_eq!(whole_batches(&store).await, batches);
        });
    }
    assert!(killed > 0, "each ended before it was killed");
    let mut last = start("rows");
    assert!(last.finish());
    assert_eq!(last.committed, BATCHES);
    runtime.block_on(async { assert_eq!(whole_batches(&open(&server, "rows").await).await, BATCHES) });
}

#[test]
fn compactions_beside_a_writer_lose_and_double_nothing() {
    if let Ok(place) = std::env::var(PLACE) {
        return deliver_all(&place);
    }
    let server = Server::start();
    let name = "compactions_beside_a_writer_lose_and_double_nothing";
    let mut writer = Writer::start(&server, name, &server.place("rows"));
    let runtime = runtime();
    let mut compacted = 0;
    for step in (2..=BATCHES).step_by(2) {
        writer.read(step);
        // Two at once: one of them begins again.
        runtime.block_on(async {
            let (store, place) = (open(&server, "rows").await, server.place("rows"));
            let other = Store::open_or_make_on(server.objects("rows"), &place).await.expect("a store");
            let other = tokio::spawn(async move { other.compact(day()).await.expect("a compaction").batches });
            compacted += store.compact(day()).await.expect("a compaction").batches;
            compacted += other.await.expect("a task");
            assert!(whole_batches(&store).await >= writer.committed);
        });
    }
    assert!(writer.finish());
    assert_eq!((writer.committed, writer.new), (BATCHES, BATCHES));
    runtime.block_on(async {
        let store = open(&server, "rows").await;
        compacted += store.compact(day()).await.expect("a compaction").batches;
        assert_eq!(compacted, BATCHES as u64, "each was compacted once");
        store.tidy_older_than(Duration::ZERO).await.expect("tidy");
        assert_eq!(whole_batches(&store).await, BATCHES);
        let delivered = store.deliver(&rolled("shop", 1, NOON)).await.expect("a delivery");
        assert_eq!((delivered.new.len(), delivered.known.len()), (0, 1), "its commit is gone, the manifest knows it");
    });
}
