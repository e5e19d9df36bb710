//! How long the page's questions take on a recording, and how much memory.
//!
//! `page_queries FILE [ROWS] [--json | --answers]`: reads it as `headway view` does and asks what
//! the page asks; of each question the time of its first asking, the median of five
//! more, and their CPU time, which a busy machine changes less. With `--answers` it
//! prints each question and its answer instead, so that two builds can be compared.

use headway_page::contract::{Aspect, Filter, Kind, Query, Scope, Stacks};
use headway_page::Recording;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// As many as `headway view` keeps.
const ROWS: usize = 1_500_000;

/// What one question cost, in milliseconds.
struct Asked {
    name: &'static str,
    first: f64,
    again: f64,
    cpu: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, arguments): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let json = options.iter().any(|option| option == "--json");
    let path = Path::new(arguments.first().ok_or("which recording?")?);
    let rows = arguments.get(1).map_or(Ok(ROWS), |rows| rows.parse())?;
    let begin = Instant::now();
    let recording = Recording::read(path, rows)?;
    let facts = recording.facts();
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds()?);
    let (most, now) = (memory("VmHWM")?, memory("VmRSS")?);
    let asked = questions(facts.duration_ns.max(1));
    if options.iter().any(|option| option == "--answers") {
        for (_, query) in asked {
            println!("{}\n{}", serde_json::to_string(&query)?, serde_json::to_string(&recording.answer(&query))?);
        }
        return Ok(());
    }
    let asked = asked.into_iter().map(|(name, query)| ask(&recording, name, &query));
    if json {
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let questions: Vec<_> = asked.iter().map(Asked::json).collect();
        let read = serde_json::json!({"s": wall, "cpu_s": cpu, "most_mib": most, "mib": now});
        let all = serde_json::json!({"events": facts.events, "read": read, "questions": questions});
        println!("{all}");
        return Ok(());
    }
    println!("{wall:>9.1} s  read {} events, {} added up; {cpu:.1} s of CPU", facts.events, facts.summed);
    println!("{most:>9} MB most memory, {now} MB now");
    for asked in asked {
        let Asked { name, first, again, cpu } = asked?;
        println!("{first:>9.1} ms first, {again:>7.1} ms again, {cpu:>7.1} ms of CPU  {name}");
    }
    Ok(())
}

impl Asked {
    fn json(&self) -> serde_json::Value {
        let Asked { name, first, again, cpu } = self;
        serde_json::json!({"name": name, "first_ms": first, "again_ms": again, "cpu_ms": cpu})
    }
}

fn ask(recording: &Recording, name: &'static str, query: &Query) -> Result<Asked, Box<dyn Error>> {
    let before = cpu_seconds()?;
    let times: Vec<f64> = (0..6).map(|_| time(recording, query)).collect();
    let cpu = (cpu_seconds()? - before) * 1e3 / 6.0;
    let mut again = times[1..].to_vec();
    again.sort_by(f64::total_cmp);
    Ok(Asked { name, first: times[0], again: again[2], cpu })
}

fn time(recording: &Recording, query: &Query) -> f64 {
    let begin = Instant::now();
    let answer = recording.answer(query);
    let bytes = serde_json::to_string(&answer).map_or(0, |text| text.len());
    std::hint::black_box(bytes);
    begin.elapsed().as_secs_f64() * 1e3
}

/// CPU time of this process so far.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').ok_or("no such figure")?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

fn memory(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    let kb: u64 = line.trim_matches(|c: char| !c.is_ascii_digit()).parse()?;
    Ok(kb / 1024)
}

fn questions(to: u64) -> Vec<(&'static str, Query)> {
    use Aspect::{ContenderGroup, ContenderMethod, LockName, OwnerChain, OwnerMethod, ThreadKind, Time};
    let blocked = vec![Kind::Monitor, Kind::Juc];
    let all = Scope {
        recording: 0,
        from: 0,
        to,
        filter: Filter::default(),
        kinds: blocked,
        within: Vec::new(),
        stacks: None,
        threads: None,
    };
    let context = Scope { kinds: Kind::ALL[2..].to_vec(), ..all.clone() };
    let part = Scope { from: to / 3, to: to / 2, ..all.clone() };
    let filter = Filter { thread: "-1".into(), ..Filter::default() };
    let filtered = Scope { filter, ..all.clone() };
    let cpu = Scope { kinds: vec![Kind::Cpu], ..all.clone() };
    let with = |method: &str| Stacks { of: Aspect::ContenderChain, with: vec![method.into()], without: Vec::new() };
    let with_method = Scope { stacks: Some(with("com.acme.store.web.Component7.invoke1")), ..cpu.clone() };
    let group = |scope: &Scope, by: &[Aspect], intervals: u32, limit: usize| Query::Group {
        scope: scope.clone(),
        by: by.to_vec(),
        intervals,
        limit,
    };
    let lanes = |scope: &Scope| Query::Lanes { scope: scope.clone(), first: 0, count: 300, pixels: 1000 };
    vec![
        ("timeline, blocked", group(&all, &[Aspect::Kind, Time], 300, 10)),
        ("timeline, the rest", group(&context, &[ThreadKind, Aspect::Kind, Time], 300, 10)),
        ("worst locks by owner", group(&all, &[LockName, OwnerMethod, Aspect::How], 1, 5)),
        ("worst locks by group", group(&all, &[LockName, ContenderGroup], 1, 5)),
        ("the same of a sixth", group(&part, &[LockName, ContenderGroup], 1, 5)),
        ("the same of some threads", group(&filtered, &[LockName, ContenderGroup], 1, 5)),
        ("drill-down by lock", group(&all, &[Aspect::Lock], 1, 500)),
        ("drill-down by method", group(&all, &[ContenderMethod], 1, 500)),
        ("pairs of chains", group(&all, &[Aspect::ContenderChain, OwnerChain], 1, 30)),
        ("flame graph", group(&all, &[OwnerChain], 1, 5000)),
        ("flame graph of CPU time", group(&cpu, &[Aspect::ContenderChain], 1, 5000)),
        ("the same of stacks with a method", group(&with_method, &[Aspect::ContenderChain], 1, 5000)),
        ("lanes", lanes(&Scope { kinds: Kind::ALL[..7].to_vec(), ..all.clone() })),
        ("lanes of a sixth", lanes(&part)),
        ("longest", Query::Longest { scope: all, limit: 100 }),
    ]
}
