//! The command line.

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use headway_store::Day;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `./hw dist` gives the text of a release, which names the commit.
const VERSION: &str = match option_env!("HEADWAY_VERSION") {
    Some(of_release) => of_release,
    None => env!("CARGO_PKG_VERSION"),
};

/// Add up the recordings of many JVMs on many machines, and query the sums with SQL
#[derive(Debug, Parser)]
#[command(name = "headway-fleet", version = VERSION, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an SQL query on a store or on recordings
    Sql(Question),
    /// Add a summary of each minute of recordings to a store
    Ingest(Ingest),
    /// Record the JVMs of this machine and send a summary of each minute to a store, until Ctrl-C or SIGTERM
    Ship(Box<Ship>),
    /// Find regressions; show, compact or remove what is in a store
    Fleet(Fleet),
}

/// `sql`.
#[derive(Debug, Args)]
pub struct Question {
    /// One SELECT statement. SHOW TABLES lists tables and views
    pub query: String,
    /// A store (a directory or s3://bucket/prefix), or recordings
    #[arg(default_value = ".")]
    pub paths: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the result to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory limit of the query, in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = mebibytes)]
    pub memory: usize,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    #[default]
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file (needs --output)
    Parquet,
}

/// `ingest`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Ingest {
    /// Recordings of Headway, JFR or async-profiler
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The store: a directory (created if it does not exist) or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
    /// Name of the service that the recorded JVMs run
    #[arg(long)]
    pub service: String,
    /// Version of the service
    #[arg(long)]
    pub version: String,
    /// Name of the machine, container or pod that was recorded [default: the name of this machine]
    #[arg(long)]
    pub host: Option<String>,
    /// Environment of the JVMs, for example production or staging
    #[arg(long, default_value = "")]
    pub environment: String,
    /// Another value to group by; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<String>,
    /// Number of CPUs of that machine
    #[arg(long)]
    pub cpus: Option<u32>,
}

/// A number of MiB, at least one.
fn mebibytes(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number of MiB such as 512".to_owned())
}

/// What is wrong with a command line, in one line: clap's message without its summary of the usage.
pub fn mistake(error: &clap::Error) -> String {
    let text = error.to_string();
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.find(mark)).min();
    let said = text.get(..end.unwrap_or(text.len())).unwrap_or(&text);
    let said = said
        .strip_prefix("error: ")
        .unwrap_or(said)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(" found tip: ", ": ");
    format!("{said} (see --help)")
}

fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("a label has the form NAME=VALUE".to_owned()),
    }
}

fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("an attribute has the form NAME=VALUE".to_owned()),
    }
}

/// `ship`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true, after_help = OF_SHIP)]
pub struct Ship {
    /// The store: a directory (created if it does not exist) or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
    /// Directory for recordings and for rows that were not sent yet. It is created if it does not exist
    #[arg(long, value_name = "DIRECTORY")]
    pub queue: PathBuf,
    /// Maximum disk space for rows in the queue (k, m, g). Beyond it, the rows of the earliest minutes are deleted and
    /// counted
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = size)]
    pub queue_size: u64,
    /// Record only JVMs of this user; repeatable [default: all users]
    #[arg(long = "user", value_name = "USER")]
    pub users: Vec<String>,
    /// Record only JVMs with this text in their main class or jar; repeatable [default: all JVMs]
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Record only JVMs with this attribute in their OTEL_RESOURCE_ATTRIBUTES, for example
    /// deployment.environment=production; repeatable: a JVM needs all of them
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    pub attributes: Vec<(String, String)>,
    /// Record at most N JVMs at a time. JVMs that started earlier come first
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..))]
    pub most: u32,
    /// Name of the service [default: from the JVM's OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES, otherwise its main
    /// class]
    #[arg(long)]
    pub service: Option<String>,
    /// Version of the service [default: service.version in the JVM's OTEL_RESOURCE_ATTRIBUTES, otherwise none]
    #[arg(long)]
    pub version: Option<String>,
    /// Environment of the JVMs, for example production or staging [default: deployment.environment.name in the JVM's
    /// OTEL_RESOURCE_ATTRIBUTES, otherwise none]
    #[arg(long)]
    pub environment: Option<String>,
    /// Name of the machine, container or pod [default: the name of this machine]
    #[arg(long)]
    pub host: Option<String>,
    /// Another value to group by; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<String>,
    /// Number of CPUs of this machine
    #[arg(long)]
    pub cpus: Option<u32>,
    /// Events to record, as for `headway start`
    #[arg(short, long, default_value = "lock,steal")]
    pub events: String,
    /// Length of each recording (s, m, h; at least 1s). When a recording ends, its rows are sent and the next recording
    /// starts
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub segment: Duration,
    /// Keep each recording below this size by removing its oldest part (k, m, g)
    #[arg(long, value_name = "SIZE", default_value = "256m", value_parser = size)]
    pub max_size: u64,
    /// Try to keep the cost of each recording below this part of the CPU time of the JVM, in percent, as for `headway
    /// start` [default: that of `headway start`]
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "exact")]
    pub budget: Option<f64>,
    /// Record each contention, wait and park, whatever it costs, as for `headway start`
    #[arg(long)]
    pub exact: bool,
    /// Leave out command lines, system properties and thread names
    #[arg(long)]
    pub redact: bool,
    /// Time between two searches for new JVMs (s, m, h; at least 1s)
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub look: Duration,
    /// Serve the metrics of `headway ship` at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9472")]
    pub listen: SocketAddr,
    /// Path of the `headway` command [default: in the directory of headway-fleet, otherwise on the PATH]
    #[arg(long, value_name = "FILE")]
    pub headway: Option<PathBuf>,
}

