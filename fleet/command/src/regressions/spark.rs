//! A search for regressions on Apache Spark. Three programs take part:
//!
//! * **The job** (`fleet/spark/headway_fleet_spark.py`) has Spark. It starts the next one, and ships it to the workers.
//! * **`headway-fleet fleet search`** ([`search`]) runs beside the job. It searches as `fleet regressions` does, but its
//!   queries go to the job, a JSON line each on the standard output, and answers come back on the standard input.
//! * **`headway-fleet fleet estimate`** ([`estimate`]) runs on the workers. Spark adds up minutes, brings the sums of a
//!   service to one worker, and hands them in by `SELECT TRANSFORM`. What comes back is small: some numbers for each lock.
//!
//! So rows are read and added up, and draws are made, where the workers are; and there is one implementation of the
//! statistics. Sums are integers and the seed is a hash of them: the result is that of the embedded engine, bit by bit.

use super::engine::{Engine, Observer};
use super::read::{texts, Reader, Scope, Versions};
use super::{find, verdict, written};
use crate::arguments::Search;
use crate::failure::Failure;
use crate::views::Dialect;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::json::ReaderBuilder;
use async_trait::async_trait;
use headway_regress::{Estimated, Options, PairBuilder, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// `fleet search`. The job says why it failed: what this process writes to the standard error, Spark would put among
/// the results.
///
/// # Errors
/// Spark fails, or the store has no such service or version; with `--fail`, a lock became worse.
pub async fn search(search: &Search) -> Result<(), Failure> {
    let failure = match searched(search).await {
        Ok(()) => return Ok(()),
        Err(failure) => failure,
    };
    say(&Message::Fail(failure.to_string()))?;
    Err(Failure::Said(failure.code()))
}

async fn searched(search: &Search) -> Result<(), Failure> {
    let spark = Spark(Mutex::new(BufReader::new(io::stdin())));
    let regressed = find(&spark, search, &|_| {}).await?;
    say(&Message::Print(written(&regressed, search)?))?;
    verdict(&regressed, search)
}

/// A line to the job.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// A query.
    Ask(String),
    /// The result of the search.
    Print(String),
    /// Why it failed, or what `--fail` asks about.
    Fail(String),
}

/// A line from the job.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// So many lines follow, each a row as a JSON object.
    Rows { columns: Vec<(String, String)>, rows: usize },
    /// Why there are none, in a sentence.
    Failed(String),
}

fn say(message: &Message) -> Result<(), Failure> {
    let line = serde_json::to_string(message).map_err(io::Error::from);
    let mut to = io::stdout().lock();
    let written = line.and_then(|line| writeln!(to, "{line}")).and_then(|()| to.flush());
    written.map_err(|_| ended())
}

fn ended() -> Failure {
    Failure::Failed("the job that this search belongs to has ended".into())
}

fn unexpected(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("this is no answer of Spark's: {error}"))
}

/// Spark, which the job asks; answers are read here.
struct Spark(Mutex<BufReader<Stdin>>);

impl Spark {
    fn answer(&self) -> Result<Vec<RecordBatch>, Failure> {
        let mut from = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match serde_json::from_slice(&line(&mut *from)?).map_err(unexpected)? {
            Reply::Failed(sentence) => Err(Failure::Failed(sentence)),
            Reply::Rows { columns, rows } => {
                let mut lines = Vec::new();
                for _ in 0..rows {
                    lines.extend(line(&mut *from)?);
                }
                batches(&columns, &lines)
            }
        }
    }
}

fn line(from: &mut impl BufRead) -> Result<Vec<u8>, Failure> {
    let mut line = Vec::new();
    match from.read_until(b'\n', &mut line) {
        Ok(1..) => Ok(line),
        _ => Err(ended()),
    }
}

fn batches(columns: &[(String, String)], lines: &[u8]) -> Result<Vec<RecordBatch>, Failure> {
    let fields = columns.iter().map(|(name, kind)| Ok(Field::new(name, kind_of(kind)?, true)));
    let schema = Schema::new(fields.collect::<Result<Vec<_>, Failure>>()?);
    let reader = ReaderBuilder::new(Arc::new(schema)).build(lines).map_err(unexpected)?;
    reader.collect::<Result<_, _>>().map_err(unexpected)
}

