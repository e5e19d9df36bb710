//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use headway_store::Day;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `./hw dist` gives the text of a release, which names the commit.
const VERSION: &str = match option_env!("HEADWAY_VERSION") {
    Some(of_release) => of_release,
    None => env!("CARGO_PKG_VERSION"),
};

/// Many machines' recordings: a store of per-minute rows, and SQL over it
#[derive(Debug, Parser)]
#[command(name = "headway-fleet", version = VERSION, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question in SQL about a store or about recordings
    Sql(Question),
    /// Add one summary per minute of each recording to a store
    Ingest(Ingest),
    /// Record the JVMs of this machine and deliver their rows to a store, until a signal
    Ship(Box<Ship>),
    /// Find regressions; show, compact or remove what is in a store
    Fleet(Fleet),
}

/// `sql`.
#[derive(Debug, Args)]
pub struct Question {
    /// One SELECT statement; SHOW TABLES lists tables and views
    pub query: String,
    /// A store (directory or s3://bucket/prefix), or recordings
    #[arg(default_value = ".")]
    pub paths: Vec<String>,
    /// How to write the answer
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the answer to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory that the query may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub memory: usize,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table to read
    #[default]
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file; needs --output
    Parquet,
}

/// `ingest`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Ingest {
    /// Recordings
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The store: a directory, made if there is none, or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
    /// The service of which the recorded JVMs are instances
    #[arg(long)]
    pub service: String,
    /// The version of the service
    #[arg(long)]
    pub version: String,
    /// The machine, container or pod that was recorded [default: this machine]
    #[arg(long)]
    pub host: Option<String>,
    /// production, staging and so on
    #[arg(long, default_value = "")]
    pub environment: String,
    /// Another value to group by; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<String>,
    /// CPUs of that machine
    #[arg(long)]
    pub cpus: Option<u32>,
}

fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("a label is NAME=VALUE".to_owned()),
    }
}

/// `ship`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true, after_help = OF_SHIP)]
pub struct Ship {
    /// The store: a directory, made if there is none, or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
    /// Folder for recordings and rows until the store has them, made if there is none
    #[arg(long, value_name = "FOLDER")]
    pub queue: PathBuf,
    /// Disk that rows in the queue may take (k, m, g); the earliest rows beyond are left out and counted
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = size)]
    pub queue_size: u64,
    /// Record JVMs of this user; repeatable [default: of all users]
    #[arg(long = "user", value_name = "USER")]
    pub users: Vec<String>,
    /// Record JVMs whose main class or jar contains this; repeatable [default: all]
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Record at most so many JVMs at a time, those that run longest
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..))]
    pub most: u32,
    /// The service of which the JVMs are instances [default: what the JVM's OTEL_SERVICE_NAME says, else its
    /// main class]
    #[arg(long)]
    pub service: Option<String>,
    /// The version of the service [default: service.version in the JVM's OTEL_RESOURCE_ATTRIBUTES, else none]
    #[arg(long)]
    pub version: Option<String>,
    /// production, staging and so on [default: deployment.environment.name, likewise]
    #[arg(long)]
    pub environment: Option<String>,
    /// The machine, container or pod [default: this machine]
    #[arg(long)]
    pub host: Option<String>,
    /// Another value to group by; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<String>,
    /// CPUs of this machine
    #[arg(long)]
    pub cpus: Option<u32>,
    /// What to record, as for `headway start`
    #[arg(short, long, default_value = "lock,steal")]
    pub events: String,
    /// Rows of a JVM are delivered so often: a recording is ended, and the next one begun (s, m, h; at least 1s)
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub segment: Duration,
    /// Size of a recording; beyond, its oldest part is removed (k, m, g)
    #[arg(long, value_name = "SIZE", default_value = "256m", value_parser = size)]
    pub max_size: u64,
    /// Leave out command lines, system properties and thread names
    #[arg(long)]
    pub redact: bool,
    /// Look for JVMs so often (s, m, h; at least 1s)
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub look: Duration,
    /// Serve metrics of this process at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9472")]
    pub listen: SocketAddr,
    /// The `headway` command [default: beside headway-fleet, else on the PATH]
    #[arg(long, value_name = "FILE")]
    pub headway: Option<PathBuf>,
}