const OF_SHIP: &str = "\
Examples:
  headway ship --store s3://acme/locks --queue /var/lib/headway --user shop
  headway ship --store ./rows --queue ./queue --name com.acme.Shop --service shop --version 1.2

Run one `headway ship` on each machine. If it is killed, recordings and rows stay on disk. Start
it again with the same --queue: it takes over these recordings, and each row is in the store once.
After Ctrl-C or SIGTERM, it ends the recordings before it ends itself.

The manual has the limits, and what is counted if rows cannot be delivered: docs/fleet.md in the
source tree, FLEET.md in the release.";

/// `10m`.
fn time(text: &str) -> Result<Duration, String> {
    let expected = || format!("\"{text}\" is not a time of at least 1s: write 30s, 10m or 1h");
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
    let expected = || format!("\"{text}\" is not a size of at least 1m: write 256m or 1g");
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
    /// Print the tables, files and views of the store as JSON, for Apache Spark
    Tables {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        days: Days,
    },
    /// Run a query with Apache Spark, compute views, or sums of hours and days, or search for regressions
    Submit(Box<Submit>),
    /// Show each day of the store: batches, files, rows, bytes, and how many service buckets have sums of hours
    Status(Place),
    /// Merge small files, compute the sums of hours, and delete unused files that are older than a day
    Compact {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        days: Days,
    },
    /// Find locks on which threads are blocked longer in a newer version
    Regressions(Regressions),
    /// Search for regressions with Spark: queries go to the job that started this, and answers come from it
    #[command(hide = true)]
    Search(Search),
    /// Estimate the changes of the services whose rows a worker of Spark hands in
    #[command(hide = true)]
    Estimate,
    /// Show the store in a browser on this machine, until Ctrl-C
    View(ViewStore),
    /// Remove old days from the store. This cannot be undone, and the command does not ask
    Retain {
        /// Number of days to keep, including today
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
        #[command(flatten)]
        place: Place,
    },
    /// Remove all rows of a service. This cannot be undone, and the command does not ask
    RemoveService {
        /// Name of the service
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
    /// Port on 127.0.0.1. 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Memory limit of all queries together, in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = mebibytes)]
    pub memory: usize,
}

const OF_VIEW: &str = "\
Examples:
  headway fleet view --store s3://acme/locks
  headway fleet view --store ./rows --port 8080

The command prints an address with a secret. The page is served only to this machine, and only if
the address has the secret. If your browser is on another machine, use --port PORT. Then forward
the port from the machine of the browser: ssh -L PORT:127.0.0.1:PORT HOST. Reload the page to see
newer rows.";

/// `fleet regressions`.
#[derive(Debug, Args)]
#[command(after_help = OF_REGRESSIONS)]
pub struct Regressions {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub search: Search,
    /// Memory limit of a query, in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = mebibytes)]
    pub memory: usize,
}

/// What `fleet regressions` looks for, and how it says what it found. The engine does not matter.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Search {
    /// Compare only this service [default: all services]
    #[arg(long)]
    pub service: Option<String>,
    /// Old version [default: the version that appeared before the new one]
    #[arg(long, value_name = "VERSION")]
    pub old: Option<String>,
    /// New version [default: the newest version]
    #[arg(long, value_name = "VERSION")]
    pub new: Option<String>,
    /// Compare only JVMs of this environment, for example production [default: all environments]
    #[arg(long)]
    pub environment: Option<String>,
    /// Number of days to compare before and after the new version appeared
    #[arg(long, default_value = "14", value_parser = clap::value_parser!(u32).range(1..=365))]
    pub days: u32,
    /// False discovery rate: the expected share of false alarms among the reported changes, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub fdr: Percent,
    /// Report only changes of blocked time of at least this size, in percent
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub min_effect: Percent,
    /// Test only locks with at least this blocked time, and report only differences of at least this size, in percent
    /// of the running time
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = percent)]
    pub min_share: Percent,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with code 5 if a lock became worse
    #[arg(long)]
    pub fail: bool,
}

