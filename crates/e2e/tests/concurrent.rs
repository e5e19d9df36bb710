//! Two to six command lines, or several copies of the agent, at one JVM at once:
//! it lives, each records or says who does, and the VM's code is as before.
//!
//! `HEADWAY_TRIALS` is how often, per JDK.

use headway_e2e::concurrent;
use headway_e2e::jdk::Jdk;

/// Enough for each way of coming together; what happened once in six times before
/// would be missed by chance once in a hundred runs.
const TRIALS: u32 = 25;

#[test]
fn command_lines_that_come_together_share_one_agent() {
    let trials = std::env::var("HEADWAY_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(TRIALS);
    let jdks = Jdk::all();
    let seed = u64::from(std::process::id());
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let begun: Vec<_> =
            jdks.iter().map(|jdk| scope.spawn(move || concurrent::try_often(jdk, trials, seed))).collect();
        begun.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let mut failures = Vec::new();
    for (jdk, outcome) in jdks.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => println!("JDK {}: {outcome:?}", jdk.release),
            Err(problem) => failures.push(format!("JDK {}, seed {seed}: {problem}", jdk.release)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