const OF_SHIP: &str = "\
Examples:
  headway ship --store s3://acme/locks --queue /var/lib/headway --user shop
  headway ship --store ./rows --queue ./queue --name com.acme.Shop --service shop --version 1.2

One process for each machine. It may be killed at any time: the next one with the same --queue
goes on with recordings that go on, and delivers what is on disk, once. SIGTERM ends the recordings
first. docs/fleet.md has what it counts and which bounds it keeps.";

/// `10m`.
fn time(text: &str) -> Result<Duration, String> {
    let expected = || format!("\"{text}\" is no time of at least 1s: write 30s, 10m or 1h");
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    // A year: recordings end before.
    let time = number.checked_mul(seconds).filter(|time| (1..=365 * 24 * 3600).contains(time)).ok_or_else(expected)?;
    Ok(Duration::from_secs(time))
}

/// `256m`.
fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("\"{text}\" is no size of at least 1m: write 256m or 1g");
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).filter(|size| *size >= 1 << 20).ok_or_else(expected)
}

/// `fleet`.
#[derive(Debug, Args)]
pub struct Fleet {
    #[command(subcommand)]
    pub task: Task,
}

/// What is done with a store.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Print the store's tables, their files and the views as JSON: what Apache Spark reads
    Tables {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        days: Days,
    },
    /// Have Apache Spark answer a question, compute views, or make rollups of hours and days
    Submit(Box<Submit>),
    /// Show days, with batches, files, rows, bytes and how many buckets have hours
    Status(Place),
    /// Compact: make one file of each day's files, keep their hours beside the minutes, and delete files that nothing
    /// has used for a day
    Compact {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        days: Days,
    },
    /// Find locks that block threads longer in a newer version
    Regressions(Regressions),
    /// Show the store in this machine's browser, until Ctrl-C
    View(ViewStore),
    /// Remove days that are older
    Retain {
        /// Days to keep, today included
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
        #[command(flatten)]
        place: Place,
    },
    /// Remove all rows of a service
    RemoveService {
        /// The service
        service: String,
        #[command(flatten)]
        place: Place,
    },
}

/// `fleet view`.
#[derive(Debug, Args)]
#[command(after_help = OF_VIEW)]
pub struct ViewStore {
    #[command(flatten)]
    pub place: Place,
    /// Listen on this port of 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Memory that queries may take together, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub memory: usize,
}

const OF_VIEW: &str = "\
Examples:
  headway fleet view --store s3://acme/locks
  headway fleet view --store ./rows --port 8080

Prints an address with a secret, and answers only on this machine and only those who know the
secret. If your browser is on another machine, forward the port: --port PORT, and there
ssh -L PORT:127.0.0.1:PORT. Opening the page again reads what has been added to the store.";

/// `fleet regressions`.
#[derive(Debug, Args)]
#[command(after_help = OF_REGRESSIONS)]
pub struct Regressions {
    #[command(flatten)]
    pub place: Place,
    /// Only this service [default: all]
    #[arg(long)]
    pub service: Option<String>,
    /// The version to compare with [default: the one that appeared before the new one]
    #[arg(long, value_name = "VERSION")]
    pub old: Option<String>,
    /// The version that may have become worse [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub new: Option<String>,
    /// Only JVMs of this environment, such as production [default: all]
    #[arg(long)]
    pub environment: Option<String>,
    /// Days before and since the new version appeared
    #[arg(long, default_value = "14", value_parser = clap::value_parser!(u32).range(1..=365))]
    pub days: u32,
    /// False discovery rate: of the changes that are reported, the part that may be none, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub fdr: f64,
    /// The smallest change of blocked time that is reported, in percent
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub min_effect: f64,
    /// The smallest difference that is reported, in percent of running time
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = percent)]
    pub min_share: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with 5 if a lock became worse
    #[arg(long)]
    pub fail: bool,
    /// Memory that a query may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub memory: usize,
}

