//! The process: one thread records, one delivers, until a signal.

use crate::counters::Counters;
use crate::http;
use crate::jvms::Headway;
use crate::queue::{Queue, QueueError};
use crate::recorder::{Plan, Recorder};
use crate::upload::Uploader;
use headway_store::Store;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::future::Future;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);
/// The queue is looked at so often, even where nothing came.
const LOOK: Duration = Duration::from_secs(10);
/// How long the last deliveries may take at the end; what remains stays in the queue.
const LAST: Duration = Duration::from_secs(10);

/// What the process is to do.
#[derive(Debug)]
pub struct Settings {
    /// The store: a directory or `s3://bucket/prefix`.
    pub store: String,
    /// The queue's folder.
    pub queue: PathBuf,
    /// What rows in it may take on disk.
    pub queue_bytes: u64,
    /// Where metrics are served.
    pub listen: SocketAddr,
    /// How JVMs are reached.
    pub headway: Headway,
    /// What is recorded.
    pub plan: Plan,
    /// How often JVMs are looked for.
    pub look: Duration,
}

/// Records and delivers until SIGINT, SIGTERM or SIGHUP; then ends all recordings, and delivers what it can in 10 s.
///
/// # Errors
/// The queue or the address cannot be used.
pub fn ship(settings: Settings, runtime: &Handle) -> Result<(), QueueError> {
    let Settings { store, queue, queue_bytes, listen, headway, plan, look } = settings;
    let doing = |what: String| move |error: io::Error| QueueError::Disk(what, error);
    Store::check_place(&store).map_err(QueueError::Store)?;
    // Whoever is second at either ends before anything is begun.
    let listener = TcpListener::bind(listen).map_err(doing(format!("listen at {listen}")))?;
    let address = listener.local_addr().map_err(doing(format!("listen at {listen}")))?;
    let queue = Arc::new(runtime.block_on(Queue::open(&queue, queue_bytes))?);
    queue.refuse_inside(&store)?;
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, over.clone()).map_err(doing("watch for signals".into()))?;
    }
    let counters = Arc::new(Counters::default());
    let shown = (counters.clone(), queue.clone());
    http::serve(listener, move || shown.0.text(&shown.1.losses())).map_err(doing(format!("answer at {listen}")))?;
    let mut recorder = Recorder::new(headway, queue.clone(), runtime.clone(), counters.clone(), plan)?;
    let mut uploader = Uploader::new(queue, store, counters.clone());
    // Nobody may read it; that is no reason to end.
    let _ = writeln!(io::stdout(), "http://{address}/metrics");
    let (rows, came) = mpsc::channel();
    let recording = AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            // However it ends, so that the other thread does not go on alone.
            let _ended = Ended(&recording);
            record(&mut recorder, &over, look, &rows);
        });
        deliver(&mut uploader, runtime, &over, &recording, &came);
    });
    let remain = counters.waiting_batches.get();
    if remain > 0 {
        let wait = if remain == 1 { "batch waits" } else { "batches wait" };
        eprintln!("headway-fleet: {remain} {wait} in the queue for the next headway ship");
    }
    Ok(())
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn record(recorder: &mut Recorder<Headway>, over: &AtomicBool, look: Duration, rows: &Sender<()>) {
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        if recorder.round(began) {
            let _ = rows.send(());
        }
        while began.elapsed() < look && !over.load(Ordering::Relaxed) {
            thread::sleep(TICK.min(look.saturating_sub(began.elapsed())));
        }
    }
    recorder.end();
}

fn deliver(uploader: &mut Uploader, runtime: &Handle, over: &AtomicBool, recording: &AtomicBool, came: &Receiver<()>) {
    while recording.load(Ordering::Acquire) {
        let go_on = || !over.load(Ordering::Relaxed);
        let until = runtime.block_on(unless_over(uploader.round(Instant::now(), go_on), over)).flatten();
        let deadline = until.unwrap_or_else(|| Instant::now() + LOOK).min(Instant::now() + LOOK);
        while Instant::now() < deadline && recording.load(Ordering::Acquire) {
            match came.recv_timeout(TICK) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(TICK),
            }
        }
    }
    let deadline = Instant::now() + LAST;
    uploader.try_now();
    runtime.block_on(async {
        let last = uploader.round(Instant::now(), || Instant::now() < deadline);
        let _ = tokio::time::timeout(LAST, last).await;
    });
}

/// What comes of this, unless the process is to end meanwhile and it takes too long: a store that does not answer is
/// waited for by the library for minutes.
async fn unless_over<T>(work: impl Future<Output = T>, over: &AtomicBool) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut deadline = None;
    loop {
        if let Ok(done) = tokio::time::timeout(TICK, &mut work).await {
            return Some(done);
        }
        let now = Instant::now();
        if over.load(Ordering::Relaxed) && now > *deadline.get_or_insert(now + LAST) {
            return None;
        }
    }
}
