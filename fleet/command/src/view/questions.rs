//! Questions of the page: fixed queries over tables and views. What comes from the page is a filter of rows or is
//! bound as a parameter, and never becomes a part of a query's text.

use super::contract::{Answer, LockOf, OverTime, Question, Rows};
use crate::failure::Failure;
use crate::session::{only_queries, Database, Only};
use arrow::json::ArrayWriter;
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use serde::de::DeserializeOwned;
use serde::Deserialize;

/// Rows of an answer.
const MOST_ROWS: usize = 500;
/// Stacks of a lock.
const MOST_STACKS: usize = 40;
/// Locks that have a line each.
const MOST_LOCKS: usize = 8;
/// Longer names are refused.
const LONGEST_NAME: usize = 4096;

const MINUTE_US: i64 = 60_000_000;
const HOUR_US: i64 = 60 * MINUTE_US;
const DAY_US: i64 = 24 * HOUR_US;
/// Buckets of an answer over time: the shortest of which there are no more. Of days there may be.
const MOST_BUCKETS: i64 = 750;
/// Beyond so many days, the last ones are shown.
const MOST_DAYS: i64 = 4000;

const SERVICES: &str = "
SELECT service, version, jvms, hosts, CAST(first_ts AS BIGINT) AS first_us, CAST(last_ts AS BIGINT) AS last_us,
       running_ns, cpu_ns, steal_ns, operations, dropped, locks, contentions, blocked_ns, blocked_share
FROM services ORDER BY running_ns DESC, service, version";

/// Without `jvms`, `top_sites` reads hours (`top.rs`).
const LOCKS: &str = "
SELECT service, version, CAST(site_id AS VARCHAR) AS site, lock, class, kind, contentions, blocked_ns, handoff_ns,
       unknown_ns, max_ns, blocked_share
FROM top_sites ORDER BY blocked_ns DESC, service, version, site_id";

const LOCK_JVMS: &str = "
SELECT service, version, CAST(site_id AS VARCHAR) AS site, jvms
FROM top_sites ORDER BY blocked_ns DESC, service, version, site_id";

const STACKS: &str = "
SELECT version, contentions, blocked_ns, waiter_stack, owner_stack
FROM lock_stacks WHERE site_id = $1 ORDER BY blocked_ns DESC, version";

const HOSTS: &str = "
SELECT service, version, host, jvms, hosts, ns_per_s, median_ns_per_s, more_ns_per_s
FROM outlier_hosts ORDER BY abs(more_ns_per_s) DESC NULLS LAST, service, version, host";

const DIFFERENCES: &str = "
SELECT service, old_version, new_version, lock, class, old_ns_per_s, new_ns_per_s, more_ns_per_s
FROM regressions ORDER BY abs(more_ns_per_s) DESC NULLS LAST, service, new_version, lock";

const PHASES: &str = "
SELECT service, version, host, CAST(ts AS BIGINT) AS from_us, CAST(end_ts AS BIGINT) AS to_us, lock, mean, peak,
       waiter_stack, owner_stack, recording
FROM phases ORDER BY peak DESC, ts, service, lock";

/// Answers a question about rows. What the page asks about the search for regressions is answered elsewhere.
///
/// # Errors
/// The question makes no sense, the store fails, or the bound of memory is reached.
pub async fn answer(database: &Database, question: &Question) -> Result<Option<Answer>, Failure> {
    let answer = match question {
        Question::Services { only } => Answer::Services(rows(database, only, SERVICES, MOST_ROWS, vec![]).await?),
        Question::Locks { only } => Answer::Locks(rows(database, only, LOCKS, MOST_ROWS, vec![]).await?),
        Question::LockJvms { only } => Answer::LockJvms(rows(database, only, LOCK_JVMS, MOST_ROWS, vec![]).await?),
        Question::OverTime { only, locks } => Answer::OverTime(over_time(database, only, locks).await?),
        Question::Stacks { only, lock } => {
            let only = Only { service: Some(lock.service.clone()), ..only.clone() };
            Answer::Stacks(rows(database, &only, STACKS, MOST_STACKS, vec![site(lock)?]).await?)
        }
        Question::Hosts { only } => Answer::Hosts(rows(database, only, HOSTS, MOST_ROWS, vec![]).await?),
        Question::Differences { only } => {
            Answer::Differences(rows(database, only, DIFFERENCES, MOST_ROWS, vec![]).await?)
        }
        Question::Phases { only } => Answer::Phases(rows(database, only, PHASES, MOST_ROWS, vec![]).await?),
        Question::Regressions { .. } | Question::Progress => return Ok(None),
    };
    Ok(Some(answer))
}