/// The types that answers to a [`Reader`] have.
fn kind_of(kind: &str) -> Result<DataType, Failure> {
    match kind {
        "string" => Ok(DataType::Utf8),
        "bigint" => Ok(DataType::Int64),
        "timestamp" => Ok(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        "array<string>" => Ok(DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))),
        other => Err(unexpected(format!("a column is {other}"))),
    }
}

#[async_trait]
impl Engine for Spark {
    fn dialect(&self) -> Dialect {
        Dialect::Spark
    }

    async fn ask(&self, query: &str) -> Result<Vec<RecordBatch>, Failure> {
        say(&Message::Ask(query.to_owned()))?;
        self.answer()
    }

    async fn estimate(
        &self,
        reader: &Reader<'_>,
        pairs: &[Versions],
        options: &Options,
        _: &Observer<'_>,
    ) -> Result<Vec<Estimated>, Failure> {
        let mut of_services = BTreeMap::new();
        if !pairs.is_empty() {
            for batch in self.ask(&transform(reader, pairs, options)?).await? {
                for line in texts(&batch, 0)? {
                    let estimated: Estimated = serde_json::from_str(&line).map_err(unexpected)?;
                    let before = of_services.insert(estimated.service.clone(), estimated);
                    if let Some(twice) = before {
                        return Err(unexpected(format!("the rows of service {} came apart", twice.service)));
                    }
                }
            }
        }
        // Nothing comes of a service without rows.
        let mut estimated = |pair: &Versions| match of_services.remove(pair.service()) {
            Some(estimated) => estimated,
            None => Job::of(pair, options).estimated(PairBuilder::default()),
        };
        Ok(pairs.iter().map(&mut estimated).collect())
    }
}

/// What a worker does with the rows of a service; with each row it comes along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    service: String,
    old_version: String,
    new_version: String,
    /// The bits of the fraction.
    min_share: u64,
}

impl Job {
    fn of(pair: &Versions, options: &Options) -> Job {
        let [old, new] = pair.versions().map(str::to_owned);
        let min_share = options.min_share.to_bits();
        Job { service: pair.service().to_owned(), old_version: old, new_version: new, min_share }
    }

    fn estimated(&self, rows: PairBuilder) -> Estimated {
        let pair = rows.finish(&self.service, &self.old_version, &self.new_version);
        let options = Options { min_share: f64::from_bits(self.min_share), ..Options::default() };
        headway_regress::estimate(&pair, &options)
    }
}

/// The versions of all services as a table, which minutes are joined with.
fn scope(pairs: &[Versions], options: &Options) -> Result<Scope, Failure> {
    let spark = Dialect::Spark;
    let mut values = Vec::new();
    for pair in pairs {
        let job = serde_json::to_string(&Job::of(pair, options)).map_err(unexpected)?;
        let (job, service, slot) = (spark.text(&job), spark.text(pair.service()), pair.slot());
        let [from, to] = pair.time_us().map(|us| spark.time(us));
        for (version, is_new) in pair.versions().into_iter().zip([false, true]) {
            let version = spark.text(version);
            values.push(format!("({job}, {service}, {version}, {is_new}, '{slot}', {from}, {to})"));
        }
    }
    let services: Vec<String> = pairs.iter().map(|pair| spark.text(pair.service())).collect();
    let times = || pairs.iter().map(Versions::time_us);
    let [from, to] = [times().map(|time| time[0]).min(), times().map(|time| time[1]).max()];
    let [from, to] = [from, to].map(|us| spark.time(us.unwrap_or_default()));
    Ok(Scope {
        keys: "p.job, p.is_new".into(),
        join: format!(
            "JOIN (SELECT * FROM VALUES {} AS p(job, service, version, is_new, slot, from_ts, to_ts)) p
             ON p.service = l.service AND p.version = l.version AND l.ts >= p.from_ts AND l.ts < p.to_ts",
            values.join(", ")
        ),
        slot: "date_trunc(p.slot, l.ts)".into(),
        // What files can be left out by.
        condition: format!("l.service IN ({}) AND l.ts >= {from} AND l.ts < {to}", services.join(", ")),
    })
}