/// The options of [`Search`].
const OF_SEARCH: [&str; 10] =
    ["service", "old", "new", "environment", "days", "fdr", "min_effect", "min_share", "json", "fail"];

impl Search {
    /// The words that say the same.
    pub fn words(&self) -> Vec<String> {
        let Search { service, old, new, environment, days, fdr, min_effect, min_share, json, fail } = self;
        let names = [("service", service), ("old", old), ("new", new), ("environment", environment)];
        let names = names.into_iter().filter_map(|(option, value)| Some(format!("--{option}={}", value.as_ref()?)));
        let mut words: Vec<String> = names.chain([format!("--days={days}")]).collect();
        for (option, percent) in [("fdr", fdr), ("min-effect", min_effect), ("min-share", min_share)] {
            words.push(format!("--{option}={}", percent.typed));
        }
        words.extend(json.then(|| "--json".to_owned()));
        words.extend(fail.then(|| "--fail".to_owned()));
        words
    }
}

/// A percentage, with what was typed: another process gets the same number.
#[derive(Clone, Debug, PartialEq)]
pub struct Percent {
    typed: String,
    /// From 0 to 1.
    pub fraction: f64,
}

const OF_REGRESSIONS: &str = "\
Examples:
  headway fleet regressions --store s3://acme/locks
  headway fleet regressions --store ./rows --service shop --old 1.2 --new 1.3 --fail

Exit codes: 0 done, 1 failure, 2 wrong usage, 5 a lock became worse (with --fail).
The manual describes what is compared, and the limits of the comparison: docs/fleet.md in the
source tree, FLEET.md in the release.";

/// `10` or `10%`.
fn percent(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let expected = || format!("\"{text}\" is not a percentage from 0 to 100: write 10 or 0.5");
    let number = number.ok().filter(|number| (0.0..=100.0).contains(number)).ok_or_else(expected)?;
    Ok(Percent { typed: text.to_owned(), fraction: number / 100.0 })
}

/// Days of a store.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Days {
    /// First day, included [default: the first day of the store]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub from: Option<Day>,
    /// Last day, included [default: the last day of the store]
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
    text.parse().map_err(|()| format!("\"{text}\" is not a day: write 2026-01-31"))
}

/// `fleet submit`.
#[derive(Debug, Args)]
#[command(after_help = OF_SUBMIT)]
#[command(group = ArgGroup::new("search").args(OF_SEARCH).multiple(true).conflicts_with_all(["query", "views", "rollup"]))]
pub struct Submit {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub days: Days,
    #[command(flatten)]
    pub job: Job,
    #[command(flatten, next_help_heading = "Options of --regressions")]
    pub search: Search,
    /// Write the rows to this directory or s3://bucket/prefix. Each view gets a separate directory in it [default:
    /// print the rows as JSON]
    #[arg(short, long, value_name = "PLACE")]
    pub output: Option<String>,
    /// Format of the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,
    /// Do not run the job. Write the job and the list of tables to this directory, and print the command that runs it
    #[arg(long, value_name = "DIRECTORY")]
    pub prepare: Option<PathBuf>,
    /// Options of spark-submit, for example --master URL, --conf NAME=VALUE, --packages NAMES
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// What Spark does: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Job {
    /// Run this SQL query
    #[arg(long, value_name = "SELECT")]
    pub query: Option<String>,
    /// Compute this view; repeatable
    #[arg(long = "view", value_name = "NAME")]
    pub views: Vec<String>,
    /// Compute the sums of each hour or day. Write them to --output, into a separate directory for each day
    #[arg(long, value_enum, value_name = "PERIOD", requires = "output")]
    pub rollup: Option<Period>,
    /// Search for regressions, as `fleet regressions` does, and print what it prints
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub regressions: bool,
}

