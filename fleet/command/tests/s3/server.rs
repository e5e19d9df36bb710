//! A separate S3 server for each test: versitygw on a folder, at a loopback address, with credentials made up for it.

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, RetryConfig};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Only a test that hangs meets it.
const HANGS: Duration = Duration::from_secs(400);
const TICK: Duration = Duration::from_millis(20);
const BUCKET: &str = "locks";
const REGION: &str = "us-east-1";

/// Ended with the test.
pub struct Guarded(pub Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANGS, "never: {what}");
        sleep(TICK);
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

/// See the module.
pub struct Server {
    program: PathBuf,
    /// Whose folders are buckets.
    folder: tempfile::TempDir,
    pub address: SocketAddr,
    pub access: String,
    pub secret: String,
    running: Option<Guarded>,
}

/// A number that no other test has.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

impl Server {
    /// A server that answers, with an empty bucket.
    pub fn start() -> Server {
        let program = std::env::var_os("HEADWAY_S3_SERVER").expect("HEADWAY_S3_SERVER; ./hw fleet-test sets it");
        // On the disk that builds are on: the server keeps tags as extended attributes of files.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        std::fs::create_dir(folder.path().join(BUCKET)).expect("a bucket");
        // A separate address: nothing else takes the port while the server is away.
        let [_, _, _, _, _, a, b, c] = random().to_be_bytes();
        let own = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
        let port = TcpListener::bind((own, 0)).and_then(|listener| listener.local_addr()).expect("a port").port();
        let mut server = Server {
            program: program.into(),
            folder,
            address: SocketAddr::from((own, port)),
            access: format!("AKID{:016x}", random()),
            secret: format!("{:016x}{:016x}", random(), random()),
            running: None,
        };
        server.begin();
        server
    }

    /// Starts it, the first time or again, with what it has on disk.
    pub fn begin(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("--quiet").arg("--port").arg(self.address.to_string()).args(["--region", REGION]);
        command.arg("posix").arg(self.folder.path());
        command.env("ROOT_ACCESS_KEY_ID", &self.access).env("ROOT_SECRET_ACCESS_KEY", &self.secret);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the server starts");
        let mut running = Guarded(child);
        let no_retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let bucket = self.builder().with_retry(no_retry).build().expect("a bucket");
        let runtime = runtime();
        until("the server answers", || {
            let ended = running.0.try_wait().expect("a state");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            runtime.block_on(bucket.list_with_delimiter(None)).is_ok()
        });
        self.running = Some(running);
    }

    /// Kills it.
    pub fn end(&mut self) {
        self.running = None;
    }

    fn builder(&self) -> AmazonS3Builder {
        let builder = AmazonS3Builder::new().with_bucket_name(BUCKET).with_region(REGION).with_allow_http(true);
        builder
            .with_endpoint(format!("http://{}", self.address))
            .with_access_key_id(&self.access)
            .with_secret_access_key(&self.secret)
    }

    /// The bucket.
    pub fn bucket(&self) -> Arc<AmazonS3> {
        Arc::new(self.builder().build().expect("a bucket"))
    }

    /// What lies below a prefix.
    pub fn objects(&self, prefix: &str) -> Arc<dyn ObjectStore> {
        let bucket = self.builder().build().expect("a bucket");
        Arc::new(PrefixStore::new(bucket, ObjectPath::from(prefix)))
    }

    /// A store in the bucket, as commands name it.
    pub fn place(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}")
    }

    /// Where the server keeps objects below a prefix: its objects are files.
    pub fn path(&self, prefix: &str) -> PathBuf {
        self.folder.path().join(BUCKET).join(prefix)
    }

    /// A program that finds the server by its environment.
    pub fn program(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        // Nothing of whoever runs the tests.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        command.env("AWS_ENDPOINT", format!("http://{}", self.address)).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_REGION", REGION);
        command.env("AWS_ACCESS_KEY_ID", &self.access).env("AWS_SECRET_ACCESS_KEY", &self.secret);
        command
    }

    /// `headway-fleet`.
    pub fn fleet(&self) -> Command {
        self.program(env!("CARGO_BIN_EXE_headway-fleet"))
    }
}
