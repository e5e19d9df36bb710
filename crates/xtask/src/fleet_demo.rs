//! `./hw fleet-demo [--minutes N]`: many JVMs in one question, on this machine.
//!
//! Three services run in two versions at the same time, three JVMs of each under
//! `headway run`. In the second version of one of them a lock is held five times as
//! long. Their recordings go into a store, and `headway fleet regressions` has to name
//! that lock, and nothing else.
//!
//! The JVMs run here and count as of three hosts: hosts are what regressions are
//! estimated from. Their threads sleep most of the time, so that eighteen of them fit
//! on a small machine.

use crate::demo::{from_root, java_program};
use crate::process::{build_directory, output_of, program, run};
use crate::{fleet, java, pairs, products, Misuse, Problem};
use serde::Deserialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A comparison needs four whole minutes of both versions.
const LEAST_MINUTES: u32 = 5;
const HOSTS: [&str; 3] = ["web-1", "web-2", "web-3"];
const VERSIONS: [&str; 2] = ["1.0", "1.1"];

/// A service: what it runs, and for how many milliseconds it holds its lock in each version.
struct Service {
    name: &'static str,
    words: &'static [&'static str],
    hold_ms: [&'static str; 2],
}

const SERVICES: [Service; 3] = [
    Service { name: "checkout", words: &["pressure", "forkjoin", "--threads", "5"], hold_ms: ["2", "10"] },
    Service {
        name: "search",
        words: &["pressure", "forkjoin", "--threads", "5", "--queued", "true"],
        hold_ms: ["2", "2"],
    },
    Service { name: "mail", words: &["pressure", "pingpong", "--threads", "6"], hold_ms: ["2", "2"] },
];

/// What was planted: the service, and the lock that it holds longer.
const PLANTED: (&str, &str) = ("checkout", "Meter.lock");

/// Which locks block threads most: seconds, and percent of the running time of all threads.
const TOP: &str = "SELECT service, version, lock, jvms, contentions, blocked_ns / 1000000000 AS blocked_s, \
                   CAST(100 * blocked_share AS DECIMAL(5, 1)) AS percent FROM top_sites ORDER BY blocked_ns DESC LIMIT 10";

/// See the file's head.
pub fn demo(rest: &[String]) -> Result<(), Problem> {
    let mut minutes = LEAST_MINUTES;
    for (name, value) in pairs(rest, &["--minutes"])? {
        minutes = value.parse().map_err(|_| Misuse(format!("{name} takes a whole number, not \"{value}\"")))?;
    }
    if minutes < LEAST_MINUTES {
        return Err(
            Misuse(format!("--minutes has to be at least {LEAST_MINUTES}: shorter runs cannot be compared")).into()
        );
    }
    println!("hw: building what is missing (the first time takes some minutes)");
    products::rust(&["headway-cli", "headway-agent"])?;
    products::workloads(None)?;
    let command = fleet::built()?;
    let place = empty_folder()?;
    println!("hw: {} JVMs run for {minutes} minutes", SERVICES.len() * VERSIONS.len() * HOSTS.len());
    let runs = record(&place, minutes)?;
    let store = place.join("rows");
    println!("hw: their recordings go into the store {}", from_root(&store));
    for one in &runs {
        run(one.ingest(&command, &store).stdout(Stdio::null()))?;
    }
    answer(&command, &store)
}

/// Recordings of another run must not be taken for those of this one.
fn empty_folder() -> Result<PathBuf, Problem> {
    let place = build_directory().join("fleet-demo");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|e| format!("cannot remove {}: {e}", place.display()))?;
    }
    fs::create_dir_all(&place).map_err(|e| format!("cannot make {}: {e}", place.display()))?;
    Ok(place)
}

/// A JVM of a service and version, on a host.
struct Run {
    service: &'static str,
    version: &'static str,
    host: &'static str,
    recording: PathBuf,
}

impl Run {
    fn ingest(&self, fleet: &Path, store: &Path) -> Command {
        let mut ingest = program(fleet);
        ingest.arg("ingest").arg(&self.recording).arg("--store").arg(store);
        ingest.args(["--service", self.service, "--version", self.version, "--host", self.host]);
        ingest
    }
}

