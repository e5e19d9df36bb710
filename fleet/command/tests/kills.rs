//! `ship` killed at random moments of its deliveries: each batch is in the queue or in the store, and at the end in the
//! store once.

#[path = "../../store/tests/made_up/mod.rs"]
mod made_up;

use headway_store::{Day, Store};
use made_up::{counts, rolled, NOON};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const BATCHES: u64 = 12;
/// Kills before everything is delivered, unless `HEADWAY_KILLS` has another number.
const KILLS: u64 = 20;
/// Only a test that hangs meets it.
const HANGS: Duration = Duration::from_secs(400);
const TICK: Duration = Duration::from_millis(2);

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A queue with batches that wait, and the store that they go to.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Scene {
        let scene = Scene { folder: tempfile::tempdir().expect("a folder") };
        // A queue's rows are a store.
        let rows = Store::open_or_make(&scene.place("queue/rows")).await.expect("a store");
        for batch in 0..BATCHES {
            rows.deliver(&rolled("shop", 1, NOON + 2 * batch)).await.expect("a delivery");
        }
        scene
    }

    fn place(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn ship(&self) -> Guarded {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
        command.args(["ship", "--listen", "127.0.0.1:0", "--headway", "/bin/false"]);
        command.args(["--store", &self.place("store"), "--queue", &self.place("queue")]);
        Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts"))
    }

    /// Until the queue has no commits any more; gives how long that took.
    fn until_empty(&self) -> Duration {
        let began = Instant::now();
        self.until_fewer(1);
        began.elapsed()
    }

    /// Until the queue has fewer commits.
    fn until_fewer(&self, than: usize) {
        let began = Instant::now();
        let commits = self.folder.path().join("queue/rows").join(format!("day={}", day())).join("commits");
        while std::fs::read_dir(&commits).is_ok_and(|entries| entries.count() >= than) {
            assert!(began.elapsed() < HANGS, "it does not deliver");
            sleep(TICK);
        }
    }

    /// Names of the batches of a store that is there, each of which is whole.
    async fn batches(&self, name: &str) -> BTreeSet<String> {
        let place = self.place(name);
        if !Path::new(&place).join("store.json").is_file() {
            return BTreeSet::new();
        }
        let store = Store::open(&place).await.expect("a store");
        let snapshot = store.snapshot(day()).await.expect("a snapshot");
        let batches: BTreeSet<String> = snapshot.batches().into_iter().map(str::to_owned).collect();
        if name == "store" {
            let [locks, load, ..] = counts(&store, &snapshot).await;
            assert_eq!((locks, load), (2 * batches.len(), 2 * batches.len()), "{batches:?}");
        }
        batches
    }
}

#[test]
fn a_killed_ship_loses_and_doubles_nothing() {
    let kills = std::env::var("HEADWAY_KILLS").map_or(KILLS, |number| number.parse().expect("a number"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let scene = Scene::new().await;
        let ship = scene.ship();
        let takes = scene.until_empty();
        drop(ship);
        assert_eq!(scene.batches("store").await.len() as u64, BATCHES);
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let (mut killed, mut stores) = (0, 0);
        while killed < kills {
            let scene = Scene::new().await;
            let all = scene.batches("queue/rows").await;
            assert_eq!(all.len() as u64, BATCHES);
            stores += 1;
            assert!(stores <= 20 * kills, "it is never killed between two deliveries");
            let mut before = 0;
            // Killed three times, each after it has delivered a batch, then left alone.
            for _ in 0..3 {
                if before == BATCHES {
                    break;
                }
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let ship = scene.ship();
                scene.until_fewer((BATCHES - before) as usize);
                sleep(Duration::from_nanos(random % (takes.as_nanos() as u64 / 2)));
                drop(ship);
                let (waiting, delivered) = (scene.batches("queue/rows").await, scene.batches("store").await);
                let found: BTreeSet<String> = waiting.union(&delivered).cloned().collect();
                assert_eq!(found, all, "{waiting:?} and {delivered:?}");
                killed += u64::from(delivered.len() as u64 != BATCHES);
                before = delivered.len() as u64;
            }
            let ship = scene.ship();
            scene.until_empty();
            drop(ship);
            assert_eq!(scene.batches("store").await, all);
        }
        println!("ship was killed {killed} times between its first delivery and its last one, with {stores} queues");
    });
}