/// Sums of all services, those of a service to one worker, handed to the program there a line each.
fn transform(reader: &Reader<'_>, pairs: &[Versions], options: &Options) -> Result<String, Failure> {
    let scope = scope(pairs, options)?;
    let (load, blocked) = (reader.load(&scope), reader.blocked(&scope));
    let minute = "unix_seconds(slot) DIV 60";
    // Fewer and longer lines: one for each host, or host and lock.
    let lines = format!(
        "SELECT job, is_new, host, CAST(NULL AS BIGINT) AS site, NULL AS blocked,
                collect_list(array({minute}, running_ns, operations)) AS load
         FROM ({load}) GROUP BY job, is_new, host
         UNION ALL
         SELECT job, is_new, host, site_id AS site, collect_list(array({minute}, blocked_ns)) AS blocked, NULL AS load
         FROM ({blocked}) GROUP BY job, is_new, host, site_id"
    );
    let format = r"ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t'";
    let program = Dialect::Spark.text(&program()?);
    Ok(format!(
        "SELECT TRANSFORM(line) {format} USING {program} AS (estimated STRING) {format}
         FROM (SELECT job, to_json(struct(job, is_new, host, site, load, blocked)) AS line FROM ({lines}) CLUSTER BY job)"
    ))
}

/// How a worker's shell runs the program, which the job has shipped to the folder that the shell is in. If it fails, it
/// reads what is left: else Spark would only say that a pipe is broken.
fn program() -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot find this program: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(format!("\"./{name}\" fleet estimate || {{ code=$?; cat > /dev/null; exit $code; }}"))
}

/// Rows of a host, or of a lock on a host; each has the slot's minute first.
#[derive(Deserialize)]
struct Line {
    job: String,
    is_new: bool,
    #[serde(default)]
    host: String,
    site: Option<i64>,
    /// Running time and operations.
    #[serde(default)]
    load: Vec<[Option<i64>; 3]>,
    #[serde(default)]
    blocked: Vec<[Option<i64>; 2]>,
}

impl Line {
    fn add_to(&self, rows: &mut PairBuilder) {
        let version = if self.is_new { Version::New } else { Version::Old };
        for slot in &self.load {
            let [minute, running, operations] = slot.map(count);
            rows.load(version, &self.host, minute, running, operations);
        }
        for slot in &self.blocked {
            let [minute, blocked] = slot.map(count);
            rows.blocked(version, &self.host, minute, self.site.unwrap_or_default(), blocked);
        }
    }
}

