//! Prints the events of a recording, one per line, or with `--count` how many
//! there are of each kind, or with `--total` just how many there are (which
//! measures reading and nothing else).

use std::collections::BTreeMap;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count_only = arguments.iter().any(|a| a == "--count");
    for path in arguments.iter().filter(|a| !a.starts_with("--")) {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let reader = match headway_jfr::Reader::open(path) {
            Ok(reader) => reader,
            Err(problem) => {
                eprintln!("{problem}");
                continue;
            }
        };
        if arguments.iter().any(|a| a == "--total") {
            println!("{}", reader.count());
            continue;
        }
        for item in reader {
            match item {
                Ok(event) if count_only => {
                    let text = format!("{event:?}");
                    let kind = text.split('(').next().unwrap_or_default().to_string();
                    *counts.entry(kind).or_default() += 1;
                }
                Ok(event) => println!("{event:?}"),
                Err(problem) => println!("PROBLEM: {problem}"),
            }
        }
        counts.iter().for_each(|(kind, count)| println!("{count:8} {kind}"));
    }
}