const OF_REGRESSIONS: &str = "\
Examples:
  headway fleet regressions --store s3://acme/locks
  headway fleet regressions --store ./rows --service shop --old 1.2 --new 1.3 --fail

Exit codes: 0 done, 1 failure, 2 wrong usage, 5 a lock became worse (with --fail).
docs/fleet.md says what is compared, and what cannot be distinguished.";

/// `10` or `10%`, as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let expected = || format!("\"{text}\" is no percentage from 0 to 100: write 10 or 0.5");
    number.ok().filter(|number| (0.0..=100.0).contains(number)).map(|number| number / 100.0).ok_or_else(expected)
}

/// Days of a store.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Days {
    /// Leave out earlier days
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub from: Option<Day>,
    /// Leave out later days
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub to: Option<Day>,
}

impl Days {
    /// True if it is one of them.
    pub fn contain(&self, day: Day) -> bool {
        self.from.is_none_or(|from| from <= day) && self.to.is_none_or(|to| day <= to)
    }
}

fn day(text: &str) -> Result<Day, String> {
    text.parse().map_err(|()| format!("\"{text}\" is no day: write 2026-01-31"))
}

/// `fleet submit`.
#[derive(Debug, Args)]
#[command(after_help = OF_SUBMIT)]
pub struct Submit {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub days: Days,
    #[command(flatten)]
    pub job: Job,
    /// Folder for the rows, a directory or s3://bucket/prefix; each view gets a folder in it [default: print rows as
    /// JSON]
    #[arg(short, long, value_name = "PLACE")]
    pub output: Option<String>,
    /// How rows are written
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,
    /// Write the job and the store's tables into this folder, print the command, and run nothing
    #[arg(long, value_name = "FOLDER")]
    pub prepare: Option<PathBuf>,
    /// More words for spark-submit, as --master URL, --conf NAME=VALUE, --packages NAMES
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// What Spark does: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Job {
    /// Answer a question in SQL
    #[arg(long, value_name = "SELECT")]
    pub query: Option<String>,
    /// Compute a view; repeatable
    #[arg(long = "view", value_name = "NAME")]
    pub views: Vec<String>,
    /// Compute the rows of each hour or day and write them below --output, a folder for each day
    #[arg(long, value_enum, value_name = "PERIOD", requires = "output")]
    pub rollup: Option<Period>,
}

/// What rows of a rollup come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Period {
    /// Hours
    Hour,
    /// Days
    Day,
}

/// How Spark writes rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Parquet files
    #[default]
    Parquet,
    /// Comma-separated values with a header; lists as JSON
    Csv,
    /// One JSON object per line
    Json,
}

const OF_SUBMIT: &str = "\
Examples:
  headway fleet submit --store rows --view top_sites --view owners -o answers
  headway fleet submit --store s3://acme/locks --rollup hour -o s3://acme/rollups --from 2026-11-01 \\
      -- --master spark://spark:7077 --packages org.apache.spark:spark-hadoop-cloud_2.13:4.1.2

Spark is found by SPARK_HOME, on the PATH as spark-submit, or as the Python package pyspark. docs/fleet.md has the
versions that are tested and how to submit the job without this command.";

/// Which store.
#[derive(Debug, Args)]
pub struct Place {
    /// The store: a directory or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_and_sizes() {
        let seconds = |text: &str| time(text).map(|time| time.as_secs()).ok();
        assert_eq!(["30s", "10m", "2h", "7"].map(seconds), [Some(30), Some(600), Some(7200), Some(7)]);
        for wrong in ["0s", "", "m", "1d", "10ms", "-1s", "1.5h", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        let bytes = |text: &str| size(text).ok();
        assert_eq!(
            ["1m", "2G", "2048k", "1048576"].map(bytes),
            [Some(1 << 20), Some(2 << 30), Some(2 << 20), Some(1 << 20)]
        );
        for wrong in ["1k", "", "g", "1t", "-1m", "99999999999999999999m", "18446744073709551615g"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
