//! A writer killed at any moment loses nothing that it committed and doubles nothing.

mod made_up;

use headway_store::{Day, Store};
use made_up::{counts, rolled, NOON};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PLACE: &str = "HEADWAY_TEST_STORE";
const BATCHES: u64 = 16;
/// Kills, unless `HEADWAY_KILLS` has another number.
const KILLS: u64 = 24;

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

/// What the child does: delivers all batches, compacts now and then, says what is committed.
fn child(place: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(place).await.expect("a store");
        for batch in 0..BATCHES {
            store.deliver(&rolled("shop", 1, NOON + 2 * batch)).await.expect("a delivery");
            println!("committed {batch}");
            if batch % 4 == 3 {
                store.compact(day()).await.expect("a compaction");
            }
        }
    });
}

fn start(place: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "a_killed_writer_loses_and_doubles_nothing", "--nocapture"]).env(PLACE, place);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child")
}

/// The batches that a child said it committed until it ended.
fn committed(child: &mut Child) -> u64 {
    let output = child.stdout.take().expect("output");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.filter(|line| line.contains("committed ")).count() as u64
}

#[test]
fn a_killed_writer_loses_and_doubles_nothing() {
    if let Ok(place) = std::env::var(PLACE) {
        return child(&place);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let began = Instant::now();
    let mut whole = start(&place("whole"));
    assert_eq!(committed(&mut whole), BATCHES);
    assert!(whole.wait().expect("an end").success());
    let takes = began.elapsed();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let (mut killed, mut stores) = (0, 0);
    let kills = std::env::var("HEADWAY_KILLS").map_or(KILLS, |number| number.parse().expect("a number"));
    while killed < kills {
        let store = place(&format!("store-{stores}"));
        stores += 1;
        // Killed three times, then left alone.
        for _ in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut child = start(&store);
            std::thread::sleep(Duration::from_nanos(random % takes.as_nanos() as u64));
            child.kill().expect("a kill");
            let said = committed(&mut child);
            killed += u64::from(!child.wait().expect("an end").success());
            runtime.block_on(check(&store, said));
        }
        let mut last = start(&store);
        assert_eq!(committed(&mut last), BATCHES);
        assert!(last.wait().expect("an end").success());
        assert_eq!(runtime.block_on(check(&store, BATCHES)), BATCHES);
    }
    println!("{killed} writers were killed, in {stores} stores");
}

/// Everything said to be committed is there, whole and once. Gives how many batches are.
async fn check(place: &str, said: u64) -> u64 {
    let Ok(store) = Store::open(place).await else {
        assert_eq!(said, 0, "a store without a beginning");
        return 0;
    };
    let snapshot = store.snapshot(day()).await.expect("a snapshot");
    let batches = snapshot.batches().len();
    assert!(batches as u64 >= said, "{batches} batches, {said} were committed");
    let [locks, load, ..] = counts(&store, &snapshot).await;
    assert_eq!((locks, load), (2 * batches, 2 * batches));
    // What nothing refers to can go, and takes nothing along.
    store.tidy_older_than(Duration::ZERO).await.expect("tidy");
    assert_eq!(counts(&store, &snapshot).await[..2], [2 * batches, 2 * batches]);
    batches as u64
}