/// Sums and times in the store are never negative.
fn count(number: Option<i64>) -> u64 {
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// `fleet estimate`: rows on the standard input, those of a service next to each other; a line for each service on the
/// standard output.
///
/// # Errors
/// The rows are not those of [`transform`].
pub fn estimate() -> Result<(), Failure> {
    estimate_all(io::stdin().lock(), io::stdout().lock())
}

fn estimate_all(from: impl BufRead, mut to: impl Write) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("cannot estimate: {error}"));
    let mut finish = |job: &str, rows: PairBuilder| -> Result<(), Failure> {
        let job: Job = serde_json::from_str(job).map_err(|error| failed(&error))?;
        let estimated = serde_json::to_string(&job.estimated(rows)).map_err(|error| failed(&error))?;
        writeln!(to, "{estimated}").map_err(|error| failed(&error))
    };
    let mut current: Option<(String, PairBuilder)> = None;
    for line in from.lines() {
        let line: Line =
            serde_json::from_str(&line.map_err(|error| failed(&error))?).map_err(|error| failed(&error))?;
        if let Some((job, rows)) = current.take_if(|(job, _)| *job != line.job) {
            finish(&job, rows)?;
        }
        line.add_to(&mut current.get_or_insert_with(|| (line.job.clone(), PairBuilder::default())).1);
    }
    current.map_or(Ok(()), |(job, rows)| finish(&job, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use arrow::datatypes::{Int64Type, TimestampMicrosecondType};

    #[test]
    fn answers_have_their_types() {
        let columns = [("s", "string"), ("t", "timestamp"), ("n", "bigint"), ("l", "array<string>")];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
        let lines = r#"{"s":"a\tb","t":"2026-11-25T00:01:00.000Z","n":-9223372036854775808,"l":["x"]}
                       {"t":"1970-01-01T00:00:00.000Z"}"#;
        let batches = batches(&columns, lines.as_bytes()).expect("rows");
        assert_eq!(texts(&batches[0], 0).expect("texts"), ["a\tb", ""]);
        assert_eq!(batches[0].column(1).as_primitive::<TimestampMicrosecondType>().value(0), 1_795_564_860_000_000);
        assert_eq!(batches[0].column(2).as_primitive::<Int64Type>().value(0), i64::MIN);
        assert!(super::batches(&[("s".into(), "interval".into())], b"").is_err());
    }

    fn job(service: &str) -> Job {
        Job { service: service.into(), old_version: "1".into(), new_version: "2".into(), min_share: 0.001f64.to_bits() }
    }

    /// Nine minutes of a host: running time, and on two locks blocked time, of which the older version has one only.
    fn host(number: i64, is_new: bool) -> (Vec<[i64; 3]>, [Vec<[i64; 2]>; 2]) {
        let load = (0..9).map(|minute| [minute, 100, 0]).collect();
        let blocked = |site: i64| (0..9).map(|minute| [minute, 5 + (minute * 7 + number * site) % 5]).collect();
        (load, [blocked(1), if is_new { blocked(2) } else { Vec::new() }])
    }

    /// The lines of a service, and its rows.
    fn lines(service: &str) -> (String, PairBuilder) {
        let (mut text, mut rows) = (String::new(), PairBuilder::default());
        let job = serde_json::to_string(&job(service)).expect("JSON");
        for (number, is_new) in (0..3).flat_map(|number| [(number, false), (number, true)]) {
            let (load, blocked) = host(number, is_new);
            let (name, version) = (format!("web-{number}"), if is_new { Version::New } else { Version::Old });
            let mut add = |part: serde_json::Value| {
                let mut line = serde_json::json!({"job": job, "is_new": is_new, "host": name});
                line.as_object_mut().expect("an object").extend(part.as_object().expect("an object").clone());
                text.push_str(&format!("{line}\n"));
            };
            for (site, slots) in (1..).zip(&blocked) {
                add(serde_json::json!({"site": site, "blocked": slots}));
                slots.iter().map(|slot| slot.map(|n| n as u64)).for_each(|[minute, ns]| {
                    rows.blocked(version, &name, minute, site, ns);
                });
            }
            add(serde_json::json!({"load": load}));
            load.iter().map(|slot| slot.map(|n| n as u64)).for_each(|[minute, running, operations]| {
                rows.load(version, &name, minute, running, operations);
            });
        }
        (text, rows)
    }

    #[test]
    fn estimates_of_workers_lose_no_digit() {
        let [(first, of_first), (second, of_second)] = ["a", "b"].map(lines);
        let mut output = Vec::new();
        estimate_all((first + &second).as_bytes(), &mut output).expect("estimates");
        let output = String::from_utf8(output).expect("UTF-8");
        let services: Vec<Estimated> = output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let expected = [job("a").estimated(of_first), job("b").estimated(of_second)];
        assert_eq!(services, expected);
        let outcome = headway_regress::judge(services, &Options::default());
        assert_eq!((outcome.tested, outcome.services.len()), (4, 2));
        assert!(outcome.services[1].locks.iter().any(|lock| lock.change.is_none()), "{outcome:?}");
    }

    #[test]
    fn what_are_no_rows_is_refused() {
        for wrong in ["{}\n", "\n", "{\"job\":\"x\",\"is_new\":true}\n"] {
            assert!(estimate_all(wrong.as_bytes(), Vec::new()).is_err(), "{wrong}");
        }
    }
}