/// What rows of a rollup come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Period {
    /// Sums of each hour
    Hour,
    /// Sums of each day
    Day,
}

/// How Spark writes rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Parquet files
    #[default]
    Parquet,
    /// Comma-separated values with a header. Lists are JSON
    Csv,
    /// One JSON object per line
    Json,
}

const OF_SUBMIT: &str = "\
Examples:
  headway fleet submit --store rows --view top_sites --view owners -o answers
  headway fleet submit --store s3://acme/locks --rollup hour -o s3://acme/rollups \\
      --from 2026-11-01 \\
      -- --master spark://spark:7077 --packages org.apache.spark:spark-hadoop-cloud_2.13:4.1.2
  headway fleet submit --store rows --regressions --service shop --fail

Spark is found by SPARK_HOME, as spark-submit on the PATH, or as the Python package pyspark. The
manual has the tested versions, and how to submit the job without this command: docs/fleet.md in
the source tree, FLEET.md in the release.";

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

    /// A terminal may be no wider, and a line that is wrapped behind its backslash is another command.
    #[test]
    fn lines_of_examples_are_not_wrapped() {
        assert!(OF_SUBMIT.lines().all(|line| line.len() <= 100), "{OF_SUBMIT}");
    }

    fn submitted(words: &[&str]) -> Result<Submit, clap::Error> {
        let words = ["headway-fleet", "fleet", "submit", "--store", "rows"].iter().chain(words);
        match Arguments::try_parse_from(words)?.command {
            Command::Fleet(Fleet { task: Task::Submit(asked) }) => Ok(*asked),
            command => panic!("{command:?}"),
        }
    }

    #[test]
    fn a_search_is_handed_on_as_it_was_typed() {
        let typed = ["--service=-o'er", "--new=2", "--days=3", "--fdr=0.7%", "--min-effect=7", "--json", "--fail"];
        let search = submitted(&[&["--regressions"], &typed[..]].concat()).expect("a search").search;
        let words = search.words();
        let words = ["headway-fleet", "fleet", "search"].into_iter().chain(words.iter().map(String::as_str));
        match Arguments::try_parse_from(words).expect("a search").command {
            Command::Fleet(Fleet { task: Task::Search(again) }) => assert_eq!(again, search),
            command => panic!("{command:?}"),
        }
    }

    #[test]
    fn options_of_a_search_belong_to_a_search() {
        let of_search = Search::augment_args(clap::Command::new("search"));
        assert_eq!(of_search.get_arguments().map(|option| option.get_id().as_str()).collect::<Vec<_>>(), OF_SEARCH);
        for option in of_search.get_arguments() {
            let takes_value = option.get_action().takes_values();
            let word = format!("--{}{}", option.get_long().expect("an option"), if takes_value { "=3" } else { "" });
            assert!(submitted(&["--view", "site", &word]).is_err(), "{word}");
            assert!(submitted(&["--regressions", &word]).is_ok(), "{word}");
        }
        for option in ["--view=site", "--rollup=day", "--output=there", "--format=csv"] {
            assert!(submitted(&["--regressions", option]).is_err(), "{option}");
        }
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

    #[test]
    fn a_mistake_is_one_line() {
        let said = |arguments: &[&str]| {
            let all = [&["headway-fleet", "sql"], arguments].concat();
            mistake(&<Arguments as clap::Parser>::try_parse_from(all).unwrap_err())
        };
        let memory =
            "invalid value 'abc' for '--memory <MIB>': expected a whole number of MiB such as 512 (see --help)";
        assert_eq!(said(&["--memory", "abc", "select 1"]), memory);
        assert!(said(&["--memory", "0", "select 1"]).contains("a whole number of MiB"));
        assert_eq!(said(&[]), "the following required arguments were not provided: <QUERY> (see --help)");
        let similar = "unexpected argument '--outpu': a similar argument exists: '--output' (see --help)";
        assert_eq!(said(&["--outpu", "x", "select 1"]), similar);
    }
}