/// The first rows of a query, as many as there may be.
async fn rows<Row: DeserializeOwned>(
    database: &Database,
    only: &Only,
    query: &str,
    most: usize,
    parameters: Vec<ScalarValue>,
) -> Result<Rows<Row>, Failure> {
    let session = session(database, only).await?;
    let mut rows = ask(&session, &format!("{query} LIMIT {}", most + 1), parameters).await?;
    let more = rows.len() > most;
    rows.truncate(most);
    Ok(Rows { rows, more })
}

async fn session(database: &Database, only: &Only) -> Result<SessionContext, Failure> {
    let Only { service, version, host, .. } = only;
    if [service, version, host].into_iter().flatten().any(|name| name.len() > LONGEST_NAME) {
        return Err(Failure::Usage(format!("a name is longer than {LONGEST_NAME} bytes")));
    }
    database.session(only).await
}

async fn ask<Row: DeserializeOwned>(
    session: &SessionContext,
    query: &str,
    parameters: Vec<ScalarValue>,
) -> Result<Vec<Row>, Failure> {
    let frame = session.sql_with_options(query, only_queries()).await?.with_param_values(parameters)?;
    let batches = frame.collect().await?;
    let mut writer = ArrayWriter::new(Vec::new());
    let written = writer.write_batches(&batches.iter().collect::<Vec<_>>()).and_then(|()| writer.finish());
    written.map_err(|error| Failure::Failed(format!("cannot write an answer: {error}")))?;
    let json = writer.into_inner();
    // No batches, no text.
    if json.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(&json)
        .map_err(|error| Failure::Failed(format!("a query's answer has other columns: {error}")))
}

fn site(lock: &LockOf) -> Result<ScalarValue, Failure> {
    let id = lock.site.parse::<i64>();
    Ok(ScalarValue::from(id.map_err(|_| Failure::Usage("a lock's id is a whole number of 64 bits".into()))?))
}

/// The minutes that rows are of.
#[derive(Deserialize)]
struct Span {
    first_us: Option<i64>,
    last_us: Option<i64>,
}

/// Sums of a bucket.
#[derive(Deserialize)]
struct Bucket {
    at_us: i64,
    #[serde(default)]
    lock: usize,
    ns: u64,
}

async fn over_time(database: &Database, only: &Only, locks: &[LockOf]) -> Result<OverTime, Failure> {
    if locks.len() > MOST_LOCKS {
        return Err(Failure::Usage(format!("at most {MOST_LOCKS} locks have a line each")));
    }
    let session = session(database, only).await?;
    let span = "SELECT CAST(min(ts) AS BIGINT) AS first_us, CAST(max(ts) AS BIGINT) AS last_us FROM load_minute";
    let spans: Vec<Span> = ask(&session, span, vec![]).await?;
    let Some(Span { first_us: Some(first_us), last_us: Some(last_us) }) = spans.into_iter().next() else {
        return Ok(OverTime {
            first_us: 0,
            bucket_us: MINUTE_US,
            locks_ns: vec![Vec::new(); locks.len()],
            all_ns: vec![],
            running_ns: vec![],
        });
    };
    let buckets = Buckets::of(first_us, last_us);
    let period = buckets.period();
    let sums = |column: &str, table: &str| {
        format!("SELECT CAST(ts AS BIGINT) AS at_us, sum({column}) AS ns FROM {table}_{period} GROUP BY ts")
    };
    let all = ask(&session, &sums("blocked_ns", "lock"), vec![]).await?;
    let running = ask(&session, &sums("running_ns", "load"), vec![]).await?;
    let of_locks = match locks {
        [] => Vec::new(),
        locks => ask(&session, &of_locks(period, locks.len()), parameters(locks)?).await?,
    };
    let lines =
        (0..locks.len()).map(|lock| buckets.line(of_locks.iter().filter(|bucket: &&Bucket| bucket.lock == lock)));
    Ok(OverTime {
        first_us: buckets.first_us,
        bucket_us: buckets.length_us,
        locks_ns: lines.collect(),
        all_ns: buckets.line(&all),
        running_ns: buckets.line(&running),
    })
}

