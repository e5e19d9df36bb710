//! Spark as a cluster on S3: a master and two workers as processes, one of which is killed in the middle of a job.
//! `HEADWAY_SPARK` is Spark's folder and `HEADWAY_SPARK_S3` that of what it needs for S3.

use crate::engines::{self, fill_partly_compacted, spark, spec, views, Fleet};
use crate::equal::{check, of_folder, Rows};
use crate::server::{runtime, Server};
use headway_store::Store;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

const HERE: &str = "127.0.0.1";
const TICK: Duration = Duration::from_millis(50);

/// A cluster is five JVMs, and the job another one.
static ONE_CLUSTER: Mutex<()> = Mutex::new(());

/// A server with a store, and where answers and logs of events may be written.
struct Generated {
    _alone: MutexGuard<'static, ()>,
    server: Server,
    folder: tempfile::TempDir,
    place: String,
    log: PathBuf,
}

impl Generated {
    fn new() -> Generated {
        let alone = ONE_CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
        let server = Server::start();
        let folder = tempfile::tempdir().expect("a folder");
        let (place, log) = (server.place("rows"), folder.path().join("events"));
        std::fs::create_dir(&log).expect("a folder");
        runtime().block_on(async {
            let store = Store::open_or_make_on(server.objects("rows"), &place).await.expect("a store");
            fill_partly_compacted(&store).await;
        });
        Generated { _alone: alone, server, folder, place, log }
    }

    fn program(&self) -> Command {
        let mut command = self.server.fleet();
        command.env("SPARK_LOCAL_IP", HERE);
        command
    }
}

fn setting(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable}; ./hw fleet-test sets it")).into()
}

/// A process of the cluster with all that it starts.
struct Member(Child);