/// Runs all services at the same time, to their end.
fn record(place: &Path, minutes: u32) -> Result<Vec<Run>, Problem> {
    let java = java_program(None);
    let seconds = (minutes * 60).to_string();
    let mut running = Running(Vec::new());
    let mut runs = Vec::new();
    for service in &SERVICES {
        for (version, hold_ms) in VERSIONS.into_iter().zip(service.hold_ms) {
            for host in HOSTS {
                let recording = place.join(format!("{}-{version}-{host}.jfr", service.name));
                let log = File::create(recording.with_extension("log"))?;
                let mut headway = program(products::headway());
                headway.args(["run", "--force", "-o"]).arg(&recording).arg("--").arg(&java);
                headway.args(["-Xmx48m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar"]);
                headway.arg(java::workloads_jar()).args(service.words);
                headway.args(["--hold-ms", hold_ms, "--seconds", &seconds]);
                headway.stdout(log.try_clone()?).stderr(log);
                let child = headway.spawn().map_err(|e| format!("cannot run headway: {e}"))?;
                running.0.push(child);
                runs.push(Run { service: service.name, version, host, recording });
            }
        }
    }
    running.end(&runs)?;
    Ok(runs)
}

/// JVMs that run; they end with this command, however that ends.
struct Running(Vec<Child>);

impl Running {
    fn end(mut self, runs: &[Run]) -> Result<(), Problem> {
        for (child, one) in self.0.iter_mut().zip(runs) {
            let status = child.wait()?;
            if !status.success() {
                let log = one.recording.with_extension("log");
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("{} ended with {status}: {}", log.display(), said.trim()).into());
            }
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What of `fleet regressions --json` is judged here.
#[derive(Debug, Deserialize)]
struct Answer {
    services: Vec<Compared>,
}

#[derive(Debug, Deserialize)]
struct Compared {
    service: String,
    locks: Vec<Lock>,
}

#[derive(Debug, Deserialize)]
struct Lock {
    lock: String,
    verdict: String,
}

/// Prints the answers, and whether they name what was planted.
fn answer(command: &Path, store: &Path) -> Result<(), Problem> {
    println!("\n$ {} sql '{TOP}' {}", from_root(command), from_root(store));
    run(program(command).args(["sql", TOP]).arg(store))?;
    let regressions = || {
        let mut regressions = program(command);
        regressions.args(["fleet", "regressions", "--store"]).arg(store);
        regressions
    };
    println!("\n$ {} fleet regressions --store {}", from_root(command), from_root(store));
    run(&mut regressions())?;
    let found = worse(&output_of(regressions().arg("--json"))?)?;
    let (service, lock) = PLANTED;
    println!("\nplanted:      {lock} of {service} is held 5 times as long in version {}", VERSIONS[1]);
    let names: Vec<String> = found.iter().map(|(service, lock)| format!("{lock} of {service}")).collect();
    println!("found:        {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") });
    println!("in a browser: {} fleet view --store {}", from_root(command), from_root(store));
    match found.iter().map(|(service, lock)| (service.as_str(), lock.as_str())).collect::<Vec<_>>()[..] {
        [one] if one == PLANTED => Ok(()),
        [] => Err("the planted regression was not found".into()),
        _ => Err(format!("other regressions than the planted one were found: {found:?}").into()),
    }
}

/// Service and name of each lock that became worse.
fn worse(json: &str) -> Result<Vec<(String, String)>, Problem> {
    let Answer { services } = serde_json::from_str(json)?;
    let of = |Compared { service, locks }: Compared| {
        let worse = locks.into_iter().filter(|lock| lock.verdict == "regression");
        worse.map(move |lock| (service.clone(), lock.lock)).collect::<Vec<_>>()
    };
    Ok(services.into_iter().flat_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_that_became_worse_are_found() {
        let json = r#"{"services":[
            {"service":"a","locks":[{"lock":"x","verdict":"regression","q":0.1},{"lock":"y","verdict":"improvement"}]},
            {"service":"b","locks":[{"lock":"z","verdict":"none"}]}]}"#;
        assert_eq!(worse(json).unwrap(), [("a".to_owned(), "x".to_owned())]);
        assert!(worse("{}").is_err());
    }

    #[test]
    fn one_lock_of_one_service_differs() {
        let differs = |service: &&Service| service.hold_ms[0] != service.hold_ms[1];
        let planted: Vec<&str> = SERVICES.iter().filter(differs).map(|service| service.name).collect();
        assert_eq!(planted, [PLANTED.0]);
    }

    #[test]
    fn runs_that_are_too_short_to_be_compared_are_refused() {
        let words = ["--minutes".to_owned(), "4".to_owned()];
        assert!(demo(&words).unwrap_err().is::<Misuse>());
    }
}