/// Sums of so many locks; their names are parameters.
fn of_locks(period: &str, locks: usize) -> String {
    let is = |lock: usize| format!("service = ${} AND site_id = ${}", 2 * lock + 1, 2 * lock + 2);
    let cases: Vec<_> = (0..locks).map(|lock| format!("WHEN {} THEN {lock}", is(lock))).collect();
    let any: Vec<_> = (0..locks).map(|lock| format!("({})", is(lock))).collect();
    format!(
        "SELECT at_us, lock, sum(ns) AS ns
         FROM (SELECT CAST(ts AS BIGINT) AS at_us, CASE {} END AS lock, blocked_ns AS ns FROM lock_{period} WHERE {})
         GROUP BY at_us, lock",
        cases.join(" "),
        any.join(" OR ")
    )
}

fn parameters(locks: &[LockOf]) -> Result<Vec<ScalarValue>, Failure> {
    let mut parameters = Vec::new();
    for lock in locks {
        parameters.extend([ScalarValue::from(lock.service.as_str()), site(lock)?]);
    }
    Ok(parameters)
}

/// Buckets of equal length over some time.
struct Buckets {
    first_us: i64,
    length_us: i64,
    count: usize,
}

impl Buckets {
    /// From the bucket of one moment to that of another.
    fn of(first_us: i64, last_us: i64) -> Buckets {
        let lengths = [MINUTE_US, HOUR_US, DAY_US].into_iter();
        let numbers = |length: i64| (first_us.div_euclid(length), last_us.div_euclid(length));
        let few = |length: &i64| numbers(*length).1 - numbers(*length).0 < MOST_BUCKETS;
        let length_us = lengths.clone().find(few).unwrap_or(DAY_US);
        let (first, last) = numbers(length_us);
        let first = first.max(last - MOST_DAYS);
        Buckets { first_us: first * length_us, length_us, count: usize::try_from(last - first + 1).unwrap_or(0) }
    }

    /// What the views of this length are called.
    fn period(&self) -> &'static str {
        match self.length_us {
            MINUTE_US => "minute",
            HOUR_US => "hour",
            _ => "day",
        }
    }

    /// A number for each bucket, 0 where there is none.
    fn line<'a>(&self, sums: impl IntoIterator<Item = &'a Bucket>) -> Vec<u64> {
        let mut line = vec![0; self.count];
        for sum in sums {
            let at = usize::try_from((sum.at_us - self.first_us).div_euclid(self.length_us)).ok();
            if let Some(place) = at.and_then(|at| line.get_mut(at)) {
                *place += sum.ns;
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_as_short_as_they_may_be() {
        let of = |minutes: i64| {
            let Buckets { first_us, length_us, count } = Buckets::of(90 * MINUTE_US, (90 + minutes - 1) * MINUTE_US);
            (first_us / MINUTE_US, length_us / MINUTE_US, count)
        };
        assert_eq!(of(1), (90, 1, 1));
        assert_eq!(of(750), (90, 1, 750));
        assert_eq!(of(751), (60, 60, 14));
        assert_eq!(of(60 * 24 * 30), (60, 60, 721));
        assert_eq!(of(60 * 24 * 40), (0, 60 * 24, 41));
        // A clock that was wrong once makes no answer of any length.
        assert_eq!(Buckets::of(0, i64::MAX).count, 4001);
    }

    #[test]
    fn a_line_has_a_number_for_each_bucket() {
        let buckets = Buckets::of(0, 2 * MINUTE_US);
        let sum = |at_us, ns| Bucket { at_us, lock: 0, ns };
        assert_eq!(buckets.line(&[sum(0, 1), sum(2 * MINUTE_US, 5), sum(HOUR_US, 7), sum(-1, 9)]), [1, 0, 5]);
    }
}