impl Drop for Member {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

impl Member {
    /// Starts one, and gives the line of its log with these words.
    fn start(class: &str, words: &[&str], folder: &Path, until: &str) -> (Member, String) {
        let home = setting("HEADWAY_SPARK");
        let mut command = Command::new(home.join("bin/spark-class"));
        command.arg(format!("org.apache.spark.deploy.{class}")).args(["--host", HERE, "--webui-port", "0"]).args(words);
        let jars = setting("HEADWAY_SPARK_S3").join("*");
        command.env("SPARK_HOME", &home).env("SPARK_LOCAL_IP", HERE).env("SPARK_DIST_CLASSPATH", jars);
        command.env("SPARK_LOCAL_DIRS", folder).env("SPARK_WORKER_DIR", folder).current_dir(folder);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let log = child.stderr.take().expect("a pipe");
        let member = Member(child);
        (member, line_with(log, until))
    }
}

/// The first line with these words; later ones are read and dropped, so that nobody waits for a full pipe.
fn line_with(log: ChildStderr, words: &str) -> String {
    let mut lines = BufReader::new(log).lines();
    let mut before = String::new();
    let found = lines.by_ref().map_while(Result::ok).find(|line| {
        before.push_str(line);
        before.push('\n');
        line.contains(words)
    });
    let found = found.unwrap_or_else(|| panic!("ended without \"{words}\":\n{before}"));
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    found
}

/// A master and two workers with a core each.
struct Cluster {
    _master: Member,
    workers: Vec<Member>,
    url: String,
}

impl Cluster {
    fn start(folder: &Path) -> Cluster {
        let (master, line) = Member::start("master.Master", &["--port", "0"], folder, "Starting Spark master at ");
        let url = line.rsplit(' ').next().expect("a URL").to_owned();
        let words = ["--cores", "1", "--memory", "1g", &url];
        let worker = || Member::start("worker.Worker", &words, folder, "Successfully registered with master").0;
        Cluster { _master: master, workers: vec![worker(), worker()], url }
    }
}

/// Words for spark-submit.
fn options(cluster: &Cluster, events: &Path) -> Vec<OsString> {
    let jars = setting("HEADWAY_SPARK_S3").join("*");
    let jars = jars.display();
    let settings = [
        format!("spark.driver.extraClassPath={jars}"),
        format!("spark.executor.extraClassPath={jars}"),
        format!("spark.driver.host={HERE}"),
        "spark.executor.memory=640m".to_owned(),
        "spark.executor.cores=1".to_owned(),
        // Both workers have one before the job begins.
        "spark.scheduler.minRegisteredResourcesRatio=1.0".to_owned(),
        "spark.scheduler.maxRegisteredResourcesWaitingTime=300s".to_owned(),
        "spark.cores.max=2".to_owned(),
        "spark.sql.shuffle.partitions=4".to_owned(),
        "spark.ui.enabled=false".to_owned(),
        "spark.eventLog.enabled=true".to_owned(),
        "spark.eventLog.compress=false".to_owned(),
        "spark.eventLog.rolling.enabled=false".to_owned(),
        format!("spark.eventLog.dir=file://{}", events.display()),
    ];
    let settings = settings.iter().flat_map(|setting| ["--conf".to_owned(), setting.clone()]);
    ["--master".to_owned(), cluster.url.clone()].into_iter().chain(settings).map(OsString::from).collect()
}

/// What the applications' logs of events say, a line each.
fn events(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    files
        .flat_map(|file| std::fs::read_to_string(file).expect("a log").lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The rows of a rollup: a folder for each day.
fn of_days(folder: &Path) -> Rows {
    let mut all = Rows::default();
    for day in std::fs::read_dir(folder).expect("a folder") {
        all.add(of_folder(&day.expect("an entry").path()));
    }
    all
}

#[test]
fn every_view_has_the_same_rows_though_a_worker_is_killed() {
    let generated = Generated::new();
    let Generated { server, folder, place, log, .. } = &generated;
    let program = || generated.program();
    let fleet = Fleet { program: &program, place, folder: folder.path() };
    fleet.keep_hours();
    let views = views(&fleet);
    let mut cluster = Cluster::start(folder.path());

    let mut submit = spark(&fleet, &server.place("answers"));
    submit.args(views.iter().flat_map(|view| ["--view", view])).arg("--").args(options(&cluster, log));
    submit.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut job = submit.spawn().expect("the command starts");
    let log_of_job = job.stderr.take().expect("a pipe");
    let said = std::thread::spawn(move || std::io::read_to_string(log_of_job).unwrap_or_default());
    // The first view is there, and the others are not.
    let done = |view: &String| server.path("answers").join(view).join("_SUCCESS").is_file();
    // However long that takes: a job that fails ends.
    while !done(&views[0]) && job.try_wait().expect("a state").is_none() {
        sleep(TICK);
    }
    let rest = views.iter().filter(|view| !done(view)).count();
    drop(cluster.workers.pop());
    let ended = job.wait().expect("an end");
    let said = said.join().expect("a log");
    assert!(ended.success() && rest > 0, "{rest} views were not there; {said}");
    for view in &views {
        check(view, &fleet.embedded(view), &of_folder(&server.path("answers").join(view)));
    }
    let events = events(log);
    let count = |what: &str| events.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("\"Event\":\"SparkListenerExecutorAdded\""), 2);
    assert_eq!(count("\"Event\":\"SparkListenerExecutorRemoved\""), 1, "the killed worker's");
    // Credentials are nowhere in it.
    assert_eq!(count(&server.secret), 0);
    assert!(!said.contains(&server.secret));
}

#[test]
fn rollups_are_made_again_day_by_day() {
    let generated = Generated::new();
    let Generated { server, folder, place, log, .. } = &generated;
    let program = || generated.program();
    let fleet = Fleet { program: &program, place, folder: folder.path() };
    fleet.keep_hours();
    let cluster = Cluster::start(folder.path());
    let first = spec().first.to_string();
    // All days, and then one of them again.
    for days in [&[][..], &["--to", &first]] {
        let mut submit = spark(&fleet, &server.place("rollups"));
        submit.args(["--rollup", "hour"]).args(days).arg("--").args(options(&cluster, log));
        engines::run(submit);
        for view in ["lock_hour", "wait_hour", "load_hour", "duration_hour"] {
            check(view, &fleet.embedded(view), &of_days(&server.path("rollups").join(view)));
        }
    }
}
